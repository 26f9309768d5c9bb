// List of all metrics with type, labels and help.
//
// The registry and the metrics table in the documentation are generated from this list.

export type Metric = {
  type: "counter" | "gauge" | "histogram";
  labels: readonly string[];
  help: string;
  buckets?: readonly number[];
};

/** The buckets that OpenTelemetry's HTTP conventions recommend, s. */
const HTTP_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10] as const;
/** A synchronous provider responds only when its result is complete, s. */
const CALL_BUCKETS = [...HTTP_BUCKETS, 30, 60, 120, 300] as const;
/** From a fast image to the longest route time, s. */
const LIFE_BUCKETS = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 2400] as const;

/** No label contains an account, a key or a generation. The code or the catalogue bounds the values of every label. */
export const METRICS = {
  http_server_request_duration_seconds: {
    type: "histogram",
    labels: ["http_request_method", "http_route", "http_response_status_code"],
    buckets: HTTP_BUCKETS,
    help: "Duration of HTTP requests until the response is created; route is the path pattern, or /* for an unknown path.",
  },
  http_client_request_duration_seconds: {
    type: "histogram",
    labels: ["server_address", "http_request_method", "http_response_status_code", "error_type"],
    buckets: CALL_BUCKETS,
    help: "Duration of provider calls until the response is read; without a response, status is empty and error_type has the reason.",
  },
  genrouter_generations_total: {
    type: "counter",
    labels: ["model", "status"],
    help: "Completed generations by status: succeeded or failed.",
  },
  genrouter_generations_in_progress: {
    type: "gauge",
    labels: ["status"],
    help: "Open generations by status: queued or running.",
  },
  genrouter_generation_duration_seconds: {
    type: "histogram",
    labels: ["model", "status"],
    buckets: LIFE_BUCKETS,
    help: "Duration of generations from admission to completion.",
  },
  genrouter_attempts_total: {
    type: "counter",
    labels: ["model", "route", "outcome"],
    help: "Attempts by outcome, and skipped routes: skipped_cost by max_cost_usd, skipped_wait by max_wait_s, skipped_down for an open circuit breaker. unclear: the response to a submission was lost or not recognized and is confirmed with the provider.",
  },
  genrouter_attempt_duration_seconds: {
    type: "histogram",
    labels: ["route", "outcome"],
    buckets: LIFE_BUCKETS,
    help: "Duration of attempts from sending to completion.",
  },
  genrouter_route_available: {
    type: "gauge",
    labels: ["route"],
    help: "1 if an enabled route with a credential is available, 0 while its circuit breaker is open.",
  },
  genrouter_route_breaker_state: {
    type: "gauge",
    labels: ["route", "state"],
    help: "1 for the current circuit breaker state of a route: closed, open or half_open.",
  },
  genrouter_routes_needing_operator: {
    type: "gauge",
    labels: ["provider", "error_code"],
    help: "Routes that a provider rejects until an operator acts, by reason: config_fault (credential) or balance.",
  },
  genrouter_errors_total: {
    type: "counter",
    labels: ["code"],
    help: "Errors returned to clients by code: rejected requests and failed generations.",
  },
  genrouter_sign_ins_total: {
    type: "counter",
    labels: ["outcome"],
    help: "Sign-in attempts to the console by result: succeeded, wrong (password or user), throttled (too many failures; the password was not checked), busy (too many concurrent checks).",
  },
  genrouter_credits_held: {
    type: "gauge",
    labels: ["model"],
    help: "Credits on hold for open generations.",
  },
  genrouter_credits_charged_total: {
    type: "counter",
    labels: ["model"],
    help: "Credits captured for succeeded generations.",
  },
  genrouter_credits_released_total: {
    type: "counter",
    labels: ["model"],
    help: "Credits released at the completion of generations.",
  },
  genrouter_uploads_total: {
    type: "counter",
    labels: ["kind"],
    help: "Files that accounts have uploaded, by kind: image, video or audio.",
  },
  genrouter_upload_bytes_total: {
    type: "counter",
    labels: ["kind"],
    help: "Bytes of the files that accounts have uploaded, by kind.",
  },
  genrouter_credits_added_total: {
    type: "counter",
    labels: ["source"],
    help: "Credits added to balances by kind: topup or adjust. Negative adjustments are not counted.",
  },
  genrouter_provider_cost_credits_total: {
    type: "counter",
    labels: ["provider", "model", "outcome"],
    help: "Provider cost of attempts in credits with fractions, by the costs of the catalogue or else the price: delivered attempts, and attempts that were billed without a charge to a customer (late, mismatched, failed with a result or a stated cost). 1 credit is 0.01 USD.",
  },
  genrouter_orphans_credits: {
    type: "gauge",
    labels: ["kind"],
    help: "Price in credits of orphans, attempts that a provider may have billed without a charge to a customer, by kind: late, mismatched, unusable, unknown. Updated every few minutes; see genrouter orphans.",
  },
  genrouter_ledger_imbalance_credits: {
    type: "gauge",
    labels: [],
    help: "Difference in credits between balances and ledger. Any value but 0 is an error; absent until the first sum.",
  },
  genrouter_reversals_undecided: {
    type: "gauge",
    labels: [],
    help: "Refunds and disputes in a currency other than USD that wait for an operator's decision; their accounts are paused.",
  },
  genrouter_idempotency_replays_total: {
    type: "counter",
    labels: ["result"],
    help: "Submissions with a known Idempotency-Key by result: replayed, or conflict for a different request.",
  },
  genrouter_queue_oldest_age_seconds: {
    type: "gauge",
    labels: [],
    help: "Age in seconds of the oldest queued generation; 0 without one.",
  },
  genrouter_files_bytes: {
    type: "gauge",
    labels: [],
    help: "Bytes of stored result files according to the database; updated every few minutes.",
  },
  genrouter_disk_free_bytes: {
    type: "gauge",
    labels: [],
    help: "Free bytes on the disk of the data directory.",
  },
  genrouter_disk_size_bytes: {
    type: "gauge",
    labels: [],
    help: "Total bytes of the disk of the data directory.",
  },
  genrouter_disk_full: {
    type: "gauge",
    labels: [],
    help: "1 while the disk of the data directory rejects writes and submissions are rejected; otherwise 0.",
  },
  genrouter_object_storage_available: {
    type: "gauge",
    labels: [],
    help: "1 if the bucket accepts result files, 0 while it is unavailable or denies access. 1 without a bucket.",
  },
  genrouter_object_storage_files_pending: {
    type: "gauge",
    labels: [],
    help: "Result files on disk that wait for the upload to the bucket.",
  },
  genrouter_object_storage_files_rejected: {
    type: "gauge",
    labels: [],
    help: "Result files that the bucket rejected although it accepts others; the service retries each with increasing delays.",
  },
  genrouter_restored_backup_unsettled: {
    type: "gauge",
    labels: [],
    help: "1 while the database is a restored backup whose gap no operator has settled (genrouter backup settle); otherwise 0.",
  },
  genrouter_webhook_tries_total: {
    type: "counter",
    labels: ["result"],
    help: "Tries of webhook deliveries by result: delivered or failed.",
  },
  genrouter_mails_total: {
    type: "counter",
    labels: ["result"],
    help: "Tries of mails by result: sent, retried later, or failed and given up.",
  },
  genrouter_webhook_delay_seconds: {
    type: "gauge",
    labels: [],
    help: "How long the oldest webhook delivery to a healthy endpoint has been due; 0 if none waits.",
  },
  genrouter_fault_active: {
    type: "gauge",
    labels: ["fault"],
    help: "1 while a logged fault persists, otherwise 0: backup (the newest backup failed or is damaged), clock (skew to the database), descriptors (exhausted), payments (Stripe is unavailable), settings (a reload was rejected), traces (spans are dropped).",
  },
  genrouter_clock_offset_seconds: {
    type: "gauge",
    labels: [],
    help: "Offset in seconds of the service's monotonic wall clock from the machine's clock; positive if the service is ahead. Differs from 0 only after the machine's clock was set.",
  },
  genrouter_database_available: {
    type: "gauge",
    labels: [],
    help: "1 if the shared database responds to this node, otherwise 0. 1 with SQLite.",
  },
  genrouter_database_size_bytes: {
    type: "gauge",
    labels: [],
    help: "Bytes of the SQLite database and its WAL. Absent with PostgreSQL.",
  },
  genrouter_last_backup_timestamp_seconds: {
    type: "gauge",
    labels: [],
    help: "Unix time in seconds of the newest backup in backup.dir; 0 without one. Absent without backup.dir and with PostgreSQL.",
  },
  genrouter_nodes_alive: {
    type: "gauge",
    labels: [],
    help: "Live nodes of the cluster in the membership view of this node, including itself; 1 without store.url.",
  },
  genrouter_generations_reclaimed_total: {
    type: "counter",
    labels: [],
    help: "Generations that this node reclaimed from ended nodes.",
  },
  genrouter_build_info: {
    type: "gauge",
    labels: ["version", "revision", "bun_version", "interface_version"],
    help: "Always 1; the labels identify the running build.",
  },
  genrouter_ready: { type: "gauge", labels: [], help: "1 if /readyz returns 200, otherwise 0." },
  genrouter_generations_parked: {
    type: "gauge",
    labels: [],
    help: "Parked generations, which wait for an operator.",
  },
  genrouter_generations_stopped: {
    type: "gauge",
    labels: [],
    help: "Generations that this node stopped after a fault; a restart or another node continues them.",
  },
  genrouter_model_available: {
    type: "gauge",
    labels: ["model"],
    help: "1 if at least one configured route of a model is available, otherwise 0.",
  },
  genrouter_log_events_total: {
    type: "counter",
    labels: ["event", "level"],
    help: "Log events at level warn, error or fatal, by event, including events below log.level.",
  },
} as const satisfies Record<string, Metric>;
export type MetricName = keyof typeof METRICS;

/** Buckets of the histogram that is filled without the registry. */
export const REQUEST_BUCKETS: readonly number[] = METRICS.http_server_request_duration_seconds.buckets;
