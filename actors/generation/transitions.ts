// Transitions that several states of the generation statechart share.
import { and } from "xstate";

type Close = "closeCancelled" | "closeRejected" | "closeAbsent" | "closeFailed" | "closeLost" | "closeCapped" | "closeMismatched";

/** After an attempt has ended: the arriving files of another attempt, else the next route, else the end. */
export const toNextRoute = <C extends Close>(close: C) =>
  [
    {
      guard: and(["isCurrent", "isCollectingLateResult"]),
      target: "#generation.running.collecting",
      actions: [close, "adoptArriving"],
    },
    { guard: and(["isCurrent", "mayTryNextRoute"]), target: "#generation.running.awaitingSlot", actions: [close] },
    { guard: "isCurrent", target: "#generation.failed", actions: [close, "release"] },
  ] as const;

/** A rejection or failure; an input rejected for good ends the generation. */
export const failOrToNextRoute = <C extends Close>(close: C) =>
  [
    { guard: and(["isCurrent", "inputRefusedForGood"]), target: "#generation.failed", actions: [close, "releaseRefused"] },
    ...toNextRoute(close),
  ] as const;

export const toCollecting = {
  guard: "isCurrent",
  target: "#generation.running.collecting",
  actions: ["beginCollecting"],
} as const;
export const toPolling = { guard: "isCurrent", target: "#generation.running.polling", actions: ["keepJob"] } as const;
export const toConfirming = { guard: "isCurrent", target: "#generation.running.confirming.acceptance" } as const;
export const collected = { guard: "isCurrent", target: "#generation.succeeded", actions: ["capture"] } as const;
export const stalled = { guard: "isCurrent", target: "#generation.running.collecting.stalled" } as const;
export const settled = {
  guard: "mayHaveDelivered",
  target: "#generation.running.confirming.result",
  actions: ["adoptSettled"],
} as const;
export const unlearnt = {
  guard: and(["isCurrent", "endsOnUnknownOutcome"]),
  target: "#generation.failed",
  actions: ["closeLost", "releaseFailed"],
} as const;

/** The waiting time expired between two attempts: arriving files, else the end. */
export const waitOver = [
  { guard: "isCollectingLateResult", target: "#generation.running.collecting", actions: ["adoptArriving"] },
  { target: "#generation.failed", actions: ["releaseTimedOut"] },
] as const;
/** A cancel request while no provider has a request of the current attempt: arriving files of an earlier one, else the end. */
export const cancelledUnsent = <C extends Close>(close?: C) =>
  [
    {
      guard: "isCollectingLateResult",
      target: "#generation.running.collecting",
      actions: ["keepCancelRequest", ...(close ? [close] : []), "adoptArriving"],
    },
    { target: "#generation.failed", actions: [...(close ? [close] : []), "releaseCancelled"] },
  ] as const;
/** The same for an attempt that was never sent. */
export const unsent = <R extends "releaseTimedOut" | "releaseRefused">(release: R, about?: "isCurrent") =>
  [
    {
      guard: about ? and([about, "isCollectingLateResult"]) : "isCollectingLateResult",
      target: "#generation.running.collecting",
      actions: ["closeCancelled", "adoptArriving"],
    },
    { ...(about ? { guard: about } : {}), target: "#generation.failed", actions: ["closeCancelled", release] },
  ] as const;
