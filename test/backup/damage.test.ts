// backup verify finds every class of damage and names the path, and backup restore restores nothing that is damaged.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { appendFileSync, cpSync, existsSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { casesOfShare } from "../case-share.ts";
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
/** Increments a number in the text of the manifest. */
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
  ["a changed byte of the database", (dir) => flip(join(dir, "genrouter.db"), middle), () => "genrouter.db"],
  ["a changed first byte of the database", (dir) => flip(join(dir, "genrouter.db"), () => 0), () => "genrouter.db"],
  ["a changed last byte of the database", (dir) => flip(join(dir, "genrouter.db"), (size) => size - 1), () => "genrouter.db"],
  ["a changed byte of a result file", (dir) => flip(join(dir, file), middle), () => file],
  ["a truncated result file", (dir) => truncateSync(join(dir, file), 10), () => file],
  ["a truncated database", (dir) => truncateSync(join(dir, "genrouter.db"), 8192), () => "genrouter.db"],
  ["a result file with an appended byte", (dir) => appendFileSync(join(dir, file), "x"), () => file],
  ["a missing result file", (dir) => rmSync(join(dir, file)), () => file],
  ["a missing database", (dir) => rmSync(join(dir, "genrouter.db")), () => "genrouter.db"],
  ["a missing manifest", (dir) => rmSync(join(dir, "manifest.json")), () => "manifest.json"],
  ["a truncated manifest", (dir) => truncateSync(join(dir, "manifest.json"), 300), () => "manifest.json"],
  ["a changed size in the manifest", (dir) => raise(dir, /"bytes":\d+/), () => "manifest.json"],
  ["a changed sum in the manifest", (dir) => raise(dir, /"available": \d+/), () => "manifest.json"],
  ["a changed time in the manifest", (dir) => raise(dir, /"taken_at_ms": \d+/), () => "manifest.json"],
  ["appended white space in the manifest", (dir) => appendFileSync(join(dir, "manifest.json"), " "), () => "manifest.json"],
  ["a file that is not in the manifest", (dir) => writeFileSync(join(dir, "files/stranger"), "x"), () => "files/stranger"],
  ["a write-ahead log that is not empty", (dir) => writeFileSync(join(dir, "genrouter.db-wal"), "x"), () => "genrouter.db-wal"],
  ["a symbolic link to the outside", (dir) => symlinkSync("/etc/hostname", join(dir, "link")), () => "link"],
];

test.each(casesOfShare("damages of a backup", DAMAGES, ([name]) => name))(
  "verify names the path and restore refuses: %s",
  async (_, damage, path) => {
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
  },
);

test("rejects a manifest with any changed byte", async () => {
  const { readManifest } = await import("../../src/backup/manifest.ts");
  const bytes = readFileSync(join(sound, "manifest.json"));
  expect(readManifest(bytes, sound).form).toBe(1);
  for (let at = 0; at < bytes.length; at += 1) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(() => readManifest(changed, sound)).toThrow(/manifest\.json/);
  }
});

test("rejects a manifest of a newer format", async () => {
  const { printManifest, readManifest } = await import("../../src/backup/manifest.ts");
  const manifest = readManifest(readFileSync(join(sound, "manifest.json")), sound);
  const newer = Buffer.from(printManifest({ ...manifest, form: 2 as 1 }));
  expect(() => readManifest(newer, sound)).toThrow(/its format is 2; this release supports 1; use the newer release/);
});

test("rejects a manifest entry whose path leaves the backup", async () => {
  const { printManifest, readManifest } = await import("../../src/backup/manifest.ts");
  const manifest = readManifest(readFileSync(join(sound, "manifest.json")), sound);
  for (const path of ["../x", "/etc/passwd", "files/../../x", "files/./x", ""]) {
    const entries = [{ path, bytes: 1, sha256: "0".repeat(64) }];
    expect(() => readManifest(Buffer.from(printManifest({ ...manifest, entries })), sound)).toThrow(/entries/);
  }
});
