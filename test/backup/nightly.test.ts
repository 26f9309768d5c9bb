// The nightly backup: at its time, soon after a start that missed one, one at a time, as many kept as asked for, ended by a drain.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openBackupDirectory } from "../../src/backup/backup-directory.ts";
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
let nightly: Nightly = { stop: async () => undefined };

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
  nightly = createNightly({
    settings,
    lineage,
    version: "0.1.0",
    clock,
    log: (event, fields = {}) => void lines.push({ event, fields }),
  });
};
const told = (event: EventName) => lines.filter((line) => line.event === event).length;
const until = async (isSo: () => boolean) => {
  const endMono = performance.now() + 20_000;
  while (!isSo()) {
    if (performance.now() > endMono) throw new Error(`did not come about: ${JSON.stringify(lines)}`);
    await new Promise((wake) => setTimeout(wake, 2));
  }
};
const states = () => (existsSync(place) ? openBackupDirectory(place).map(({ name, state }) => `${name} ${state}`) : []);
/** Lets time pass, and the backup that falls due in it be made. */
const pass = async (ms: number, finished: number) => {
  clock.skip(ms);
  await until(() => told("backup finished") + told("backup failed") >= finished && told("backup started") >= finished);
  // What comes after a backup is armed in the same turn that told of it.
  await new Promise((wake) => setTimeout(wake, 0));
};

test("the next time of day, across midnight and at the very moment", () => {
  expect(nextAt(NOON_MS, "12:30")).toBe(NOON_MS + HOUR_MS / 2);
  expect(nextAt(NOON_MS, "12:00")).toBe(NOON_MS + DAY_MS);
  expect(nextAt(NOON_MS, "03:30")).toBe(NOON_MS + 15.5 * HOUR_MS);
  expect(nextAt(NOON_MS - 1, "12:00")).toBe(NOON_MS);
});

test("without a directory there are none", () => {
  begin({ GENROUTER_BACKUP__DIR: "" });
  clock.skip(3 * DAY_MS);
  expect(lines).toEqual([]);
});

test("another service's backup in the same directory is none of this one's", async () => {
  const other = freshDir();
  await play(other, 0);
  mkdirSync(place);
  backUp(other, place);
  begin();
  await pass(2 * 60_000, 1);
  expect(states().filter((state) => state.endsWith(" ok"))).toHaveLength(2);
});

test("a first start makes one soon, then one each day at its time", async () => {
  begin();
  expect(lines).toEqual([]);
  await pass(2 * 60_000, 1);
  await pass(DAY_MS, 2);
  expect(states()).toEqual(["genrouter-20261020T033000Z ok", "genrouter-20261019T120100Z ok"]);
  expect(lines.map(({ event }) => event)).toEqual(["backup started", "backup finished", "backup started", "backup finished"]);
});

test("a start with a fresh one waits for its time; one that is a day old is overdue", async () => {
  backUp(data, place, { aheadMs: NOON_MS - HOUR_MS - Date.now() });
  begin();
  clock.skip(15 * HOUR_MS);
  expect(told("backup started")).toBe(0);
  await pass(HOUR_MS, 1);
  expect(states()[0]).toBe("genrouter-20261020T033000Z ok");
  await nightly.stop(0);
  lines = [];
  clock.skip(DAY_MS + HOUR_MS);
  begin();
  await pass(60_000, 1);
});

test("the newest of them are kept; what was made by hand, what is damaged and what is not ours stays", async () => {
  const byHand = backUp(data, place, { aheadMs: NOON_MS - 2 * DAY_MS - Date.now() }).path;
  writeFileSync(join(place, "notes.txt"), "mine");
  mkdirSync(join(place, "genrouter-20200101T000000Z"));
  begin();
  await pass(60_000, 1);
  // A nightly one that somebody put something into is not only ours any more.
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

test("one that cannot be made is told and tried again in an hour, not sooner; the last good one stays", async () => {
  begin();
  await pass(60_000, 1);
  const [good = ""] = states();
  const away = `${data}.away`;
  renameSync(join(data, "genrouter.db"), away);
  await pass(DAY_MS, 2);
  expect(lines.at(-1)).toMatchObject({
    event: "backup failed",
    fields: { reason: expect.stringMatching(/there is no database in it/) },
  });
  clock.skip(HOUR_MS - 60_000);
  expect(told("backup started")).toBe(2);
  await pass(60_000, 3);
  expect(told("backup failed")).toBe(2);
  renameSync(away, join(data, "genrouter.db"));
  await pass(HOUR_MS, 4);
  expect(told("backup finished")).toBe(2);
  expect(states()).toContain(good);
});

test("leftovers of one that was killed are taken away by the next", async () => {
  const { path } = backUp(data, place, { aheadMs: NOON_MS - DAY_MS - Date.now() });
  cpSync(path, join(place, "genrouter-20261018T000000Z.incomplete"), { recursive: true });
  cpSync(path, join(place, "genrouter-20261018T000001Z.removed"), { recursive: true });
  rmSync(path, { recursive: true });
  begin();
  await pass(60_000, 1);
  expect(states()).toEqual(["genrouter-20261019T120100Z ok"]);
});

test("while somebody else makes one there, it waits for the next hour", async () => {
  mkdirSync(place);
  const giveBack = acquireMutex(join(place, ".genrouter-backup.lock"));
  begin();
  await pass(60_000, 1);
  expect(lines.at(-1)?.fields.reason).toMatch(/another backup is being made there/);
  giveBack?.();
  await pass(HOUR_MS, 2);
  expect(states()).toHaveLength(1);
});

test("a drain ends one that is under way: nothing is left of it, and nothing is made afterwards", async () => {
  begin();
  clock.skip(60_000);
  expect(told("backup started")).toBe(1);
  await nightly.stop(10_000);
  expect(lines.map(({ event }) => event)).toEqual(["backup started", "backup canceled"]);
  expect(states()).toEqual([]);
  clock.skip(3 * DAY_MS);
  expect(told("backup started")).toBe(1);
});
