// A migrated store equals its source: every read and every sum, whatever interrupts the migration.
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { cpSync } from "node:fs";
import { StoreMigrated } from "../../src/store/errors.ts";
import { MigrationError } from "../../src/store/migrate-to-postgres/errors.ts";
import {
  type MigrateRequest,
  migrateStore,
  type Outcome,
  type Progress,
  undoMigration,
} from "../../src/store/migrate-to-postgres/migrate.ts";
import { openPostgresStore } from "../../src/store/postgres/client.ts";
import { openSqliteReads } from "../../src/store/sqlite/reads.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { postgresReason } from "../postgres/binaries.ts";
import { openDirectory } from "../store/open-store.ts";
import { makeDatabase, type TestDatabase } from "./database.ts";
import { readAll } from "./every-read.ts";
import { KEPT, makeFullWorld, SAID } from "./fixture.ts";
import { makeHolder } from "./holder.ts";

const moving = test.skipIf(postgresReason !== undefined);

setDefaultTimeout(60_000);
const made = freshDir();
await makeFullWorld(made);
const databases: TestDatabase[] = [];
afterAll(async () => {
  for (const { drop } of databases) await drop();
  dropDirs();
});

const copyOfWorld = (): string => {
  const dir = freshDir();
  cpSync(made, dir, { recursive: true });
  return dir;
};
const newDatabase = async (): Promise<TestDatabase> => {
  const database = await makeDatabase();
  databases.push(database);
  return database;
};
const move = (
  dir: string,
  url: string,
  more: Partial<MigrateRequest> = {},
  report: (reported: Progress) => void = () => undefined,
) => migrateStore({ dir, networkDisk: false, url, signal: new AbortController().signal, bringFiles: null, ...more }, report);
const isGood = ({ isMoved, source, target }: Outcome): boolean =>
  isMoved && [...(source ?? []), ...(target ?? [])].every(({ ok }) => ok);
/** All rows of a database. */
const rowsIn = async ({ ask }: TestDatabase): Promise<Record<string, string>> => {
  const tables = await ask(
    "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'migration' ORDER BY 1",
  );
  const sums: Record<string, string> = {};
  // `owner` stores when a migration began, which differs each time.
  for (const { name } of tables)
    sums[String(name)] = String(
      (
        await ask(`SELECT coalesce(string_agg(t, chr(10) ORDER BY t), '') AS all FROM
        (SELECT CAST(to_jsonb(x) - 'ended_at_ms' AS text) AS t FROM ${name} x) rows`)
      )[0]?.all,
    );
  return sums;
};

/** Unfinished generations, and an ended one with a watched attempt. */
const UNDER_WAY = 7;

/** A result of a read after unstorable characters in provider texts were replaced. */
const asKept = (answer: unknown): unknown => {
  if (typeof answer === "string") return answer === SAID ? KEPT : answer;
  if (Array.isArray(answer)) return answer.map(asKept);
  if (answer instanceof Map) return new Map([...answer].map(([name, value]) => [name, asKept(value)]));
  if (typeof answer !== "object" || answer === null) return answer;
  return Object.fromEntries(Object.entries(answer).map(([name, value]) => [name, asKept(value)]));
};

moving(
  "every read returns the same after the migration, except for characters that PostgreSQL cannot store as JSON",
  async () => {
    const [dir, database] = [copyOfWorld(), await newDatabase()];
    const before = await openSqliteReads(dir);
    const answers = await readAll(before);
    await before.close();
    const outcome = await move(dir, database.url);
    expect(isGood(outcome)).toBe(true);
    expect(outcome.replaced).toBe(2);
    const store = await openPostgresStore({ url: database.url, prepare: true, mode: "test" });
    // Unfinished generations belong to no node until one takes them over.
    expect(await store.unfinished(0, 100)).toEqual([]);
    expect(await store.node?.takeOver(100)).toHaveLength(UNDER_WAY);
    const moved = await readAll(store);
    for (const [name, answer] of Object.entries(answers)) expect([name, moved[name]]).toEqual([name, asKept(answer)]);
    await store.close();
  },
);

moving("a migration that is stopped after any page resumes there, and copies every row once", async () => {
  const whole = await newDatabase();
  expect(isGood(await move(copyOfWorld(), whole.url))).toBe(true);
  const expected = await rowsIn(whole);
  const [dir, database] = [copyOfWorld(), await newDatabase()];
  let stops = 0;
  for (let isMoved = false; !isMoved; ) {
    const stop = new AbortController();
    const reported: Progress[] = [];
    const outcome = await move(dir, database.url, { signal: stop.signal, pageRows: 7 }, (progress) => {
      reported.push(progress);
      if (progress.step === "loading" || progress.step === "settling") stop.abort(new Error("stopped by the test"));
    }).catch((fault: unknown) => fault);
    if (outcome instanceof Error) {
      expect(outcome.message).toBe("stopped by the test");
      stops += 1;
      // Until the migration has ended no service starts on the database, and the directory is unchanged.
      if (stops % 10 === 1)
        await expect(openPostgresStore({ url: database.url, prepare: true })).rejects.toThrow(
          /an incomplete migration from a data directory/,
        );
      continue;
    }
    isMoved = isGood(outcome as Outcome);
    expect((outcome as Outcome).isResumed).toBe(true);
  }
  expect(stops).toBeGreaterThan(40);
  const rows = await rowsIn(database);
  for (const [name, all] of Object.entries(expected))
    expect([name, rows[name]]).toEqual([name, name === "meta" ? rows[name] : all]);
  expect(Object.keys(rows)).toEqual(Object.keys(expected));
});

moving("a migrated directory cannot be opened for writing, and can be read", async () => {
  const [dir, database] = [copyOfWorld(), await newDatabase()];
  await move(dir, database.url);
  const opening = openDirectory({ dir, mode: "test" });
  await expect(opening).rejects.toBeInstanceOf(StoreMigrated);
  await expect(opening).rejects.toThrow(new RegExp(`migrated to .*${database.name}: set .*--undo reverts`));
  const reads = await openSqliteReads(dir);
  expect((await reads.verify(null)).filter(({ ok }) => !ok)).toEqual([]);
  await reads.close();
});

moving("after a lost connection neither database can be opened, and the same command completes the migration", async () => {
  const [dir, database] = [copyOfWorld(), await newDatabase()];
  const holder = makeHolder(database.url);
  const moving = move(dir, database.url, {}, (progress) => {
    if (progress.step === "verifying" && progress.end === "target" && progress.done === 1) holder.hold();
  });
  moving.catch(() => undefined);
  await holder.cutOff();
  await expect(moving).rejects.toThrow(/does not respond.*run the same command to resume/);
  await moving.catch(() => undefined);
  await holder.letGo();
  await expect(openDirectory({ dir, mode: "test" })).rejects.toBeInstanceOf(StoreMigrated);
  await expect(openPostgresStore({ url: database.url, prepare: true })).rejects.toBeInstanceOf(StoreMigrated);
  const outcome = await move(dir, database.url);
  expect([isGood(outcome), outcome.target]).toEqual([true, null]);
  await (await openPostgresStore({ url: database.url, prepare: true, mode: "test" })).close();
});

moving(
  "undo returns the directory to service and blocks the database; it is rejected after a service opened the database",
  async () => {
    const [dir, database, other] = [copyOfWorld(), await newDatabase(), await newDatabase()];
    const ask = { dir, networkDisk: false, signal: new AbortController().signal };
    await expect(undoMigration({ ...ask, url: database.url })).rejects.toThrow(/was not moved/);
    await move(dir, database.url);
    await expect(undoMigration({ ...ask, url: other.url })).rejects.toThrow(/was moved to .*, not to/);
    await expect(move(dir, other.url)).rejects.toThrow(/was migrated to/);
    await expect(move(dir, database.url)).rejects.toThrow(/holds this store already/);
    await undoMigration({ ...ask, url: database.url });
    await expect(openPostgresStore({ url: database.url, prepare: true })).rejects.toBeInstanceOf(StoreMigrated);
    await (await openDirectory({ dir, mode: "test" })).close();
    await expect(move(dir, database.url)).rejects.toThrow(/was taken back: empty that database/);
    await move(dir, other.url);
    await (await openPostgresStore({ url: other.url, prepare: true, mode: "test" })).close();
    await expect(undoMigration({ ...ask, url: other.url })).rejects.toThrow(/a service was open over .* since the migration/);
  },
);

moving("rejects a database with foreign tables, another store, another migration or another encoding", async () => {
  const [dir, database] = [copyOfWorld(), await newDatabase()];
  await database.ask("CREATE TABLE account (name text)");
  await expect(move(dir, database.url)).rejects.toThrow(/is not empty: there is a table account/);
  await move(dir, database.url).catch(() => undefined);
  expect(await database.ask("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")).toEqual([{ tablename: "account" }]);
  const service = await newDatabase();
  await (await openPostgresStore({ url: service.url, prepare: true, mode: "test" })).close();
  await expect(move(dir, service.url)).rejects.toThrow(/the store of another service/);
  const [mine, half] = [freshDir(), await newDatabase()];
  await (await openDirectory({ dir: mine, mode: "test" })).close();
  const stop = new AbortController();
  const stopped = move(
    mine,
    half.url,
    { signal: stop.signal },
    ({ step }) => step === "loading" && stop.abort(new Error("stop")),
  );
  await stopped.catch(() => undefined);
  await expect(move(dir, half.url)).rejects.toThrow(/an unfinished move from another data directory/);
  // A service has written to the directory since, so the copied rows are outdated.
  await (await openDirectory({ dir: mine, mode: "test" })).close();
  await expect(move(mine, half.url)).rejects.toThrow(/was written to since the move .* began/);
  // Older versions gave the progress marks other columns.
  await half.ask("ALTER TABLE move RENAME COLUMN replaced_bytes TO former_bytes");
  await expect(move(mine, half.url)).rejects.toThrow(/an older version of genrouter began the migration into /);
  const latin = await makeDatabase("LATIN1");
  databases.push(latin);
  await expect(move(dir, latin.url)).rejects.toBeInstanceOf(MigrationError);
});
