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
  "generations taken over": "info",
  "node taken for dead": "warn",
  "node ended": "fatal",
  "store away": "error",
  "store back": "info",
  "clock apart": "error",
  "clock in step": "info",
  "catalogue loaded": "info",
  "settings read again": "info",
  "settings refused": "error",
  "request answered": "info",
  "input read": "info",
  "read answered": "debug",
  "request failed": "error",
  "generation ended": "info",
  "generation parked": "error",
  "generation stopped": "error",
  "attempt late": "warn",
  "attempt failed": "info",
  "attempt mismatched": "warn",
  "attempt unclear": "warn",
  "account mismatches": "warn",
  "fewer files delivered": "warn",
  "longer than billed": "warn",
  "length not measured": "warn",
  "result incomplete": "warn",
  "provider unclear": "debug",
  "route state changed": "warn",
  "route needs its operator": "error",
  "route ends": "warn",
  "store full": "error",
  "disk full": "error",
  "disk has room": "info",
  "store outcome unknown": "fatal",
  "effect failed": "error",
  "files swept": "info",
  "file not uploaded": "error",
  "file missing": "error",
  "bucket away": "warn",
  "bucket refuses": "error",
  "bucket back": "info",
  "purchase paid": "info",
  "purchase reversed": "warn",
  "reversal undecided": "error",
  "payment unclear": "error",
  "payments away": "warn",
  "payments back": "info",
  "webhook refused": "warn",
  "control request": "info",
  "descriptor limit low": "warn",
  "descriptors exhausted": "error",
  "descriptors recovered": "info",
  "clock jumped": "warn",
  "clock right": "info",
  "backup started": "info",
  "backup finished": "info",
  "backup stopped": "info",
  "backup faulty": "error",
  "backup failed": "error",
  "key used from new network": "info",
  "sign-in refused": "warn",
  "proxy not named": "warn",
  "provider keys missing": "warn",
  // Counted rather than read: each is a figure of /metrics or a span of a trace, and a line only below "info".
  "request refused": "debug",
  "submission replayed": "debug",
  "route skipped": "debug",
  "attempt ended": "debug",
  "credits added": "debug",
  "provider called": "debug",
  "signed in": "debug",
  "traces not delivered": "warn",
  "traces delivered": "info",
} as const satisfies Record<string, "debug" | "info" | "warn" | "error" | "fatal">;
export type EventName = keyof typeof EVENTS;

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
  /** Whoever asked, as tries are counted: an IPv4 address or the /64 of an IPv6 one. */
  address: string;
  person_id: string;
}>;

/** Writes one event. */
export type Log = (event: EventName, fields?: EventFields) => void;
