// A store that was moved is the same store: every read, every sum, and whatever stops the move on its way.
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
const move = (dir: string, url: string, more: Partial<MigrateRequest> = {}, tell: (told: Progress) => void = () => undefined) =>
  migrateStore({ dir, networkDisk: false, url, signal: new AbortController().signal, bringFiles: null, ...more }, tell);
const isGood = ({ isMoved, source, target }: Outcome): boolean =>
  isMoved && [...(source ?? []), ...(target ?? [])].every(({ ok }) => ok);
/** Everything in a database, row by row. */
const rowsIn = async ({ ask }: TestDatabase): Promise<Record<string, string>> => {
  const tables = await ask(
    "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'migration' ORDER BY 1",
  );
  const sums: Record<string, string> = {};
  // When a move began is in `owner`, and is another each time.
  for (const { name } of tables)
    sums[String(name)] = String(
      (
        await ask(`SELECT coalesce(string_agg(t, chr(10) ORDER BY t), '') AS all FROM
        (SELECT CAST(to_jsonb(x) - 'ended_at_ms' AS text) AS t FROM ${name} x) rows`)
      )[0]?.all,
    );
  return sums;
};

/** Generations that have not ended, and an ended one whose attempts are still asked about. */
const UNDER_WAY = 7;

/** An answer as it is where what a provider said was mended. */
const asKept = (answer: unknown): unknown => {
  if (typeof answer === "string") return answer === SAID ? KEPT : answer;
  if (Array.isArray(answer)) return answer.map(asKept);
  if (answer instanceof Map) return new Map([...answer].map(([name, value]) => [name, asKept(value)]));
  if (typeof answer !== "object" || answer === null) return answer;
  return Object.fromEntries(Object.entries(answer).map(([name, value]) => [name, asKept(value)]));
};

moving("every read answers the same as before, but for what no JSON of PostgreSQL can hold", async () => {
  const [dir, database] = [copyOfWorld(), await newDatabase()];
  const before = await openSqliteReads(dir);
  const answers = await readAll(before);
  await before.close();
  const outcome = await move(dir, database.url);
  expect(isGood(outcome)).toBe(true);
  expect(outcome.mended).toBe(2);
  const store = await openPostgresStore({ url: database.url, prepare: true, mode: "test" });
  // What was under way belongs to nobody until a node takes it.
  expect(await store.unfinished(0, 100)).toEqual([]);
  expect(await store.node?.takeOver(100)).toHaveLength(UNDER_WAY);
  const moved = await readAll(store);
  for (const [name, answer] of Object.entries(answers)) expect([name, moved[name]]).toEqual([name, asKept(answer)]);
  await store.close();
});

moving("stopped after any page, it goes on where it was, and every row is there once", async () => {
  const whole = await newDatabase();
  expect(isGood(await move(copyOfWorld(), whole.url))).toBe(true);
  const expected = await rowsIn(whole);
  const [dir, database] = [copyOfWorld(), await newDatabase()];
  let stops = 0;
  for (let isMoved = false; !isMoved; ) {
    const stop = new AbortController();
    const told: Progress[] = [];
    const outcome = await move(dir, database.url, { signal: stop.signal, pageRows: 7 }, (progress) => {
      told.push(progress);
      if (progress.step === "loading" || progress.step === "settling") stop.abort(new Error("stopped by the test"));
    }).catch((fault: unknown) => fault);
    if (outcome instanceof Error) {
      expect(outcome.message).toBe("stopped by the test");
      stops += 1;
      // Until it has ended nobody starts on the half of it, and the directory is as it was.
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

moving("a directory that was moved is not started on, in both words; read it can be", async () => {
  const [dir, database] = [copyOfWorld(), await newDatabase()];
  await move(dir, database.url);
  const opening = openDirectory({ dir, mode: "test" });
  await expect(opening).rejects.toBeInstanceOf(StoreMigrated);
  await expect(opening).rejects.toThrow(new RegExp(`moved to .*${database.name} and lives there now.*--undo goes back`));
  const reads = await openSqliteReads(dir);
  expect((await reads.verify(null)).filter(({ ok }) => !ok)).toEqual([]);
  await reads.close();
});

moving("cut off after the directory was marked, nobody starts on either end, and the same command ends it", async () => {
  const [dir, database] = [copyOfWorld(), await newDatabase()];
  const holder = makeHolder(database.url);
  const moving = move(dir, database.url, {}, (progress) => {
    if (progress.step === "verifying" && progress.end === "target" && progress.done === 1) holder.hold();
  });
  moving.catch(() => undefined);
  await holder.cutOff();
  await expect(moving).rejects.toThrow(/does not answer.*run the same command to resume/);
  await moving.catch(() => undefined);
  await holder.letGo();
  await expect(openDirectory({ dir, mode: "test" })).rejects.toBeInstanceOf(StoreMigrated);
  await expect(openPostgresStore({ url: database.url, prepare: true })).rejects.toBeInstanceOf(StoreMigrated);
  const outcome = await move(dir, database.url);
  expect([isGood(outcome), outcome.target]).toEqual([true, null]);
  await (await openPostgresStore({ url: database.url, prepare: true, mode: "test" })).close();
});

moving(
  "an undone move gives the directory back, and the database to nobody; once a service was open over it there is no way back",
  async () => {
    const [dir, database, other] = [copyOfWorld(), await newDatabase(), await newDatabase()];
    const ask = { dir, networkDisk: false, signal: new AbortController().signal };
    await expect(undoMigration({ ...ask, url: database.url })).rejects.toThrow(/was not moved/);
    await move(dir, database.url);
    await expect(undoMigration({ ...ask, url: other.url })).rejects.toThrow(/was moved to .*, not to/);
    await expect(move(dir, other.url)).rejects.toThrow(/was moved to/);
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

moving("what is in the database already is left alone: another's tables, another's store, another's move", async () => {
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
  // The service was open since: what has arrived is not the whole truth any more.
  await (await openDirectory({ dir: mine, mode: "test" })).close();
  await expect(move(mine, half.url)).rejects.toThrow(/was written to since the move .* began/);
  const latin = await makeDatabase("LATIN1");
  databases.push(latin);
  await expect(move(dir, latin.url)).rejects.toBeInstanceOf(MigrationError);
});
