// Nightly backups: daily time, catch-up after a missed one, one at a time, retention of the newest, and drain.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { listBackups } from "../../src/backup/backup-directory.ts";
import { createNightly, type Nightly, nextAt } from "../../src/backup/nightly.ts";
import { readSettings } from "../../src/config/load.ts";
import type { EventFields, EventName } from "../../src/logging/events.ts";
import { acquireMutex } from "../../src/store/sqlite/snapshot-copy/directory-mutex.ts";
import { figuresOf, overLive } from "../../src/store/sqlite/snapshot-copy/stats.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { type TestClock, testClock } from "../clock.ts";
import { backUp, namesIn, play } from "./fixture.ts";

const data = freshDir();
const NOON_MS = Date.UTC(2026, 9, 19, 12);
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
let place: string;
let clock: TestClock;
let lines: { event: EventName; fields: EventFields }[];
let nightly: Pick<Nightly, "begin" | "state" | "stop"> = {
  begin: () => false,
  state: () => ({ running: null, last: null }),
  stop: async () => undefined,
};

let lineage = "";
beforeAll(async () => {
  await play(data);
  lineage = overLive(join(data, "genrouter.db"), figuresOf).lineage;
});
beforeEach(() => {
  place = join(freshDir(), "backups");
  clock = testClock(0, NOON_MS);
  lines = [];
});
afterEach(async () => {
  await nightly.stop(10_000);
  clock.stop();
});
afterAll(dropDirs, 60_000);

const begin = (env: Record<string, string> = {}) => {
  const settings = readSettings({ GENROUTER_DATA__DIR: data, GENROUTER_BACKUP__DIR: place, GENROUTER_BACKUP__KEEP: "2", ...env });
  const made = createNightly({
    settings,
    lineage,
    version: "0.1.0",
    clock,
    log: (event, fields = {}) => void lines.push({ event, fields }),
  });
  made.start();
  nightly = made;
};
const reported = (event: EventName) => lines.filter((line) => line.event === event).length;
const until = async (isSo: () => boolean) => {
  const endMono = performance.now() + 20_000;
  while (!isSo()) {
    if (performance.now() > endMono) throw new Error(`the condition was not met: ${JSON.stringify(lines)}`);
    await new Promise((wake) => setTimeout(wake, 2));
  }
};
const states = () => (existsSync(place) ? listBackups(place).map(({ name, state }) => `${name} ${state}`) : []);
/** Advances the clock, and waits for the backup that becomes due. */
const pass = async (ms: number, finished: number) => {
  clock.skip(ms);
  await until(
    () => reported("backup finished") + reported("backup failed") >= finished && reported("backup started") >= finished,
  );
  // The next timer is armed in the same turn that logged the end of the backup.
  await new Promise((wake) => setTimeout(wake, 0));
};

test("nextAt returns the next time of day, across midnight and at the exact moment", () => {
  expect(nextAt(NOON_MS, "12:30")).toBe(NOON_MS + HOUR_MS / 2);
  expect(nextAt(NOON_MS, "12:00")).toBe(NOON_MS + DAY_MS);
  expect(nextAt(NOON_MS, "03:30")).toBe(NOON_MS + 15.5 * HOUR_MS);
  expect(nextAt(NOON_MS - 1, "12:00")).toBe(NOON_MS);
});

test("makes no nightly backups without a backup directory", () => {
  begin({ GENROUTER_BACKUP__DIR: "" });
  clock.skip(3 * DAY_MS);
  expect(lines).toEqual([]);
});

test("ignores a backup of another service in the same directory", async () => {
  const other = freshDir();
  await play(other, 0);
  mkdirSync(place);
  backUp(other, place);
  begin();
  await pass(2 * 60_000, 1);
  expect(states().filter((state) => state.endsWith(" ok"))).toHaveLength(2);
});

test("makes a backup soon after the first start, and then one each day at its time", async () => {
  begin();
  expect(lines).toEqual([]);
  await pass(2 * 60_000, 1);
  await pass(DAY_MS, 2);
  expect(states()).toEqual(["genrouter-20261020T033000Z ok", "genrouter-20261019T120100Z ok"]);
  expect(lines.map(({ event }) => event)).toEqual(["backup started", "backup finished", "backup started", "backup finished"]);
});

test("waits for the daily time when a fresh backup exists, and catches up when the newest is a day old", async () => {
  backUp(data, place, { aheadMs: NOON_MS - HOUR_MS - Date.now() });
  begin();
  clock.skip(15 * HOUR_MS);
  expect(reported("backup started")).toBe(0);
  await pass(HOUR_MS, 1);
  expect(states()[0]).toBe("genrouter-20261020T033000Z ok");
  await nightly.stop(0);
  lines = [];
  clock.skip(DAY_MS + HOUR_MS);
  begin();
  await pass(60_000, 1);
});

test("keeps the newest nightly backups, and never deletes manual, damaged or foreign ones", async () => {
  const byHand = backUp(data, place, { aheadMs: NOON_MS - 2 * DAY_MS - Date.now() }).path;
  writeFileSync(join(place, "notes.txt"), "mine");
  mkdirSync(join(place, "genrouter-20200101T000000Z"));
  begin();
  await pass(60_000, 1);
  // A nightly backup with an added file counts as foreign.
  const touched = join(place, "genrouter-20261019T120100Z");
  writeFileSync(join(touched, "look.txt"), "mine");
  for (let day = 2; day <= 5; day += 1) await pass(DAY_MS, day);
  const names = namesIn(place);
  expect(names.filter((name) => name >= "genrouter-20261019T13")).toEqual([
    "genrouter-20261022T033000Z",
    "genrouter-20261023T033000Z",
    "notes.txt",
  ]);
  expect(names).toContain("genrouter-20200101T000000Z");
  expect([existsSync(byHand), existsSync(join(touched, "look.txt"))]).toEqual([true, true]);
});

test("logs a failed backup, retries it after an hour and keeps the last good one", async () => {
  begin();
  await pass(60_000, 1);
  const [good = ""] = states();
  const unavailable = `${data}.moved`;
  renameSync(join(data, "genrouter.db"), unavailable);
  await pass(DAY_MS, 2);
  expect(lines.at(-1)).toMatchObject({
    event: "backup failed",
    fields: { reason: expect.stringMatching(/there is no database in it/) },
  });
  clock.skip(HOUR_MS - 60_000);
  expect(reported("backup started")).toBe(2);
  await pass(60_000, 3);
  expect(reported("backup failed")).toBe(2);
  renameSync(unavailable, join(data, "genrouter.db"));
  await pass(HOUR_MS, 4);
  expect(reported("backup finished")).toBe(2);
  expect(states()).toContain(good);
});

test("removes leftovers of a killed backup at the next backup", async () => {
  const { path } = backUp(data, place, { aheadMs: NOON_MS - DAY_MS - Date.now() });
  cpSync(path, join(place, "genrouter-20261018T000000Z.incomplete"), { recursive: true });
  cpSync(path, join(place, "genrouter-20261018T000001Z.removed"), { recursive: true });
  rmSync(path, { recursive: true });
  begin();
  await pass(60_000, 1);
  expect(states()).toEqual(["genrouter-20261019T120100Z ok"]);
});

test("waits for an hour while another process makes a backup in the directory", async () => {
  mkdirSync(place);
  const giveBack = acquireMutex(join(place, ".genrouter-backup.lock"));
  begin();
  await pass(60_000, 1);
  expect(lines.at(-1)?.fields.reason).toMatch(/another backup is being created there/);
  giveBack?.();
  await pass(HOUR_MS, 2);
  expect(states()).toHaveLength(1);
});

test("a drain cancels a running backup without leftovers, and no backup follows", async () => {
  begin();
  clock.skip(60_000);
  expect(reported("backup started")).toBe(1);
  await nightly.stop(10_000);
  expect(lines.map(({ event }) => event)).toEqual(["backup started", "backup canceled"]);
  expect(states()).toEqual([]);
  clock.skip(3 * DAY_MS);
  expect(reported("backup started")).toBe(1);
});

test("an operator begins one backup at a time, reads its end, and the nightly backups keep it", async () => {
  begin();
  expect(nightly.state()).toEqual({ running: null, last: null });
  expect([nightly.begin("ada@example.com"), nightly.begin("ben@example.com")]).toEqual([true, false]);
  expect(nightly.state().running).toMatchObject({ by: "ada@example.com", startedAtMs: NOON_MS });
  // The overdue nightly backup becomes due meanwhile, and follows.
  await pass(61_000, 2);
  const [, asked] = listBackups(place);
  expect(listBackups(place).map(({ state, manifest }) => [state, manifest?.made_by])).toEqual([
    ["ok", "nightly"],
    ["ok", "command"],
  ]);
  await pass(DAY_MS, 3);
  await pass(DAY_MS, 4);
  expect(listBackups(place).map(({ name }) => name)).toContain(asked?.name ?? "");
  expect(nightly.state().last).toMatchObject({ by: null, fault: null });
});

test("shows why a requested backup failed", async () => {
  begin();
  writeFileSync(place, "a file in the place of the directory");
  expect(nightly.begin("ada@example.com")).toBe(true);
  await until(() => nightly.state().running === null);
  expect(nightly.state().last).toMatchObject({ by: "ada@example.com", path: null, fault: expect.stringContaining(place) });
});
