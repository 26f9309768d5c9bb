// Marks a database as the copy of a backup: what was on its way when the backup was taken may have gone on since, unknown to it.
import type { Database } from "bun:sqlite";
import { TAKEN_AT, UP_TO_SEQ } from "../sql/read/recovery.ts";

/** Name in `meta`: the moment that the backup was put in place, ms since 1970. */
export const RESTORED_AT = "restored_at_ms";

/**
 * Marks a restored database, before any service opens it. From then on each attempt of a generation that had not ended is confirmed with its
 * provider before it is sent. A copy of a copy keeps the earlier moment while something is on its way since then.
 */
export const markRestored = (db: Database, { takenAtMs, nowMs }: { takenAtMs: number; nowMs: number }): void => {
  const numberOf = (name: string): number | undefined => {
    const row = db.query<{ value: string }, [string]>("SELECT value FROM meta WHERE name = ?1").get(name);
    return row === null ? undefined : Number(row.value);
  };
  const oldest = db
    .query<{ seq: number | null }, []>("SELECT min(seq) AS seq FROM generation WHERE completed_at_ms IS NULL")
    .get()?.seq;
  const newest = db.query<{ seq: number | null }, []>("SELECT max(seq) AS seq FROM generation").get()?.seq ?? 0;
  const before = { takenAtMs: numberOf(TAKEN_AT), upToSeq: numberOf(UP_TO_SEQ) };
  // By number and not by time: numbers rise whatever the clocks do.
  const isStillOnItsWay = typeof oldest === "number" && before.upToSeq !== undefined && oldest <= before.upToSeq;
  const sinceMs = isStillOnItsWay ? Math.min(takenAtMs, before.takenAtMs ?? takenAtMs) : takenAtMs;
  const put = db.prepare("INSERT INTO meta VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value");
  db.run("BEGIN IMMEDIATE");
  put.run(TAKEN_AT, String(sinceMs));
  put.run(RESTORED_AT, String(nowMs));
  put.run(UP_TO_SEQ, String(newest));
  db.run("COMMIT");
};
