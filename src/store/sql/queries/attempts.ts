// Queries of attempts: single, by generation, watched, by job, and recent delivery times.
import type { Attempt, AttemptState, Failure, Job, JsonObject, MediaKind, ResultFile } from "../../../domain/types.ts";
import type { StoreReads } from "../../store.ts";
import type { Query } from "../sql-program.ts";
import { parsed } from "./record.ts";

type AttemptWrites = {
  generation_seq: number;
  attempt_no: number;
  ref: string;
  request_id: string;
  route_id: string;
  provider: string;
  endpoint: string;
  options: string;
  kind: MediaKind;
  price_credits: number;
  state: AttemptState;
  request: string | null;
  sent_at_ms: number | null;
  ends_at_ms: number | null;
  job_id: string | null;
  job_urls: string | null;
  results: string | null;
  failure: string | null;
  watch_until_ms: number | null;
  ended_at_ms: number | null;
};
type Reads = Pick<StoreReads, "attempt" | "attemptsOf" | "watchedAttempts" | "jobOwner" | "recentDeliveries">;

const SELECT = `SELECT a.generation_seq, a.attempt_no, a.ref, a.route_id, a.provider, a.endpoint, a.kind, a.price_credits, a.state, a.sent_at_ms,
    a.ends_at_ms, a.job_id, a.job_urls, a.watch_until_ms, a.ended_at_ms, g.request_id, o.options, r.request, t.results, t.failure
  FROM attempt a JOIN generation g ON g.seq = a.generation_seq JOIN route_options o ON o.seq = a.options_seq
  JOIN attempt_text t ON t.generation_seq = a.generation_seq AND t.attempt_no = a.attempt_no
  LEFT JOIN attempt_request r ON r.generation_seq = a.generation_seq AND r.attempt_no = a.attempt_no`;

const toJob = (row: AttemptWrites): Job | null => {
  if (row.job_id === null) return null;
  const urls = parsed<NonNullable<Job["urls"]>>(row.job_urls);
  return urls ? { jobId: row.job_id, urls } : { jobId: row.job_id };
};

/** Maximum number of cached options by route. All attempts of a route share one text, and its value is never modified. */
const OPTIONS_AT_MOST = 2_000;
const parsedOptions = new Map<string, JsonObject>();
const optionsOf = (text: string): JsonObject => {
  const known = parsedOptions.get(text);
  if (known) return known;
  if (parsedOptions.size >= OPTIONS_AT_MOST) parsedOptions.clear();
  const options = JSON.parse(text) as JsonObject;
  parsedOptions.set(text, options);
  return options;
};

const toAttempt = (row: AttemptWrites): Attempt => ({
  seq: row.generation_seq,
  n: row.attempt_no,
  ref: row.ref,
  requestId: row.request_id,
  route: {
    routeId: row.route_id,
    provider: row.provider,
    endpoint: row.endpoint,
    options: optionsOf(row.options),
    kind: row.kind,
  },
  priceCredits: row.price_credits,
  state: row.state,
  request: row.request,
  sentAtMs: row.sent_at_ms,
  endsAtMs: row.ends_at_ms,
  job: toJob(row),
  results: parsed<ResultFile[]>(row.results),
  failure: parsed<Failure>(row.failure),
  watchUntilMs: row.watch_until_ms,
  endedAtMs: row.ended_at_ms,
});

const ONE = `${SELECT} WHERE a.generation_seq = ?1 AND a.attempt_no = ?2`;
const ALL = `${SELECT} WHERE a.generation_seq = ?1 ORDER BY a.attempt_no`;
// A page ends between generations, never inside one, so that paging by row number skips no attempt.
const watchedIn = (
  owned: string,
): string => `${SELECT} WHERE a.watch_until_ms IS NOT NULL AND a.generation_seq IN (SELECT DISTINCT w.generation_seq FROM attempt w JOIN generation g ON g.seq = w.generation_seq
    WHERE w.watch_until_ms IS NOT NULL AND w.generation_seq > ?1 AND g.completed_at_ms IS NOT NULL AND ${owned} ORDER BY w.generation_seq LIMIT ?2)
  ORDER BY a.generation_seq, a.attempt_no`;
const OWNER = "SELECT generation_seq AS seq, attempt_no AS n FROM attempt WHERE provider = ?1 AND job_id = ?2";
// Jumps in the index from route to route and to the last deliveries of each, instead of reading every delivery.
const DELIVERIES = `WITH RECURSIVE route (route_id) AS (
    SELECT min(route_id) FROM attempt WHERE state = 'delivered'
    UNION ALL
    SELECT (SELECT min(a.route_id) FROM attempt a WHERE a.state = 'delivered' AND a.route_id > route.route_id) FROM route
    WHERE route.route_id IS NOT NULL),
  recent (route_id, from_ms) AS (
    SELECT route_id, coalesce((SELECT a.ended_at_ms FROM attempt a WHERE a.state = 'delivered' AND a.route_id = route.route_id
      ORDER BY a.ended_at_ms DESC LIMIT 1 OFFSET CAST(?1 AS bigint) - 1), 0)
    FROM route WHERE route_id IS NOT NULL)
  SELECT a.route_id AS "routeId", a.ended_at_ms - a.sent_at_ms AS ms
  FROM recent JOIN attempt a ON a.state = 'delivered' AND a.route_id = recent.route_id AND a.ended_at_ms >= recent.from_ms
  ORDER BY a.route_id, a.ended_at_ms, a.sent_at_ms`;

/** @param owned A condition on `generation g`: this node polls its attempts. */
export const attemptReads = (query: Query, owned = "true"): Reads => ({
  attempt: async (seq, n) => {
    const [row] = await query<AttemptWrites>(ONE, seq, n);
    return row ? toAttempt(row) : undefined;
  },
  attemptsOf: async (seq) => (await query<AttemptWrites>(ALL, seq)).map(toAttempt),
  watchedAttempts: async (afterSeq, limit) => (await query<AttemptWrites>(watchedIn(owned), afterSeq, limit)).map(toAttempt),
  jobOwner: async (provider, jobId) => (await query<{ seq: number; n: number }>(OWNER, provider, jobId))[0],
  recentDeliveries: async (limit) => {
    const times = new Map<string, number[]>();
    for (const { routeId, ms } of await query<{ routeId: string; ms: number }>(DELIVERIES, limit)) {
      const before = times.get(routeId);
      if (before) before.push(ms);
      else times.set(routeId, [ms]);
    }
    // Deliveries in the same millisecond as the first of them are included, so the list may be too long.
    for (const [routeId, all] of times) times.set(routeId, all.slice(-limit));
    return times;
  },
});
