// Invariants 5 to 8: durability, idempotency, one submission per attempt, no unknown spend.
import { seqOfGenerationId } from "../../../domain/ids.ts";
import { type Check, type Clause, clause, clauses } from "./check.ts";

const ids: Clause = {
  ...clause("the id does not contain the row number", "SELECT id AS generation, seq FROM generation"),
  isOffender: ({ generation, seq }) => seqOfGenerationId(String(generation)) !== seq,
};

const OTHER_STATUS = "the status of the generation differs from its last event";
const OTHER_END = "the end time of the generation differs from its last event";
const STATUS_LED_TO =
  "CASE WHEN j.generation_seq IS NULL THEN 'queued' WHEN j.state_after LIKE 'running%' THEN 'running' ELSE j.state_after END";
/** The later of the last event and the submission; null without an event. */
const ENDED_AT_MS = "CASE WHEN j.at_ms >= g.created_at_ms THEN j.at_ms WHEN j.at_ms < g.created_at_ms THEN g.created_at_ms END";

/**
 * 5. Only the logs of clients contain the acknowledged responses. The database proves that each generation is complete: its id
 * contains its row number, and its last event matches the stored status and end time.
 */
const noMissingRow: Check<Clause> = {
  invariant: 5,
  name: "nothing acknowledged is lost",
  clauses: [
    clauses(
      [OTHER_STATUS, OTHER_END],
      `SELECT CASE WHEN g.status <> ${STATUS_LED_TO} THEN '${OTHER_STATUS}' ELSE '${OTHER_END}' END AS fault, g.id AS generation, g.status,
         j.state_after, g.completed_at_ms, j.at_ms FROM generation g
       LEFT JOIN generation_event j ON j.generation_seq = g.seq AND j.version = (SELECT max(version) FROM generation_event WHERE generation_seq = g.seq)
       WHERE g.status <> ${STATUS_LED_TO} OR g.completed_at_ms <> ${ENDED_AT_MS}`,
    ),
    clause(
      "the output has no files, or files that are not numbered from 1",
      ({ json, numbered }) => `SELECT g.id AS generation FROM generation g
       LEFT JOIN ${numbered(`${json("g.output")} -> 'files'`, "f")} ON TRUE WHERE g.output IS NOT NULL
       GROUP BY g.seq HAVING count(f.key) = 0
         OR count(*) FILTER (WHERE CAST(f.value -> 'n' AS text) IS DISTINCT FROM CAST(f.key + 1 AS text)) > 0`,
    ),
    ids,
  ],
};

/** 6. The logs of clients prove that a request with another body is rejected with 409. */
const oneKey: Check<Clause> = {
  invariant: 6,
  name: "one key, one generation",
  clauses: [
    clause(
      "the idempotency key has more than one generation",
      `SELECT a.id AS account, k.key, k.generations FROM (SELECT account_seq, idempotency_key AS key, count(*) AS generations FROM generation
         WHERE idempotency_key IS NOT NULL GROUP BY account_seq, idempotency_key HAVING count(*) > 1) k
       JOIN account a ON a.seq = k.account_seq`,
    ),
    clause(
      "the idempotency key or the body is malformed",
      ({ isJson }) => `SELECT g.id AS generation FROM generation g LEFT JOIN generation_request r ON r.generation_seq = g.seq
       WHERE length(g.idempotency_key) NOT BETWEEN 1 AND 200 OR r.body IS NULL OR NOT ${isJson("r.body")}`,
    ),
  ],
};

/**
 * 7. The log of the provider proves how often it received a reference. Checked here: a reference and a job belong to one attempt,
 * and `sending` was stored first.
 */
const oneSubmit: Check<Clause> = {
  invariant: 7,
  name: "at most one submit per attempt",
  clauses: [
    clause(
      "the reference does not match its attempt, or is not unique",
      `SELECT a.ref AS attempt, g.id AS generation, a.attempt_no FROM attempt a JOIN generation g ON g.seq = a.generation_seq
       WHERE a.ref <> substr(g.id, 5) || '-' || a.attempt_no
       UNION ALL SELECT ref, NULL, NULL FROM attempt GROUP BY ref HAVING count(*) > 1`,
    ),
    clause(
      "the job belongs to more than one attempt",
      "SELECT provider, job_id AS job, count(*) AS attempts FROM attempt WHERE job_id IS NOT NULL GROUP BY provider, job_id HAVING count(*) > 1",
    ),
    clause(
      "the attempt was sent without a stored request or time",
      `SELECT a.ref AS attempt, a.state FROM attempt a LEFT JOIN attempt_request r ON r.generation_seq = a.generation_seq AND r.attempt_no = a.attempt_no
       WHERE (a.state NOT IN ('intent', 'cancelled') OR a.job_id IS NOT NULL)
         AND (a.sent_at_ms IS NULL OR a.ends_at_ms IS NULL OR r.generation_seq IS NULL)`,
    ),
    clause("the attempt was sent again without a rejection", ({ json }) => {
      const event = json("event");
      const countOf = (type: string) => `count(*) FILTER (WHERE ${event} ->> 'type' = '${type}')`;
      return `SELECT generation_seq, CAST(${event} ->> 'n' AS bigint) AS attempt, ${countOf("slotTaken")} AS sent FROM generation_event
          WHERE ${event} ->> 'type' IN ('slotTaken', 'rejected') GROUP BY generation_seq, ${event} ->> 'n'
          HAVING ${countOf("slotTaken")} > 1 + ${countOf("rejected")}`;
    }),
  ],
};

/** 8. The log of the provider is not available here. Checked here: every attempt that was sent has an end. */
const noUnknownSpend: Check<Clause> = {
  invariant: 8,
  name: "no unknown spend",
  clauses: [
    clause(
      "the attempt is open although its generation has ended",
      `SELECT a.ref AS attempt, a.state FROM attempt a JOIN generation g ON g.seq = a.generation_seq
       WHERE g.completed_at_ms IS NOT NULL AND a.state IN ('intent', 'sending', 'accepted')`,
    ),
    clause(
      "the ended attempt has no end time",
      "SELECT ref AS attempt, state FROM attempt WHERE ended_at_ms IS NULL AND state NOT IN ('intent', 'sending', 'accepted')",
    ),
    clause(
      "an attempt without a purchase has a job",
      // Prevents SQLite from using the index of jobs, because nearly every attempt has a job.
      `SELECT ref AS attempt, state, provider, job_id AS job FROM attempt WHERE state IN ('rejected', 'absent', 'cancelled')
         AND job_id || '' IS NOT NULL`,
    ),
    clause(
      "the attempt is watched although its result is known",
      `SELECT ref AS attempt, state FROM attempt WHERE watch_until_ms IS NOT NULL
         AND state NOT IN ('lost', 'capped', 'superseded')`,
    ),
  ],
};

export const EXACTLY_ONCE_CHECKS = [noMissingRow, oneKey, oneSubmit, noUnknownSpend] as const;
