// Invariants 5 to 8: nothing acknowledged is lost, one key one generation, one submit per attempt, no unknown spend.
import { seqOfGenerationId } from "../../../ids.ts";
import { type Check, type Clause, clause, clauses, type Seen } from "./check.ts";

const STRANGE_ID = "the id does not carry the row number";
const idClause: Clause = {
  faults: [STRANGE_ID],
  *offending({ db }: Seen) {
    for (const { id, seq } of db.query<{ id: string; seq: number }, []>("SELECT id, seq FROM generation").iterate())
      if (seqOfGenerationId(id) !== seq) yield { fault: STRANGE_ID, generation: id, seq };
  },
};

const OTHER_STATUS = "the status of the generation is not what its journal led to";
const OTHER_END = "the generation did not end when its journal did";
const STATUS_LED_TO = "iif(j.state_after LIKE 'running%', 'running', j.state_after)";
/** Of the columns beside the one `max`, SQLite takes those of its row: the last line of each journal, found in one pass. */
const LAST_LINES = "SELECT seq, max(version), state_after, at_ms FROM journal GROUP BY seq";

/**
 * 5. What clients were answered is known to their logs only. The database can show that each generation is whole: its id
 * carries its row number, its journal ends where and when the row says it ended.
 */
const nothingLost: Check = {
  invariant: 5,
  name: "nothing acknowledged is lost",
  clauses: [
    clauses(
      [OTHER_STATUS, OTHER_END],
      `SELECT iif(g.status <> ${STATUS_LED_TO}, '${OTHER_STATUS}', '${OTHER_END}') AS fault, g.id AS generation, g.status, j.state_after,
         g.completed_at_ms, j.at_ms FROM (${LAST_LINES}) j CROSS JOIN generation g ON g.seq = j.seq
       WHERE g.status <> ${STATUS_LED_TO} OR g.completed_at_ms <> max(j.at_ms, g.created_at_ms)
       UNION ALL SELECT '${OTHER_STATUS}', g.id, g.status, NULL, g.completed_at_ms, NULL FROM generation g WHERE g.status <> 'queued'
         AND NOT EXISTS (SELECT 1 FROM journal WHERE seq = g.seq)`,
    ),
    clause(
      "what it delivered has no files, or files that are not numbered from 1",
      `SELECT g.id AS generation FROM generation g LEFT JOIN json_each(g.output, '$.files') f WHERE g.output IS NOT NULL
       GROUP BY g.seq HAVING count(f.key) = 0 OR sum((f.value ->> 'n') IS NOT f.key + 1) > 0`,
    ),
    idClause,
  ],
};

/** 6. That requests with another body were answered 409 is for the clients' logs to show. */
const oneKey: Check = {
  invariant: 6,
  name: "one key, one generation",
  clauses: [
    clause(
      "the key has more than one generation",
      `SELECT a.id AS account, g.idempotency_key AS key, count(*) AS generations FROM generation g JOIN account a ON a.seq = g.account_seq
       WHERE g.idempotency_key IS NOT NULL GROUP BY g.account_seq, g.idempotency_key HAVING count(*) > 1`,
    ),
    clause(
      "the key or the body is not of its form",
      `SELECT id AS generation FROM generation WHERE length(idempotency_key) NOT BETWEEN 1 AND 200
         OR NOT json_valid(body)`,
    ),
  ],
};

/** 7. How often a provider saw a token is for its log to show; here: tokens and jobs are one attempt's, and `sending` came first. */
const oneSubmit: Check = {
  invariant: 7,
  name: "at most one submit per attempt",
  clauses: [
    clause(
      "the reference is not of the generation and the attempt, or not the only one",
      `SELECT a.ref AS attempt, g.id AS generation, a.n FROM attempt a JOIN generation g ON g.seq = a.seq
       WHERE a.ref <> substr(g.id, 5) || '-' || a.n
       UNION ALL SELECT ref, NULL, NULL FROM attempt GROUP BY ref HAVING count(*) > 1`,
    ),
    clause(
      "the job belongs to more than one attempt",
      "SELECT provider, job_id AS job, count(*) AS attempts FROM attempt WHERE job_id IS NOT NULL GROUP BY provider, job_id HAVING count(*) > 1",
    ),
    clause(
      "the attempt went further than its request was written",
      `SELECT a.ref AS attempt, a.state FROM attempt a LEFT JOIN attempt_request r ON r.seq = a.seq AND r.n = a.n
       WHERE (a.state NOT IN ('intent', 'cancelled') OR a.job_id IS NOT NULL)
         AND (a.sent_at_ms IS NULL OR a.ends_at_ms IS NULL OR r.seq IS NULL)`,
    ),
    clause(
      "the attempt was sent again although nothing had refused it",
      `SELECT seq, event ->> 'n' AS attempt, count(*) FILTER (WHERE event ->> 'type' = 'slotTaken') AS sent FROM journal
       WHERE event ->> 'type' IN ('slotTaken', 'rejected') GROUP BY seq, event ->> 'n'
       HAVING sent > 1 + count(*) FILTER (WHERE event ->> 'type' = 'rejected')`,
    ),
  ],
};

/** 8. The provider's log is not here; what may be spent unknown to us is an attempt that was sent and left without an end. */
const noUnknownSpend: Check = {
  invariant: 8,
  name: "no unknown spend",
  clauses: [
    clause(
      "the attempt is under way although its generation has ended",
      `SELECT a.ref AS attempt, a.state FROM attempt a JOIN generation g ON g.seq = a.seq
       WHERE g.completed_at_ms IS NOT NULL AND a.state IN ('intent', 'sending', 'accepted')`,
    ),
    clause(
      "the attempt is over and has no time of it",
      "SELECT ref AS attempt, state FROM attempt WHERE ended_at_ms IS NULL AND state NOT IN ('intent', 'sending', 'accepted')",
    ),
    clause(
      "nothing was bought with the attempt, and it has a job",
      "SELECT ref AS attempt, state, provider, job_id AS job FROM attempt WHERE state IN ('rejected', 'absent', 'cancelled') AND +job_id IS NOT NULL",
    ),
    clause(
      "the attempt is watched although its fate is known",
      `SELECT ref AS attempt, state FROM attempt WHERE watch_until_ms IS NOT NULL
         AND state NOT IN ('lost', 'capped', 'superseded')`,
    ),
  ],
};

export const PROMISE_CHECKS = [nothingLost, oneKey, oneSubmit, noUnknownSpend] as const;
