// Exit codes of a failed start: unreadable input is restarted by systemd, invalid input is not.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EXITS } from "../../src/cli/exit-codes.ts";
import { dropScratch } from "../scratch.ts";
import { runAs } from "./as-user.ts";

const unit = readFileSync(join(import.meta.dir, "../../deploy/systemd/genrouter.service"), "utf8");
const neverRestarted = (/^RestartPreventExitStatus=(.*)$/m.exec(unit)?.[1] ?? "").split(" ").map(Number);

let dir = "";
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "gr-a15-"));
  chmodSync(dir, 0o777);
});
afterAll(() => dropScratch(dir));

const file = (name: string, text: string, mode = 0o644): string => {
  const path = join(dir, name);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
};
const folder = (name: string, mode: number): string => {
  const path = join(dir, name);
  mkdirSync(path);
  chmodSync(path, mode);
  return path;
};
const catalogue = (name: string, text: string, mode = 0o644): string => {
  const path = folder(name, 0o755);
  mkdirSync(join(path, "models"));
  writeFileSync(join(path, "models/one.json"), text);
  chmodSync(join(path, "models/one.json"), mode);
  return path;
};
const serve = (env: Record<string, string>, words: string[] = []) =>
  runAs("unprivileged", ["serve", "--simulate", "--port", "0", "--data", join(dir, "data"), ...words], { env });

const FILE = "GENROUTER_OPERATOR__TOKEN_FILE";
test.each<[string, () => Record<string, string>, RegExp]>([
  ["an unreadable credentials directory", () => ({ CREDENTIALS_DIRECTORY: folder("c1", 0o700) }), /EACCES/],
  [
    "an unreadable credential file",
    () => {
      const path = folder("c2", 0o755);
      file("c2/operator.token", "a-token-of-some-length-here", 0o600);
      return { CREDENTIALS_DIRECTORY: path };
    },
    /the credential operator\.token: .* cannot be read \(EACCES\)/,
  ],
  ["an unreadable settings file", () => ({ GENROUTER_CONFIG: file("s1.toml", "", 0o600) }), /EACCES/],
  ["a half-written settings file", () => ({ GENROUTER_CONFIG: file("s2.toml", '[server]\nhost = "127.0') }), /s2\.toml:2:\d+: /],
  ["an unreadable secret file", () => ({ [FILE]: file("t1", "token", 0o600) }), /EACCES/],
  ["an unreadable model file", () => ({ GENROUTER_CATALOGUE__DIR: catalogue("m1", "{}", 0o600) }), /EACCES/],
  [
    "a half-written model file",
    () => ({ GENROUTER_CATALOGUE__DIR: catalogue("m2", '{"id": "one", ') }),
    /one\.json:1:\d+: not JSON/,
  ],
])("%s ends a start with an exit code that systemd restarts", async (_, env, reported) => {
  const ran = await serve(env());
  expect([ran.exit, ran.err]).toEqual([EXITS.tryAgain, expect.stringMatching(reported)]);
  expect(neverRestarted).not.toContain(EXITS.tryAgain);
});

test.each<[string, () => Record<string, string>, RegExp]>([
  ["a value out of range", () => ({ GENROUTER_CONFIG: file("w1.toml", "[limits]\nin_progress = -1\n") }), /limits\.in_progress/],
  ["an unknown setting", () => ({ GENROUTER_CONFIG: file("w2.toml", "[server]\nprot = 1\n") }), /server\.prot/],
  ["a missing secret file", () => ({ [FILE]: join(dir, "none") }), /ENOENT/],
  ["a missing settings file", () => ({ GENROUTER_CONFIG: join(dir, "none.toml") }), /ENOENT/],
  ["a directory in place of a secret file", () => ({ [FILE]: folder("d1", 0o755) }), /EISDIR/],
  [
    "a model file that is valid JSON but not a model",
    () => ({ GENROUTER_CATALOGUE__DIR: catalogue("m3", '{"id": "one"}') }),
    /one\.json:1: /,
  ],
])("%s ends a start with an exit code that systemd does not restart", async (_, env, reported) => {
  const ran = await serve(env());
  expect([ran.exit, ran.err]).toEqual([EXITS.usage, expect.stringMatching(reported)]);
  expect(neverRestarted).toContain(EXITS.usage);
});
