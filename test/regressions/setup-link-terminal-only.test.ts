// First-admin setup link: serve prints it to a terminal only, because many people can read logs.
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";

afterAll(dropDirs);

const MAIN = join(import.meta.dir, "../../src/main.ts");
const LINK = /\/console\/setup#[\w-]{43}/;
const IS_STARTED = /^url \S+\r?\n/m;
const ENV = { PATH: process.env.PATH ?? "", TERM: "xterm" };
const serve = (dir: string) => [process.execPath, MAIN, "serve", "--simulate", "--port", "0", "--data", dir];

test("serve prints the setup command instead of the setup link when the output is not a terminal", async () => {
  const child = Bun.spawn(serve(freshDir()), { env: ENV, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const err = new Response(child.stderr).text();
  const decoder = new TextDecoder();
  let out = "";
  for await (const chunk of child.stdout) {
    out += decoder.decode(chunk, { stream: true });
    if (IS_STARTED.test(out)) child.kill("SIGTERM");
  }
  await child.exited;
  const said = out + (await err);
  // From source, the command of the binary is not on the PATH.
  expect(said).toContain("First admin: npm run -s genrouter -- users setup");
  expect(said).not.toMatch(LINK);
}, 30_000);

test("serve prints the setup link to a terminal", async () => {
  const decoder = new TextDecoder();
  const { promise: isStarted, resolve: started } = Promise.withResolvers<void>();
  let said = "";
  const child = Bun.spawn(serve(freshDir()), {
    env: ENV,
    terminal: {
      cols: 200,
      data: (_, chunk) => {
        said += decoder.decode(chunk, { stream: true });
        if (IS_STARTED.test(said)) started();
      },
    },
  });
  await Promise.race([isStarted, child.exited]);
  child.kill("SIGTERM");
  await child.exited;
  child.terminal?.close();
  expect(said).toMatch(LINK);
}, 30_000);
