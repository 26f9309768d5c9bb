// What the pages of making are told and send: types alone, so that the browser may have them too.
import type { ModelEntry } from "../../catalogue/public-model.ts";
import type { Credits, GenerationError, GenerationStatus, JsonObject, MediaKind, TransferKind } from "../domain/types.ts";
import type { PurchaseState } from "../store/purchase-mutations.ts";

/** `GET /console/api/models`. */
export type ModelsDto = { mode: "test" | "live"; models: readonly ModelEntry[] };

/** A no that a form shows; `field`: of the input, or of the request. */
export type RefusalDto = { code: string; message: string; field: string | null };
/** A route of a plan, in the order of trying. Its name is for operators and viewers only. */
export type QuotedRoute = { n: number; priceCredits: Credits | null; expectedS: number; name?: string; provider?: string };
/** A route that the request leaves out, and why. */
export type SkippedRouteDto = { why: string; name?: string };
/** The answer of `POST /console/api/quote`. Amounts are null where the length of `timedBy` decides, which is measured at submission. */
export type QuoteDto =
  | { refusal: RefusalDto }
  | {
      refusal: null;
      /** Of the route that is tried first. */
      quotedCredits: Credits | null;
      /** Held until the generation has ended. */
      reservedCredits: Credits | null;
      leastCredits: Credits | null;
      mostCredits: Credits | null;
      timedBy: string[];
      routes: QuotedRoute[];
      skipped: SkippedRouteDto[];
    };

/** A result file. `url` takes a range; `thumbUrl` is there for pictures. */
export type FileDto = { n: number; mime: string; bytes: number; sha256: string; url: string; thumbUrl: string | null };
/** What a list shows of a generation. */
export type GenerationDto = {
  id: string;
  model: string;
  kind: MediaKind | null;
  status: GenerationStatus;
  /** What is being confirmed, while something is. */
  message: string | null;
  prompt: string | null;
  quotedCredits: Credits;
  reservedCredits: Credits;
  costCredits: Credits | null;
  attempts: number;
  error: GenerationError | null;
  createdAtMs: number;
  completedAtMs: number | null;
  /** The key that made it, as `key` of the list takes it (`playground`: that of the console); one that is revoked keeps its name. */
  keyId: string;
  keyName: string;
  /** Of whom, for operators and viewers. */
  accountId: string | null;
  width: number | null;
  height: number | null;
  durationMs: number | null;
  hasAudio: boolean | null;
  /** Empty before success, and once they are deleted. */
  files: FileDto[];
  filesExpireAtMs: number | null;
  areFilesGone: boolean;
};
/** `GET /console/api/generations`. `next`: the `before` of what follows; with few found it may be looked further. */
export type GenerationsPage = { generations: GenerationDto[]; looked: number; next: string | null };

/** One attempt on a time axis. What stands under `operator` is told to operators and viewers only. */
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
  /** As it was sent. */
  input: JsonObject;
  timeline: AttemptDto[];
  money: { heldCredits: Credits; chargedCredits: Credits; releasedCredits: Credits };
  entries: EntryDto[];
  idempotencyKey: string | null;
  requestId: string;
  /** Null where the inspector is switched off. */
  inspectorUrl: string | null;
};

/**
 * News on `GET /console/api/events`: `generation` and `balance` have these; `again` says to read everything anew. Generations are those of
 * the account that is looked at, balances also that of whoever looks.
 */
export type GenerationUpdate = Pick<
  GenerationDto,
  "id" | "model" | "status" | "message" | "attempts" | "costCredits" | "completedAtMs"
>;
/** A purchase was opened, paid, given up, refunded or disputed. */
export type PurchaseUpdate = { accountId: string; id: string; state: PurchaseState };
export type BalanceUpdate = {
  accountId: string;
  availableCredits: Credits;
  heldCredits: Credits;
  owedCredits: Credits;
  paused: boolean;
};
