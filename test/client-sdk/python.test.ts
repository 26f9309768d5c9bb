// The example in Python, as it stands, against the real service: two files on disk, one generation per key, and a no in one line.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { type Harness, openHarness } from "../harness.ts";

const EXAMPLE = join(import.meta.dir, "../../examples/python/generate.py");
const python = Bun.which("python3");
if (python === null) process.stdout.write("skipped: the example in Python (there is no python3 on this machine)\n");

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
  "both pictures are saved under the wanted name, and the same key finds them again without another charge",
  async () => {
    const dir = freshDir();
    const key = { IDEMPOTENCY_KEY: "order-9" };
    const first = await run([...PICTURES, "robot.png"], dir, key);
    expect([first.exit, first.out]).toEqual([0, "robot.png\nrobot-2.png\n"]);
    for (const name of readdirSync(dir))
      expect((await new Bun.Image(await Bun.file(join(dir, name)).bytes()).metadata()).format).toBe("png");
    expect(readdirSync(dir)).toHaveLength(2);
    const { charged } = await harness.balance();
    const again = await run(PICTURES, dir, key);
    expect(again.exit).toBe(0);
    const [id = ""] = first.err.split(" ");
    expect(again.out).toBe(`${id}.png\n${id}-2.png\n`);
    expect(await harness.balance()).toMatchObject({ charged, held: 0 });
  },
  60_000,
);

test.skipIf(python === null)(
  "a generation that fails ends with 1, a no with 2 and its code, neither with a trace",
  async () => {
    const dir = freshDir();
    const failed = await run(["vidmodel-2.0-fast", '{"prompt": "[sim:fail-later]", "duration": 4, "resolution": "480p"}'], dir);
    expect([failed.exit, failed.err.split("\n")[1]]).toEqual([1, expect.stringMatching(/^failed: provider_failed: /)]);
    const refused = await run(["vidmodel-9", "{}"], dir);
    expect([refused.exit, refused.err]).toEqual([2, expect.stringMatching(/^model_not_available: .*\(request req_\w+\)\n$/)]);
    expect(readdirSync(dir)).toEqual([]);
  },
  60_000,
);

test.skipIf(python === null)(
  "what cannot work is one line and 2, and nothing is bought for it",
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
