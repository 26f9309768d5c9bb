// Tests of the names and the expiry of backups that may contain what was erased since.
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { renameSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createOlderBackups } from "../../src/backup/older-backups.ts";
import { figuresOf, overLive } from "../../src/store/sqlite/snapshot-copy/stats.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { backUp, namesIn, play } from "./fixture.ts";

const DAY_MS = 86_400_000;
/** Noon of a day of October 2026. */
const noonOf = (day: number): number => Date.UTC(2026, 9, day, 12);
const data = freshDir();
let lineage = "";
let place: string;
beforeAll(async () => {
  await play(data);
  lineage = overLive(join(data, "genrouter.db"), figuresOf).lineage;
});
beforeEach(() => {
  place = join(freshDir(), "backups");
});
afterAll(dropDirs);

const backUpAt = (ms: number, madeBy: "nightly" | "command" = "nightly", keep: number | null = null) =>
  backUp(data, place, { aheadMs: ms - Date.now(), madeBy, keep });
const older = (nowMs: number, changes: Partial<Parameters<typeof createOlderBackups>[0]> = {}) =>
  createOlderBackups({
    ...{ dataDir: data, backup: { dir: place, at: "03:30", keep: 3 }, lineage, nowMs: () => nowMs },
    ...changes,
  });
/** The day of each expiry. */
const shown = (all: ReturnType<ReturnType<typeof older>>) =>
  all.map(({ takenAtMs, expiresAtMs }) => [
    new Date(takenAtMs).getUTCDate(),
    expiresAtMs === null ? null : new Date(expiresAtMs).toISOString().slice(0, 16),
  ]);

test("names backups that were taken between two times, and when each is beyond the number that is kept", () => {
  for (const day of [10, 11, 12]) backUpAt(noonOf(day));
  backUpAt(noonOf(12) + 3_600_000, "command");
  const list = older(noonOf(12) + 7_200_000);
  expect(shown(list(0, noonOf(20)))).toEqual([
    [10, "2026-10-13T03:30"],
    [11, "2026-10-14T03:30"],
    [12, "2026-10-15T03:30"],
    [12, null],
  ]);
  expect(shown(list(noonOf(10) + 60_000, noonOf(12) - 60_000))).toEqual([[11, "2026-10-14T03:30"]]);
  expect(list(noonOf(12) + 2 * DAY_MS, noonOf(20))).toEqual([]);
});

test("each backup is there until its expiry and deleted by the nightly backup of that time", () => {
  for (const day of [10, 11, 12]) backUpAt(noonOf(day));
  const expiries = older(noonOf(12))(0, noonOf(20)).map(({ name, expiresAtMs }) => ({ name, expiresAtMs: expiresAtMs ?? 0 }));
  for (const { name, expiresAtMs } of expiries) {
    expect(namesIn(place)).toContain(name);
    backUpAt(expiresAtMs, "nightly", 3);
    expect(namesIn(place)).not.toContain(name);
  }
});

test("names a backup that is under way, one that cannot be read, and none of another service", () => {
  const made = backUpAt(noonOf(10));
  expect(older(noonOf(11), { lineage: "0".repeat(16) })(0, noonOf(20))).toEqual([]);
  renameSync(made.path, `${made.path}.incomplete`);
  expect(shown(older(noonOf(11))(0, noonOf(20)))).toEqual([[10, "2026-10-14T03:30"]]);
  renameSync(`${made.path}.incomplete`, made.path);
  writeFileSync(join(made.path, "manifest.json"), "{");
  expect(shown(older(noonOf(11))(0, noonOf(20)))).toEqual([[10, null]]);
});

test("names the copies of schema migrations beside the database, which the service never deletes", () => {
  const dataDir = freshDir();
  const copy = join(dataDir, "genrouter.db.before-14");
  writeFileSync(copy, "");
  utimesSync(copy, noonOf(9) / 1000, noonOf(9) / 1000);
  const list = older(noonOf(11), { dataDir, backup: { dir: "", at: "03:30", keep: 3 } });
  expect(list(0, noonOf(20))).toEqual([{ name: "genrouter.db.before-14", takenAtMs: noonOf(9), expiresAtMs: null }]);
});

test("names nothing without a directory of backups", () => {
  const empty = { dataDir: freshDir(), backup: { dir: join(place, "missing"), at: "03:30", keep: 3 } };
  expect(older(noonOf(11), empty)(0, noonOf(20))).toEqual([]);
});
