// Migrates the schema: numbered steps with checksums in one transaction, one node at a time.
//
// The first release has version 10. Versions 1 to 7 are of builds before it; their databases are converted.

import { WrongSchema } from "../errors.ts";
import type { Migrated } from "../migration-report.ts";
import type { Connection } from "./connections.ts";
import { COPY_SCHEMA, convertPreRelease, requireNoLease } from "./convert-pre-release.ts";
import { faultText, isCollision, isFull, isLost, stateOf } from "./errors.ts";
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

/**
 * `version`: the version of the database after the step. `needs`: the lowest version that a release must know to work beside this
 * one. A step that only adds needs the previous one, so that nodes of the previous release continue and restart beside newer ones.
 * A step that removes something waits for the next release.
 */
export type Migration = { version: number; sql: string; needs: number };
export const MIGRATIONS: readonly Migration[] = [
  { version: 10, sql: initial, needs: 10 },
  { version: 11, sql: labels, needs: 10 },
  { version: 12, sql: files, needs: 10 },
  { version: 13, sql: webhooks, needs: 10 },
  { version: 14, sql: generationLists, needs: 10 },
  { version: 15, sql: erasure, needs: 10 },
  { version: 16, sql: resumableUploads, needs: 10 },
  // Earlier releases would not count the spending of end users.
  { version: 17, sql: endUsers, needs: 17 },
  { version: 18, sql: recoveries, needs: 17 },
  { version: 19, sql: forgottenFiles, needs: 17 },
  { version: 20, sql: hourlyOutcomes, needs: 17 },
  { version: 21, sql: spendAlerts, needs: 17 },
  { version: 22, sql: admissionIndexes, needs: 17 },
];

const newestOf = (migrations: readonly Migration[]): number => migrations.at(-1)?.version ?? 0;
const checksum = (sql: string): string => Bun.CryptoHasher.hash("sha256", sql, "hex");

/** Nodes that start at the same time wait for this lock. It belongs to a transaction, so it works through a pooler. */
export const LOCK_OPENING = "SELECT pg_advisory_xact_lock(7236837562)";
const CREATE_RECORD =
  "CREATE TABLE IF NOT EXISTS migration (n bigint PRIMARY KEY, checksum text NOT NULL, needs bigint NOT NULL, applied_at_ms bigint NOT NULL)";

/** @throws WrongSchema if a newer release removed something that this one needs. */
export const requireKnownSchema = (
  rows: readonly { n: number; needs: number }[],
  migrations: readonly Migration[] = MIGRATIONS,
): { version: number; newest: number } => {
  const newest = newestOf(migrations);
  const version = rows.at(-1)?.n ?? 0;
  if (Math.max(0, ...rows.map(({ needs }) => needs)) > newest)
    throw new WrongSchema(`the database has schema ${version} and this release knows ${newest}: start the newer release`);
  return { version, newest };
};
export const STEPS_RUN = "SELECT n, checksum, needs FROM migration ORDER BY n";
export type StepRun = { n: number; checksum: string; needs: number };

const requireSameChecksums = (rows: readonly StepRun[], known: readonly { version: number; sql: string }[]): void => {
  for (const row of rows)
    if (checksum(known.find(({ version }) => version === row.n)?.sql ?? "") !== row.checksum)
      throw new WrongSchema(
        `step ${row.n} of the database is not the one of this release: it was made by a changed or unreleased build; use that build`,
      );
};

const recordStep = async (line: Connection, { version, sql, needs }: Migration, nowMs: number): Promise<void> => {
  await line.script(CREATE_RECORD);
  await line.send("INSERT INTO migration VALUES (?1, ?2, ?3, ?4)", version, checksum(sql), needs, nowMs);
};

/** Completes the former steps and converts the tables. */
const convert = async (line: Connection, version: number, first: Migration, nowMs: number): Promise<void> => {
  await line.script("SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0");
  // Checked before the first lock on a table, so that a refused start does not block the older nodes.
  await requireNoLease(line);
  try {
    for (const step of PRE_RELEASE_MIGRATIONS) if (step.version > version) await line.script(step.sql);
    await convertPreRelease(line, first.sql, nowMs);
    await recordStep(line, first, nowMs);
  } catch (fault) {
    // A retry helps only where the server was gone, busy or full.
    if (stateOf(fault) === "" || isLost(fault) || isCollision(fault) || isFull(fault)) throw fault;
    throw new WrongSchema(`the conversion of the tables of an older build failed: ${faultText(fault)}; nothing was changed`);
  }
};

/**
 * Runs the missing steps inside the open transaction that holds the lock.
 * @returns the report for an existing database.
 * @throws WrongSchema if a newer release removed something that this release needs, if a step differs from the step that ran, or
 * if a node of a build before the first release holds a lease.
 */
export const migrate = async (
  line: Connection,
  nowMs: number,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<Migrated | undefined> => {
  await line.script(CREATE_RECORD);
  const { rows } = await line.send<StepRun>(STEPS_RUN);
  const { version, newest } = requireKnownSchema(rows, migrations);
  const isPreRelease = version > 0 && version <= PRE_RELEASE_VERSION;
  requireSameChecksums(
    rows.filter(({ n }) => n <= newest),
    isPreRelease ? PRE_RELEASE_MIGRATIONS : migrations,
  );
  const missing = migrations.filter((one) => one.version > version);
  const [first] = missing;
  if (!first) return undefined;
  // A step reads whole tables, which can take longer than the limits that the server has for ordinary statements.
  await line.script("SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0");
  if (isPreRelease) await convert(line, version, first, nowMs);
  for (const step of isPreRelease ? missing.slice(1) : missing) {
    await line.script(step.sql);
    await recordStep(line, step, nowMs);
  }
  return version === 0 ? undefined : { from: version, to: newest, copy: isPreRelease ? `schema ${COPY_SCHEMA}` : null };
};
