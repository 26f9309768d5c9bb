// The statechart of a generation; its four top states are the API statuses (§3).
import { and } from "xstate";
import * as act from "./actions.ts";
import * as rule from "./guards.ts";
import {
  cancelledUnsent,
  collected,
  failOrToNextRoute,
  settled,
  stalled,
  toCollecting,
  toConfirming,
  toNextRoute,
  toPolling,
  unlearnt,
  unsent,
  waitOver,
} from "./transitions.ts";
import type { Effect, GenerationContext } from "./types.ts";

const about = (type: Exclude<Effect["type"], "effect.beginAttempt" | "effect.wake">) => (context: GenerationContext) =>
  context.current === null ? null : { type, n: context.current.n };

/** The same with the client's cancel request, if there is one. */
const aboutCancellable = (type: "effect.confirm" | "effect.poll") => (context: GenerationContext) => {
  if (context.current === null) return null;
  return { type, n: context.current.n, ...(rule.isCancelRequested({ context }) ? ({ cancelRequested: true } as const) : {}) };
};

/** The effect of each resting state, emitted on entry and after a restore. */
export const EFFECT_ON_ENTRY = {
  queued: () => ({ type: "effect.beginAttempt" }),
  "running.awaitingSlot": () => ({ type: "effect.beginAttempt" }),
  "running.submitting.intent": about("effect.submit"),
  "running.submitting.sending": about("effect.send"),
  "running.backingOff": ({ current }) =>
    current === null ? null : { type: "effect.wake", n: current.n, atMs: current.wakeAtMs ?? 0 },
  "running.confirming.acceptance": aboutCancellable("effect.confirm"),
  "running.confirming.result": about("effect.collectAgain"),
  "running.polling": aboutCancellable("effect.poll"),
  "running.collecting.fetching": about("effect.collect"),
  "running.collecting.stalled": about("effect.awaitStorage"),
  "running.parked": () => null,
} as const satisfies Record<string, (context: GenerationContext) => Effect | null>;

export type Leaf = keyof typeof EFFECT_ON_ENTRY | "succeeded" | "failed";

const machine = act.machineSetup.extend({
  guards: {
    isCurrent: rule.isCurrent,
    isWatched: rule.isWatched,
    isBeingCollected: rule.isBeingCollected,
    isInTime: rule.isInTime,
    isCancelRequested: rule.isCancelRequested,
    isFirstCancelRequest: rule.isFirstCancelRequest,
    hasNothingOut: rule.hasNothingOut,
    maySend: rule.maySend,
    mayTryNextRoute: rule.mayTryNextRoute,
    isCollectingLateResult: rule.isCollectingLateResult,
    inputRefusedForGood: rule.inputRefusedForGood,
    mayBackOff: rule.mayBackOff,
    holdsOnUnknownOutcome: rule.holdsOnUnknownOutcome,
    failsOnUnknownOutcome: rule.failsOnUnknownOutcome,
    endsOnUnknownOutcome: rule.endsOnUnknownOutcome,
    hasNoAttempt: rule.hasNoAttempt,
    isUnsent: rule.isUnsent,
    isOut: rule.isOut,
    hasLateResult: rule.hasLateResult,
    isAnnounced: rule.isAnnounced,
    hasJob: rule.hasJob,
    mayHaveDelivered: rule.mayHaveDelivered,
  },
  actions: {
    beginAttempt: act.beginAttempt,
    passAll: act.passAll,
    beginSending: act.beginSending,
    keepJob: act.keepJob,
    beginCollecting: act.beginCollecting,
    extendCollecting: act.extendCollecting,
    beginBackingOff: act.beginBackingOff,
    keepPins: act.keepPins,
    closeRejected: act.closeAttempt("rejected"),
    closeAbsent: act.closeAttempt("absent"),
    closeFailed: act.closeAttempt("failed"),
    closeLost: act.closeAttempt("lost"),
    closeCapped: act.closeAttempt("capped"),
    closeMismatched: act.closeAttempt("mismatched"),
    closeCancelled: act.closeAttempt("cancelled"),
    adoptArriving: act.adoptArriving,
    capture: act.capture,
    release: act.release(),
    releaseTimedOut: act.release("timed_out"),
    releaseRefused: act.release("input_refused"),
    releaseFailed: act.release("provider_failed"),
    releaseCancelled: act.release("cancelled"),
    keepCancelRequest: act.keepCancelRequest,
    keepWatchedJob: act.keepWatchedJob,
    collectWatched: act.collectWatched,
    awaitStorageForWatched: act.awaitStorageForWatched,
    dropWatched: act.dropWatched,
    closeWatchedMismatched: act.closeWatchedMismatched,
    letGoCurrent: act.letGoCurrent,
    endByOperator: act.endByOperator,
    adoptSettled: act.adoptSettled,
    renewTimes: act.renewTimes,
  },
});

export const generationMachine = machine.createMachine({
  id: "generation",
  context: ({ input }) => ({ ...input, nextRoute: 0, tried: 0, inputRefusals: 0, current: null, watched: [] }),
  initial: "queued",
  states: {
    queued: {
      description:
        "The generation is accepted and its credits are held. Links whose length is billed are pinned; then it waits in the run queue.",
      entry: act.emitEffect(EFFECT_ON_ENTRY.queued),
      on: {
        pinned: { target: "queued", reenter: true, actions: ["keepPins"] },
        pinRefused: { target: "failed", actions: ["releaseRefused"] },
        begun: [
          { guard: "isInTime", target: "running.submitting", actions: ["beginAttempt"] },
          { target: "failed", actions: ["releaseTimedOut"] },
        ],
        skipped: { target: "failed", actions: ["passAll", "release"] },
        waitEnded: { target: "failed", actions: ["releaseTimedOut"] },
        parked: { target: "running.parked" },
        failedByOperator: { target: "failed", actions: ["endByOperator"] },
        cancelRequested: { target: "failed", actions: ["releaseCancelled"] },
      },
    },
    running: {
      description: "An attempt is in progress, or the next attempt waits for its route.",
      initial: "awaitingSlot",
      on: {
        accepted: { guard: "isWatched", actions: ["keepWatchedJob"] },
        announced: { guard: "isWatched", actions: ["collectWatched"] },
        storageReturned: { guard: "isBeingCollected", actions: ["collectWatched"] },
        storageRefused: { guard: "isBeingCollected", actions: ["awaitStorageForWatched"] },
        collected: { guard: "isBeingCollected", target: "succeeded", actions: ["capture"] },
        mismatched: { guard: "isBeingCollected", actions: ["closeWatchedMismatched"] },
        resultUnreadable: { guard: "isBeingCollected", actions: ["dropWatched"] },
        resultLost: { guard: "isBeingCollected", actions: ["dropWatched"] },
        jobFailed: { guard: "isWatched", actions: ["dropWatched"] },
        rejected: { guard: "isWatched", actions: ["dropWatched"] },
        provedAbsent: { guard: "isWatched", actions: ["dropWatched"] },
        meansExhausted: { guard: "isWatched", actions: ["dropWatched"] },
        parked: { target: ".parked", actions: ["letGoCurrent"] },
        failedByOperator: { target: "failed", actions: ["endByOperator"] },
        // The attempt may still deliver and is then charged, as after max_wait_s.
        cancelRequested: { guard: "isFirstCancelRequest", actions: ["keepCancelRequest"] },
      },
      states: {
        awaitingSlot: {
          description: "The next route runs its maximum number of generations. The generation keeps its place in the queue.",
          entry: act.emitEffect(EFFECT_ON_ENTRY["running.awaitingSlot"]),
          on: {
            begun: [{ guard: "isInTime", target: "submitting", actions: ["beginAttempt"] }, ...waitOver],
            skipped: [
              { guard: "isCollectingLateResult", target: "collecting", actions: ["passAll", "adoptArriving"] },
              { target: "#generation.failed", actions: ["passAll", "release"] },
            ],
            waitEnded: waitOver,
            cancelRequested: cancelledUnsent(),
          },
        },
        submitting: {
          initial: "intent",
          states: {
            intent: {
              description: "The attempt is stored and not sent. It waits for a connection to its provider.",
              entry: act.emitEffect(EFFECT_ON_ENTRY["running.submitting.intent"]),
              on: {
                slotTaken: [
                  { guard: and(["isCurrent", "maySend"]), target: "sending", actions: ["beginSending"] },
                  ...unsent("releaseTimedOut", "isCurrent"),
                ],
                unsendable: toNextRoute("closeCancelled"),
                pinLost: unsent("releaseRefused", "isCurrent"),
                attemptTimeEnded: toNextRoute("closeCancelled"),
                waitEnded: unsent("releaseTimedOut"),
                cancelRequested: cancelledUnsent("closeCancelled"),
              },
            },
            sending: {
              description: "The request may have been sent. No response has been received.",
              entry: act.emitEffect(EFFECT_ON_ENTRY["running.submitting.sending"]),
              on: {
                accepted: toPolling,
                announced: toCollecting,
                rejected: [
                  {
                    guard: and(["isCurrent", "mayBackOff"]),
                    target: "#generation.running.backingOff",
                    actions: ["beginBackingOff"],
                  },
                  ...failOrToNextRoute("closeRejected"),
                ],
                answerLost: toConfirming,
                interrupted: toConfirming,
                attemptTimeEnded: [unlearnt, ...toNextRoute("closeLost")],
              },
            },
          },
        },
        backingOff: {
          description: "The provider rejected the request. The same attempt is sent again after a pause.",
          entry: act.emitEffect(EFFECT_ON_ENTRY["running.backingOff"]),
          on: {
            woken: { guard: "isCurrent", target: "submitting" },
            attemptTimeEnded: toNextRoute("closeRejected"),
            cancelRequested: cancelledUnsent("closeRejected"),
          },
        },
        confirming: {
          initial: "acceptance",
          on: { settledByOperator: settled },
          states: {
            acceptance: {
              description: "The response was lost. genrouter queries the provider whether it accepted the submission.",
              entry: act.emitEffect(EFFECT_ON_ENTRY["running.confirming.acceptance"]),
              on: {
                accepted: toPolling,
                announced: toCollecting,
                provedAbsent: toNextRoute("closeAbsent"),
                meansExhausted: [
                  {
                    guard: and(["isCurrent", "failsOnUnknownOutcome"]),
                    target: "#generation.failed",
                    actions: ["closeLost", "releaseFailed"],
                  },
                  // No further query is possible; only the route timeout ends this state.
                  { guard: and(["isCurrent", "holdsOnUnknownOutcome"]) },
                  ...toNextRoute("closeLost"),
                ],
                attemptTimeEnded: [unlearnt, ...toNextRoute("closeLost")],
                retriedByOperator: { target: "acceptance", reenter: true, actions: ["renewTimes"] },
                cancelRequested: {
                  guard: "isFirstCancelRequest",
                  target: "acceptance",
                  reenter: true,
                  actions: ["keepCancelRequest"],
                },
              },
            },
            result: {
              description: "The result could not be read. It is requested and downloaded again.",
              entry: act.emitEffect(EFFECT_ON_ENTRY["running.confirming.result"]),
              on: {
                collected,
                mismatched: toNextRoute("closeMismatched"),
                storageRefused: stalled,
                resultLost: toNextRoute("closeFailed"),
                jobFailed: failOrToNextRoute("closeFailed"),
                collectTimeEnded: toNextRoute("closeFailed"),
              },
            },
          },
        },
        polling: {
          description: "The provider runs the job and is polled. A poll without a change emits no event.",
          entry: act.emitEffect(EFFECT_ON_ENTRY["running.polling"]),
          on: {
            announced: toCollecting,
            jobFailed: failOrToNextRoute("closeFailed"),
            attemptTimeEnded: toNextRoute("closeCapped"),
            cancelRequested: {
              guard: "isFirstCancelRequest",
              target: "polling",
              reenter: true,
              actions: ["keepCancelRequest"],
            },
          },
        },
        collecting: {
          initial: "fetching",
          states: {
            fetching: {
              description: "The result files are downloaded, checked and stored.",
              entry: act.emitEffect(EFFECT_ON_ENTRY["running.collecting.fetching"]),
              on: {
                collected,
                mismatched: toNextRoute("closeMismatched"),
                resultUnreadable: { guard: "isCurrent", target: "#generation.running.confirming.result" },
                resultLost: toNextRoute("closeFailed"),
                // For an adopted late result, the provider is queried again before each download.
                jobFailed: failOrToNextRoute("closeFailed"),
                storageRefused: stalled,
                collectTimeEnded: toNextRoute("closeFailed"),
              },
            },
            stalled: {
              description: "Result storage is unavailable. The generation waits; the failure does not count against the route.",
              entry: act.emitEffect(EFFECT_ON_ENTRY["running.collecting.stalled"]),
              on: {
                storageReturned: { guard: "isCurrent", target: "fetching", actions: ["extendCollecting"] },
                collectTimeEnded: { guard: "isCurrent", actions: ["extendCollecting"] },
              },
            },
          },
        },
        parked: {
          description: "The generation waits for the decision of an operator. The hold is kept.",
          on: {
            // The request of the current attempt may still be out, if the capture of an earlier result was refused meanwhile.
            accepted: { guard: and(["isCurrent", "isOut"]), actions: ["keepJob"] },
            announced: { guard: and(["isCurrent", "isOut"]), actions: ["beginCollecting"] },
            settledByOperator: settled,
            retriedByOperator: [
              // Nothing is bought while the files of an earlier attempt, whose capture was refused, are there.
              { guard: "hasLateResult", target: "collecting", actions: ["closeCancelled", "adoptArriving"] },
              {
                guard: and(["isCancelRequested", "hasNothingOut"]),
                target: "#generation.failed",
                actions: ["closeCancelled", "releaseCancelled"],
              },
              { guard: "hasNoAttempt", target: "awaitingSlot" },
              { guard: "isUnsent", target: "submitting", actions: ["renewTimes"] },
              { guard: "isAnnounced", target: "confirming.result", actions: ["renewTimes"] },
              { guard: "hasJob", target: "polling", actions: ["renewTimes"] },
              { target: "confirming.acceptance", actions: ["renewTimes"] },
            ],
            cancelRequested: [
              { guard: "hasNothingOut", target: "#generation.failed", actions: ["closeCancelled", "releaseCancelled"] },
              { guard: "isFirstCancelRequest", actions: ["keepCancelRequest"] },
            ],
          },
        },
      },
    },
    succeeded: {
      type: "final",
      description: "The files are stored, the delivering route is charged and the rest of the hold is released.",
    },
    failed: { type: "final", description: "The whole hold is released. Nothing is charged." },
  },
});
