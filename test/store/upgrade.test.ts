// Upgrades and downgrades of directories that hold money and generations in flight. An upgrade makes a checked copy first, and a
// new start completes it after a kill at any statement.
import { Database } from "bun:sqlite";
import { afterAll, describe, expect, test } from "bun:test";
import { copyFileSync, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { MIGRATIONS, migrate, SCHEMA_VERSION } from "../../src/store/sqlite/migrate.ts";
import { openWriter, pragma } from "../../src/store/sqlite/open.ts";
import { copyBefore } from "../../src/store/sqlite/pre-migration-copy.ts";
import { runHere } from "../cli/captured.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { FORMER, formerDirectory, RENAMED, valuesIn } from "../former-releases/fixture.ts";
import { NOW_MS, openAccount } from "./fixture.ts";
import { openDirectory, openHere } from "./open-store.ts";

afterAll(dropDirs);

const [, LAST] = FORMER;
const NEWEST = SCHEMA_VERSION;
const BEFORE = LAST.sqlite;
const COPY = `genrouter.db.before-${MIGRATIONS[0]?.version}`;

const objects = (db: Database) =>
  db.query<{ name: string; sql: string | null }, []>("SELECT name, sql FROM sqlite_schema ORDER BY name").all();
const TABLES = new Set(["account", "balance", "transfer", "generation", "attempt", "generation_event", "api_key"]);
const presentState = (value: unknown): unknown => (value === "running.awaitingSeat" ? "running.awaitingSlot" : value);
/** The rows of the money and generation tables by their present names and states, whichever release wrote the file. */
const rowsOf = (path: string) =>
  [...valuesIn(path)]
    .map(([table, rows]) => [RENAMED[table] ?? table, rows.map((values) => values.map(presentState))] as const)
    .filter(([table]) => TABLES.has(table))
    .sort(([one], [other]) => (one < other ? -1 : 1));

/** A directory of the last build before the first release, with ended, running and queued generations. */
const copyOfOld = (): string => formerDirectory(LAST);
const versionOf = (path: string): number => {
  const db = new Database(path, { readonly: true });
  const version = Number(pragma(db, "user_version"));
  db.close();
  return version;
};
const verifies = async (dir: string) => {
  // Closing the store verifies the thirteen invariants.
  const store = await openDirectory({ dir, mode: "test" });
  expect(await store.mode()).toBe("test");
  await store.close();
};

describe("upgrade", () => {
  test("converts a directory of the former release after making and checking a copy", async () => {
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

  test("stops without changes when the copy is incomplete", () => {
    const dir = copyOfOld();
    const path = join(dir, "genrouter.db");
    const db = openWriter(path);
    const run = db.run.bind(db);
    // A disk that loses rows during the copy.
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
      /the copy made before its upgrade is incomplete \(the copy has 0 of \d+ rows of journal\)/,
    );
    db.close();
    expect(versionOf(path)).toBe(BEFORE);
    expect(readdirSync(dir).filter((name) => name.includes("before"))).toEqual([]);
  });

  test("leaves a directory that starts when it is killed before any of its statements", async () => {
    let kills = 0;
    // The conversion has hundreds of statements in one transaction; `npm run crash` also kills it.
    for (let statement = 0; ; statement += statement < 12 ? 2 : 47) {
      const dir = copyOfOld();
      const path = join(dir, "genrouter.db");
      const before = rowsOf(path);
      const child = Bun.spawnSync([process.execPath, join(import.meta.dir, "dying-upgrade.ts"), path, String(statement)]);
      if (child.exitCode === 0) break;
      expect([child.signalCode, child.stderr.toString()]).toEqual(["SIGKILL", ""]);
      kills += 1;
      // A copy under its final name is complete, whenever the upgrade was killed.
      if (existsSync(join(dir, COPY))) expect(rowsOf(join(dir, COPY))).toEqual(before);
      await verifies(dir);
      expect(versionOf(path)).toBe(NEWEST);
      expect(rowsOf(path)).toEqual(before);
      expect(readdirSync(dir).filter((name) => name.endsWith(".new"))).toEqual([]);
    }
    // The kills cover the copy, its check and the conversion.
    expect(kills).toBeGreaterThan(12);
  }, 60_000);

  const noDisk = process.platform !== "linux" || Bun.spawnSync(["unshare", "-r", "-m", "true"]).exitCode !== 0;
  if (noDisk) console.log("(skip) a separate small disk needs namespaces, which are not permitted here");
  test.skipIf(noDisk)("stops with one line and without changes when the disk has no space for the copy", () => {
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
  test("of a directory is rejected by the former release in one line with exit code 1, without changes", async () => {
    const dir = freshDir();
    const path = join(dir, "genrouter.db");
    const store = await openHere({ path, mode: "test" });
    await openAccount(store, 5);
    await store.close();
    // Writes what the next release would leave, which makes this release the former one.
    const db = openWriter(path);
    migrate(db, path, NOW_MS, [...MIGRATIONS, { version: NEWEST + 1, sql: "CREATE TABLE later (x INTEGER) STRICT" }]);
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

  test("restores the former schema from the copy made before an upgrade, and marks it as restored", () => {
    const dir = copyOfOld();
    const path = join(dir, "genrouter.db");
    const before = rowsOf(path);
    const db = openWriter(path);
    migrate(db, path, NOW_MS);
    db.close();
    copyFileSync(join(dir, COPY), path);
    expect(versionOf(path)).toBe(BEFORE);
    expect(rowsOf(path)).toEqual(before);
    // As after a restore, the service asks providers about jobs that the newer release may have purchased meanwhile.
    const back = openWriter(path);
    const marks = back
      .query<{ name: string; value: string }, []>(
        "SELECT name, value FROM meta WHERE name LIKE 'restored\\_%' ESCAPE '\\' ORDER BY name",
      )
      .all();
    back.close();
    expect(marks).toEqual([
      { name: "restored_at_ms", value: String(NOW_MS) },
      { name: "restored_taken_at_ms", value: String(NOW_MS) },
      { name: "restored_up_to_seq", value: expect.stringMatching(/^[1-9]\d+$/) },
    ]);
  });
});

test("copyBefore replaces a copy that an interrupted upgrade left", () => {
  const dir = copyOfOld();
  const path = join(dir, "genrouter.db");
  const db = openWriter(path);
  copyBefore(db, path, join(dir, COPY), NOW_MS);
  copyBefore(db, path, join(dir, COPY), NOW_MS);
  db.close();
  expect(rowsOf(join(dir, COPY))).toEqual(rowsOf(path));
});
