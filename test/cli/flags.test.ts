// The command line: input fields as flags, usage errors with exit codes, help with examples, and settings from flags.
import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { FIELD_NAMES } from "../../catalogue/fields.ts";
import { inputOf, withFields } from "../../src/cli/input-flags.ts";
import { buildProgram } from "../../src/cli/program.ts";
import { createTerminal, wantsColour } from "../../src/cli/terminal.ts";
import { readSettings } from "../../src/config/load.ts";
import { runHere } from "./captured.ts";
import { dropDirs, freshDir } from "./fresh-dir.ts";

afterAll(dropDirs);

const inputFrom = (words: string[]) => {
  const command = withFields(new Command())
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
  command.parse(words, { from: "user" });
  return inputOf(command.opts());
};

describe("input flags", () => {
  test("has a flag for every field of the API", () => {
    const flags = withFields(new Command()).options.map(({ long }) => long);
    for (const name of FIELD_NAMES) expect(flags).toContain(`--${name.replaceAll("_", "-")}`);
  });

  const url = "https://example.com/a";
  test.each<[string[], object]>([
    [[], {}],
    [["--prompt", "a kite"], { prompt: "a kite" }],
    [["--negative-prompt", "rain", "--seed", "0"], { negative_prompt: "rain", seed: 0 }],
    [["--image-url", url, "--end-image-url", url], { image_url: url, end_image_url: url }],
    [["--image-urls", "https://a/1", "--image-urls", "https://a/2"], { image_urls: ["https://a/1", "https://a/2"] }],
    [["--video-url", url, "--audio-url", url], { video_url: url, audio_url: url }],
    [["--video-urls", url, "--audio-urls", url], { video_urls: [url], audio_urls: [url] }],
    [
      ["--resolution", "720p", "--aspect-ratio", "16:9", "--duration", "5", "--quality", "high"],
      { resolution: "720p", aspect_ratio: "16:9", duration: 5, quality: "high" },
    ],
    [
      ["--voice", "Aria", "--language", "pt-BR", "--speed", "1.25", "--output-format", "opus"],
      { voice: "Aria", language: "pt-BR", speed: 1.25, output_format: "opus" },
    ],
    [
      ["--image-url", url, "--mask-url", url, "--background", "transparent"],
      { image_url: url, mask_url: url, background: "transparent" },
    ],
    [["--audio"], { audio: true }],
    [["--no-audio"], { audio: false }],
    [["--input", '{"prompt":"a","x":1}'], { prompt: "a", x: 1 }],
    [["--input", '{"prompt":"a","duration":9}', "--duration", "4"], { prompt: "a", duration: 4 }],
    // The service decides which durations a model offers; the flag rejects only text that is not a number.
    [["--duration", "4.5"], { duration: 4.5 }],
  ])("%p become the generation's input", (words, input) => {
    expect(inputFrom(words)).toEqual(input as never);
  });

  test("--input @FILE reads the file", () => {
    const path = join(freshDir(), "input.json");
    writeFileSync(path, '{"prompt":"from a file"}');
    expect(inputFrom(["--input", `@${path}`])).toEqual({ prompt: "from a file" });
  });

  test.each([[["--duration", "soon"]], [["--seed", "1e3"]]])("%p are rejected", (words) => {
    expect(() => inputFrom(words)).toThrow();
  });
});

describe("an error of a command", () => {
  const dir = freshDir();
  test.each<[string[], number, RegExp]>([
    [["acounts"], 2, /unknown command 'acounts'\n\(Did you mean accounts\?\)/],
    [["accounts", "list", "--datta", "x"], 2, /unknown option '--datta'/],
    [["credits", "add", "--usd", "5"], 2, /required option '--account <id>'/],
    [["credits", "add", "--account", "a", "--usd", "1.005"], 2, /--usd: "1.005" is not an amount/],
    [["accounts", "create", "--name", "x", "--credit-usd", "-3"], 2, /--credit-usd/],
    [["accounts", "set", "a"], 2, /nothing to set/],
    [["accounts", "set", "a", "--burst", "0"], 2, /--burst: "0" is not a whole number from 1/],
    [["accounts", "set", "a", "--prompt-retention", "-1"], 2, /--prompt-retention: "-1" is not a whole number from 0/],
    [["accounts", "set", "a", "--prompt-retention", "never"], 2, /--prompt-retention: "never" is not a whole number from 0/],
    [["keys", "create", "--account", "a", "--scope", "admin"], 2, /Allowed choices are generate, read/],
    [["accounts", "list", "--data", dir], 78, /there is no database in it/],
    [["trace", "gen_x", "--data", dir], 78, /there is no database in it/],
    [["verify", "--data", dir], 78, /there is no database in it/],
    [["serve", "--port", "70000", "--simulate"], 2, /--port: "70000" is not a whole number from 0 to 65535/],
    [
      ["serve", "--simulate", "--host", "192.0.2.1", "--port", "0", "--data", dir],
      1,
      /cannot listen at 192\.0\.2\.1 port 0 \(EADDRNOTAVAIL\)/,
    ],
    [["generate", "m", "--input", "[1]", "--url", "http://127.0.0.1:9"], 2, /--input: not a JSON object/],
    [["generate", "m", "--input", "{", "--url", "http://127.0.0.1:9"], 2, /--input: not JSON/],
    [["generate", "m", "--max-cost-usd", "101", "--url", "http://127.0.0.1:9"], 2, /--max-cost-usd/],
    [["generate", "m", "-o", `${dir}/no/such/x.png`, "--url", "http://127.0.0.1:9"], 2, /there is no directory/],
    [["generate", "m", "--url", "http://127.0.0.1:9"], 3, /no API key/],
    [["get", "gen_x", "--url", "nonsense", "--key", "k"], 2, /is not a valid URL/],
    [["get", "gen_x", "--url", "http://[bad", "--key", "k"], 2, /is not a valid URL/],
    [["models", "--url", "http://127.0.0.1:9"], 1, /cannot be reached/],
    [["explain", "vidmodel-9", "{}", "--data", dir], 6, /there is no model vidmodel-9/],
    [["explain", "vidmodel-2.0", '{"prompt":"x","duration":99}', "--data", dir], 6, /input\.duration: 99 is not offered/],
  ])("makes %p exit with %d and a message without a stack trace", async (words, exit, message) => {
    const ran = await runHere(words, { GENROUTER_OPERATOR__TOKEN: "a-token-to-listen-with-beyond" });
    expect(ran.err).toMatch(message);
    expect(ran.exit as number).toBe(exit);
    expect(ran.out).toBe("");
    expect(ran.err).not.toMatch(/^\s+at /m);
  });

  test("is printed as JSON on standard error with --json", async () => {
    const ran = await runHere(["accounts", "list", "--json", "--data", dir]);
    expect(ran.out).toBe("");
    expect(JSON.parse(ran.err)).toEqual({
      error: { code: "directory_unusable", message: expect.stringContaining("no database") },
    });
  });

  test("is printed with its stack trace with --debug", async () => {
    expect((await runHere(["accounts", "list", "--debug", "--data", dir])).err).toMatch(/^\s+at /m);
  });
});

describe("help", () => {
  test("every command and every group of commands has an example, and --help exits with 0", async () => {
    const program = buildProgram({ terminal: createTerminal({}, () => undefined), env: {}, exit: 0 });
    const paths: string[][] = [];
    const walk = (command: Command, path: string[]): void => {
      for (const child of command.commands) {
        const at = [...path, child.name()];
        paths.push(at);
        walk(child, at);
      }
    };
    walk(program, []);
    expect(paths.length).toBeGreaterThanOrEqual(23);
    for (const path of paths) {
      const { exit, out } = await runHere([...path, "--help"]);
      expect([path, exit]).toEqual([path, 0]);
      expect(out).toContain(`\nExamples:\n  $ genrouter ${path.join(" ")}`);
    }
  });

  test("credits add --help states which amounts an operator can grant and customers can buy", async () => {
    const { out } = await runHere(["credits", "add", "--help"]);
    expect(out.replace(/\s+/g, " ")).toContain(
      "an operator may grant any amount; packs of 10 to 5,000 USD are what customers buy",
    );
  });

  test("--help lists the exit codes, and --version prints interface, revision, runtime and platform", async () => {
    expect((await runHere(["--help"])).out).toContain("75 try again");
    expect((await runHere(["--version"])).out).toMatch(
      /^genrouter \d+\.\d+\.\d+ \(interface 2026-10-19, rev (?:[0-9a-f]{7,}|unknown), bun \d+\.\d+\.\d+, \w+-\w+\)\n$/,
    );
  });

  test("a command line without a command exits with 2 and prints the usage", async () => {
    const { exit, err } = await runHere([]);
    expect(exit).toBe(2);
    expect(err).toContain("Usage: genrouter");
  });
});

describe("readSettings", () => {
  const keyed = { FAL_KEY: "k" };
  test("prefers flags to the environment, and the environment to defaults", () => {
    const env = { ...keyed, GENROUTER_SERVER__PORT: "9001", GENROUTER_SERVER__HOST: "::1" };
    expect(readSettings(env).server).toMatchObject({ port: 9001, host: "::1" });
    expect(readSettings(env, { server: { port: 0 } }).server).toMatchObject({ port: 0, host: "::1" });
    expect(readSettings(keyed).server).toMatchObject({ port: 8080, host: "127.0.0.1" });
  });

  test("reads provider keys from the environment", () => {
    expect(readSettings({}).providers).toEqual({});
    expect(readSettings({ GENROUTER_PROVIDERS__FAL__KEY: "k" }).providers).toEqual({ fal: { key: "k" } });
  });
});

test("every command uses the same two marks", async () => {
  const used = new Set<string>();
  for await (const path of new Bun.Glob("src/cli/**/*.ts").scan(join(import.meta.dir, "../..")))
    for (const [mark] of (await Bun.file(join(import.meta.dir, "../..", path)).text()).matchAll(/[\u2713-\u2718\u274c\u2705]/g))
      used.add(mark);
  expect([...used].sort()).toEqual(["✔", "✘"]);
});

test.each<[Record<string, string>, boolean, boolean]>([
  [{}, true, true],
  [{}, false, false],
  [{ NO_COLOR: "1" }, true, false],
  [{ FORCE_COLOR: "1" }, false, true],
  [{ FORCE_COLOR: "0" }, false, false],
  [{ NO_COLOR: "1", FORCE_COLOR: "1" }, true, false],
  [{ TERM: "dumb" }, true, false],
])("wantsColour with environment %p and terminal %p returns %p", (env, isTty, wanted) => {
  expect(wantsColour(env, isTty)).toBe(wanted);
});
