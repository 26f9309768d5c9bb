// Reads attempts: one, all of a generation, those still watched, who owns a job, and how long deliveries took.
import type { Database } from "bun:sqlite";
import type { Attempt, AttemptState, Failure, Job, JsonObject, MediaKind, ResultFile } from "../../../terms.ts";
import type { StoreReads } from "../../store.ts";
import { parsed } from "./record.ts";

type AttemptRow = {
  seq: number;
  n: number;
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

const SELECT = `SELECT a.*, g.request_id, o.options, r.request FROM attempt a JOIN generation g ON g.seq = a.seq JOIN route_options o ON o.seq = a.options_seq
  LEFT JOIN attempt_request r ON r.seq = a.seq AND r.n = a.n`;

const toJob = (row: AttemptRow): Job | null => {
  if (row.job_id === null) return null;
  const urls = parsed<NonNullable<Job["urls"]>>(row.job_urls);
  return urls ? { jobId: row.job_id, urls } : { jobId: row.job_id };
};

/** Routes whose options are remembered. Their attempts all have the same text, and nobody changes what it says. */
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

const toAttempt = (row: AttemptRow): Attempt => ({
  seq: row.seq,
  n: row.n,
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

export const prepareAttemptReads = (db: Database): Reads => {
  const one = db.prepare<AttemptRow, [number, number]>(`${SELECT} WHERE a.seq = ?1 AND a.n = ?2`);
  const all = db.prepare<AttemptRow, [number]>(`${SELECT} WHERE a.seq = ?1 ORDER BY a.n`);
  // A page ends between generations, never inside one, so that "after this seq" misses no attempt.
  const watched = db.prepare<AttemptRow, [number, number]>(
    `${SELECT} WHERE a.watch_until_ms IS NOT NULL AND a.seq IN (SELECT DISTINCT w.seq FROM attempt w JOIN generation g ON g.seq = w.seq
       WHERE w.watch_until_ms IS NOT NULL AND w.seq > ?1 AND g.completed_at_ms IS NOT NULL ORDER BY w.seq LIMIT ?2)
     ORDER BY a.seq, a.n`,
  );
  const owner = db.prepare<{ seq: number; n: number }, [string, string]>(
    "SELECT seq, n FROM attempt WHERE provider = ?1 AND job_id = ?2",
  );
  // Jumps from route to route in the index instead of reading every delivery.
  const routes = db.prepare<{ route_id: string }, []>(
    `WITH RECURSIVE route (route_id) AS (
       SELECT min(route_id) FROM attempt WHERE state = 'delivered'
       UNION ALL
       SELECT (SELECT min(a.route_id) FROM attempt a WHERE a.state = 'delivered' AND a.route_id > route.route_id) FROM route
       WHERE route.route_id IS NOT NULL)
     SELECT route_id FROM route WHERE route_id IS NOT NULL`,
  );
  const deliveries = db.prepare<{ ms: number }, [string, number]>(
    `SELECT ended_at_ms - sent_at_ms AS ms FROM attempt WHERE state = 'delivered' AND route_id = ?1
     ORDER BY ended_at_ms DESC LIMIT ?2`,
  );

  return {
    attempt: async (seq, n) => {
      const row = one.get(seq, n);
      return row ? toAttempt(row) : undefined;
    },
    attemptsOf: async (seq) => all.all(seq).map(toAttempt),
    watchedAttempts: async (afterSeq, limit) => watched.all(afterSeq, limit).map(toAttempt),
    jobOwner: async (provider, jobId) => owner.get(provider, jobId) ?? undefined,
    recentDeliveries: async (limit) =>
      new Map(
        routes.all().map(({ route_id }) => [
          route_id,
          deliveries
            .all(route_id, limit)
            .map(({ ms }) => ms)
            .reverse(),
        ]),
      ),
  };
};
