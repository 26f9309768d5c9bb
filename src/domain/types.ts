// Types that all contexts share: credits, generations, attempts, routes and results.

/** Whole credits; 1 credit = 0.01 USD. Never a fraction, never above 2^53-1. */
export type Credits = number;

/** Any JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** The four statuses of a generation in the API (§3). */
export const GENERATION_STATUSES = ["queued", "running", "succeeded", "failed"] as const;
export type GenerationStatus = (typeof GENERATION_STATUSES)[number];

/** Codes of `generation.error.code`. */
export const GENERATION_ERROR_CODES = [
  "input_refused",
  "provider_failed",
  "timed_out",
  "provider_unavailable",
  "cancelled",
] as const;
export type GenerationErrorCode = (typeof GENERATION_ERROR_CODES)[number];
export type GenerationError = { code: GenerationErrorCode; message: string };

export const MEDIA_KINDS = ["image", "video", "audio"] as const;
export type MediaKind = (typeof MEDIA_KINDS)[number];

/**
 * States of an attempt row. `intent`: nothing sent. `sending`: a request may be in transit. `accepted`: the provider's job is
 * known. The others are ends: `delivered` (its files were charged), `rejected` (at submission), `absent` (proved never accepted),
 * `failed` (accepted, then failed), `lost` (outcome unknown), `capped` (its route timeout expired), `cancelled` (given up before
 * sending), `superseded` (another attempt delivered), `late` (delivered after the end or after another: a loss of the operator),
 * `mismatched` (its delivery does not match the order and is not charged).
 */
export const ATTEMPT_STATES = [
  "intent",
  "sending",
  "accepted",
  "delivered",
  "rejected",
  "absent",
  "failed",
  "lost",
  "capped",
  "cancelled",
  "superseded",
  "late",
  "mismatched",
] as const;
export type AttemptState = (typeof ATTEMPT_STATES)[number];

/** Treatment of a provider's failure; src/providers/port.ts defines each class. */
export const FAILURE_CLASSES = [
  "refused_input",
  "refused_output",
  "invalid_for_route",
  "input_unreachable",
  "rate_limited",
  "overloaded",
  "config_fault",
  "balance",
  "not_sent",
  "job_failed",
  "gone",
  "result_expired",
  "result_unreadable",
  "mismatched",
] as const;
export type FailureClass = (typeof FAILURE_CLASSES)[number];
/**
 * Failures of the operator's set-up (credential, balance): the route is unusable until an operator acts, so it opens immediately
 * and for long.
 */
export const SET_UP_FAULTS: readonly FailureClass[] = ["config_fault", "balance"];
/**
 * Why an attempt failed. `detail` is for the operator only: it may contain provider text and never reaches a customer.
 * `isBilled`: the response names a cost or a usage without a file.
 */
export type Failure = { class: FailureClass; detail: string; retryAfterMs?: number; isBilled?: true };

/** A route of a plan, frozen at submission. Times in milliseconds, price in whole credits. */
export type PlannedRoute = {
  routeId: string;
  priceCredits: Credits;
  /** The provider's cost by the catalogue, in micro-USD. For operators only; absent if the catalogue has no cost. */
  costMicroUsd?: number;
  /** Maximum duration of one attempt from its first `sending`; at most 2,400,000. */
  timeoutMs: number;
  onRefusal: "fail" | "next";
  onLost: "next" | "hold" | "fail";
};

/** Why the plan of a quote leaves routes out, for clients. */
export const SKIP_REASONS = ["unsupported_input", "over_max_cost", "over_max_wait", "unavailable"] as const;
export type SkipReason = (typeof SKIP_REASONS)[number];

/** Route data of the catalogue that an attempt needs, frozen into its row when it begins. `kind`: the kind of its result. */
export type RouteSpec = { routeId: string; provider: string; endpoint: string; options: JsonObject; kind: MediaKind };

/** The provider's job id, and the addresses that it returned for the job. */
export type Job = { jobId: string; urls?: { poll?: string; result?: string; cancel?: string } };

/** A file that was part of a response, in pieces as received. `raw`: not encoded. */
export type InlineContent = { as: "base64" | "hex" | "raw"; pieces: readonly (string | Uint8Array)[] };
/**
 * A result file as the provider announces it. `url` is untrusted. `content`: a large inline file, which is stored on disk before
 * any row is written.
 */
export type ResultFile = { url: string; mime?: string; expiresAtMs?: number; content?: InlineContent };

/** One attempt: its route, its request and what is known of it. */
export type Attempt = {
  seq: number;
  n: number;
  /** Reference of the attempt for providers that accept one: `<generation id without prefix>-<n>`, [a-z0-9-]. */
  ref: string;
  /** Request id of the submission. */
  requestId: string;
  route: RouteSpec;
  priceCredits: Credits;
  state: AttemptState;
  /** The exact request without credentials, as JSON; null until `sending`. */
  request: string | null;
  /** Time of the last sending; null until `sending`. */
  sentAtMs: number | null;
  /** End of the route timeout from the first sending; null until `sending`. */
  endsAtMs: number | null;
  job: Job | null;
  /** The announced result; null until then. */
  results: ResultFile[] | null;
  failure: Failure | null;
  /** Until when a lost, capped or superseded attempt is polled; null if it is not. */
  watchUntilMs: number | null;
  endedAtMs: number | null;
};

/**
 * A media URL of a request with its field, e.g. `{ field: "input.image_url", url, kind: "image" }`. `isOwn`: it names a stored
 * file of this service.
 */
export type MediaLink = { field: string; url: string; kind: MediaKind; isOwn?: true };
/** Measurements of a linked file. `ms` for video and audio, `width`/`height` for images and video. */
export type Measured = {
  field: string;
  url: string;
  kind: MediaKind;
  ms?: number;
  /** Length of the picture track if the sound track is longer. */
  pictureMs?: number;
  width?: number;
  height?: number;
  /** Size of the whole file, if its server reports it. */
  bytes?: number;
  /** Duration of one frame, if known. */
  frameMs?: number;
};

/**
 * A link whose length is billed: its measurement at submission and the tolerance of the pinned copy. `n`: its number in the
 * generation, from 1.
 */
export type PinRequest = { n: number; field: string; kind: "video" | "audio"; measuredMs: number; frameMs: number };
/** Our copy of such a file, which providers receive. */
export type PinnedCopy = { n: number; sha256: string; bytes: number; mime: string; ms: number };
/**
 * A stored file of this service that an input field names: an uploaded file (`fileSeq`), or a result file of a generation
 * (`sourceSeq`). `n`: its number in the generation, after those of the pinned links. `storageId`, `fileNo` and `object` name its
 * bytes in the storage of uploads or of results.
 */
export type InputFile = {
  n: number;
  field: string;
  kind: MediaKind;
  fileSeq: number | null;
  sourceSeq: number | null;
  storageId: string;
  fileNo: number;
  object?: string;
  sha256: string;
  bytes: number;
  mime: string;
};
/** A file whose bytes can be read from the beginning as often as required. */
export type FileBytes = { size: number; read(signal?: AbortSignal): AsyncIterable<Uint8Array> };
/**
 * How a provider receives it. `link`: a signed link of ours. `upload`: in the provider's storage. `inline`: inside the request.
 */
export const GIVEN_AS = ["link", "upload", "inline"] as const;
export type GivenAs = (typeof GIVEN_AS)[number];
/** A stored pinned input; `copy` is null until the copy exists. */
export type Pin = PinRequest & { copy: PinnedCopy | null };

/** A stored result file. `n` is its position in `output.urls`, from 1. */
export type StoredFile = {
  n: number;
  sha256: string;
  bytes: number;
  mime: string;
  /** Object name in a shared bucket below its generation; absent if its position is its name. */
  object?: string;
  /** Measured size, for kinds that have one. */
  width?: number;
  height?: number;
  durationMs?: number;
};
/** The delivery of a generation, measured from its files. */
export type Output = {
  kind: MediaKind;
  files: StoredFile[];
  /** Number of announced files if some are missing; absent if all are stored. */
  announced?: number;
  width?: number;
  height?: number;
  durationMs?: number;
  hasAudio?: boolean;
};

/** The stored state of a generation that polls read. src/http converts it to the resource of the API. */
/** What a client attaches to its generation by headers: metadata, and the end user for whom it is made; null: none. */
export type Labels = { metadata: Readonly<Record<string, string>> | null; endUser: string | null };
export type GenerationRecord = {
  /** Row number: ordered by creation, part of `id`. */
  seq: number;
  id: string;
  accountSeq: number;
  /** Request id of the submission, set by the client or the service. */
  requestId: string;
  model: string;
  status: GenerationStatus;
  message: string | null;
  quotedCredits: Credits;
  reservedCredits: Credits;
  costCredits: Credits | null;
  attempts: number;
  error: GenerationError | null;
  output: Output | null;
  createdAtMs: number;
  completedAtMs: number | null;
  /** When its files were deleted (retention expired); null while they are stored. */
  filesExpiredAtMs: number | null;
  /** When its texts were erased; null while they are stored. */
  erasedAtMs: number | null;
  /** Null if the request was made without them. */
  labels: Labels | null;
};

/** A cached record. It is immutable, and a transition replaces it; its JSON is cached for as long as `age` stays the same. */
export type CachedRecord = { readonly record: GenerationRecord; shown: { json: string; age: string } | null };

/** For how many seconds after its end the texts of a generation are kept. */
export type PromptRetention = number | "forever";

/** Scope of an API key. `read` cannot submit. */
export type KeyScope = "generate" | "read";
/** UTC windows of spend limits: a day, a week from Monday, a month. */
export const KEY_WINDOWS = ["day", "week", "month"] as const;
export type KeyWindow = (typeof KEY_WINDOWS)[number];
/** Spend limit of a key in each window, shared with the keys that it replaced; null: unlimited. */
export type KeyLimits = Readonly<Record<KeyWindow, Credits | null>>;
/** A network from which a key is used. `address` is the first address of it that was observed. */
export type KeyNetwork = { keySeq: number; address: string; network: string };
/** Policy of a key beyond its scope. */
export type KeyTerms = {
  /** The key is rejected from then on; null: never. */
  expiresAtMs: number | null;
  /** Models that it may use, at least one; null: all. */
  models: readonly string[] | null;
  limits: KeyLimits;
};
/** Account and limits of an authenticated key (null: the default of the configuration). */
export type Caller = {
  keySeq: number;
  keyId: string;
  scope: KeyScope;
  expiresAtMs: number | null;
  models: readonly string[] | null;
  /** Whether the key has spend limits or a list of models. It then sees and cancels only generations that it submitted. */
  isLimited: boolean;
  accountSeq: number;
  accountId: string;
  paused: boolean;
  burstPerS: number | null;
  inProgressLimit: number | null;
};

/** Kinds of deadlines; each names the event that fires at `dueAtMs`. */
export const DEADLINE_KINDS = ["start", "submit", "slot", "attempt", "collect"] as const;
export type DeadlineKind = (typeof DEADLINE_KINDS)[number];
/** A stored deadline. `n` is the attempt number, 0 for none. */
export type Deadline = { kind: DeadlineKind; n: number; dueAtMs: number };

/** Kinds of transfers. */
export const TRANSFER_KINDS = ["topup", "hold", "capture", "release", "adjust"] as const;
export type TransferKind = (typeof TRANSFER_KINDS)[number];

/** Sides of the ledger; a transfer moves credits from one side to another. */
export type LedgerSide = "funding" | "available" | "held" | "charged" | "adjustments";

/** Version of the interface, §9. */
export const INTERFACE_VERSION = "2026-10-19";
