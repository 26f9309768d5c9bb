// Reads of the store port over one connection, or over the directory of another process.
import type { Database } from "bun:sqlite";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { readsThrough } from "../sql/reads.ts";
import type { StoreReads } from "../store.ts";
import { DirectoryUnusable, faultCode, faultText, withCorruptionErrors } from "./errors.ts";
import { requireReadable, schemaVersion } from "./migrate.ts";
import { requireNotMigrated } from "./migrated-marker.ts";
import { DATABASE_FILE, openReader } from "./open.ts";
import { openQuery, SQLITE } from "./sql-program.ts";
import { verifyAll } from "./verify/all.ts";
import { verifyOnThreads } from "./verify/parallel.ts";
import { missLog } from "./wal-sentinel.ts";

const USAGE_BEHIND = `SELECT coalesce((SELECT max(seq) FROM transfer), 0)
  - coalesce((SELECT CAST(value AS bigint) FROM meta WHERE name = 'usage_up_to'), 0) AS behind`;

/** Reads over an open connection; `close` closes it. */
export const readsOver = (db: Database): StoreReads => ({
  ...readsThrough(openQuery(db), SQLITE, { usageBehind: USAGE_BEHIND }),
  nodes: null,
  verify: async (nowMs) => verifyAll(db, nowMs),
  close: async () => db.close(),
});

/** File size in bytes from which checks take seconds and run in threads. */
const LARGE_BYTES = 67_108_864;

/** `largeBytes`: size from which several cores verify the file. `insistsOnHere`: refuses data that was migrated elsewhere. */
export type SqliteReadsOptions = { largeBytes?: number; insistsOnHere?: true };

/**
 * Reads a data directory without a lock, while its owner runs, or a copy of it.
 * @throws DirectoryUnusable if it has no database. @throws WrongSchema, StoreDamaged, StoreMigrated.
 */
export const openSqliteReads = async (
  dir: string,
  { largeBytes = LARGE_BYTES, insistsOnHere }: SqliteReadsOptions = {},
): Promise<StoreReads> => {
  const path = join(dir, DATABASE_FILE);
  if (!existsSync(path))
    throw new DirectoryUnusable(
      `data directory ${dir}: there is no database in it; name the directory the service was started with`,
    );
  missLog(dir);
  let db: Database | undefined;
  try {
    return withCorruptionErrors(path, () => {
      db = openReader(path);
      if (schemaVersion(db) === 0)
        throw new DirectoryUnusable(`data directory ${dir}: its database is still empty; start the service once`);
      requireReadable(db, `data directory ${dir}`);
      if (insistsOnHere) requireNotMigrated(db);
      const reads = readsOver(db);
      const isLarge = statSync(path).size >= largeBytes;
      return isLarge ? { ...reads, verify: (nowMs, report) => verifyOnThreads(path, nowMs, report) } : reads;
    });
  } catch (fault) {
    db?.close();
    const code = faultCode(fault);
    if (!code.startsWith("SQLITE_")) throw fault;
    // A reader shares the WAL index with the owner, a file that SQLite creates beside the database.
    const fix = /^SQLITE_(CANTOPEN|READONLY|PERM)/.test(code)
      ? "; reading needs to write beside it: where the disk is read-only, copy the directory to another and name the copy with --data"
      : "";
    throw new DirectoryUnusable(`data directory ${dir}: its database cannot be read (${faultText(fault)})${fix}`);
  }
};
