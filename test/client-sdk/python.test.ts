// The Python example rejects wrong arguments and settings before it submits; ../docs/examples.test.ts tests its results.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { type Harness, openHarness } from "../harness.ts";

const EXAMPLE = join(import.meta.dir, "../../examples/python/generate.py");
const python = Bun.which("python3");
if (python === null) process.stdout.write("skipped: the Python example (python3 is not installed)\n");

let harness: Harness;
beforeAll(async () => {
  harness = await openHarness();
});
afterAll(async () => {
  await harness.close();
  dropDirs();
});

const run = async (words: string[], cwd: string, env: Record<string, string> = {}) => {
  const child = Bun.spawn([python ?? "python3", EXAMPLE, ...words], {
    cwd,
    env: { PATH: process.env.PATH ?? "", GENROUTER_URL: harness.url, GENROUTER_API_KEY: harness.tenant.key, ...env },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { exit: await child.exited, out, err };
};
const PICTURES = ["sim-image-1", '{"prompt": "a tin robot"}'];

test.skipIf(python === null)(
  "the Python example exits with 2 and one line for wrong arguments and settings, and submits nothing",
  async () => {
    const dir = freshDir();
    const before = await harness.balance();
    const wrongs: [words: string[], env: Record<string, string>, line: RegExp][] = [
      [[], {}, /^usage: generate\.py MODEL INPUT \[FILE\]/],
      [[...PICTURES, "a.png", "b.png"], {}, /^usage: /],
      [["sim-image-1", "{prompt: x}"], {}, /^the input is not JSON/],
      [["sim-image-1", "[]"], {}, /^the input is not a JSON object/],
      [[...PICTURES, "none/robot.png"], {}, /^none\/robot\.png: there is no directory none$/],
      [[...PICTURES, dir], {}, /is a directory; give the name of a file in it$/],
      ...["localhost:8791", "ftp://127.0.0.1", "http://", "http://[bad", "http://127.0.0.1:port", "http://a b"].map(
        (url): (typeof wrongs)[number] => [
          PICTURES,
          { GENROUTER_URL: url },
          /^GENROUTER_URL: .* is not an address; it begins with/,
        ],
      ),
      [PICTURES, { GENROUTER_API_KEY: "" }, /^GENROUTER_API_KEY is not set/],
      [PICTURES, { IDEMPOTENCY_KEY: "order\n9" }, /^IDEMPOTENCY_KEY has characters/],
    ];
    for (const [words, env, line] of wrongs) {
      const { exit, out, err } = await run(words, dir, env);
      expect([words, env, exit, out, err.split("\n")]).toEqual([words, env, 2, "", [expect.stringMatching(line), ""]]);
    }
    expect(await harness.balance()).toEqual(before);
    expect(readdirSync(dir)).toEqual([]);
  },
  60_000,
);

test.skipIf(python === null)(
  "Ctrl-C ends the Python example with 130 and one line, and the named command fetches the generation that continued",
  async () => {
    const dir = freshDir();
    const env = { PATH: process.env.PATH ?? "", GENROUTER_URL: harness.url, GENROUTER_API_KEY: harness.tenant.key };
    const child = Bun.spawn([python ?? "python3", EXAMPLE, "sim-image-1", '{"prompt": "[sim:slow] robot"}', "robot.png"], {
      ...{ cwd: dir, env, stdout: "pipe", stderr: "pipe" },
    });
    let err = "";
    for await (const chunk of child.stderr) {
      if (err === "") child.kill("SIGINT");
      err += new TextDecoder().decode(chunk);
    }
    expect(await child.exited).toBe(130);
    const [quoted = "", stopped = "", ...rest] = err.split("\n");
    expect([quoted, stopped, rest]).toEqual([
      expect.stringMatching(/^gen_\w+ quoted \$/),
      expect.stringMatching(
        /^stopped; a submitted generation continues, and the same command with IDEMPOTENCY_KEY=\S+ fetches it$/,
      ),
      [""],
    ]);
    const [, key = ""] = /IDEMPOTENCY_KEY=(\S+)/.exec(stopped) ?? [];
    const again = await run(["sim-image-1", '{"prompt": "[sim:slow] robot"}', "robot.png"], dir, { IDEMPOTENCY_KEY: key });
    expect([again.exit, again.err.split(" ")[0]]).toEqual([0, quoted.split(" ")[0] ?? ""]);
    expect(readdirSync(dir)).toContain("robot.png");
  },
  60_000,
);
