// `genrouter catalogue`: faults with file and line, differences, export, and a reload that a running service rejects.
import { afterAll, describe, expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Change } from "../../catalogue/diff.ts";
import { runHere } from "./captured.ts";
import { dropDirs, freshDir } from "./fresh-dir.ts";

afterAll(dropDirs);

const root = join(import.meta.dir, "../..");
const WRITTEN = readFileSync(join(root, "catalogue/models/sim-image-1.json"), "utf8");
const DIALECT = readFileSync(join(root, "catalogue/dialects/bfl.json"), "utf8");

/** Creates a catalogue directory with one model and the given other files. */
const folder = (model: string, more: Record<string, string> = {}): string => {
  const dir = freshDir();
  for (const [name, text] of Object.entries({ "models/a.json": model, ...more })) {
    mkdirSync(join(dir, name, ".."), { recursive: true });
    writeFileSync(join(dir, name), text);
  }
  return dir;
};
/** Returns the text with `from` replaced, and the line number of the replacement. */
const edited = (text: string, from: string, to: string): { text: string; line: number } => {
  const at = text.indexOf(from);
  if (at < 0) throw new Error(`there is no ${from}`);
  return { text: text.replace(from, () => to), line: text.slice(0, at).split("\n").length };
};

describe("catalogue check", () => {
  test("prints the numbers of models, routes and own providers of a valid directory", async () => {
    const dir = folder(WRITTEN, { "providers/mine.json": edited(DIALECT, '"bfl"', '"mine"').text });
    expect(await runHere(["catalogue", "check", dir])).toEqual({
      exit: 0,
      out: expect.stringMatching(/^✔ \S+: 1 model, \d+ routes, 1 provider of the directory\n$/),
      err: "",
    });
    expect((await runHere(["catalogue", "check", dir, "--json"])).out).toBe('{"ok":true,"faults":[]}\n');
  });

  test.each<[string, string, string, RegExp]>([
    [
      "an unknown key",
      '"input_kind": "common",',
      '"input_kind": "common", "colour": 1,',
      /unknown key; allowed are .*input_kind.* \(at \/colour\)/,
    ],
    [
      "a rate that is not a decimal string",
      '"usd": "0.02"',
      '"usd": 0.02',
      /expected a decimal string in USD.*, not 0\.02 \(at \/routes\/0\/rates\/0\/usd\)/,
    ],
    ["a rate with more than six decimals", '"usd": "0.02"', '"usd": "0.0200001"', /at most six decimals, not "0\.0200001"/],
    ["an unknown provider", '"provider": "fal"', '"provider": "unknown"', /unknown provider unknown; known are /],
    [
      "a default outside its options",
      '"default": "medium"',
      '"default": "best"',
      /best is not one of its values: low, medium, high/,
    ],
  ])("exits with 2 and prints the file and line of %s", async (_, from, to, message) => {
    const { text, line } = edited(WRITTEN, from, to);
    const dir = folder(text);
    const { exit, out, err } = await runHere(["catalogue", "check", dir]);
    expect(exit).toBe(2);
    expect(out).toBe("");
    const [first = ""] = err.split("\n");
    expect(first).toStartWith(`${dir}/models/a.json:${line}: `);
    expect(first).toMatch(message);
  });

  test("reports a route whose end date is near or past, as do routes list and doctor", async () => {
    const dayIn = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
    const rows: [days: number, said: string][] = [
      [10, `its last day is ${dayIn(10)}`],
      [-2, `its last day was ${dayIn(-2)}: it is in no plan any more`],
    ];
    for (const [days, said] of rows) {
      const dir = folder(edited(WRITTEN, '"provider": "fal",', `"provider": "fal", "ends": "${dayIn(days)}",`).text);
      const checked = await runHere(["catalogue", "check", dir]);
      expect([checked.exit as number, checked.err]).toEqual([0, `sim-image-1/fal: ${said}\n`]);
      const json = JSON.parse((await runHere(["catalogue", "check", dir, "--json"])).out);
      expect(json.ending).toEqual([{ route: "sim-image-1/fal", ends: dayIn(days), has_ended: days < 0 }]);
      const data = freshDir();
      await runHere(["accounts", "create", "--name", "a", "--simulate", "--data", data]);
      const env = { GENROUTER_CATALOGUE__DIR: dir };
      const list = JSON.parse((await runHere(["routes", "list", "--json", "--data", data], env)).out);
      expect(list.find(({ id }: { id: string }) => id === "sim-image-1/fal")).toMatchObject({
        ...{ state: days < 0 ? "ended" : "up", reason: said },
      });
      const found = JSON.parse((await runHere(["doctor", "--json", "--data", data], env)).out);
      expect(JSON.stringify(found)).toContain(`sim-image-1/fal: ${said}`);
    }
    const far = folder(edited(WRITTEN, '"provider": "fal",', `"provider": "fal", "ends": "${dayIn(40)}",`).text);
    expect((await runHere(["catalogue", "check", far])).err).toBe("");
  });

  test("reports a missing key at the line of the object that lacks it", async () => {
    const dir = folder(edited(WRITTEN, '"provider": "fal",', "").text);
    const { line } = edited(WRITTEN, '{\n      "id": "sim-image-1/fal"', "");
    expect((await runHere(["catalogue", "check", dir])).err).toMatch(
      new RegExp(`^${dir}/models/a\\.json:${line}: is missing; expected .+ \\(at /routes/0/provider\\)\n$`),
    );
  });

  test("reports a model id that two files use in the second file, and its duplicate route ids", async () => {
    const dir = folder(WRITTEN, { "models/b.jsonc": `// again\n${WRITTEN}` });
    const { exit, err } = await runHere(["catalogue", "check", dir]);
    expect(exit).toBe(2);
    expect(err.split("\n")[0]).toBe(`${dir}/models/b.jsonc:4: the id sim-image-1 is used by another file (at /id)`);
    expect(err).toMatch(/b\.jsonc:\d+: the id sim-image-1\/fal is used twice/);
  });

  test("reports a JSON syntax error with line and column", async () => {
    const { text, line } = edited(WRITTEN, '"kind": "image",', '"kind" "image",');
    const dir = folder(text);
    expect((await runHere(["catalogue", "check", dir])).err).toBe(`${dir}/models/a.json:${line}:10: not JSON: colon expected\n`);
  });

  test("reports all faults at once, including those of dialect files", async () => {
    const { text, line } = edited(DIALECT, '"submit": {', '"submits": {');
    const dir = folder(WRITTEN, { "providers/x.json": "{", "providers/bfl.json": text });
    const { exit, err } = await runHere(["catalogue", "check", dir]);
    expect(exit).toBe(2);
    const lines = err.trimEnd().split("\n");
    expect(lines).toHaveLength(2);
    expect(lines.join("\n")).toContain(`${dir}/providers/x.json:1:2: not JSON: `);
    expect(lines.find((one) => one.includes("bfl.json"))).toMatch(new RegExp(`^${dir}/providers/bfl\\.json:(1|${line}): `));
    const reported = JSON.parse((await runHere(["catalogue", "check", dir, "--json"])).out);
    expect(reported).toEqual({ ok: false, faults: lines });
  });

  test("prints the same lines as serve, which exits with 2 without a stack trace", async () => {
    const { text } = edited(DIALECT, '"submit": {', '"submits": {');
    for (const dir of [folder(edited(WRITTEN, '"fal"', '"unknown"').text), folder(WRITTEN, { "providers/bfl.json": text })]) {
      const checked = await runHere(["catalogue", "check", dir]);
      const started = await runHere(["serve", "--simulate", "--port", "0", "--catalogue", dir, "--data", freshDir()]);
      expect(started.exit).toBe(2);
      expect(started.err).toBe(`error: ${checked.err.trimEnd().split("\n").join("\n  ")}\n`);
    }
  });

  test("exits with 2 and prints its usage when no directory is given", async () => {
    const { exit, err } = await runHere(["catalogue", "check"]);
    expect(exit).toBe(2);
    expect(err).toContain("genrouter catalogue check DIR");
  });
});

describe("catalogue diff", () => {
  test("lists added and removed models, and changed rates and fields with their old and new values", async () => {
    const base = freshDir();
    cpSync(join(root, "catalogue/models"), join(base, "models"), { recursive: true });
    const same = await runHere(["catalogue", "diff", base, "--data", base]);
    expect(same).toEqual({ exit: 0, out: "no differences from the built-in catalogue\n", err: "" });
    const path = join(base, "models/sim-image-1.json");
    const dearer = edited(
      edited(WRITTEN, '"usd": "0.02"', '"usd": "0.025"').text,
      '"max_length": 30000',
      '"max_length": 20000',
    ).text;
    writeFileSync(path, dearer);
    writeFileSync(join(base, "models/zebra.json"), WRITTEN.replaceAll("sim-image-1", "zebra-1"));
    writeFileSync(
      join(base, "models/kokoro-82m.json"),
      readFileSync(join(base, "models/kokoro-82m.json"), "utf8").replaceAll("kokoro-82m", "kokoro-83m"),
    );
    const { out } = await runHere(["catalogue", "diff", base, "--data", base]);
    const lines = out.trimEnd().split("\n");
    expect(lines).toContain("~ sim-image-1  fields.prompt.max_length: 30000 → 20000");
    expect(lines).toContain("~ sim-image-1/fal  rates quality low: 0.02 → 0.025 USD");
    expect(lines.find((line) => line.includes("zebra-1"))).toMatch(
      /^\+ model zebra-1 {2}\(image, \d+ routes, [\d.]+–[\d.]+ USD per generation\)$/,
    );
    expect(lines.find((line) => line.includes("kokoro-82m"))).toStartWith("− model kokoro-82m  (audio, ");
    const { changes } = JSON.parse((await runHere(["catalogue", "diff", base, "--data", base, "--json"])).out) as {
      changes: Change[];
    };
    expect(changes.filter(({ what }) => what === "rate")).toEqual([
      { what: "rate", of: "sim-image-1/fal", at: "rates quality low", before: "0.02", after: "0.025" },
    ]);
    expect(changes).toHaveLength(lines.length);
  });
});

describe("a running service", () => {
  test("keeps its catalogue and logs one error when SIGHUP loads an invalid file; diff compares with the loaded catalogue", async () => {
    const [dir, data] = [folder(WRITTEN), freshDir()];
    const service = Bun.spawn(
      [process.execPath, join(root, "src/main.ts"), "serve", "--simulate", "--port", "0", "--catalogue", dir, "--data", data],
      {
        env: { PATH: process.env.PATH ?? "" },
        stdout: "pipe",
        stderr: "pipe",
      },
    );
    const said = new TextDecoder().decode((await service.stdout.getReader().read()).value);
    const url = /^url (\S+)/.exec(said)?.[1] ?? "";
    let log = "";
    const reader = service.stderr.getReader();
    const until = async (mark: string): Promise<void> => {
      while (!log.includes(mark)) {
        const { value, done } = await reader.read();
        if (done) throw new Error(log);
        log += new TextDecoder().decode(value);
      }
    };
    await until("recovery finished");
    const models = async () => (await (await fetch(`${url}/v1/models`)).json()) as object;
    const before = await models();
    const { text, line } = edited(WRITTEN, '"provider": "fal"', '"provider": "unknown"');
    writeFileSync(join(dir, "models/a.json"), text);
    service.kill("SIGHUP");
    await until("config reload rejected");
    expect(await models()).toEqual(before);
    const errors = () => log.split("\n").filter((one) => one.includes('"level":"error"'));
    expect(errors()).toHaveLength(1);
    expect(JSON.parse(errors()[0] ?? "")).toMatchObject({
      msg: "config reload rejected",
      reason: expect.stringContaining(
        `the previous configuration stays active; ${dir}/models/a.json:${line}: unknown provider unknown`,
      ),
    });
    // After a valid reload the service has the new catalogue, and diff compares with it.
    writeFileSync(join(dir, "models/a.json"), edited(WRITTEN, '"usd": "0.02"', '"usd": "0.025"').text);
    const differs = await runHere(["catalogue", "diff", dir, "--data", data]);
    expect(differs).toEqual({
      exit: 0,
      out: "~ sim-image-1/fal  rates quality low: 0.02 → 0.025 USD\n",
      err: "against the running service:\n",
    });
    service.kill("SIGHUP");
    await until("config reloaded");
    expect((await runHere(["catalogue", "diff", dir, "--data", data])).out).toBe("no differences from the running service\n");
    service.kill("SIGTERM");
    expect(await service.exited).toBe(0);
    await until("service stopped");
    expect(errors()).toHaveLength(1);
  });
});

test("catalogue export writes files that equal the built-in catalogue, and overwrites no file", async () => {
  const dir = join(freshDir(), "mine");
  const { exit, out } = await runHere(["catalogue", "export", dir, "--json"]);
  expect(exit).toBe(0);
  expect((JSON.parse(out) as { models: number }).models).toBeGreaterThan(70);
  expect((await runHere(["catalogue", "check", dir])).exit).toBe(0);
  const diff = await runHere(["catalogue", "diff", dir, "--json", "--data", join(freshDir(), "none")]);
  expect(JSON.parse(diff.out)).toMatchObject({ changes: [] });
  expect(readFileSync(join(dir, "models", "chatterbox.json"), "utf8")).toContain('"$schema": "../catalogue.schema.json"');
  expect(existsSync(join(dir, "catalogue.schema.json"))).toBe(true);
  const again = await runHere(["catalogue", "export", dir]);
  expect([again.exit as number, again.err]).toEqual([2, expect.stringContaining("an export overwrites no files")]);
});
