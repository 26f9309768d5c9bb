// Upgrade and downgrade with directories that hold money and generations in flight: a checked copy first, and killed at any moment it goes on.
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, copyFileSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { MIGRATIONS, migrate } from "../../src/store/sqlite/migrate.ts";
import { openWriter, pragma } from "../../src/store/sqlite/open.ts";
import { copyBefore } from "../../src/store/sqlite/pre-migration-copy.ts";
import { runHere } from "../cli/captured.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { admit, NOW_MS, openAccount, startedMutation, succeed } from "./fixture.ts";
import { openDirectory, openHere } from "./open-store.ts";

afterAll(dropDirs);

const NEWEST = MIGRATIONS.length;
const BEFORE = NEWEST - 1;
const OLD = MIGRATIONS.slice(0, BEFORE);
const COPY = `genrouter.db.before-${NEWEST}`;

const objects = (db: Database) =>
  db.query<{ name: string; sql: string | null }, []>("SELECT name, sql FROM sqlite_schema ORDER BY name").all();
const TABLES = ["account", "balance", "posting", "generation", "attempt", "journal", "api_key"];
/** Columns as `table column`. */
const columnsOf = (db: Database) =>
  TABLES.flatMap((table) =>
    db
      .query<{ name: string }, [string]>("SELECT name FROM pragma_table_info(?1)")
      .all(table)
      .map(({ name }) => `${table} ${name}`),
  );
/** Those that the release before has: a step may add further ones. */
const COLUMNS = (() => {
  const db = openWriter(":memory:");
  migrate(db, ":memory:", NOW_MS, OLD);
  const found = columnsOf(db);
  db.close();
  return found;
})();
const rows = (db: Database, table: string) => {
  const columns = COLUMNS.filter((one) => one.startsWith(`${table} `)).map((one) => one.split(" ")[1]);
  return db.query<Record<string, unknown>, []>(`SELECT ${columns.join(", ") || "*"} FROM ${table}`).all();
};
const rowsOf = (path: string) => {
  const db = new Database(path, { readonly: true });
  const found = TABLES.map((table) => [table, rows(db, table)]);
  db.close();
  return found;
};

/** A directory as the release before this one left it: one generation has ended, one runs, one waits. */
let old = "";
beforeAll(async () => {
  old = freshDir();
  const path = join(old, "genrouter.db");
  const store = await openHere({ path, mode: "test" });
  const account = await openAccount(store, 1000);
  await succeed(store, account, { idempotencyKey: "k" });
  await store.commit([startedMutation(await admit(store, account))]);
  await admit(store, account);
  await store.close();
  renameSync(path, `${path}.made`);
  const db = openWriter(path);
  migrate(db, path, NOW_MS, OLD);
  const kept = objects(db);
  const triggers = kept.flatMap(({ sql }) => (sql?.startsWith("CREATE TRIGGER") ? [sql] : []));
  for (const sql of triggers) db.run(`DROP TRIGGER ${sql.split(/\s+/)[2]}`);
  // The rows as that release would have them: the columns that it knows, by way of nothing that guards them.
  db.run("PRAGMA foreign_keys = 0");
  db.run(`ATTACH '${path}.made' AS made`);
  for (const { name } of kept.filter(({ name, sql }) => sql?.startsWith("CREATE TABLE") && name !== "migration")) {
    const columns = db.query<{ name: string }, [string]>("SELECT name FROM pragma_table_info(?1)").all(name);
    const named = columns.map((column) => column.name).join(", ");
    db.run(`INSERT INTO main.${name} (${named}) SELECT ${named} FROM made.${name}`);
  }
  db.run("DETACH made");
  for (const sql of triggers) db.run(sql);
  // To the letter what that release made.
  expect(objects(db)).toEqual(kept);
  expect(db.query("PRAGMA foreign_key_check").all()).toEqual([]);
  db.run("PRAGMA wal_checkpoint(TRUNCATE)");
  db.close();
  rmSync(`${path}.made`);
});
const copyOfOld = (): string => {
  const dir = freshDir();
  copyFileSync(join(old, "genrouter.db"), join(dir, "genrouter.db"));
  chmodSync(join(dir, "genrouter.db"), 0o600);
  return dir;
};
const versionOf = (path: string): number => {
  const db = new Database(path, { readonly: true });
  const version = Number(pragma(db, "user_version"));
  db.close();
  return version;
};
const verifies = async (dir: string) => {
  // Closing checks the thirteen invariants.
  const store = await openDirectory({ dir, mode: "test" });
  expect(await store.mode()).toBe("test");
  await store.close();
};

describe("upgrade", () => {
  test("a directory of the release before starts, after a copy of it was made and checked", async () => {
    const dir = copyOfOld();
    const before = rowsOf(join(dir, "genrouter.db"));
    expect(JSON.stringify(before)).toContain("running");
    await verifies(dir);
    expect(versionOf(join(dir, "genrouter.db"))).toBe(NEWEST);
    expect(versionOf(join(dir, COPY))).toBe(BEFORE);
    expect(rowsOf(join(dir, COPY))).toEqual(before);
    expect(rowsOf(join(dir, "genrouter.db"))).toEqual(before);
    expect(statSync(join(dir, COPY)).mode & 0o777).toBe(0o600);
    expect(readdirSync(dir).filter((name) => name.endsWith(".new"))).toEqual([]);
    expect((await runHere(["verify", "--data", dir])).exit).toBe(0);
  });

  test("a copy that is not whole is refused, and nothing has changed", () => {
    const dir = copyOfOld();
    const path = join(dir, "genrouter.db");
    const db = openWriter(path);
    const run = db.run.bind(db);
    // A disk that loses rows on the way.
    db.run = ((sql: string, bound: [string]) => {
      const done = run(sql, bound);
      if (!sql.startsWith("VACUUM")) return done;
      const lossy = new Database(bound[0]);
      for (const { name } of objects(lossy).filter(({ sql }) => sql?.startsWith("CREATE TRIGGER")))
        lossy.run(`DROP TRIGGER IF EXISTS ${name}`);
      lossy.run("DELETE FROM journal");
      lossy.close();
      return done;
    }) as Database["run"];
    expect(() => migrate(db, path, NOW_MS)).toThrow(
      /the copy made before its upgrade is not whole \(it has 0 of \d+ rows of journal\)/,
    );
    db.close();
    expect(versionOf(path)).toBe(BEFORE);
    expect(readdirSync(dir).filter((name) => name.includes("before"))).toEqual([]);
  });

  test("killed before any of its statements, it leaves a directory that starts", async () => {
    let kills = 0;
    for (let statement = 0; ; statement += 1) {
      const dir = copyOfOld();
      const path = join(dir, "genrouter.db");
      const before = rowsOf(path);
      const child = Bun.spawnSync([process.execPath, join(import.meta.dir, "dying-upgrade.ts"), path, String(statement)]);
      if (child.exitCode === 0) break;
      expect([child.signalCode, child.stderr.toString()]).toEqual(["SIGKILL", ""]);
      kills += 1;
      // A copy that has its name is whole, whenever the upgrade was killed.
      if (existsSync(join(dir, COPY))) expect(rowsOf(join(dir, COPY))).toEqual(before);
      await verifies(dir);
      expect(versionOf(path)).toBe(NEWEST);
      expect(rowsOf(path)).toEqual(before);
      expect(readdirSync(dir).filter((name) => name.endsWith(".new"))).toEqual([]);
    }
    // The copy, its check, and the step: none of them is left out.
    expect(kills).toBeGreaterThan(12);
  }, 60_000);

  const noDisk = process.platform !== "linux" || Bun.spawnSync(["unshare", "-r", "-m", "true"]).exitCode !== 0;
  if (noDisk) console.log("(skip) a small disk of its own needs namespaces, which are not permitted here");
  test.skipIf(noDisk)("without room for the copy the start stops with one line, and nothing has changed", () => {
    const dir = copyOfOld();
    const kib = Math.ceil(statSync(join(dir, "genrouter.db")).size / 1024);
    const script = `mkdir "$0/disk" && mount -t tmpfs -o size=${kib + 120}k tmpfs "$0/disk" && cp "$0/genrouter.db" "$0/disk/" &&
      "$1" "$2" serve --simulate --port 0 --data "$0/disk"; echo "exit $?"; ls "$0/disk"; cp "$0/disk/genrouter.db" "$0/after.db"`;
    const ran = Bun.spawnSync(
      ["unshare", "-r", "-m", "sh", "-c", script, dir, process.execPath, join(import.meta.dir, "../../src/main.ts")],
      { env: { PATH: process.env.PATH ?? "" } },
    );
    const [exit, ...files] = ran.stdout.toString().trimEnd().split("\n");
    expect(ran.stderr.toString()).toMatch(
      /^error: \S+genrouter\.db: the disk is full \(SQLITE_FULL\); before its upgrade a copy is made beside it: free \d+ MB and start again; nothing was changed\n$/,
    );
    expect(exit).toBe("exit 78");
    expect(files.filter((name) => name.includes("before"))).toEqual([]);
    expect(versionOf(join(dir, "after.db"))).toBe(BEFORE);
    expect(rowsOf(join(dir, "after.db"))).toEqual(rowsOf(join(dir, "genrouter.db")));
  });
});

describe("downgrade", () => {
  test("the release before refuses the directory in one line, exit 1, and changes nothing", async () => {
    const dir = freshDir();
    const path = join(dir, "genrouter.db");
    const store = await openHere({ path, mode: "test" });
    await openAccount(store, 5);
    await store.close();
    // What the next release would leave: this one is then the older.
    const db = openWriter(path);
    migrate(db, path, NOW_MS, [...MIGRATIONS, { n: NEWEST + 1, sql: "CREATE TABLE later (x INTEGER) STRICT" }]);
    db.close();
    const bytes = readFileSync(path);
    for (const words of [
      ["serve", "--simulate", "--port", "0"],
      ["accounts", "list"],
      ["credits", "add", "--account", "acc_x", "--usd", "1"],
    ]) {
      const { exit, out, err } = await runHere([...words, "--data", dir]);
      expect(exit as number).toBe(1);
      expect(out).toBe("");
      expect(err).toMatch(
        new RegExp(
          `^error: the database has schema ${NEWEST + 1} and this release knows ${NEWEST}: start the newer release, or restore the copy made before it\n$`,
        ),
      );
    }
    expect(readFileSync(path).equals(bytes)).toBe(true);
  });

  test("the copy made before an upgrade starts the release before again", () => {
    const dir = copyOfOld();
    const path = join(dir, "genrouter.db");
    const before = rowsOf(path);
    const db = openWriter(path);
    migrate(db, path, NOW_MS);
    db.close();
    copyFileSync(join(dir, COPY), path);
    const older = openWriter(path);
    migrate(older, path, NOW_MS, OLD);
    older.close();
    expect(versionOf(path)).toBe(BEFORE);
    expect(rowsOf(path)).toEqual(before);
    // What the newer release may have bought meanwhile is asked about, as in a restored backup.
    const back = openWriter(path);
    const marks = rows(back, "meta").filter(({ name }) => String(name).startsWith("restored_"));
    back.close();
    expect(marks).toEqual([
      { name: "restored_at_ms", value: String(NOW_MS) },
      { name: "restored_taken_at_ms", value: String(NOW_MS) },
      { name: "restored_up_to_seq", value: expect.stringMatching(/^[1-9]\d+$/) },
    ]);
  });
});

test("a copy takes the place of one that an interrupted upgrade left", () => {
  const dir = copyOfOld();
  const path = join(dir, "genrouter.db");
  const db = openWriter(path);
  copyBefore(db, path, join(dir, COPY), NOW_MS);
  copyBefore(db, path, join(dir, COPY), NOW_MS);
  db.close();
  expect(rowsOf(join(dir, COPY))).toEqual(rowsOf(path));
});
