// Schema migrations of SQLite: numbered steps with checksums, after a verified copy.
//
// The first release has version 10. Versions 1 to 9 are of builds before it; their files are converted.

import type { Database } from "bun:sqlite";
import type { Labels } from "../../domain/types.ts";
import { WrongSchema } from "../errors.ts";
import type { Migrated } from "../migration-report.ts";
import { metadataTerm } from "../sql/metadata-term.ts";
import { convertPreRelease } from "./convert-pre-release.ts";
import { pragma } from "./open.ts";
import { copyBefore } from "./pre-migration-copy.ts";
import initial from "./schema/0001.sql" with { type: "text" };
import labels from "./schema/0002.sql" with { type: "text" };
import files from "./schema/0003.sql" with { type: "text" };
import webhooks from "./schema/0004.sql" with { type: "text" };
import generationLists from "./schema/0005.sql" with { type: "text" };
import erasure from "./schema/0006.sql" with { type: "text" };
import resumableUploads from "./schema/0007.sql" with { type: "text" };
import endUsers from "./schema/0008.sql" with { type: "text" };
import recoveries from "./schema/0009.sql" with { type: "text" };
import forgottenFiles from "./schema/0010.sql" with { type: "text" };
import hourlyOutcomes from "./schema/0011.sql" with { type: "text" };
import spendAlerts from "./schema/0012.sql" with { type: "text" };
import admissionIndexes from "./schema/0013.sql" with { type: "text" };
import { PRE_RELEASE_MIGRATIONS, PRE_RELEASE_VERSION } from "./schema/pre-release/migrations.ts";

/** `version`: the version of the file after the step. `convert` runs behind the statements, in the same transaction. */
export type Migration = { version: number; sql: string; convert?: (db: Database) => void };

/** Indexes the metadata of earlier generations by digests. */
const digestMetadata = (db: Database): void => {
  type Row = { account: number; labels: string; seq: number };
  const insert = db.prepare("INSERT INTO generation_metadata (account_seq, name, value, generation_seq) VALUES (?1, ?2, ?3, ?4)");
  const labelled = `SELECT g.account_seq AS account, r.labels, g.seq FROM generation_request r JOIN generation g ON g.seq = r.generation_seq
    WHERE r.labels IS NOT NULL`;
  db.run("DELETE FROM generation_metadata");
  for (const { account, labels, seq } of db.query<Row, []>(labelled).iterate())
    for (const [name, value] of Object.entries((JSON.parse(labels) as Labels).metadata ?? {}))
      insert.run(account, ...metadataTerm(name, value), seq);
};

export const MIGRATIONS: readonly Migration[] = [
  { version: 10, sql: initial },
  { version: 11, sql: labels },
  { version: 12, sql: files },
  { version: 13, sql: webhooks },
  { version: 14, sql: generationLists },
  { version: 15, sql: erasure, convert: digestMetadata },
  { version: 16, sql: resumableUploads },
  { version: 17, sql: endUsers },
  { version: 18, sql: recoveries },
  { version: 19, sql: forgottenFiles },
  { version: 20, sql: hourlyOutcomes },
  { version: 21, sql: spendAlerts },
  { version: 22, sql: admissionIndexes },
];

const newestOf = (migrations: readonly Migration[]): number => migrations.at(-1)?.version ?? 0;
/** The schema version of this release. */
export const SCHEMA_VERSION = newestOf(MIGRATIONS);

const checksum = (sql: string): string => Bun.CryptoHasher.hash("sha256", sql, "hex");

/** The schema version of a file; 0 for a new one. */
export const schemaVersion = (db: Database): number => Number(pragma(db, "user_version"));

/** Whether a file has the tables of a build before the first release. */
export const isPreRelease = (version: number): boolean => version > 0 && version <= PRE_RELEASE_VERSION;

/** Whether the statements of this release need a file to be migrated first. */
export const isFormer = (version: number): boolean => version > 0 && version < SCHEMA_VERSION;

/** @throws WrongSchema if the file is newer than this release, or if a step that ran differs from this release's. */
export const checkSchema = (db: Database, migrations: readonly Migration[] = MIGRATIONS): number => {
  const version = schemaVersion(db);
  const newest = newestOf(migrations);
  if (version > newest)
    throw new WrongSchema(
      `the database has schema ${version} and this release knows ${newest}: start the newer release, or restore the copy made before it`,
    );
  if (version === 0) return 0;
  const known = isPreRelease(version) ? PRE_RELEASE_MIGRATIONS : migrations;
  for (const row of db.query<{ n: number; checksum: string }, []>("SELECT n, checksum FROM migration ORDER BY n").all()) {
    const step = known.find((one) => one.version === row.n);
    if (!step || checksum(step.sql) !== row.checksum)
      throw new WrongSchema(
        `step ${row.n} of the database is not the one of this release: it was made by a changed or unreleased build; use that build`,
      );
  }
  return version;
};

/** From this version on, pages contain no old bytes of texts. */
const CLEAN_SINCE = 15;

/** Writes every page again, with temporary pages in a file, because the database may be larger than the memory. */
const rebuild = (db: Database): void => {
  db.run("PRAGMA temp_store = 1");
  try {
    db.run("VACUUM");
  } finally {
    db.run("PRAGMA temp_store = 2");
  }
};

/** The oldest schema that the statements of this release can read. */
const READABLE_VERSION = 17;

/** Checks a file that is read only. @throws WrongSchema as `checkSchema`, and if the next start would migrate the file before it reads it. */
export const requireReadable = (db: Database, name: string): void => {
  const version = checkSchema(db);
  if (isPreRelease(version))
    throw new WrongSchema(
      `${name}: the database has schema ${version} of a build before the first release: start the service of this release once, which converts it`,
    );
  if (version > 0 && version < READABLE_VERSION)
    throw new WrongSchema(
      `${name}: the database has schema ${version}, and this release reads ${READABLE_VERSION} and later: start the service of this release once, which migrates it`,
    );
};

/** Foreign keys can be disabled only between transactions. */
const withoutKeys = (db: Database, work: () => void): void => {
  db.run("PRAGMA foreign_keys = 0");
  try {
    work();
  } finally {
    db.run("PRAGMA foreign_keys = 1");
  }
};

const inTransaction = (db: Database, work: () => void): void => {
  db.run("BEGIN IMMEDIATE");
  try {
    work();
    db.run("COMMIT");
  } catch (fault) {
    if (db.inTransaction) db.run("ROLLBACK");
    throw fault;
  }
};

const CREATE_RECORD =
  "CREATE TABLE IF NOT EXISTS migration (n INTEGER PRIMARY KEY, checksum TEXT NOT NULL, applied_at_ms INTEGER NOT NULL) STRICT";
const recordStep = (db: Database, { version, sql }: Migration, nowMs: number): void => {
  db.run("INSERT INTO migration VALUES (?, ?, ?)", [version, checksum(sql), nowMs]);
  db.run(`PRAGMA user_version = ${version}`);
};

const runStep = (db: Database, step: Migration, nowMs: number): void =>
  inTransaction(db, () => {
    db.run(CREATE_RECORD);
    db.run(step.sql);
    step.convert?.(db);
    recordStep(db, step, nowMs);
  });

/** Converts a file of a build before the first release in one transaction. */
const convert = (db: Database, version: number, initialStep: Migration, nowMs: number): void =>
  withoutKeys(db, () =>
    inTransaction(db, () => {
      for (const step of PRE_RELEASE_MIGRATIONS) if (step.version > version) db.run(step.sql);
      convertPreRelease(db, initialStep.sql);
      db.run("DELETE FROM migration");
      recordStep(db, initialStep, nowMs);
    }),
  );

/** Migrates a copy to this release; no other copy is made of it. */
export const migrateCopy = (db: Database, nowMs: number, migrations: readonly Migration[] = MIGRATIONS): void => {
  const version = checkSchema(db, migrations);
  const [first, ...later] = migrations;
  if (!first) return;
  if (isPreRelease(version)) convert(db, version, first, nowMs);
  else if (version < first.version) runStep(db, first, nowMs);
  for (const step of later) if (step.version > version) runStep(db, step, nowMs);
};

/**
 * Runs the missing steps. An existing file is first copied beside itself (`<path>.before-<version>`), and the copy is verified.
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
  const next = migrations.find((one) => one.version > version);
  if (next === undefined) return undefined;
  const copy = version > 0 && path !== ":memory:" ? `${path}.before-${next.version}` : null;
  if (copy !== null) copyBefore(db, path, copy, nowMs);
  // Pages that were rebuilt before this version can contain old bytes of rows, which no later erasure reaches.
  if (version > 0 && version < CLEAN_SINCE) rebuild(db);
  migrateCopy(db, nowMs, migrations);
  return version === 0 ? undefined : { from: version, to: newestOf(migrations), copy };
};
