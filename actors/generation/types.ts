// Types of the generation statechart: events, effects, attempt changes and context.

import type { Mismatch, Odd } from "../../src/domain/delivery-check.ts";
import type { GenerationDecision } from "../../src/domain/operator-decision.ts";
import type { AttemptChange } from "../../src/domain/transition.ts";
import type {
  AttemptState,
  Credits,
  Failure,
  GenerationError,
  GivenAs,
  Job,
  Output,
  PinnedCopy,
  PlannedRoute,
  ResultFile,
  RouteSpec,
} from "../../src/domain/types.ts";

/** The reason why a route was skipped when it was next in the plan. */
export type Passed = { routeId: string; reason: "removed" | "ended" | "down" | "no key" | "switched off" };

/** Every event carries its time, because the statechart has no clock. `n` is the attempt number. */
export type GenerationEvent = { atMs: number } & (
  | { type: "begun"; n: number; route: number; spec: RouteSpec; ref: string; watchMs: number; passed: Passed[] }
  /** The inputs are pinned. Only then does the generation enter the run queue. */
  | { type: "pinned"; copies: PinnedCopy[] }
  /** The inputs cannot be pinned or differ from the measurement. `why` is a sentence for the caller. */
  | { type: "pinRefused"; why: string }
  /** A pinned copy is missing and its link returns a different file. */
  | { type: "pinLost"; n: number; why: string }
  /** The pinned copies cannot be transferred to the provider of the attempt. */
  | { type: "unsendable"; n: number; failure: Failure }
  /** No route of the plan is left. */
  | { type: "skipped"; passed: Passed[] }
  /** `givenAs`: how the provider receives the pinned copies, if there are any. */
  | { type: "slotTaken"; n: number; request: string; givenAs?: GivenAs }
  | { type: "accepted"; n: number; job: Job }
  | { type: "announced"; n: number; results: ResultFile[]; job?: Job }
  | { type: "rejected"; n: number; failure: Failure }
  | { type: "answerLost"; n: number; detail: string }
  /** The process ended while the request may have been sent. */
  | { type: "interrupted"; n: number }
  | { type: "provedAbsent"; n: number }
  | { type: "meansExhausted"; n: number }
  | { type: "jobFailed"; n: number; failure: Failure }
  /** `odd`: the delivery is charged but logged for the operator. */
  | { type: "collected"; n: number; output: Output; odd?: Odd }
  /** The delivery does not match the order. `atMost`: maximum mismatches before the generation fails; absent: try every route. */
  | { type: "mismatched"; n: number; mismatch: Mismatch; atMost?: number }
  | { type: "resultUnreadable"; n: number; detail: string }
  | { type: "resultLost"; n: number; failure: Failure }
  | { type: "storageRefused"; n: number; detail: string }
  | { type: "storageReturned"; n: number }
  | { type: "woken"; n: number }
  | { type: "attemptTimeEnded"; n: number }
  | { type: "collectTimeEnded"; n: number }
  | { type: "waitEnded" }
  /** The store rejected the settlement, which is a defect; an operator decides. */
  | { type: "parked"; reason: string }
  | GenerationDecision
);
export type GenerationEventType = GenerationEvent["type"];

/** Effects that the dispatcher performs after the commit of the transition. */
export type Effect =
  /** Pin the inputs, then report `pinned`. The supervisor emits it before the generation enters the run queue. */
  | { type: "effect.pin" }
  | { type: "effect.beginAttempt" }
  /** Take a slot of the provider's bulkhead, then report `slotTaken`. */
  | { type: "effect.submit"; n: number }
  /** Send the request. The attempt is already stored as `sending`. */
  | { type: "effect.send"; n: number }
  /** `cancelRequested`: nothing is bought, so no look-up that sends the submission again. */
  | { type: "effect.confirm"; n: number; cancelRequested?: true }
  /** `cancelRequested`: ask the provider to cancel the job as well. */
  | { type: "effect.poll"; n: number; cancelRequested?: true }
  | { type: "effect.wake"; n: number; atMs: number }
  | { type: "effect.collect"; n: number }
  /** Request fresh result links from the provider, then download. */
  | { type: "effect.collectAgain"; n: number }
  | { type: "effect.awaitStorage"; n: number }
  /** Keep polling an attempt that is no longer the current one. `outOfTime`: its route timeout expired without a delivery. */
  | { type: "effect.watch"; n: number; outOfTime?: true }
  | { type: "effect.cancel"; n: number }
  /** Stop all work for the attempt. */
  | { type: "effect.letGo"; n: number; outOfTime?: true };

/** Changes that are stored with the transition. */
export type Note =
  | { type: "note.attempt"; change: AttemptChange }
  | { type: "note.pinned"; copies: readonly PinnedCopy[] }
  | { type: "note.capture"; n: number; credits: Credits; output: Output }
  | { type: "note.release"; error: GenerationError };

export type MachineOutput = Effect | Note;

/** The current attempt. */
export type CurrentAttempt = {
  n: number;
  /** Index into the plan. */
  route: number;
  /** Number of requests that may have been sent. */
  sends: number;
  sentAtMs: number | null;
  /** End of the route timeout, from the first sending. It never changes. */
  endsAtMs: number | null;
  collectEndsAtMs: number | null;
  wakeAtMs: number | null;
  watchMs: number;
};
/** An earlier attempt that may still deliver; `arriving` while its files are downloaded. */
export type WatchedAttempt = { n: number; route: number; arriving: boolean };

/**
 * Context of the statechart. It contains no input and no secrets. `plan` is stored in the generation row, not in the snapshot.
 */
export type GenerationContext = {
  plan: readonly PlannedRoute[];
  waitEndsAtMs: number;
  collectMs: number;
  /** Index of the next route in the plan. */
  nextRoute: number;
  /** Number of attempts that have begun. */
  tried: number;
  /** Number of attempts that ended because the provider rejected the input. */
  inputRefusals: number;
  /** Numbers of the attempts with a mismatched delivery; absent if there are none. */
  mismatched?: readonly number[];
  /** When the client requested the cancellation; absent: never. From then on no attempt begins and nothing is sent. */
  cancelRequestedAtMs?: number;
  current: CurrentAttempt | null;
  watched: WatchedAttempt[];
};
export type GenerationInput = Pick<GenerationContext, "plan" | "waitEndsAtMs" | "collectMs">;

/** End states of an attempt that the statechart sets itself. */
export type ClosedAs = Extract<AttemptState, "rejected" | "absent" | "failed" | "lost" | "capped" | "cancelled" | "mismatched">;

/** Customer message while an outcome is confirmed (§2.1). */
export const CONFIRMING_MESSAGE = "Confirming the result with the provider.";
/** Customer message while a generation waits for an operator. */
export const PARKED_MESSAGE = "The result is being checked by the operator; the credits stay on hold until then.";

/** Customer messages of failed generations. They name no provider, route or key. */
export const ERROR_MESSAGES: Readonly<Record<GenerationError["code"], string>> = {
  input_refused: "The input was refused by the content rules of the model's provider. Nothing was charged.",
  provider_failed: "Every route that could run this generation failed. Nothing was charged.",
  timed_out: "The waiting time was over before a route delivered. Nothing was charged.",
  provider_unavailable: "No route could take this generation. Nothing was charged.",
  cancelled: "The generation was cancelled on request. Nothing was charged.",
};
/** Customer message of a generation that an operator ended. */
export const ENDED_BY_OPERATOR_MESSAGE = "The operator ended this generation. Nothing was charged.";
