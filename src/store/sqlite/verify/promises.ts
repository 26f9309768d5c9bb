// Invariants 5 to 8: nothing acknowledged is lost, one key one generation, one submit per attempt, no unknown spend.
import { seqOfGenerationId } from "../../../ids.ts";
import { type Check, check, rowsOf } from "./check.ts";

/**
 * 5. What clients were answered is known to their logs only. The database can show that each generation is whole: its
 * submission is there, its id carries its row number, its journal ends where the row says it ended.
 */
const nothingLost: Check = {
  invariant: 5,
  name: "nothing acknowledged is lost",
  *offending(seen) {
    yield* rowsOf(
      seen,
      "the generation and its submission are not both there",
      `SELECT g.id AS generation, g.seq FROM generation g LEFT JOIN submission s ON s.seq = g.seq WHERE s.seq IS NULL
       UNION ALL SELECT NULL, s.seq FROM submission s LEFT JOIN generation g ON g.seq = s.seq WHERE g.seq IS NULL`,
    );
    yield* rowsOf(
      seen,
      "the generation has ended and its journal has not, or the other way round",
      `SELECT g.id AS generation, g.status, j.state_after FROM generation g JOIN journal j ON j.seq = g.seq
         AND j.version = (SELECT max(version) FROM journal WHERE seq = g.seq)
       WHERE (g.completed_at_ms IS NOT NULL OR j.state_after IN ('succeeded', 'failed')) AND j.state_after <> g.status
       UNION ALL SELECT g.id, g.status, NULL FROM generation g WHERE g.status <> 'queued'
         AND NOT EXISTS (SELECT 1 FROM journal WHERE seq = g.seq)`,
    );
    for (const { id, seq } of seen.db.query<{ id: string; seq: number }, []>("SELECT id, seq FROM generation").iterate())
      if (seqOfGenerationId(id) !== seq) yield { fault: "the id does not carry the row number", generation: id, seq };
  },
};

/** 6. That requests with another body were answered 409 is for the clients' logs to show. */
const oneKey = check(6, "one key, one generation", [
  [
    "the key has more than one generation",
    `SELECT a.id AS account, g.idempotency_key AS key, count(*) AS generations FROM generation g JOIN account a ON a.seq = g.account_seq
     WHERE g.idempotency_key IS NOT NULL GROUP BY g.account_seq, g.idempotency_key HAVING count(*) > 1`,
  ],
  [
    "the key or the hash of the body is not of its form",
    `SELECT id AS generation FROM generation WHERE length(idempotency_key) NOT BETWEEN 1 AND 200 OR length(body_hash) <> 64
       OR body_hash GLOB '*[^0-9a-f]*'`,
  ],
]);

/** 7. How often a provider saw a token is for its log to show; here: tokens and jobs are one attempt's, and `sending` came first. */
const oneSubmit = check(7, "at most one submit per attempt", [
  [
    "the reference is not of the generation and the attempt, or not the only one",
    `SELECT a.ref AS attempt, g.id AS generation, a.n FROM attempt a JOIN generation g ON g.seq = a.seq
     WHERE a.ref <> substr(g.id, 5) || '-' || a.n
     UNION ALL SELECT ref, NULL, NULL FROM attempt GROUP BY ref HAVING count(*) > 1`,
  ],
  [
    "the job belongs to more than one attempt",
    "SELECT provider, job_id AS job, count(*) AS attempts FROM attempt WHERE job_id IS NOT NULL GROUP BY provider, job_id HAVING count(*) > 1",
  ],
  [
    "the attempt went further than its request was written",
    `SELECT a.ref AS attempt, a.state FROM attempt a LEFT JOIN attempt_request r ON r.seq = a.seq AND r.n = a.n
     WHERE (a.state NOT IN ('intent', 'cancelled') OR a.job_id IS NOT NULL)
       AND (a.sent_at_ms IS NULL OR a.ends_at_ms IS NULL OR r.seq IS NULL)`,
  ],
]);

/** 8. The provider's log is not here; what may be spent unknown to us is an attempt that was sent and left without an end. */
const noUnknownSpend = check(8, "no unknown spend", [
  [
    "the attempt was sent and its fate is open although its generation has ended",
    `SELECT a.ref AS attempt, a.state FROM attempt a JOIN generation g ON g.seq = a.seq
     WHERE g.completed_at_ms IS NOT NULL AND a.state IN ('sending', 'accepted')`,
  ],
  [
    "the attempt is over and has no time of it",
    "SELECT ref AS attempt, state FROM attempt WHERE ended_at_ms IS NULL AND state NOT IN ('intent', 'sending', 'accepted')",
  ],
]);

export const PROMISE_CHECKS = [nothingLost, oneKey, oneSubmit, noUnknownSpend] as const;
