// Health of a database: file, WAL, pages, totals and parked generations.
import { statSync } from "node:fs";
import { join } from "node:path";
import { RESTORED_AT, SETTLED_AT_KEY, TAKEN_AT } from "../sql/queries/recovery.ts";
import type { LedgerSums } from "../store.ts";
import { SCHEMA_VERSION, schemaVersion } from "./migrate.ts";
import { DATABASE_FILE, openReader } from "./open.ts";
import { figuresOf } from "./snapshot-copy/stats.ts";
import { isLogMarked, missLog } from "./wal-sentinel.ts";

export type DatabaseHealth = {
  bytes: number;
  logBytes: number;
  /** The directory has the sentinel of a WAL in use. */
  isMarked: boolean;
  schema: number;
  newestSchema: number;
  mode: "test" | "live";
  /** Corrupt pages; empty if there are none. */
  damage: string[];
  ledger: LedgerSums;
  /** Ids of parked generations. */
  parked: string[];
  /** Times of a restored backup and of the restore; null if it was never restored. */
  restored: { takenAtMs: number; atMs: number; isSettled: boolean } | null;
};

const MAX_DAMAGE = 5;

/** Credits that came in must be on some side of the ledger. @returns missing or excess credits. */
export const imbalanceOf = ({ available, held, charged, moved }: LedgerSums): number =>
  available + held + charged - (moved.topup ?? 0) - (moved.adjust ?? 0);

/** The schema version of a data directory. @throws as `inspectDatabase`. */
export const schemaVersionIn = (dir: string): number => {
  missLog(dir);
  const db = openReader(join(dir, DATABASE_FILE));
  try {
    return schemaVersion(db);
  } finally {
    db.close();
  }
};

/**
 * Checks the database of a data directory while its service is running or stopped.
 * @param isDeep every page and index instead of a quick check.
 * @throws StoreDamaged if its WAL is missing; SQLite errors if it cannot be read.
 */
export const inspectDatabase = (dir: string, isDeep: boolean): DatabaseHealth => {
  const path = join(dir, DATABASE_FILE);
  missLog(dir);
  const db = openReader(path);
  try {
    const check = isDeep ? "integrity_check" : "quick_check";
    const damage = db
      .query<Record<string, string>, []>(`PRAGMA ${check}(${MAX_DAMAGE})`)
      .all()
      .map((row) => Object.values(row)[0] ?? "")
      .filter((line) => line !== "ok");
    db.run("BEGIN");
    const { schema, mode, ledger } = figuresOf(db);
    const parked = db
      .query<{ id: string }, []>(
        `SELECT g.id FROM generation g JOIN snapshot s ON s.generation_seq = g.seq
         WHERE g.completed_at_ms IS NULL AND s.state = 'running.parked' ORDER BY g.seq`,
      )
      .all();
    const meta = db.query<{ value: string }, [string]>("SELECT value FROM meta WHERE name = ?1");
    const [takenAt, restoredAt] = [meta.get(TAKEN_AT)?.value, meta.get(RESTORED_AT)?.value];
    return {
      ...{ schema, mode, ledger, damage },
      bytes: statSync(path).size,
      logBytes: statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0,
      isMarked: isLogMarked(dir),
      newestSchema: SCHEMA_VERSION,
      parked: parked.map(({ id }) => id),
      restored:
        takenAt === undefined || restoredAt === undefined
          ? null
          : { takenAtMs: Number(takenAt), atMs: Number(restoredAt), isSettled: meta.get(SETTLED_AT_KEY) !== null },
    };
  } finally {
    db.close();
  }
};
