// Session rows: open, record use, end and delete old ones.
import type { NewSession } from "../../domain/user-mutations.ts";
import { change, type SqlProgram } from "./sql-program.ts";

/** Time in milliseconds that an expired session is stored. */
const KEPT_MS = 90 * 86_400_000;

export const openSession = function* (
  userSeq: number,
  { hash, id, expiresAtMs, agent, address }: NewSession,
  atMs: number,
): SqlProgram<void> {
  yield* change("DELETE FROM session WHERE user_seq = ?1 AND expires_at_ms < ?2", userSeq, atMs - KEPT_MS);
  yield* change(
    `INSERT INTO session (hash, id, user_seq, created_at_ms, seen_at_ms, expires_at_ms, agent, address)
     VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6, ?7)`,
    ...[hash, id, userSeq, atMs, expiresAtMs, agent, address],
  );
};

export const noteSessions = function* (seen: readonly (readonly [sessionId: string, atMs: number])[]): SqlProgram<void> {
  // All nodes use the same order, which avoids deadlocks.
  for (const [id, atMs] of seen.toSorted(([a], [b]) => (a < b ? -1 : 1)))
    yield* change("UPDATE session SET seen_at_ms = ?2 WHERE id = ?1 AND seen_at_ms < ?2 AND ended_at_ms IS NULL", id, atMs);
};

/** Ends sessions of a user: one, all, or all but one. */
export const endSessions = function* (
  userSeq: number,
  onlyId: string | undefined,
  exceptId: string | undefined,
  atMs: number,
): SqlProgram<void> {
  yield* change(
    `UPDATE session SET ended_at_ms = ?4 WHERE user_seq = ?1 AND ended_at_ms IS NULL
       AND (CAST(?2 AS text) IS NULL OR id = ?2) AND (CAST(?3 AS text) IS NULL OR id <> ?3)`,
    ...[userSeq, onlyId ?? null, exceptId ?? null, atMs],
  );
};
