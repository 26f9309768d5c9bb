// Source of an archive: reads one state of an SQLite file or PostgreSQL database.
//
// It streams rows and writes nothing.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { connect } from "../postgres/connections.ts";
import { openPostgresReads } from "../postgres/read-only-client.ts";
import { rowsOn } from "../postgres/verify.ts";
import type { Value } from "../sql/sql-program.ts";
import type { Rows } from "../sql/verify/run-async.ts";
import { lineageOf } from "../sqlite/database-id.ts";
import { DirectoryUnusable, withCorruptionErrors } from "../sqlite/errors.ts";
import { requireReadable } from "../sqlite/migrate.ts";
import { requireNotMigrated } from "../sqlite/migrated-marker.ts";
import { DATABASE_FILE, openReader } from "../sqlite/open.ts";
import { missLog } from "../sqlite/wal-sentinel.ts";

export type ArchiveSource = {
  rows: Rows;
  lineage: string;
  /** Whether several nodes owned generations. */
  hasOwnershipChanges: boolean;
};
export type ArchiveSourceLocation = { dir: string } | { url: string; prepare: boolean };

const SECRET = "SELECT value FROM meta WHERE name = 'secret'";
const first = async <Row>(rows: AsyncIterable<Row>): Promise<Row | undefined> => {
  for await (const row of rows) return row;
  return undefined;
};
const lineageIn = async (rows: Rows): Promise<string> => lineageOf((await first(rows<{ value: string }>(SECRET)))?.value ?? "");

const overFile = async <T>(dir: string, work: (source: ArchiveSource) => Promise<T>): Promise<T> => {
  const path = join(dir, DATABASE_FILE);
  if (!existsSync(path))
    throw new DirectoryUnusable(
      `data directory ${dir}: there is no database in it; name the directory the service was started with`,
    );
  missLog(dir);
  const db = withCorruptionErrors(path, () => openReader(path));
  try {
    requireReadable(db, `data directory ${dir}`);
    requireNotMigrated(db);
    db.run("BEGIN");
    const rows: Rows = async function* <Row>(sql: string, ...values: Value[]) {
      yield* db.query<Row, Value[]>(sql).iterate(...values);
    };
    return await work({ rows, lineage: await lineageIn(rows), hasOwnershipChanges: false });
  } finally {
    db.close();
  }
};

/**
 * Runs `work` over one state of the store while the service continues. A statement must be read to its end before the next one.
 */
export const withArchiveSource = async <T>(
  place: ArchiveSourceLocation,
  work: (source: ArchiveSource) => Promise<T>,
): Promise<T> => {
  if ("dir" in place) return overFile(place.dir, work);
  // Fails with the same errors as every reading command.
  await (await openPostgresReads(place)).close();
  const line = await connect(place);
  try {
    await line.script("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    const rows = rowsOn(line);
    return await work({ rows, lineage: await lineageIn(rows), hasOwnershipChanges: true });
  } finally {
    line.close();
  }
};

/** Identifier of the store, identical for every copy of one service's database. */
export const lineageAt = (place: ArchiveSourceLocation): Promise<string> =>
  withArchiveSource(place, async ({ lineage }) => lineage);
