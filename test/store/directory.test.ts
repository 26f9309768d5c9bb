// Data directory: one process, concurrent readers, mode, restarts, a full disk, and schemas of other releases.

import { Database } from "bun:sqlite";
import { afterEach, beforeEach, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdtempSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StoreFull, StoreUnknown } from "../../src/domain/commit-errors.ts";
import { createGenerationNames } from "../../src/domain/ids.ts";
import { WrongMode, WrongSchema } from "../../src/store/errors.ts";
import { DirectoryInUse, DirectoryUnusable, StoreDamaged } from "../../src/store/sqlite/errors.ts";
import { checkSchema, MIGRATIONS, migrate, SCHEMA_VERSION } from "../../src/store/sqlite/migrate.ts";
import { openWriter, pragma } from "../../src/store/sqlite/open.ts";
import { openSqliteReads } from "../../src/store/sqlite/reads.ts";
import { dropScratch } from "../scratch.ts";
import { admit, admitMutation, commitOne, NOW_MS, openAccount, startedMutation, succeed, violations } from "./fixture.ts";
import { openDirectory } from "./open-store.ts";

let dir: string;
const file = () => join(dir, "genrouter.db");
const open = (more: object = {}) => openDirectory({ dir, mode: "test", ...more });
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "store-"));
});
afterEach(() => dropScratch(dir));

/** Returns the error that a promise rejects with. */
const faultOf = async (promise: Promise<unknown>): Promise<Error> => {
  try {
    await promise;
  } catch (fault) {
    if (fault instanceof Error) return fault;
  }
  throw new Error("nothing was thrown");
};

const STORE = JSON.stringify(join(import.meta.dir, "../../src/store/sqlite/client.ts"));
const SCENE = JSON.stringify(join(import.meta.dir, "fixture.ts"));
/** Runs a script in a separate process, in a shell that first runs `before`. */
const runApart = async (script: string, before = "true"): Promise<string> => {
  const child = Bun.spawn(["sh", "-c", `${before}; exec "$0" -e "$1"`, process.execPath, script], {
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return `${out}${err}`.trim();
};

test("rejects a second opening with the pid of the first, in the same process and in another", async () => {
  const store = await open();
  const fault = await faultOf(open());
  expect(fault).toBeInstanceOf(DirectoryInUse);
  expect(fault.message).toContain(`already running as pid ${process.pid}`);
  const said = await runApart(
    `import { openSqliteStore } from ${STORE};
     await openSqliteStore({ dir: ${JSON.stringify(dir)}, mode: "test" }).catch((fault) => console.log(fault.name, fault.message));`,
  );
  expect(said).toStartWith(`DirectoryInUse data directory ${dir}: already running as pid ${process.pid}`);
  await openAccount(store, 5);
  await store.close();
  await (await open()).close();
});

test("keeps the directory lock through garbage collection, and releases it when its process ends", async () => {
  const child = Bun.spawn(
    [
      process.execPath,
      "-e",
      `import { openSqliteStore } from ${STORE};
       await openSqliteStore({ dir: ${JSON.stringify(dir)}, mode: "test" });
       for (let i = 0; i < 5; i++) Bun.gc(true);
       console.log("owned"); setInterval(() => Bun.gc(true), 50);`,
    ],
    { stdout: "pipe" },
  );
  await child.stdout.getReader().read();
  const fault = await faultOf(open());
  expect(fault.message).toContain(`already running as pid ${child.pid}`);
  child.kill("SIGKILL");
  await child.exited;
  await (await open()).close();
});

test("shows commits to readers while the store is open, and keeps readers from writing", async () => {
  const store = await open();
  const account = await openAccount(store, 1000);
  const mutation = await admit(store, account);
  const reads = await openSqliteReads(dir);
  expect(await reads.findGeneration(mutation.id)).toMatchObject({ status: "queued" });
  await store.commit([startedMutation(mutation)]);
  expect(await reads.findGeneration(mutation.id)).toMatchObject({ status: "running" });
  expect(await violations(reads)).toEqual([]);
  await reads.close();
  const raw = new Database(file(), { readonly: true });
  expect(() => raw.run("DELETE FROM snapshot")).toThrow(/readonly/);
  raw.close();
  await store.close();
  // A directory without a running process can be read as well.
  const later = await openSqliteReads(dir);
  expect(await later.accounts()).toMatchObject([{ id: account.id, heldCredits: 110 }]);
  await later.close();
});

test("restores everything that was acknowledged after a restart, and continues the row numbers", async () => {
  let store = await open();
  const account = await openAccount(store, 1000);
  const done = await succeed(store, account, { idempotencyKey: "done" });
  const under = await admit(store, account, { idempotencyKey: "under" });
  await store.commit([startedMutation(under)]);
  const before = [await store.unfinished(0, 9), await store.transfers(account.id, null, 99), await store.secret("links")];
  await store.close();
  store = await open({ requireExisting: true });
  expect([await store.unfinished(0, 9), await store.transfers(account.id, null, 99), await store.secret("links")]).toEqual(
    before,
  );
  expect(await commitOne(store, admitMutation(account, { idempotencyKey: "done" }))).toMatchObject({
    kind: "replayed",
    record: { id: done.id },
  });
  const next = createGenerationNames(null, store.newestGeneration)(0);
  expect(next.seq).toBeGreaterThan(under.seq);
  await admit(store, account, next);
  expect(await violations(store)).toEqual([]);
  await store.close();
});

test("keeps every generation that a killed process acknowledged, with all invariants", async () => {
  const child = Bun.spawn(
    [
      process.execPath,
      "-e",
      `import { openSqliteStore } from ${STORE}; import { admit, openAccount, succeed } from ${SCENE};
       const store = await openSqliteStore({ dir: ${JSON.stringify(dir)}, mode: "test" });
       const account = await openAccount(store, 1e9);
       for (;;) { await succeed(store, account); console.log((await admit(store, account)).id); }`,
    ],
    { stdout: "pipe" },
  );
  let reported = "";
  for await (const chunk of child.stdout) {
    reported += new TextDecoder().decode(chunk);
    if (reported.length > 26 * 60) child.kill("SIGKILL");
  }
  const store = await open();
  const ids = reported.split("\n").slice(0, -1);
  expect(ids.length).toBeGreaterThan(50);
  for (const id of ids) expect(await store.findGeneration(id)).toMatchObject({ status: "queued" });
  expect(await violations(store)).toEqual([]);
  await store.close();
});

test("creates database, log and lock with mode 0600 in a directory that other users can read", async () => {
  chmodSync(dir, 0o755);
  const before = process.umask(0o022);
  try {
    const store = await open();
    const modes = ["genrouter.db", "genrouter.db-wal", "lock.db"].map((name) => statSync(join(dir, name)).mode & 0o777);
    expect(modes).toEqual([0o600, 0o600, 0o600]);
    await store.close();
  } finally {
    process.umask(before);
  }
});

test("fixes the mode when the directory is created, and uses it when an opening names none", async () => {
  await (await open()).close();
  const fault = await faultOf(openDirectory({ dir, mode: "live" }));
  expect(fault).toBeInstanceOf(WrongMode);
  const store = await openDirectory({ dir });
  expect(await store.mode()).toBe("test");
  await store.close();
});

test.each([
  ["a file instead of a directory", () => writeFileSync(join(dir, "x"), ""), () => join(dir, "x")],
  ["a directory below a file", () => writeFileSync(join(dir, "x"), ""), () => join(dir, "x", "y")],
  ["no database where one is required", () => undefined, () => join(dir, "none")],
])("reports an unusable directory in one line: %s", async (_name, arrange, where) => {
  arrange();
  const fault = await faultOf(openDirectory({ dir: where(), mode: "test", requireExisting: _name.startsWith("no ") }));
  expect(fault).toBeInstanceOf(DirectoryUnusable);
  expect(fault.message).toMatch(/^data directory [^\n]+$/);
});

test.skipIf(process.platform !== "linux")("reports a directory that even root cannot create in one line", async () => {
  const fault = await faultOf(openDirectory({ dir: "/proc/genrouter", mode: "test" }));
  expect(fault).toBeInstanceOf(DirectoryUnusable);
  expect(fault.message).toMatch(/^data directory \/proc\/genrouter: it cannot be written [^\n]+$/);
});

test("rejects reads of a directory whose database is missing or invalid", async () => {
  expect(await faultOf(openSqliteReads(dir))).toBeInstanceOf(DirectoryUnusable);
  writeFileSync(file(), "not a database at all, but long enough to have a header ".repeat(100));
  expect(await faultOf(openSqliteReads(dir))).toBeInstanceOf(StoreDamaged);
  expect(await faultOf(open())).toBeInstanceOf(StoreDamaged);
});

test("rolls back the whole batch on a full disk, reports StoreFull, and commits the batch once there is space", async () => {
  const store = await open({ pragmas: { maxPages: 180 } });
  const account = await openAccount(store, 1_000_000);
  const big = (n: number) =>
    Array.from({ length: n }, () => admitMutation(account, { body: JSON.stringify({ input: { prompt: "x".repeat(2000) } }) }));
  let fault: unknown;
  let accepted = 0;
  let refused = big(20);
  while (!fault && accepted < 1000) {
    refused = big(20);
    await store.commit(refused).then(
      (outcomes) => {
        accepted += outcomes.length;
      },
      (thrown: unknown) => {
        fault = thrown;
      },
    );
  }
  expect(fault).toBeInstanceOf(StoreFull);
  expect(await store.unfinished(0, 1000)).toHaveLength(accepted);
  expect(await store.account(account.id)).toMatchObject({ heldCredits: 110 * accepted, inProgress: accepted });
  for (const mutation of refused) expect(await store.generationBySeq(mutation.seq)).toBeUndefined();
  expect(await violations(store)).toEqual([]);
  await store.close();
  const roomy = await open();
  expect((await roomy.commit(refused)).every(({ kind }) => kind === "admitted")).toBe(true);
  await roomy.close();
});

test("treats any other write error as an unknown outcome, and writes nothing after it", async () => {
  // 300 blocks of 512 bytes: the log cannot grow past them, which SQLite reports as an I/O error.
  const said = await runApart(
    `process.on("SIGXFSZ", () => {});
     import { openSqliteStore } from ${STORE}; import { admitMutation, openAccount } from ${SCENE};
     const store = await openSqliteStore({ dir: ${JSON.stringify(dir)}, mode: "test" });
     const account = await openAccount(store, 1e9);
     const names = [];
     for (let i = 0; i < 400 && names.length < 2; i++)
       await store.commit([admitMutation(account)]).catch((fault) => names.push(fault.constructor.name));
     console.log(names.join(" ")); process.exit(0);`,
    "ulimit -f 2000",
  );
  expect(said).toBe(`${StoreUnknown.name} ${StoreUnknown.name}`);
  const store = await open();
  expect(await violations(store)).toEqual([]);
  await store.close();
});

test("opens the writing connection with every pragma that durability requires", () => {
  const db = openWriter(file());
  expect(["journal_mode", "synchronous", "foreign_keys", "busy_timeout", "temp_store"].map((name) => pragma(db, name))).toEqual([
    "wal",
    "2",
    "1",
    "5000",
    "2",
  ]);
  db.close();
});

test("rejects a database whose applied migration has another checksum", async () => {
  await (await open()).close();
  const db = openWriter(file());
  const changed = MIGRATIONS.map((one) => ({ ...one, sql: `${one.sql}\n-- changed` }));
  expect(() => checkSchema(db, changed)).toThrow(WrongSchema);
  db.run("UPDATE migration SET checksum = 'x'");
  db.close();
  expect(await faultOf(open())).toBeInstanceOf(WrongSchema);
  expect(await faultOf(openSqliteReads(dir))).toBeInstanceOf(WrongSchema);
});

test("rejects a database of a newer release with instructions", async () => {
  await (await open()).close();
  const db = openWriter(file());
  db.run("PRAGMA user_version = 99");
  db.close();
  const fault = await faultOf(open());
  expect(fault).toBeInstanceOf(WrongSchema);
  expect(fault.message).toMatch(/schema 99 .* start the newer release/);
});

test("runs a further migration after copying the database, and leaves the file unchanged when a migration fails", async () => {
  const store = await open();
  await openAccount(store, 7);
  await store.close();
  const db = openWriter(file());
  const [last, version] = [SCHEMA_VERSION, SCHEMA_VERSION + 1];
  const further = [...MIGRATIONS, { version, sql: "ALTER TABLE account ADD COLUMN country TEXT" }];
  expect(() => migrate(db, file(), NOW_MS, [...MIGRATIONS, { version, sql: "CREATE TABLE t (x); SELECT nonsense" }])).toThrow();
  expect(pragma(db, "user_version")).toBe(`${last}`);
  expect(db.query("SELECT name FROM sqlite_schema WHERE name = 't'").all()).toEqual([]);
  migrate(db, file(), NOW_MS, further);
  expect(pragma(db, "user_version")).toBe(`${version}`);
  expect(db.query("SELECT available_credits, country FROM account JOIN balance ON account_seq = seq").all()).toEqual([
    { available_credits: 7, country: null },
  ]);
  db.close();
  expect(existsSync(`${file()}.before-${version}`)).toBe(true);
  const copy = new Database(`${file()}.before-${version}`, { readonly: true });
  expect(pragma(copy, "user_version")).toBe(`${last}`);
  copy.close();
});
