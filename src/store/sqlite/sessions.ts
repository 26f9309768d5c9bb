// Rows of sessions: opened, noted as used, ended once; those that are long over are cleared away.
import type { Database } from "bun:sqlite";
import type { NewSession } from "../../people-deeds.ts";

/** A session is kept this long after its time, ms. */
const KEPT_MS = 90 * 86_400_000;

export const prepareSessions = (db: Database) => {
  const insert = db.prepare(
    `INSERT INTO session (hash, id, person_seq, created_at_ms, seen_at_ms, expires_at_ms, agent, address)
     VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6, ?7)`,
  );
  const clear = db.prepare("DELETE FROM session WHERE person_seq = ?1 AND expires_at_ms < ?2");
  const note = db.prepare("UPDATE session SET seen_at_ms = max(seen_at_ms, ?2) WHERE id = ?1 AND ended_at_ms IS NULL");
  const end = db.prepare(
    `UPDATE session SET ended_at_ms = ?4
     WHERE person_seq = ?1 AND ended_at_ms IS NULL AND (?2 IS NULL OR id = ?2) AND (?3 IS NULL OR id <> ?3)`,
  );
  return {
    open: (personSeq: number, { hash, id, expiresAtMs, agent, address }: NewSession, atMs: number): void => {
      clear.run(personSeq, atMs - KEPT_MS);
      insert.run(hash, id, personSeq, atMs, expiresAtMs, agent, address);
    },
    note: (seen: readonly (readonly [sessionId: string, atMs: number])[]): void => {
      for (const [id, atMs] of seen) note.run(id, atMs);
    },
    end: (personSeq: number, onlyId: string | undefined, exceptId: string | undefined, atMs: number): void => {
      end.run(personSeq, onlyId ?? null, exceptId ?? null, atMs);
    },
  };
};
