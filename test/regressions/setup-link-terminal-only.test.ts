// First-admin setup link: serve prints it to a terminal only, because many people can read logs.
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";

afterAll(dropDirs);

const MAIN = join(import.meta.dir, "../../src/main.ts");
const LINK = /\/console\/setup#[\w-]{43}/;
const script = Bun.which("script");

/** Everything that a start prints to stdout and stderr, up to the URL of the service. */
const started = async (command: string[]): Promise<string> => {
  const child = Bun.spawn(command, {
    env: { PATH: process.env.PATH ?? "", TERM: "xterm" },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const err = new Response(child.stderr).text();
  const reader = child.stdout.getReader();
  let out = "";
  while (!/^url \S+\r?\n/m.test(out)) {
    const { value, done } = await reader.read();
    if (done) break;
    out += new TextDecoder().decode(value, { stream: true });
  }
  reader.releaseLock();
  child.kill("SIGTERM");
  await child.exited;
  return out + (await err);
};
const serve = (dir: string) => [process.execPath, MAIN, "serve", "--simulate", "--port", "0", "--data", dir];

test("serve prints the setup command instead of the setup link when the output is not a terminal", async () => {
  const said = await started(serve(freshDir()));
  expect(said).toContain("First admin: genrouter users setup");
  expect(said).not.toMatch(LINK);
}, 30_000);

if (script === null) process.stdout.write("skipped: the setup link on a terminal (the program `script` is not installed)\n");
test.skipIf(script === null)(
  "serve prints the setup link to a terminal",
  async () => {
    expect(await started([script ?? "", "-qefc", serve(freshDir()).join(" "), "/dev/null"])).toMatch(LINK);
  },
  30_000,
);
