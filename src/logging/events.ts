// Log events: the list of all events with their levels, and of all fields.
//
// A line has no field that is not listed here.
/** The events: name → level. A line has its name as `msg` and the given fields, but never prompts, media URLs or keys. */
export const EVENTS = {
  "service listening": "info",
  "service draining": "info",
  "service stopped": "info",
  "recovery finished": "info",
  "schema migrated": "info",
  "generation erased": "info",
  "expired texts erased": "info",
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
  "input pinning failed": "error",
  "submission start failed": "error",
  "submission send failed": "error",
  "submission confirmation failed": "error",
  "provider poll failed": "error",
  "wait timer failed": "error",
  "result download failed": "error",
  "storage wait failed": "error",
  "late result poll failed": "error",
  "job cancellation failed": "error",
  "route failure report failed": "error",
  "callback processing failed": "error",
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
  "file uploaded": "info",
  "expired uploads deleted": "info",
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
  "webhook endpoint disabled": "warn",
  "webhook sending failed": "error",
  "mail sent": "info",
  "mail try failed": "warn",
  "mail failed": "error",
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
  // These events feed /metrics or traces. They are printed only at level "debug".
  "request rejected": "debug",
  "submission replayed": "debug",
  "route skipped": "debug",
  "attempt ended": "debug",
  "credits added": "debug",
  "provider call completed": "debug",
  "signed in": "debug",
  "webhook delivered": "debug",
  "webhook try failed": "debug",
  "trace export failed": "warn",
  "trace export recovered": "info",
} as const satisfies Record<string, "debug" | "info" | "warn" | "error" | "fatal">;
export type EventName = keyof typeof EVENTS;

/** Events that report a defect of the service itself; the alert GenrouterDefects fires on each of them. */
export const DEFECT_EVENTS: ReadonlySet<EventName> = new Set([
  ...([
    "request failed",
    "input pinning failed",
    "submission start failed",
    "submission send failed",
    "submission confirmation failed",
    "provider poll failed",
    "wait timer failed",
    "result download failed",
    "storage wait failed",
    "late result poll failed",
    "job cancellation failed",
    "route failure report failed",
    "callback processing failed",
    "post-commit failed",
    "generation restore failed",
    "late result watch failed",
  ] as const),
  ...([
    "outcome spool failed",
    "maintenance failed",
    "takeover failed",
    "cluster task failed",
    "webhook sending failed",
  ] as const),
  ...(["credential decryption failed", "inspector failed", "telemetry failed", "commit outcome unknown"] as const),
]);

/** The allow-list of fields. An object that is logged by mistake prints nothing. */
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
  /** An uploaded file. */
  file_id: string;
  kind: string;
  bytes: number;
  /** Row number of the generation, for faults that occur before its id was read. */
  generation_seq: number;
  purchase_id: string;
  attempt: number;
  route_id: string;
  provider: string;
  state: string;
  event: string;
  error_code: string;
  reason: string;
  /** The command or setting that corrects the fault. */
  action: string;
  detail: string;
  count: number;
  /** Number of a file within the result of its generation, from 1. */
  file_no: number;
  queued: number;
  running: number;
  /** The submitted input as JSON; only if the operator has enabled it. */
  input: string;
  url: string;
  pid: number;
  version: string;
  model: string;
  /** The result of an attempt, or the reason why a route was skipped. */
  outcome: string;
  started_ms: number;
  credits: number;
  released_credits: number;
  /** Provider cost by the catalogue, in credits with fractions. */
  provider_credits: number;
  source: string;
  /** The provider's host, without its port. */
  host: string;
  error_type: string;
  /** The principal of a control socket request. */
  principal: string;
  /** The object of a control socket request: an account, key, generation, route or user. */
  target: string;
  /** The client address by which sign-in attempts are counted: an IPv4 address or the /64 of an IPv6 address. */
  address: string;
  user_id: string;
  webhook_endpoint_id: string;
}>;

/** Writes one event. */
export type Log = (event: EventName, fields?: EventFields) => void;
