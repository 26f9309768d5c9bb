// Schema migrations of SQLite: numbered steps with checksums, after a verified copy.

import type { Database } from "bun:sqlite";
import { WrongSchema } from "../errors.ts";
import type { Migrated } from "../migration-report.ts";
import { StoreDamaged } from "./errors.ts";
import { pragma } from "./open.ts";
import { copyBefore } from "./pre-migration-copy.ts";
import first from "./schema/0001.sql" with { type: "text" };
import second from "./schema/0002.sql" with { type: "text" };
import third from "./schema/0003.sql" with { type: "text" };
import fourth from "./schema/0004.sql" with { type: "text" };
import fifth from "./schema/0005.sql" with { type: "text" };
import sixth from "./schema/0006.sql" with { type: "text" };
import seventh from "./schema/0007.sql" with { type: "text" };
import eighth from "./schema/0008.sql" with { type: "text" };
import ninth from "./schema/0009.sql" with { type: "text" };

/** `makesAnew`: tables that the step recreates, and tables that refer to them. */
export type Migration = { n: number; sql: string; makesAnew?: readonly string[] };
export const MIGRATIONS: readonly Migration[] = [
  { n: 1, sql: first },
  { n: 2, sql: second },
  { n: 3, sql: third },
  { n: 4, sql: fourth },
  { n: 5, sql: fifth },
  { n: 6, sql: sixth, makesAnew: ["attempt", "attempt_request"] },
  { n: 7, sql: seventh },
  { n: 8, sql: eighth },
  { n: 9, sql: ninth },
];

const checksum = (sql: string): string => Bun.CryptoHasher.hash("sha256", sql, "hex");

/** The schema version of a file; 0 for a new one. */
export const schemaVersion = (db: Database): number => Number(pragma(db, "user_version"));

/** @throws WrongSchema if the file is newer than this release, or if a step that ran differs from this release's. */
export const checkSchema = (db: Database, migrations: readonly Migration[] = MIGRATIONS): number => {
  const version = schemaVersion(db);
  const newest = migrations.at(-1)?.n ?? 0;
  if (version > newest)
    throw new WrongSchema(
      `the database has schema ${version} and this release knows ${newest}: start the newer release, or restore the copy made before it`,
    );
  if (version === 0) return 0;
  for (const row of db.query<{ n: number; checksum: string }, []>("SELECT n, checksum FROM migration ORDER BY n").all()) {
    const known = migrations.find((one) => one.n === row.n);
    if (!known || checksum(known.sql) !== row.checksum)
      throw new WrongSchema(
        `step ${row.n} of the database is not the one of this release: it was made by a changed or unreleased build; use that build`,
      );
  }
  return version;
};

/** Foreign keys can be disabled only between transactions. Otherwise, rows that refer to a recreated table would violate them. */
const withoutKeys = (db: Database, work: () => void): void => {
  db.run("PRAGMA foreign_keys = 0");
  try {
    work();
  } finally {
    db.run("PRAGMA foreign_keys = 1");
  }
};

const runStep = (db: Database, { n, sql, makesAnew }: Migration, nowMs: number): void => {
  db.run("BEGIN IMMEDIATE");
  try {
    if (n === 1)
      db.run("CREATE TABLE migration (n INTEGER PRIMARY KEY, checksum TEXT NOT NULL, applied_at_ms INTEGER NOT NULL) STRICT");
    db.run(sql);
    for (const table of makesAnew ?? [])
      if (db.query(`PRAGMA foreign_key_check(${table})`).get() !== null)
        throw new StoreDamaged(`a row of ${table} refers to one that is not there: genrouter verify names it, a backup has it`);
    db.run("INSERT INTO migration VALUES (?, ?, ?)", [n, checksum(sql), nowMs]);
    db.run(`PRAGMA user_version = ${n}`);
    db.run("COMMIT");
  } catch (fault) {
    if (db.inTransaction) db.run("ROLLBACK");
    throw fault;
  }
};

/**
 * Runs the missing steps. An existing file is first copied beside itself (`<path>.before-<n>`), and the copy is verified.
 * @returns the report for an existing file.
 * @throws WrongSchema, as in `checkSchema`.
 * @throws DirectoryUnusable, StoreDamaged if there is no intact copy; nothing has changed then.
 */
export const migrate = (
  db: Database,
  path: string,
  nowMs: number,
  migrations: readonly Migration[] = MIGRATIONS,
): Migrated | undefined => {
  const version = checkSchema(db, migrations);
  const missing = migrations.filter((one) => one.n > version);
  const [next] = missing;
  if (next === undefined) return undefined;
  const copy = version > 0 && path !== ":memory:" ? `${path}.before-${next.n}` : null;
  if (copy !== null) copyBefore(db, path, copy, nowMs);
  for (const step of missing)
    if (step.makesAnew) withoutKeys(db, () => runStep(db, step, nowMs));
    else runStep(db, step, nowMs);
  return version === 0 ? undefined : { from: version, to: missing.at(-1)?.n ?? version, copy };
};
