// Rows of sessions: opened, noted as used, ended once; those that are long over are cleared away.
import type { NewSession } from "../user-mutations.ts";
import { change, type SqlProgram } from "./sql-program.ts";

/** A session is kept this long after its time, ms. */
const KEPT_MS = 90 * 86_400_000;

export const openSession = function* (
  personSeq: number,
  { hash, id, expiresAtMs, agent, address }: NewSession,
  atMs: number,
): SqlProgram<void> {
  yield* change("DELETE FROM session WHERE person_seq = ?1 AND expires_at_ms < ?2", personSeq, atMs - KEPT_MS);
  yield* change(
    `INSERT INTO session (hash, id, person_seq, created_at_ms, seen_at_ms, expires_at_ms, agent, address)
     VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6, ?7)`,
    ...[hash, id, personSeq, atMs, expiresAtMs, agent, address],
  );
};

export const noteSessions = function* (seen: readonly (readonly [sessionId: string, atMs: number])[]): SqlProgram<void> {
  // In one order at all nodes, so that none waits for another that waits for it.
  for (const [id, atMs] of seen.toSorted(([a], [b]) => (a < b ? -1 : 1)))
    yield* change("UPDATE session SET seen_at_ms = ?2 WHERE id = ?1 AND seen_at_ms < ?2 AND ended_at_ms IS NULL", id, atMs);
};

/** Ends the sessions of a person: one, all, or all but one. */
export const endSessions = function* (
  personSeq: number,
  onlyId: string | undefined,
  exceptId: string | undefined,
  atMs: number,
): SqlProgram<void> {
  yield* change(
    `UPDATE session SET ended_at_ms = ?4 WHERE person_seq = ?1 AND ended_at_ms IS NULL
       AND (CAST(?2 AS text) IS NULL OR id = ?2) AND (CAST(?3 AS text) IS NULL OR id <> ?3)`,
    ...[personSeq, onlyId ?? null, exceptId ?? null, atMs],
  );
};
