// The link by which the first operator signs in is for a person at a terminal: logs are read by many.
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";

afterAll(dropDirs);

const MAIN = join(import.meta.dir, "../../src/main.ts");
const LINK = /\/console\/setup#[\w-]{43}/;
const script = Bun.which("script");

/** What a start prints on all its streams, up to the address of the service. */
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

test("A10: what is not a terminal gets the command that prints it", async () => {
  const said = await started(serve(freshDir()));
  expect(said).toContain("First admin: genrouter users setup");
  expect(said).not.toMatch(LINK);
}, 30_000);

if (script === null) process.stdout.write("skipped: the link at a terminal (no program `script` here)\n");
test.skipIf(script === null)(
  "A10: a terminal gets the link",
  async () => {
    expect(await started([script ?? "", "-qefc", serve(freshDir()).join(" "), "/dev/null"])).toMatch(LINK);
  },
  30_000,
);
