// Marks a store as restored: its in-flight attempts may have continued elsewhere.

import { MutationRejected } from "./mutation-rejected.ts";
import { RESTORED_AT, SETTLED_AT_KEY, TAKEN_AT, UP_TO_SEQ } from "./queries/recovery.ts";
import { change, first, type SqlProgram } from "./sql-program.ts";

const META = "SELECT value FROM meta WHERE name = ?1";
const OLDEST = "SELECT min(seq) AS seq FROM generation WHERE completed_at_ms IS NULL";
const NEWEST = "SELECT max(seq) AS seq FROM generation";
const PUT = "INSERT INTO meta VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value";

/**
 * Marks it before a service opens it. Each attempt of a then open generation is confirmed with its provider before it is sent. A
 * copy of a copy keeps the earlier time while such a generation is open.
 * @returns since when its data is missing, in milliseconds since 1970.
 */
export const markingRestored = function* ({ takenAtMs, nowMs }: { takenAtMs: number; nowMs: number }): SqlProgram<number> {
  const known = function* (name: string): SqlProgram<number | undefined> {
    const row = yield* first<{ value: string }>(META, name);
    return row === undefined ? undefined : Number(row.value);
  };
  const oldest = (yield* first<{ seq: number | null }>(OLDEST))?.seq;
  const newest = (yield* first<{ seq: number | null }>(NEWEST))?.seq ?? 0;
  const [beforeMs, beforeSeq] = [yield* known(TAKEN_AT), yield* known(UP_TO_SEQ)];
  // Compared by row number, which rises independently of clocks.
  const isStillOnItsWay = typeof oldest === "number" && beforeSeq !== undefined && oldest <= beforeSeq;
  const sinceMs = isStillOnItsWay ? Math.min(takenAtMs, beforeMs ?? takenAtMs) : takenAtMs;
  yield* change(PUT, TAKEN_AT, String(sinceMs));
  yield* change(PUT, RESTORED_AT, String(nowMs));
  yield* change(PUT, UP_TO_SEQ, String(newest));
  yield* change("DELETE FROM meta WHERE name = ?1", SETTLED_AT_KEY);
  return sinceMs;
};

/** Records that an operator has settled the gap. @throws MutationRejected if the store was never restored */
export const settlingRestored = function* (atMs: number): SqlProgram<void> {
  if ((yield* first<{ value: string }>(META, TAKEN_AT)) === undefined)
    throw new MutationRejected("nothing to settle: the database was never restored from a backup");
  yield* change(PUT, SETTLED_AT_KEY, String(atMs));
};
