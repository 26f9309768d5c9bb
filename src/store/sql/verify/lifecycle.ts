// Invariants 9 and 10: no generation is stuck, and every history is valid.
import { type Check, type Clause, clause, clauses, whileRunning } from "./check.ts";

/** Longest route time including collecting: §2.5 and the limits of the service, in milliseconds. */
const ATTEMPT_MS = 2_400_000 + 600_000;
const SLACK_MS = 300_000;
const OVERDUE_MS = 60_000;
/** While our result storage rejects files, each transition restarts the time limit. */
const WHILE_REFUSED = `CASE WHEN s.state LIKE 'running.collecting.%'
  THEN (SELECT max(at_ms) FROM generation_event WHERE generation_seq = g.seq) + ${ATTEMPT_MS} ELSE 0 END`;
/** A settlement or retry by an operator starts new time limits, at any time. */
const SINCE_DECIDED = `coalesce((SELECT max(at_ms) FROM generation_event WHERE generation_seq = g.seq AND event LIKE '%"type":"%edByOperator"%'), 0) + ${ATTEMPT_MS}`;
const NOW = "CAST(?1 AS bigint)";

/** 9. Parked generations wait for an operator and are reported here. */
const nothingStuck: Check<Clause> = {
  invariant: 9,
  name: "nothing is stuck",
  clauses: [
    clause(
      "parked: its hold remains until an operator decides",
      `SELECT g.id AS generation, s.version FROM generation g JOIN snapshot s ON s.generation_seq = g.seq
       WHERE g.completed_at_ms IS NULL AND s.state = 'running.parked'`,
    ),
    clause(
      "the open generation has no deadline",
      `SELECT g.id AS generation, g.status FROM generation g INDEXED BY generation_open LEFT JOIN snapshot s ON s.generation_seq = g.seq
       WHERE g.completed_at_ms IS NULL AND s.state IS DISTINCT FROM 'running.parked' AND NOT EXISTS (SELECT 1 FROM deadline WHERE generation_seq = g.seq)`,
    ),
    clause(
      "the deadline is later than the time limit that it enforces",
      `SELECT g.id AS generation, c.kind, c.attempt_no AS attempt, c.at_ms FROM deadline c JOIN generation g ON g.seq = c.generation_seq
       LEFT JOIN attempt a ON a.generation_seq = c.generation_seq AND a.attempt_no = c.attempt_no
       WHERE (c.kind IN ('start', 'slot', 'submit') AND c.at_ms > g.start_deadline_ms)
         OR (c.kind = 'attempt' AND c.at_ms > coalesce(a.ends_at_ms, 0) AND c.at_ms > ${SINCE_DECIDED})`,
    ),
    clause(
      "the deadline is later than every possible activity",
      `SELECT g.id AS generation, c.at_ms FROM deadline c JOIN generation g ON g.seq = c.generation_seq
       LEFT JOIN snapshot s ON s.generation_seq = g.seq
       WHERE c.at_ms - ${SLACK_MS} > g.start_deadline_ms
         AND c.at_ms - ${SLACK_MS} > coalesce((SELECT max(ends_at_ms) FROM attempt WHERE generation_seq = g.seq), 0) + ${ATTEMPT_MS}
         AND c.at_ms - ${SLACK_MS} > ${SINCE_DECIDED} AND c.at_ms - ${SLACK_MS} > ${WHILE_REFUSED}`,
    ),
    clause(
      "the deadline belongs to an ended or missing generation",
      `SELECT c.generation_seq, c.kind FROM deadline c LEFT JOIN generation g ON g.seq = c.generation_seq WHERE g.seq IS NULL OR g.completed_at_ms IS NOT NULL`,
    ),
    whileRunning(
      "the deadline is overdue",
      `SELECT g.id AS generation, c.kind, c.at_ms FROM deadline c JOIN generation g ON g.seq = c.generation_seq
       LEFT JOIN snapshot s ON s.generation_seq = c.generation_seq
       WHERE c.at_ms < ${NOW} - ${OVERDUE_MS} AND s.state IS DISTINCT FROM 'running.parked'`,
    ),
    whileRunning(
      "the generation is older than its time limits allow",
      `SELECT g.id AS generation, g.created_at_ms FROM generation g INDEXED BY generation_open LEFT JOIN snapshot s ON s.generation_seq = g.seq
       WHERE g.completed_at_ms IS NULL AND s.state IS DISTINCT FROM 'running.parked'
         AND ${NOW} - ${SLACK_MS} > g.start_deadline_ms + ${ATTEMPT_MS} * (SELECT count(*) FROM attempt WHERE generation_seq = g.seq)
         AND ${NOW} - ${SLACK_MS} > ${SINCE_DECIDED} AND ${NOW} - ${SLACK_MS} > ${WHILE_REFUSED}`,
    ),
  ],
};

const GAP = "the versions of the events have a gap, or the snapshot is not of the last version";
const BACKWARDS = "the events return to an earlier status, continue after an end, or succeed without running";
/**
 * A summary of the events of each generation in one pass, with the last queued, the first running and the first ended version.
 */
const HISTORIES = `SELECT generation_seq, count(*) AS versions, max(version) AS last, max(CASE WHEN state_after LIKE 'queued%' THEN version END) AS queued,
  min(CASE WHEN state_after LIKE 'running%' THEN version END) AS running, min(CASE WHEN state_after = 'succeeded' THEN version END) AS success,
  min(CASE WHEN state_after IN ('succeeded', 'failed') THEN version END) AS ended FROM generation_event GROUP BY generation_seq`;

/** 10. Each event is one version. Attempts in state `superseded` or `late` do not count as running. */
const lawfulHistory: Check<Clause> = {
  invariant: 10,
  name: "lawful history",
  clauses: [
    clauses(
      [GAP, BACKWARDS],
      `SELECT CASE WHEN is_gap THEN '${GAP}' ELSE '${BACKWARDS}' END AS fault, generation_seq, versions, last, snapshot, queued, running, ended
       FROM (SELECT j.*, s.version AS snapshot,
           j.versions <> j.last OR CASE WHEN g.completed_at_ms IS NULL THEN s.version IS DISTINCT FROM j.last ELSE s.version IS NOT NULL END AS is_gap
         FROM (${HISTORIES}) j LEFT JOIN snapshot s ON s.generation_seq = j.generation_seq LEFT JOIN generation g ON g.seq = j.generation_seq) h
       WHERE is_gap OR queued > running OR ended < last OR (success IS NOT NULL AND running IS NULL)
       UNION ALL SELECT '${GAP}', s.generation_seq, 0, 0, s.version, NULL, NULL, NULL FROM snapshot s
         WHERE NOT EXISTS (SELECT 1 FROM generation_event WHERE generation_seq = s.generation_seq)`,
    ),
    clause(
      "the state of the snapshot differs from its event",
      `SELECT s.generation_seq, s.state, j.state_after FROM snapshot s JOIN generation_event j ON j.generation_seq = s.generation_seq AND j.version = s.version
       WHERE s.state <> j.state_after`,
    ),
    clause(
      "the attempts are not numbered from 1, or their routes differ from the count",
      ({ json }) => `SELECT g.id AS generation, g.attempts, a.rows, a.last, a.routes FROM generation g
       LEFT JOIN (SELECT generation_seq, count(*) AS rows, max(attempt_no) AS last, count(DISTINCT route_id) AS routes FROM attempt GROUP BY generation_seq) a
         ON a.generation_seq = g.seq
       JOIN plan p ON p.seq = g.plan_seq
       WHERE coalesce(a.rows, 0) <> coalesce(a.last, 0) OR coalesce(a.routes, 0) <> g.attempts
         OR g.attempts > json_array_length(${json("p.routes")})`,
    ),
    clause(
      "the route of the attempt is not in the plan",
      ({ elements }) => `SELECT a.ref AS attempt, a.route_id AS route FROM attempt a JOIN generation g ON g.seq = a.generation_seq
       JOIN plan p ON p.seq = g.plan_seq WHERE NOT EXISTS (SELECT 1 FROM ${elements("p.routes", "r")} WHERE r.value ->> 'routeId' = a.route_id)`,
    ),
    clause(
      "more than one attempt is open",
      `SELECT generation_seq, count(*) AS attempts FROM attempt WHERE state IN ('intent', 'sending', 'accepted') GROUP BY generation_seq HAVING count(*) > 1`,
    ),
    clause(
      "the columns of the generation do not match its status",
      `SELECT id AS generation, status FROM generation
       WHERE status NOT IN ('queued', 'running', 'succeeded', 'failed')
         OR (completed_at_ms IS NOT NULL) <> (status IN ('succeeded', 'failed')) OR completed_at_ms < created_at_ms
         OR (output IS NOT NULL) <> (status = 'succeeded') OR (error IS NOT NULL) <> (status = 'failed')
         OR (message IS NOT NULL AND status <> 'running') OR (files_expired_at_ms IS NOT NULL AND status <> 'succeeded')`,
    ),
    clause(
      "the message does not match the state",
      `SELECT g.id AS generation, s.state, g.message FROM generation g INDEXED BY generation_open JOIN snapshot s ON s.generation_seq = g.seq
       WHERE g.completed_at_ms IS NULL
         AND (g.message IS NOT NULL) <> (s.state LIKE 'running.confirming.%' OR s.state = 'running.parked')`,
    ),
  ],
};

export const LIFECYCLE_CHECKS = [nothingStuck, lawfulHistory] as const;
