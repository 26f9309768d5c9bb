// Every class of damage to a backup is found by verify and told with its path, and nothing damaged is restored.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { appendFileSync, cpSync, existsSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runHere } from "../cli/captured.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { backUp, filesBelow, play } from "./fixture.ts";

let sound: string;
let file: string;
beforeAll(async () => {
  const data = freshDir();
  await play(data);
  sound = backUp(data, freshDir()).path;
  file = [...filesBelow(sound).keys()].find((path) => path.startsWith("files/")) ?? "";
});
afterAll(dropDirs, 60_000);

const flip = (path: string, at: (size: number) => number) => {
  const bytes = readFileSync(path);
  const place = at(bytes.length);
  bytes[place] = (bytes[place] ?? 0) ^ 1;
  writeFileSync(path, bytes);
};
const middle = (size: number) => Math.floor(size / 2);
/** A number in the manifest's text, one higher. */
const raise = (dir: string, pattern: RegExp) => {
  const path = join(dir, "manifest.json");
  const text = readFileSync(path, "utf8");
  expect(text).toMatch(pattern);
  writeFileSync(
    path,
    text.replace(pattern, (found) => found.replace(/\d(?=\D*$)/, (digit) => String((Number(digit) + 1) % 10))),
  );
};

const DAMAGES: [string, (dir: string) => void, () => string][] = [
  ["a byte of the database", (dir) => flip(join(dir, "genrouter.db"), middle), () => "genrouter.db"],
  ["the first byte of the database", (dir) => flip(join(dir, "genrouter.db"), () => 0), () => "genrouter.db"],
  ["the last byte of the database", (dir) => flip(join(dir, "genrouter.db"), (size) => size - 1), () => "genrouter.db"],
  ["a byte of a result file", (dir) => flip(join(dir, file), middle), () => file],
  ["a result file cut short", (dir) => truncateSync(join(dir, file), 10), () => file],
  ["the database cut short", (dir) => truncateSync(join(dir, "genrouter.db"), 8192), () => "genrouter.db"],
  ["a result file with more at its end", (dir) => appendFileSync(join(dir, file), "x"), () => file],
  ["a result file missing", (dir) => rmSync(join(dir, file)), () => file],
  ["the database missing", (dir) => rmSync(join(dir, "genrouter.db")), () => "genrouter.db"],
  ["the manifest missing", (dir) => rmSync(join(dir, "manifest.json")), () => "manifest.json"],
  ["the manifest cut short", (dir) => truncateSync(join(dir, "manifest.json"), 300), () => "manifest.json"],
  ["a size in the manifest", (dir) => raise(dir, /"bytes":\d+/), () => "manifest.json"],
  ["a sum in the manifest", (dir) => raise(dir, /"available": \d+/), () => "manifest.json"],
  ["the moment in the manifest", (dir) => raise(dir, /"taken_at_ms": \d+/), () => "manifest.json"],
  ["white space in the manifest", (dir) => appendFileSync(join(dir, "manifest.json"), " "), () => "manifest.json"],
  ["a file beside the others", (dir) => writeFileSync(join(dir, "files/stranger"), "x"), () => "files/stranger"],
  ["a log that holds something", (dir) => writeFileSync(join(dir, "genrouter.db-wal"), "x"), () => "genrouter.db-wal"],
  ["a link out of it", (dir) => symlinkSync("/etc/hostname", join(dir, "link")), () => "link"],
];

test.each(DAMAGES)("%s", async (_, damage, path) => {
  const copy = join(freshDir(), "genrouter-20261019T120000Z");
  cpSync(sound, copy, { recursive: true });
  expect((await runHere(["backup", "verify", copy])).exit as number).toBe(0);
  damage(copy);
  const seen = await runHere(["backup", "verify", copy]);
  expect(seen.exit as number).not.toBe(0);
  expect(`${seen.out}${seen.err}`).toContain(path());
  expect(seen.out).not.toContain("verified");
  const to = join(freshDir(), "data");
  const restored = await runHere(["backup", "restore", copy, "--to", to, "--yes"]);
  expect([restored.exit === 0, existsSync(to)]).toEqual([false, false]);
});

test("each byte of the manifest counts", async () => {
  const { readManifest } = await import("../../src/backup/manifest.ts");
  const bytes = readFileSync(join(sound, "manifest.json"));
  expect(readManifest(bytes, sound).form).toBe(1);
  for (let at = 0; at < bytes.length; at += 1) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(() => readManifest(changed, sound)).toThrow(/manifest\.json/);
  }
});

test("a backup of a newer form is not read for an older one", async () => {
  const { printManifest, readManifest } = await import("../../src/backup/manifest.ts");
  const manifest = readManifest(readFileSync(join(sound, "manifest.json")), sound);
  const newer = Buffer.from(printManifest({ ...manifest, form: 2 as 1 }));
  expect(() => readManifest(newer, sound)).toThrow(/its form is 2 and this release knows 1; use the newer release/);
});

test("a manifest never leads out of its backup", async () => {
  const { printManifest, readManifest } = await import("../../src/backup/manifest.ts");
  const manifest = readManifest(readFileSync(join(sound, "manifest.json")), sound);
  for (const path of ["../x", "/etc/passwd", "files/../../x", "files/./x", ""]) {
    const entries = [{ path, bytes: 1, sha256: "0".repeat(64) }];
    expect(() => readManifest(Buffer.from(printManifest({ ...manifest, entries })), sound)).toThrow(/entries/);
  }
});
