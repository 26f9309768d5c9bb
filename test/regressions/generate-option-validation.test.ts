// `generate` and `download` validate options and output paths before they send a request.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runHere } from "../cli/captured.ts";
import { type Harness, openHarness, type ReceivedResponse } from "../harness.ts";
import { dropScratch } from "../scratch.ts";
import { runAs } from "./as-user.ts";

let harness: Harness;
let heard: ReceivedResponse[] = [];
let dir = "";
beforeAll(async () => {
  harness = await openHarness({ onResponse: (answer) => heard.push(answer) });
  dir = mkdtempSync(join(tmpdir(), "gr-b7-"));
  chmodSync(dir, 0o777);
  mkdirSync(join(dir, "ro"));
  mkdirSync(join(dir, "rw"));
  chmodSync(join(dir, "rw"), 0o777);
  writeFileSync(join(dir, "rw/kept.png"), "kept");
  chmodSync(join(dir, "rw/kept.png"), 0o444);
  writeFileSync(join(dir, "rw/root.png"), "root");
  mkdirSync(join(dir, "rw/folder"));
  mkdirSync(join(dir, "rw/open"));
  chmodSync(join(dir, "rw/open"), 0o777);
  mkdirSync(join(dir, "shared"));
  writeFileSync(join(dir, "shared/other.png"), "other");
  chmodSync(join(dir, "shared/other.png"), 0o666);
  chmodSync(join(dir, "shared"), 0o1777);
  mkdirSync(join(dir, "secret"));
  chmodSync(join(dir, "secret"), 0o700);
  symlinkSync(join(dir, "ro/target.png"), join(dir, "rw/link.png"));
  symlinkSync("circle.png", join(dir, "rw/circle.png"));
});
afterAll(async () => {
  await harness.close();
  dropScratch(dir);
});

const client = () => ["--url", harness.url, "--key", harness.tenant.key];
const generate = () => ["generate", "sim-image-1", "--prompt", "x", ...client()];

test.each<[string[], RegExp]>([
  [["--timeout", "abc"], /^error: --timeout: "abc" is not a whole number from 1 to 604800\n$/],
  [["--timeout", "0"], /^error: --timeout: "0" is not a whole number/],
  [["--max-wait-s", "1.5"], /^error: --max-wait-s: "1.5" is not a whole number/],
  [["--max-cost-usd", "free"], /^error: --max-cost-usd: free is not an amount/],
  [["--seed", "one"], /--seed/],
  [["--input", "{"], /^error: --input: not JSON/],
  [["--idempotency-key", ""], /^error: --idempotency-key: "" is not 1 to 200 printable ASCII characters/],
  [["--idempotency-key", "a\nb"], /^error: --idempotency-key: "a\\nb" is not/],
  [["--idempotency-key", "k".repeat(201)], /^error: --idempotency-key: /],
  [["--no-wait", "-o", "x.png"], /^error: --no-wait and -o exclude each other/],
  [["--no-wait", "--timeout", "5"], /^error: --no-wait and --timeout exclude each other/],
  [["-o", ""], /^error: -o: "" cannot be written: it is not a path\n$/],
  [["--json", "-o", "-"], /--json and -o - both write to standard output/],
  [["--json", "-o", "/dev/stdout"], /--json and -o \/dev\/stdout both write to standard output/],
  [["--key", "two words"], /^error: the API key is invalid; expected printable ASCII without spaces\n/],
  [["--url", "localhost"], /^error: "localhost" is not a valid URL\n/],
  [["--timout", "5"], /unknown option '--timout'/],
])("generate %j fails with a usage error before it sends a request", async (options, error) => {
  heard = [];
  const ran = await runHere([...generate(), ...options]);
  expect({ exit: ran.exit as number, out: ran.out, heard }).toEqual({ exit: 2, out: "", heard: [] });
  expect(ran.err).toMatch(error);
});

/** Output paths that an unprivileged user cannot write, and the error message of each. */
const PLACES: readonly [place: string, why: RegExp][] = [
  ["ro/x.png", /-o: .*ro\/x\.png cannot be written: no file can be made in .*\/ro \(permission denied\)/],
  ["ro/", /no file can be made in .*\/ro\/ \(permission denied\)/],
  ["ro", /no file can be made in .*\/ro \(permission denied\)/],
  ["rw/kept.png", /rw\/kept\.png cannot be written: it is a read-only file/],
  ["rw/root.png", /rw\/root\.png cannot be written: permission denied/],
  ["rw/link.png", /no file can be made in .*\/ro \(permission denied\)/],
  ["rw/circle.png", /its symbolic links lead in a circle/],
  ["rw/kept.png/x.png", /a part of its path is not a directory|is not a directory/],
  ["rw/absent/x.png", /there is no directory .*rw\/absent\n {2}mkdir -p .*rw\/absent\n$/],
  ["rw/absent/", /there is no directory .*rw\/absent\/\n {2}mkdir -p/],
  ["rw/folder/", /no file can be made in .*folder\/ \(permission denied\)/],
  ["shared/other.png", /it is another user's file/],
  ["secret/x.png", /permission denied/],
  [`rw/${"x".repeat(256)}`, /the name is too long/],
];

test.each(PLACES)("generate and download reject the unwritable output path %s before they send a request", async (place, why) => {
  heard = [];
  const where = join(dir, place);
  for (const words of [generate(), ["download", "gen_01kx", ...client()]]) {
    const ran = await runAs("unprivileged", [...words, "-o", where], { cwd: join(dir, "rw") });
    expect({ exit: ran.exit, out: ran.out.toString() }).toEqual({ exit: 2, out: "" });
    expect(ran.err).toStartWith("error: -o: ");
    expect(ran.err).toMatch(why);
  }
  expect(heard).toEqual([]);
});

test("generate without -o checks the current directory and leaves no test file", async () => {
  heard = [];
  const refused = await runAs("unprivileged", generate(), { cwd: join(dir, "ro") });
  expect([refused.exit, refused.err]).toEqual([2, expect.stringMatching(/^error: -o: the current directory cannot be written/)]);
  expect(heard).toEqual([]);
  expect(readdirSync(join(dir, "ro"))).toEqual([]);
  const place = join(dir, "rw/open");
  const long = `${"ü".repeat(120)}.png`;
  const ran = await runAs("unprivileged", [...generate(), "-o", join(place, long)], { cwd: place });
  expect([ran.exit, ran.err]).toEqual([0, expect.any(String)]);
  expect(readdirSync(place)).toContain(long);
  expect(readdirSync(place).filter((name) => name.endsWith(".part"))).toEqual([]);
});
