// Queries of orphans and of all attempts that were sent to a provider.
import { leastSeqAt } from "../../../domain/ids.ts";
import type { Failure, JsonObject } from "../../../domain/types.ts";
import type { OrphanRow, SentRow, StoreReads } from "../../store.ts";
import type { Dialect } from "../dialect.ts";
import type { Query } from "../sql-program.ts";
import { parsed } from "./record.ts";

/**
 * Failure classes that prove that the provider billed nothing. A retryable rejection (`rate_limited`, `not_sent`) stays on the
 * row of the attempt when it is sent again, so these two classes prove nothing.
 */
const PROVED_UNPAID = `('refused_input', 'refused_output', 'invalid_for_route', 'input_unreachable', 'overloaded', 'config_fault',
  'balance', 'job_failed')`;
const UNREAD = "('result_unreadable', 'result_expired')";

type Stored = Omit<OrphanRow, "isWatched" | "failure"> & { isWatched: number; failure: string | null };
type StoredSent = Omit<SentRow, "options"> & { options: string };

const orphansIn = ({ json }: Dialect): string => {
  const failed = `${json("t.failure")} ->> 'class'`;
  // The response has no file and names a cost, so the fate is `unusable` as for an unreadable result.
  const billed = `${json("t.failure")} ->> 'isBilled' IS NOT NULL`;
  const fate = `CASE WHEN a.state IN ('late', 'mismatched') THEN a.state WHEN ${failed} IN ${UNREAD} OR ${billed} THEN 'unusable' ELSE 'unknown' END`;
  return `SELECT g.id AS "generationId", a.attempt_no AS n, c.id AS "accountId", a.route_id AS "routeId", a.provider, a.endpoint, a.ref,
       a.job_id AS "jobId", ${fate} AS fate, a.state, a.price_credits AS "priceCredits", a.sent_at_ms AS "sentAtMs",
       a.ended_at_ms AS "endedAtMs", a.watch_until_ms AS "watchUntilMs", g.status, t.failure,
       CASE WHEN a.watch_until_ms IS NULL THEN 0 ELSE 1 END AS "isWatched"
     FROM attempt a JOIN generation g ON g.seq = a.generation_seq JOIN account c ON c.seq = g.account_seq
       JOIN attempt_text t ON t.generation_seq = a.generation_seq AND t.attempt_no = a.attempt_no
     WHERE a.generation_seq >= ?2 AND a.sent_at_ms >= ?1 AND (
       a.state IN ('late', 'mismatched')
       OR (a.state IN ('lost', 'capped', 'superseded') AND (t.failure IS NULL OR ${failed} NOT IN ${PROVED_UNPAID}))
       OR (a.state = 'failed' AND ${failed} IN ('result_unreadable', 'result_expired', 'gone'))
       OR (a.state IN ('rejected', 'failed') AND ${billed})
       OR (a.state IN ('sending', 'accepted') AND g.completed_at_ms IS NOT NULL))
     ORDER BY a.sent_at_ms DESC, a.generation_seq DESC, a.attempt_no DESC`;
};
const SENT = `SELECT g.id AS "generationId", a.attempt_no AS n, c.id AS "accountId", a.route_id AS "routeId", a.endpoint, a.ref, a.job_id AS "jobId", a.state,
    a.price_credits AS "priceCredits", a.sent_at_ms AS "sentAtMs", o.options
  FROM attempt a JOIN generation g ON g.seq = a.generation_seq JOIN account c ON c.seq = g.account_seq JOIN route_options o ON o.seq = a.options_seq
  WHERE a.provider = ?1 AND a.sent_at_ms >= ?2 ORDER BY a.sent_at_ms, a.generation_seq, a.attempt_no`;

export const orphanReads = (query: Query, dialect: Dialect): Pick<StoreReads, "orphans" | "sentTo"> => {
  const orphans = orphansIn(dialect);
  return {
    sentTo: async (provider, sinceMs) =>
      (await query<StoredSent>(SENT, provider, sinceMs)).map((row) => ({
        ...row,
        options: JSON.parse(row.options) as JsonObject,
      })),
    orphans: async (sinceMs, submittedSinceMs = 0) =>
      (await query<Stored>(orphans, sinceMs, leastSeqAt(submittedSinceMs))).map((row) => ({
        ...row,
        isWatched: row.isWatched === 1,
        failure: parsed<Failure>(row.failure),
      })),
  };
};
