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

/** An event as the statechart received it, and the state after it (`running.polling`). */
export type AppliedEvent = { event: JsonObject & { type: string }; stateAfter: string };

/** `snapshot`: the snapshot after it as JSON, for observers in this process; it is not stored. */
export type EarlierEvent = AppliedEvent & { snapshot?: () => string };

/** One transition of one generation: its events, snapshot, rows and transfers together. */
export type ApplyTransition = AppliedEvent & {
  mutation: "step";
  seq: number;
  /** Version after the last event. Each event has one; the stored version must be the one before the first (0 before any). */
  version: number;
  atMs: number;
  /** Events before the last, at the same time. Nothing outside the process happened between them; absent: none. */
  earlier?: readonly EarlierEvent[];
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

/** The version after the first event of a transition. */
export const firstVersionOf = ({ version, earlier = [] }: { version: number; earlier?: readonly unknown[] }): number =>
  version - earlier.length;

/** The events of a transition in order, each with its version. @param version after the last */
export const eventsOf = <Event>(
  version: number,
  earlier: readonly Event[] = [],
  last: Event,
): { version: number; event: Event }[] =>
  [...earlier, last].map((event, at) => ({ version: version - earlier.length + at, event }));

/** The events of a transition as the statechart took them, each with its version and the snapshot after it. */
export const appliedEvents = (
  transition: ApplyTransition,
): (AppliedEvent & { version: number; snapshot: () => string | null })[] =>
  eventsOf<EarlierEvent | ApplyTransition>(transition.version, transition.earlier, transition).map(({ version, event: one }) => ({
    ...{ version, event: one.event, stateAfter: one.stateAfter },
    snapshot: () => (typeof one.snapshot === "function" ? one.snapshot() : transition.snapshot),
  }));

/** The version after the event that changed the status, which names the event for webhooks. */
export const statusVersionOf = (transition: {
  version: number;
  stateAfter: string;
  earlier?: readonly { stateAfter: string }[];
}): number => {
  const statusOf = ({ stateAfter }: { stateAfter: string }) => stateAfter.split(".")[0];
  const before = (transition.earlier ?? []).filter((one) => statusOf(one) === statusOf(transition)).length;
  return transition.version - before;
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
