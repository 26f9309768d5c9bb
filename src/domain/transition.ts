// Transitions of a generation: what its statechart changes in the store, and the open generation that a restore continues.

import type {
  AttemptState,
  Credits,
  Deadline,
  Failure,
  GenerationError,
  GenerationRecord,
  GenerationStatus,
  Job,
  JsonObject,
  Output,
  PinnedCopy,
  PlannedRoute,
  ResultFile,
  RouteSpec,
} from "./types.ts";
import type { PendingDelivery } from "./webhooks.ts";

/** A change of one attempt row. `begin` inserts it in state `intent`; otherwise only the present members change. */
export type AttemptChange = {
  n: number;
  begin?: { ref: string; route: RouteSpec; priceCredits: Credits };
  state?: AttemptState;
  request?: string;
  sentAtMs?: number;
  endsAtMs?: number;
  job?: Job;
  results?: ResultFile[];
  failure?: Failure;
  watchUntilMs?: number | null;
  endedAtMs?: number;
};

/** The end of a generation; its transfers are in the same transaction. */
export type Settlement =
  /**
   * Captures the price of attempt `n`, releases the rest of the hold and ends the generation `succeeded`. Released credits repay
   * a debt first.
   */
  | { kind: "capture"; n: number; credits: Credits; output: Output; filesExpireAtMs: number }
  /** Releases the whole hold and ends the generation `failed`. */
  | { kind: "release"; error: GenerationError };

/** One transition of one generation: event, snapshot, rows and transfers together. */
export type ApplyTransition = {
  mutation: "step";
  seq: number;
  /** Version after this transition; the stored version must be exactly one less (0 before the first). */
  version: number;
  atMs: number;
  /** The event as the statechart received it, and the state after it (`running.polling`). */
  event: JsonObject & { type: string };
  stateAfter: string;
  /** The snapshot as JSON; null once the generation has ended. */
  snapshot: string | null;
  status?: GenerationStatus;
  message?: string | null;
  /** Number of attempts begun, if it changed. */
  attempts?: number;
  attemptChanges: AttemptChange[];
  settlement?: Settlement;
  /** Copies of its pinned inputs, if they were created now. */
  pinned?: readonly PinnedCopy[];
  /** The deadline from now on, if it changed; null for none. An ended generation has none. */
  deadline?: Deadline | null;
};
export type TransitionResult =
  /**
   * `settledCredits`: part of a debt that the released credits repaid; absent: no debt. `deliveries`: what was added to the outbox
   * of webhooks; absent: nothing.
   */
  | { kind: "stepped"; record: GenerationRecord; settledCredits?: Credits; deliveries?: readonly PendingDelivery[] }
  /** The stored version differs: another writer continued it, or it has ended. Nothing was written. */
  | { kind: "stale" }
  /** A constraint rejected it, which is a defect. Nothing was written. */
  | { kind: "refused"; reason: string };

/** The stored state of an open generation for recovery. */
export type OpenGeneration = {
  seq: number;
  id: string;
  accountSeq: number;
  status: "queued" | "running";
  createdAtMs: number;
  waitEndsAtMs: number;
  plan: readonly PlannedRoute[];
  version: number;
  snapshot: string | null;
  /** Links of its input are not pinned yet. */
  awaitsPins: boolean;
  /** Null only if it is parked. */
  deadline: Deadline | null;
};
