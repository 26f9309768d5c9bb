// The words of the service: the one dictionary of names and shapes that every room may use.

/** Whole credits; 1 credit = 0.01 USD. Never a fraction, never above 2^53-1. */
export type Credits = number;

/** Any JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** The four statuses of a generation in the API (§3). */
export const GENERATION_STATUSES = ["queued", "running", "succeeded", "failed"] as const;
export type GenerationStatus = (typeof GENERATION_STATUSES)[number];

/** Codes of `generation.error.code`. */
export const GENERATION_ERROR_CODES = ["input_refused", "provider_failed", "timed_out", "provider_unavailable"] as const;
export type GenerationErrorCode = (typeof GENERATION_ERROR_CODES)[number];
export type GenerationError = { code: GenerationErrorCode; message: string };

export type MediaKind = "image" | "video" | "audio";

/**
 * States of an attempt row. `intent`: seat taken, nothing sent. `sending`: a request may be out. `accepted`: the provider's
 * job is known. The rest are ends: `delivered` (its files were charged), `rejected` (refused at submission), `absent`
 * (proved never accepted), `failed` (accepted, then failed), `lost` (outcome never learnt), `capped` (its route time was
 * over), `cancelled` (given up before anything was sent), `superseded` (another attempt delivered), `late` (delivered after
 * the end, or after another: the operator's loss), `mismatched` (what it delivered is not what was ordered: not charged).
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

/** How a provider's failure is treated; see src/providers/port.ts for what each means. */
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
/** Failures of the operator's set-up (key, balance): a route is of no use until somebody acts, so it opens at once and for long. */
export const SET_UP_FAULTS: readonly FailureClass[] = ["config_fault", "balance"];
/**
 * Why an attempt failed. `detail` is for the operator only: it may hold provider text and never reaches a customer. `isBilled`: the
 * provider's answer names a cost or a usage beside no file.
 */
export type Failure = { class: FailureClass; detail: string; retryAfterMs?: number; isBilled?: true };

/** A route as frozen into a generation's plan at submission, in the order of trying. Times in ms, price in whole credits. */
export type PlannedRoute = {
  routeId: string;
  priceCredits: Credits;
  /** Longest time of one attempt, counted from its first `sending`; at most 2,400,000. */
  timeoutMs: number;
  onRefusal: "fail" | "next";
  onLost: "next" | "hold" | "fail";
};

/** What a route needs to run, as the catalogue has it; frozen into the attempt row when the attempt begins. `kind`: what it makes. */
export type RouteSpec = { routeId: string; provider: string; endpoint: string; options: JsonObject; kind: MediaKind };

/** The provider's own name for the work it accepted, and the addresses it gave for it. */
export type Job = { jobId: string; urls?: { poll?: string; result?: string; cancel?: string } };

/** A file that came inside an answer, in the pieces in which it came. `raw`: as it is. */
export type InlineContent = { as: "base64" | "hex" | "raw"; pieces: readonly (string | Uint8Array)[] };
/**
 * One result file as a provider announces it. `url` is untrusted. `content`: what it leads to, where that is large and came with it; it is
 * put on disk before anything is written down.
 */
export type ResultFile = { url: string; mime?: string; expiresAtMs?: number; content?: InlineContent };

/** The record of one attempt: which route, what was asked, what is known. */
export type Attempt = {
  seq: number;
  n: number;
  /** Our reference for the attempt, sent to providers that take one: `<body of the generation's id>-<n>`, [a-z0-9-]. */
  ref: string;
  /** The request that made its generation. */
  requestId: string;
  route: RouteSpec;
  priceCredits: Credits;
  state: AttemptState;
  /** The exact request without its credentials, as JSON; null until `sending`. */
  request: string | null;
  /** When it was sent, the last time if it was refused before; null until `sending`. */
  sentAtMs: number | null;
  /** End of the route time, counted from the first sending; null until `sending`. */
  endsAtMs: number | null;
  job: Job | null;
  /** What the provider announced as the result; null until then. */
  results: ResultFile[] | null;
  failure: Failure | null;
  /** Until when a lost, capped or superseded attempt is still asked about; null when nobody asks. */
  watchUntilMs: number | null;
  endedAtMs: number | null;
};

/** A media URL of a request and what its field means, e.g. `{ field: "input.image_url", url, kind: "image" }`. */
export type MediaLink = { field: string; url: string; kind: MediaKind };
/** What was measured of a link. `ms` for clips and sound, `width`/`height` for pictures and clips. */
export type Measured = {
  field: string;
  url: string;
  kind: MediaKind;
  ms?: number;
  /** Of a clip whose sound goes on after its pictures: how long these are. */
  pictureMs?: number;
  width?: number;
  height?: number;
  /** Size of the whole file, where its server has told it. */
  bytes?: number;
  /** How long one frame of it lasts, where it is known. */
  frameMs?: number;
};

/**
 * A link of an input whose length is billed: what was measured of it at submission, and how far our copy of its file may be from that.
 * `n`: its number among those of its generation, from 1.
 */
export type PinRequest = { n: number; field: string; kind: "video" | "audio"; measuredMs: number; frameMs: number };
/** Our copy of such a file, which is what providers are given. */
export type PinnedCopy = { n: number; sha256: string; bytes: number; mime: string; ms: number };
/** How a provider is given it. `link`: a signed link of ours. `upload`: in the provider's own storage. `inline`: inside the request. */
export const GIVEN_AS = ["link", "upload", "inline"] as const;
export type GivenAs = (typeof GIVEN_AS)[number];
/** A pinned input as it is stored; `copy` is null until the copy is there. */
export type Pin = PinRequest & { copy: PinnedCopy | null };

/** A stored result file. `n` is its position in `output.urls`, from 1. */
export type StoredFile = {
  n: number;
  sha256: string;
  bytes: number;
  mime: string;
  /** What its object in the bucket is called below its generation, where nodes share the bucket; absent where its place is its name. */
  object?: string;
  /** As measured, of those kinds that can be. */
  width?: number;
  height?: number;
  durationMs?: number;
};
/** What a generation delivered, measured from the files themselves. */
export type Output = {
  kind: MediaKind;
  files: StoredFile[];
  /** How many files the provider announced, where some of them could not be had; absent where all are here. */
  announced?: number;
  width?: number;
  height?: number;
  durationMs?: number;
  hasAudio?: boolean;
};

/** What is true of a generation: the record that polls read. The resource of the API is made from it in src/http only. */
export type GenerationRecord = {
  /** Row number: ordered by creation, carried inside `id`. */
  seq: number;
  id: string;
  accountSeq: number;
  /** The request that made it, as the caller or the service named it. */
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
  /** When its files were deleted (retention over); null while they are kept. */
  filesExpiredAtMs: number | null;
};

/** A record in memory. It never changes, a step makes another: how it was shown is kept beside it, for as long as `age` is the same. */
export type CachedRecord = { readonly record: GenerationRecord; shown: { json: string; age: string } | null };

/** Scope of an API key. `read` may look, not submit. */
export type KeyScope = "generate" | "read";
/** Calendar windows in UTC that a key's spending may be limited in: a day, a week from Monday, a month from its first. */
export const KEY_WINDOWS = ["day", "week", "month"] as const;
export type KeyWindow = (typeof KEY_WINDOWS)[number];
/** The most that a key, with those it follows by rotation, may spend in each window; null: as much as there is. */
export type KeyLimits = Readonly<Record<KeyWindow, Credits | null>>;
/** What a key may beyond its scope. */
export type KeyTerms = {
  /** It is refused from then on; null: never. */
  expiresAtMs: number | null;
  /** The models it may generate with, at least one; null: all. */
  models: readonly string[] | null;
  limits: KeyLimits;
};
/** What a key opens: the account and its limits (null: the service's default). */
export type Caller = {
  keySeq: number;
  keyId: string;
  scope: KeyScope;
  expiresAtMs: number | null;
  models: readonly string[] | null;
  accountSeq: number;
  accountId: string;
  paused: boolean;
  burstPerS: number | null;
  inProgressLimit: number | null;
};

/** Kinds of rows that make sure something happens to a generation: each names the event that fires at `dueAtMs`. */
export const COMMAND_KINDS = ["start", "submit", "seat", "attempt", "collect"] as const;
export type CommandKind = (typeof COMMAND_KINDS)[number];
/** A durable deadline. `n` is the attempt it concerns, 0 for none. */
export type Deadline = { kind: CommandKind; n: number; dueAtMs: number };

/** Kinds of ledger movements. */
export const TRANSFER_KINDS = ["topup", "hold", "capture", "release", "adjust"] as const;
export type TransferKind = (typeof TRANSFER_KINDS)[number];

/** Where the ledger's credits stand; a movement takes them from one side to another. */
export type LedgerSide = "funding" | "available" | "held" | "charged" | "adjustments";

/** Version of the interface, §9. */
export const INTERFACE_VERSION = "2026-10-19";
