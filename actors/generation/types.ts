// What a generation is told (events, facts in the past) and what it says (attempt notes, settlements and asks).

import type { Mismatch, Odd } from "../../src/domain/delivery-check.ts";
import type { OperatorDecision } from "../../src/domain/operator-decision.ts";
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
import type { AttemptChange } from "../../src/store/mutations.ts";

/** Why a route was passed over when its turn came. */
export type Passed = { routeId: string; reason: "removed" | "ended" | "down" | "no key" | "switched off" };

/** Every event carries the time it happened; the machine has no clock of its own. `n` is the attempt it is about. */
export type GenerationEvent = { atMs: number } & (
  | { type: "begun"; n: number; route: number; spec: RouteSpec; ref: string; watchMs: number; passed: Passed[] }
  /** Our copies of the links whose length is billed are there; only then does it ask for a seat. */
  | { type: "pinned"; copies: PinnedCopy[] }
  /** They cannot be had, or are not what was measured. `why` is our own sentence, for the caller. */
  | { type: "pinRefused"; why: string }
  /** A copy is gone and its link does not lead to the same file any more. */
  | { type: "pinLost"; n: number; why: string }
  /** Our copies cannot be given to the provider of the attempt. */
  | { type: "unsendable"; n: number; failure: Failure }
  /** No route left that could take it. */
  | { type: "skipped"; passed: Passed[] }
  /** `givenAs`: how its provider is given our copies of pinned inputs, where there are any. */
  | { type: "slotTaken"; n: number; request: string; givenAs?: GivenAs }
  | { type: "accepted"; n: number; job: Job }
  | { type: "announced"; n: number; results: ResultFile[]; job?: Job }
  | { type: "rejected"; n: number; failure: Failure }
  | { type: "answerLost"; n: number; detail: string }
  /** The process ended while the request may have been out. */
  | { type: "interrupted"; n: number }
  | { type: "provedAbsent"; n: number }
  | { type: "meansExhausted"; n: number }
  | { type: "jobFailed"; n: number; failure: Failure }
  /** `odd`: it is charged, and worth telling the operator all the same. */
  | { type: "collected"; n: number; output: Output; odd?: Odd }
  /** What came is not what was ordered. `atMost`: with so many attempts that did so nothing further is tried; absent: as long as there are routes. */
  | { type: "mismatched"; n: number; mismatch: Mismatch; atMost?: number }
  | { type: "resultUnreadable"; n: number; detail: string }
  | { type: "resultLost"; n: number; failure: Failure }
  | { type: "storageRefused"; n: number; detail: string }
  | { type: "storageReturned"; n: number }
  | { type: "woken"; n: number }
  | { type: "attemptTimeEnded"; n: number }
  | { type: "collectTimeEnded"; n: number }
  | { type: "waitEnded" }
  /** The store refused the settlement: a defect, kept for a person. */
  | { type: "parked"; reason: string }
  | OperatorDecision
);
export type GenerationEventType = GenerationEvent["type"];

/** What the machine wants done once its step is on disk. */
export type Effect =
  /** Fetch the links whose length is billed, then say `pinned`. Asked by the supervisor, before it looks for a seat. */
  | { type: "ask.pin" }
  | { type: "ask.beginAttempt" }
  /** Take a connection of the provider's pool, then say `slotTaken`. */
  | { type: "ask.submit"; n: number }
  /** The attempt is `sending` on disk: open the socket. */
  | { type: "ask.send"; n: number }
  | { type: "ask.confirm"; n: number }
  | { type: "ask.poll"; n: number }
  | { type: "ask.wake"; n: number; atMs: number }
  | { type: "ask.collect"; n: number }
  /** Ask the provider for the result again, then collect. */
  | { type: "ask.collectAgain"; n: number }
  | { type: "ask.awaitStorage"; n: number }
  /** Keep asking about an attempt that is no longer the current one. `outOfTime`: its route had its time and did not deliver. */
  | { type: "ask.watch"; n: number; outOfTime?: true }
  | { type: "ask.cancel"; n: number }
  /** Nothing of this attempt is wanted any more. */
  | { type: "ask.letGo"; n: number; outOfTime?: true };

/** What goes to disk with the step. */
export type Note =
  | { type: "note.attempt"; change: AttemptChange }
  | { type: "note.pinned"; copies: readonly PinnedCopy[] }
  | { type: "note.capture"; n: number; credits: Credits; output: Output }
  | { type: "note.release"; error: GenerationError };

export type MachineOutput = Effect | Note;

/** The attempt in hand. */
export type CurrentAttempt = {
  n: number;
  /** Index into the plan. */
  route: number;
  /** Requests that may have left for it. */
  sends: number;
  sentAtMs: number | null;
  /** End of its route time, from the first sending, never moved. */
  endsAtMs: number | null;
  collectEndsAtMs: number | null;
  wakeAtMs: number | null;
  watchMs: number;
};
/** An earlier attempt whose outcome may still come; `arriving` while its files are being fetched. */
export type WatchedAttempt = { n: number; route: number; arriving: boolean };

/** The machine's memory: no input, no secrets. `plan` is kept with the generation's row, not in the snapshot. */
export type GenerationContext = {
  plan: readonly PlannedRoute[];
  waitEndsAtMs: number;
  collectMs: number;
  /** Index of the next route to ask for. */
  nextRoute: number;
  /** Attempts begun. */
  tried: number;
  /** Attempts that ended because the provider refused the input. */
  inputRefusals: number;
  /** The attempts that delivered something else; absent: none, as for nearly all. */
  mismatched?: readonly number[];
  current: CurrentAttempt | null;
  watched: WatchedAttempt[];
};
export type GenerationInput = Pick<GenerationContext, "plan" | "waitEndsAtMs" | "collectMs">;

/** Ends of an attempt that the machine itself writes. */
export type ClosedAs = Extract<AttemptState, "rejected" | "absent" | "failed" | "lost" | "capped" | "cancelled" | "mismatched">;

/** What the customer reads while an outcome is being confirmed (§2.1). */
export const CONFIRMING_MESSAGE = "Confirming the result with the provider.";
/** What the customer reads when a person has to look at the generation. */
export const PARKED_MESSAGE = "The result is being checked by the operator; the credits stay on hold until then.";

/** Messages of failed generations: what happened, without provider, route or key. */
export const ERROR_MESSAGES: Readonly<Record<GenerationError["code"], string>> = {
  input_refused: "The input was refused by the content rules of the model's provider. Nothing was charged.",
  provider_failed: "Every route that could run this generation failed. Nothing was charged.",
  timed_out: "The waiting time was over before a route delivered. Nothing was charged.",
  provider_unavailable: "No route could take this generation. Nothing was charged.",
};
/** What the customer reads of a generation that an operator has ended. */
export const ENDED_BY_OPERATOR_MESSAGE = "The operator ended this generation. Nothing was charged.";
