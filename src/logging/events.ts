// Every line the service logs, in one list; only the fields named here ever leave.
/** The events: name → level. A line carries its name as `msg` and the fields given; prompts, media URLs and keys never. */
export const EVENTS = {
  "service listening": "info",
  "service draining": "info",
  "service stopped": "info",
  "recovery finished": "info",
  "schema migrated": "info",
  "restored backup": "warn",
  "restored attempt confirmed": "info",
  "generations reclaimed": "info",
  "node considered dead": "warn",
  "node fenced, exiting": "fatal",
  "database unavailable": "error",
  "database recovered": "info",
  "clock skew detected": "error",
  "clock skew ended": "info",
  "catalogue loaded": "info",
  "config reloaded": "info",
  "config reload rejected": "error",
  "request completed": "info",
  "input measured": "info",
  "read completed": "debug",
  "request failed": "error",
  "generation completed": "info",
  "generation parked": "error",
  "generation stopped": "error",
  "late result received": "warn",
  "attempt failed": "info",
  "attempt mismatched": "warn",
  "attempt unclear": "warn",
  "account mismatch rate high": "warn",
  "fewer files delivered": "warn",
  "longer than billed": "warn",
  "length not measured": "warn",
  "result incomplete": "warn",
  "unrecognized provider response": "debug",
  "route state changed": "warn",
  "route needs operator": "error",
  "route retiring": "warn",
  "database disk full": "error",
  "disk full": "error",
  "disk space recovered": "info",
  "commit outcome unknown": "fatal",
  "effect failed": "error",
  "post-commit failed": "error",
  "generation restore failed": "error",
  "late result watch failed": "error",
  "outcome spool failed": "error",
  "maintenance failed": "error",
  "takeover failed": "error",
  "cluster task failed": "error",
  "credential decryption failed": "error",
  "inspector failed": "error",
  "telemetry failed": "error",
  "expired files deleted": "info",
  "file not uploaded": "error",
  "file missing": "error",
  "object storage unavailable": "warn",
  "object storage access denied": "error",
  "object storage recovered": "info",
  "purchase paid": "info",
  "purchase reversed": "warn",
  "reversal undecided": "error",
  "payment mismatch": "error",
  "payment provider unavailable": "warn",
  "payment provider recovered": "info",
  "webhook rejected": "warn",
  "control request": "info",
  "file descriptor limit low": "warn",
  "file descriptors exhausted": "error",
  "file descriptors recovered": "info",
  "clock jumped": "warn",
  "clock corrected": "info",
  "backup started": "info",
  "backup finished": "info",
  "backup canceled": "info",
  "backup verification failed": "error",
  "backup failed": "error",
  "key used from new network": "info",
  "sign-in rejected": "warn",
  "trusted proxy missing": "warn",
  "provider keys missing": "warn",
  // Counted rather than read: each is a figure of /metrics or a span of a trace, and a line only below "info".
  "request rejected": "debug",
  "submission replayed": "debug",
  "route skipped": "debug",
  "attempt ended": "debug",
  "credits added": "debug",
  "provider call completed": "debug",
  "signed in": "debug",
  "trace export failed": "warn",
  "trace export recovered": "info",
} as const satisfies Record<string, "debug" | "info" | "warn" | "error" | "fatal">;
export type EventName = keyof typeof EVENTS;

/** Events that report a defect of the service itself; the alert GenrouterDefects fires on each. */
export const DEFECT_EVENTS: ReadonlySet<EventName> = new Set([
  ...([
    "request failed",
    "effect failed",
    "post-commit failed",
    "generation restore failed",
    "late result watch failed",
  ] as const),
  ...(["outcome spool failed", "maintenance failed", "takeover failed", "cluster task failed"] as const),
  ...(["credential decryption failed", "inspector failed", "telemetry failed", "commit outcome unknown"] as const),
]);

/** Fields a line may carry. An allow-list: an object that is logged by mistake shows nothing. */
export type EventFields = Partial<{
  request_id: string;
  trace_id: string;
  method: string;
  route: string;
  status: number;
  dur_ms: number;
  account_id: string;
  key_id: string;
  generation_id: string;
  purchase_id: string;
  attempt: number;
  route_id: string;
  provider: string;
  state: string;
  event: string;
  error_code: string;
  reason: string;
  /** What mends it: a command, or a setting. */
  action: string;
  detail: string;
  count: number;
  /** Number of a file within the result of its generation, from 1. */
  file_no: number;
  queued: number;
  running: number;
  /** What was asked for, as JSON: only where the operator has switched it on. */
  input: string;
  url: string;
  pid: number;
  version: string;
  model: string;
  /** How an attempt ended, or why a route was left out. */
  outcome: string;
  started_ms: number;
  credits: number;
  released_credits: number;
  /** What the provider takes by the catalogue, in credits with fractions. */
  provider_credits: number;
  source: string;
  /** The provider's host, without its port. */
  host: string;
  error_type: string;
  /** Who asked for something over the control socket, and what it was about. */
  actor: string;
  target: string;
  /** The client by which attempts are counted: an IPv4 address or the /64 of an IPv6 address. */
  address: string;
  user_id: string;
}>;

/** Writes one event. */
export type Log = (event: EventName, fields?: EventFields) => void;
