// Every metric of /metrics: its name, type, labels and what it says; the registry is made from this list, and so is its table in the docs.

export type Metric = {
  type: "counter" | "gauge" | "histogram";
  labels: readonly string[];
  help: string;
  buckets?: readonly number[];
};

/** The advice of OpenTelemetry's conventions for HTTP, s. */
const HTTP_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10] as const;
/** Providers that answer with the result take as long as it takes, s. */
const CALL_BUCKETS = [...HTTP_BUCKETS, 30, 60, 120, 300] as const;
/** From a quick picture to the longest route time, s. */
const LIFE_BUCKETS = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 2400] as const;

/** No label ever holds an account, a key or a generation: what a label may be is bounded by the code or by the catalogue. */
export const METRICS = {
  http_server_request_duration_seconds: {
    type: "histogram",
    labels: ["http_request_method", "http_route", "http_response_status_code"],
    buckets: HTTP_BUCKETS,
    help: "Time to answer requests, until the answer is made; the route is its pattern, /* for paths that there are not.",
  },
  http_client_request_duration_seconds: {
    type: "histogram",
    labels: ["server_address", "http_request_method", "http_response_status_code", "error_type"],
    buckets: CALL_BUCKETS,
    help: "Time of calls to providers, until the answer is read; without an answer the status is empty and error_type says why.",
  },
  genrouter_generations_total: {
    type: "counter",
    labels: ["model", "status"],
    help: "Generations that have ended: succeeded or failed.",
  },
  genrouter_generations_in_progress: {
    type: "gauge",
    labels: ["status"],
    help: "Generations that have not ended: queued or running.",
  },
  genrouter_generation_duration_seconds: {
    type: "histogram",
    labels: ["model", "status"],
    buckets: LIFE_BUCKETS,
    help: "Time of generations from being accepted to their end.",
  },
  genrouter_attempts_total: {
    type: "counter",
    labels: ["model", "route", "outcome"],
    help: "Attempts by how they ended, and routes left out: skipped_cost and skipped_wait by max_cost_usd and max_wait_s, skipped_down when their turn came. unclear: the answer to a submission was lost or said nothing, which is confirmed with the provider; it ends later.",
  },
  genrouter_attempt_duration_seconds: {
    type: "histogram",
    labels: ["route", "outcome"],
    buckets: LIFE_BUCKETS,
    help: "Time of attempts from their sending to their end.",
  },
  genrouter_route_available: {
    type: "gauge",
    labels: ["route"],
    help: "Whether a route that has a key and is not switched off can be used: 1, or 0 while it is down.",
  },
  genrouter_route_breaker_state: {
    type: "gauge",
    labels: ["route", "state"],
    help: "1 for the state that a route's health is in: closed (used), open (down), half_open (on trial).",
  },
  genrouter_routes_refused: {
    type: "gauge",
    labels: ["provider", "error_code"],
    help: "Routes that the provider refuses until the operator acts: config_fault (its key), balance.",
  },
  genrouter_errors_total: {
    type: "counter",
    labels: ["code"],
    help: "Errors told to clients by their code: refused requests, and generations that failed.",
  },
  genrouter_sign_ins_total: {
    type: "counter",
    labels: ["outcome"],
    help: "Tries to sign in to the console: succeeded, wrong (the password or the person), throttled (too many wrong ones before; nothing was looked at), busy (too many at once).",
  },
  genrouter_credits_reserved: {
    type: "gauge",
    labels: ["model"],
    help: "Credits held for generations that have not ended.",
  },
  genrouter_credits_charged_total: {
    type: "counter",
    labels: ["model"],
    help: "Credits charged for generations that succeeded.",
  },
  genrouter_credits_released_total: {
    type: "counter",
    labels: ["model"],
    help: "Credits held and given back at the end of generations.",
  },
  genrouter_credits_added_total: {
    type: "counter",
    labels: ["source"],
    help: "Credits added to balances: topup or adjust. What an adjustment takes back is not in it.",
  },
  genrouter_provider_cost_credits_total: {
    type: "counter",
    labels: ["provider", "model", "outcome"],
    help: "Credits, with fractions, that providers take for attempts, by the catalogue's costs (the price where it has none): delivered ones, and those that were paid and charged to nobody (late, mismatched, failed with a result or an answer that names a cost). 1 credit is 0.01 USD.",
  },
  genrouter_orphans_credits: {
    type: "gauge",
    labels: ["fate"],
    help: "Prices of the attempts that may have been paid and were charged to nobody, in credits: late, mismatched, unusable, unknown. Taken every few minutes; see genrouter orphans.",
  },
  genrouter_ledger_imbalance_credits: {
    type: "gauge",
    labels: [],
    help: "Credits by which balances and ledger contradict each other. Anything but 0 is a fault; absent until the ledger is summed up once.",
  },
  genrouter_reversals_undecided: {
    type: "gauge",
    labels: [],
    help: "Refunds and disputes in another currency than usd that an operator has to decide about; their accounts are paused.",
  },
  genrouter_idempotency_replays_total: {
    type: "counter",
    labels: ["result"],
    help: "Submissions whose Idempotency-Key was known: replayed, or conflict when the request was another one.",
  },
  genrouter_queue_oldest_age_seconds: {
    type: "gauge",
    labels: [],
    help: "Age of the oldest generation that is queued; 0 when there is none.",
  },
  genrouter_files_bytes: {
    type: "gauge",
    labels: [],
    help: "Bytes of the result files that are kept, as the books have them; taken every few minutes.",
  },
  genrouter_disk_free_bytes: {
    type: "gauge",
    labels: [],
    help: "Bytes that are free for the service on the disk of its data directory.",
  },
  genrouter_disk_size_bytes: {
    type: "gauge",
    labels: [],
    help: "Bytes that the disk of the data directory has in all.",
  },
  genrouter_disk_full: {
    type: "gauge",
    labels: [],
    help: "1 while the disk of the data directory takes no more writes, and submissions are turned away; else 0.",
  },
  genrouter_bucket_available: {
    type: "gauge",
    labels: [],
    help: "Whether the bucket takes result files: 1, or 0 while it is away or refuses. 1 without a bucket.",
  },
  genrouter_bucket_files_waiting: {
    type: "gauge",
    labels: [],
    help: "Result files on disk that are still to go to the bucket.",
  },
  genrouter_bucket_files_set_aside: {
    type: "gauge",
    labels: [],
    help: "Result files that the bucket did not take although it takes others; each is tried again, after longer and longer pauses.",
  },
  genrouter_restored_unsettled: {
    type: "gauge",
    labels: [],
    help: "1 while these books are those of a restored backup, and no operator has said (genrouter backup settle) that what came after it was looked after; else 0.",
  },
  genrouter_fault_active: {
    type: "gauge",
    labels: ["fault"],
    help: "1 while a fault lasts that the log has named, 0 otherwise: backup (the newest try failed or has faults), clock (the database's is apart), descriptors (used up), payments (Stripe does not answer), settings (a reload was refused), traces (spans are dropped).",
  },
  genrouter_clock_ahead_seconds: {
    type: "gauge",
    labels: [],
    help: "How far the service's clock, which only goes forward, is ahead of the machine's; negative: behind it. Apart only since somebody set the machine's clock.",
  },
  genrouter_store_available: {
    type: "gauge",
    labels: [],
    help: "Whether the database that nodes share answers this one: 1 or 0. 1 over a data directory.",
  },
  genrouter_db_size_bytes: {
    type: "gauge",
    labels: [],
    help: "Bytes of the database and its log on disk. Over PostgreSQL it is not there.",
  },
  genrouter_last_backup_timestamp_seconds: {
    type: "gauge",
    labels: [],
    help: "Time of the newest backup in backup.dir, s since 1970; 0 when there is none. It is not there without backup.dir, nor over PostgreSQL, whose backups are its own.",
  },
  genrouter_nodes_alive: {
    type: "gauge",
    labels: [],
    help: "Nodes that are alive and share the database, this one among them, as far as it has heard; 1 without store.url.",
  },
  genrouter_generations_taken_over_total: {
    type: "counter",
    labels: [],
    help: "Generations that this node has taken over from nodes that have ended.",
  },
  genrouter_build_info: {
    type: "gauge",
    labels: ["version", "revision", "bun_version", "interface_version"],
    help: "1; the labels say what is running.",
  },
  genrouter_ready: { type: "gauge", labels: [], help: "Whether /readyz says ready: 1 or 0." },
  genrouter_generations_stuck: {
    type: "gauge",
    labels: ["state"],
    help: "Generations that do not go on by themselves: parked ones wait for a person, stopped ones for the next start or another node.",
  },
  genrouter_model_available: {
    type: "gauge",
    labels: ["model"],
    help: "Whether at least one configured route of a model can be used: 1, or 0 while all are down.",
  },
  genrouter_troubles_total: {
    type: "counter",
    labels: ["event", "level"],
    help: "Lines of the log at warn, error or fatal, by their text, whether they are written or not.",
  },
} as const satisfies Record<string, Metric>;
export type MetricName = keyof typeof METRICS;

/** Buckets of the histogram that is filled without the registry. */
export const REQUEST_BUCKETS: readonly number[] = METRICS.http_server_request_duration_seconds.buckets;
