// A look at a database for whoever asks how it is: its file, its log, its pages, its sums, and what waits for a person.
import { statSync } from "node:fs";
import { join } from "node:path";
import { RESTORED_AT, SETTLED_AT, TAKEN_AT } from "../sql/queries/recovery.ts";
import type { LedgerSums } from "../store.ts";
import { MIGRATIONS, schemaVersion } from "./migrate.ts";
import { DATABASE_FILE, openReader } from "./open.ts";
import { figuresOf } from "./snapshot-copy/stats.ts";
import { isLogMarked, missLog } from "./wal-sentinel.ts";

export type DatabaseHealth = {
  bytes: number;
  logBytes: number;
  /** The directory bears the mark of a log that is in use. */
  isMarked: boolean;
  schema: number;
  newestSchema: number;
  mode: "test" | "live";
  /** What is wrong with its pages; none: they are sound. */
  damage: string[];
  ledger: LedgerSums;
  /** Generations that cannot go on by themselves. */
  parked: string[];
  /** When a backup was restored into it, and the moment of that; null where it never was. */
  restored: { takenAtMs: number; atMs: number; isSettled: boolean } | null;
};

const MOST_DAMAGE = 5;

/** What came in from outside and is not out again must stand somewhere. @returns credits that are missing, or too many. */
export const imbalanceOf = ({ available, held, charged, moved }: LedgerSums): number =>
  available + held + charged - (moved.topup ?? 0) - (moved.adjust ?? 0);

/**
 * Looks at the database of a data directory, whether its service runs or not.
 * @param isDeep every page and index, instead of what is quickly seen.
 * @throws StoreDamaged where its log is missing; SQLite's faults where it cannot be read.
 */
export const inspectDatabase = (dir: string, isDeep: boolean): DatabaseHealth => {
  const path = join(dir, DATABASE_FILE);
  missLog(dir);
  const db = openReader(path);
  try {
    const check = isDeep ? "integrity_check" : "quick_check";
    const damage = db
      .query<Record<string, string>, []>(`PRAGMA ${check}(${MOST_DAMAGE})`)
      .all()
      .map((row) => Object.values(row)[0] ?? "")
      .filter((line) => line !== "ok");
    db.run("BEGIN");
    const { schema, mode, ledger } = figuresOf(db);
    const parked = db
      .query<{ id: string }, []>(
        `SELECT g.id FROM generation g JOIN snapshot s ON s.seq = g.seq
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
      newestSchema: MIGRATIONS.at(-1)?.n ?? schemaVersion(db),
      parked: parked.map(({ id }) => id),
      restored:
        takenAt === undefined || restoredAt === undefined
          ? null
          : { takenAtMs: Number(takenAt), atMs: Number(restoredAt), isSettled: meta.get(SETTLED_AT) !== null },
    };
  } finally {
    db.close();
  }
};
