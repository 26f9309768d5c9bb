// Types of the console's generation pages, shared by server and browser.
import type { ModelEntry } from "../../catalogue/public-model.ts";
import type { PurchaseState } from "../domain/purchase-mutations.ts";
import type { Credits, GenerationError, GenerationStatus, JsonObject, MediaKind, TransferKind } from "../domain/types.ts";

/** A model of the playground. `expectedS`: usual time of its fastest route, s. */
export type ModelDto = ModelEntry & { expectedS: number | null };
/** `GET /console/api/models`. */
export type ModelsDto = { mode: "test" | "live"; models: readonly ModelDto[] };

/** An error that a form shows; `field` is a field of the input or of the request. */
export type QuoteErrorDto = { code: string; message: string; field: string | null };
/** A route of a plan, in order of the attempts. Only operators and viewers get its name. */
export type QuotedRoute = { n: number; priceCredits: Credits | null; expectedS: number; name?: string; provider?: string };
/** A route that cannot be used for the request, with the reason. */
export type SkippedRouteDto = { why: string; name?: string };
/**
 * Response of `POST /console/api/quote`. Amounts are null if the price depends on the length of `timedBy`, which is measured at
 * submission.
 */
export type QuoteDto =
  | { refusal: QuoteErrorDto }
  | {
      refusal: null;
      /** Price on the first route. */
      quotedCredits: Credits | null;
      /** The hold until the generation has ended. */
      reservedCredits: Credits | null;
      leastCredits: Credits | null;
      mostCredits: Credits | null;
      timedBy: string[];
      routes: QuotedRoute[];
      skipped: SkippedRouteDto[];
    };

/** A result file. `url` supports ranges; `thumbUrl` is present for images. */
export type FileDto = { n: number; mime: string; bytes: number; sha256: string; url: string; thumbUrl: string | null };
/** A generation in a list. */
export type GenerationDto = {
  id: string;
  model: string;
  kind: MediaKind | null;
  status: GenerationStatus;
  /** Describes the result that is being confirmed, if any. */
  message: string | null;
  prompt: string | null;
  quotedCredits: Credits;
  reservedCredits: Credits;
  costCredits: Credits | null;
  attempts: number;
  error: GenerationError | null;
  createdAtMs: number;
  completedAtMs: number | null;
  /**
   * Key of the generation, in the form that `key` of the list accepts (`playground` for the console's key). A revoked key keeps
   * its name.
   */
  keyId: string;
  keyName: string;
  /** Account of the generation, for operators and viewers. */
  accountId: string | null;
  width: number | null;
  height: number | null;
  durationMs: number | null;
  hasAudio: boolean | null;
  /** Empty before success and after deletion. */
  files: FileDto[];
  filesExpireAtMs: number | null;
  areFilesGone: boolean;
};
/**
 * `GET /console/api/generations`. `next` is the `before` of the next page; the search may continue even if this page has few
 * entries.
 */
export type GenerationsPage = { generations: GenerationDto[]; looked: number; next: string | null };

/** One attempt on a time axis. Members of `operator` are present for operators and viewers only. */
export type AttemptDto = {
  n: number;
  /** In plain words. */
  state: string;
  outcome: "going" | "good" | "bad" | "left";
  why: string | null;
  priceCredits: Credits;
  beganAtMs: number;
  sentAtMs: number | null;
  endedAtMs: number | null;
  operator: {
    routeId: string;
    provider: string;
    endpoint: string;
    state: string;
    jobId: string | null;
    failure: { class: string; detail: string } | null;
  } | null;
};
export type EntryDto = { kind: TransferKind; credits: Credits; from: string; to: string; attemptN: number | null; atMs: number };
/** `GET /console/api/generations/:id`. */
export type GenerationDetail = GenerationDto & {
  /** The input as it was submitted. */
  input: JsonObject;
  timeline: AttemptDto[];
  money: { heldCredits: Credits; chargedCredits: Credits; releasedCredits: Credits };
  entries: EntryDto[];
  idempotencyKey: string | null;
  requestId: string;
  /** Since when a cancellation is pending; null if none is. */
  cancelRequestedAtMs: number | null;
  metadata: Readonly<Record<string, string>> | null;
  endUser: string | null;
  /** When its texts were erased; null while they are stored. */
  erasedAtMs: number | null;
  /** Null if the inspector is off. */
  inspectorUrl: string | null;
};

/** `DELETE /console/api/generations/:id`: the generation without its texts, and the backups that may still contain them. */
export type ErasedGeneration = {
  generation: GenerationDetail;
  /** `expiresAtMs`: when the service deletes it; null: it never does. */
  backups: { name: string; takenAtMs: number; expiresAtMs: number | null }[];
};

/**
 * Events of `GET /console/api/events`: `generation` and `balance` contain these types; `again` requests a complete reload.
 * Generations are those of the viewed account; balances are also those of the user's own account.
 */
export type GenerationUpdate = Pick<
  GenerationDto,
  "id" | "model" | "status" | "message" | "attempts" | "costCredits" | "completedAtMs"
>;
/** A purchase was opened, paid, expired, refunded or disputed. */
export type PurchaseUpdate = { accountId: string; id: string; state: PurchaseState };
export type BalanceUpdate = {
  accountId: string;
  availableCredits: Credits;
  heldCredits: Credits;
  owedCredits: Credits;
  paused: boolean;
};
