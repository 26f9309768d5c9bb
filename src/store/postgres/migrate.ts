// Migrates the schema: numbered steps with checksums in one transaction, one node at a time.

import { WrongSchema } from "../errors.ts";
import type { Migrated } from "../migration-report.ts";
import type { Connection } from "./connections.ts";
import first from "./schema/0001.sql" with { type: "text" };
import second from "./schema/0002.sql" with { type: "text" };
import third from "./schema/0003.sql" with { type: "text" };
import fourth from "./schema/0004.sql" with { type: "text" };
import fifth from "./schema/0005.sql" with { type: "text" };
import sixth from "./schema/0006.sql" with { type: "text" };
import seventh from "./schema/0007.sql" with { type: "text" };

/**
 * `needs`: the newest step that a release must know to work beside this one. A step that only adds needs the previous one, so
 * that nodes of the previous release continue and restart beside newer ones. A step that removes something waits for the next
 * release.
 */
export type Migration = { n: number; sql: string; needs: number };
export const MIGRATIONS: readonly Migration[] = [
  { n: 1, sql: first, needs: 1 },
  { n: 2, sql: second, needs: 2 },
  { n: 3, sql: third, needs: 2 },
  { n: 4, sql: fourth, needs: 2 },
  { n: 5, sql: fifth, needs: 5 },
  { n: 6, sql: sixth, needs: 5 },
  { n: 7, sql: seventh, needs: 5 },
];

const checksum = (sql: string): string => Bun.CryptoHasher.hash("sha256", sql, "hex");

/** Nodes that start at the same time wait for this lock. It belongs to a transaction, so it works through a pooler. */
export const LOCK_OPENING = "SELECT pg_advisory_xact_lock(7236837562)";
const CREATE =
  "CREATE TABLE IF NOT EXISTS migration (n bigint PRIMARY KEY, checksum text NOT NULL, needs bigint NOT NULL, applied_at_ms bigint NOT NULL)";

/** @throws WrongSchema if a newer release removed something that this one needs. */
export const insistOnKnown = (
  rows: readonly { n: number; needs: number }[],
  migrations: readonly Migration[] = MIGRATIONS,
): { version: number; newest: number } => {
  const newest = migrations.at(-1)?.n ?? 0;
  const version = rows.at(-1)?.n ?? 0;
  if (Math.max(0, ...rows.map(({ needs }) => needs)) > newest)
    throw new WrongSchema(`the database has schema ${version} and this release knows ${newest}: start the newer release`);
  return { version, newest };
};
export const STEPS_RUN = "SELECT n, checksum, needs FROM migration ORDER BY n";
export type StepRun = { n: number; checksum: string; needs: number };

/**
 * Runs the missing steps inside the open transaction that holds the lock.
 * @returns the report for an existing database.
 * @throws WrongSchema if a newer release removed something that this release needs, or if a step differs from the step that ran.
 */
export const migrate = async (
  line: Connection,
  nowMs: number,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<Migrated | undefined> => {
  await line.script(CREATE);
  const { rows } = await line.send<StepRun>(STEPS_RUN);
  const { version, newest } = insistOnKnown(rows, migrations);
  for (const row of rows.filter(({ n }) => n <= newest))
    if (checksum(migrations.find(({ n }) => n === row.n)?.sql ?? "") !== row.checksum)
      throw new WrongSchema(
        `step ${row.n} of the database is not the one of this release: it was made by a changed or unreleased build; use that build`,
      );
  for (const { n, sql, needs } of migrations.filter((one) => one.n > version)) {
    await line.script(sql);
    await line.send("INSERT INTO migration VALUES (?1, ?2, ?3, ?4)", n, checksum(sql), needs, nowMs);
  }
  return version === 0 || version >= newest ? undefined : { from: version, to: newest, copy: null };
};
