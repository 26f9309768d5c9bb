// The health of a route: closed (used), open (down for a while), half open (one more failure and it is down again).
import { assign, setup } from "xstate";
import { type FailureClass, SET_UP_FAULTS } from "../src/terms.ts";

/** What an attempt says about its route. A refusal of the input says nothing and is not told. */
export type RouteVerdict = "delivered" | "failed" | "faulty";

/** Consecutive failures that open a route. */
const FAILURES_TO_OPEN = 5;
/** Fewer do on a route that is seldom used, or whose requests wait for each other: so many, the first of them so long ago. */
const FAILURES_OVER_TIME = 3;
const OVER_TIME_MS = 60_000;
const FIRST_PAUSE_MS = 30_000;
const LONGEST_PAUSE_MS = 600_000;

const FAILURES: ReadonlySet<FailureClass> = new Set([
  "overloaded",
  "not_sent",
  "job_failed",
  "gone",
  "result_expired",
  "result_unreadable",
  "mismatched",
]);

/** How a failure counts: null when it says nothing about the route (refused input, rate limit, our capability list). */
export const verdictOf = (failureClass: FailureClass): RouteVerdict | null => {
  if (SET_UP_FAULTS.includes(failureClass)) return "faulty";
  return FAILURES.has(failureClass) ? "failed" : null;
};

/** `failingSinceMs`: when the first of the failures in a row was; absent: there is none. */
type HealthContext = { failures: number; failingSinceMs?: number; pauseMs: number; openUntilMs: number };
type HealthEvent = { type: "delivered" | "failed" | "faulty" | "cooled" | "mended"; atMs: number };

export const routeHealthMachine = setup({
  types: { context: {} as HealthContext, events: {} as HealthEvent },
  guards: {
    isLastStraw: ({ context: { failures, failingSinceMs }, event }) =>
      failures + 1 >= FAILURES_TO_OPEN ||
      (failures + 1 >= FAILURES_OVER_TIME && failingSinceMs !== undefined && event.atMs - failingSinceMs >= OVER_TIME_MS),
    isCool: ({ context, event }) => event.atMs >= context.openUntilMs,
  },
  actions: {
    countFailure: assign(({ context: { failures, failingSinceMs }, event }) => ({
      failures: failures + 1,
      failingSinceMs: failures === 0 || failingSinceMs === undefined ? event.atMs : failingSinceMs,
    })),
    forget: assign({ failures: 0, pauseMs: FIRST_PAUSE_MS, openUntilMs: 0 }),
    openForAWhile: assign(({ context, event }) => ({
      failures: 0,
      openUntilMs: event.atMs + context.pauseMs,
      pauseMs: Math.min(LONGEST_PAUSE_MS, context.pauseMs * 2),
    })),
    openForLong: assign(({ event }) => ({ failures: 0, openUntilMs: event.atMs + LONGEST_PAUSE_MS, pauseMs: LONGEST_PAUSE_MS })),
  },
}).createMachine({
  id: "route-health",
  context: { failures: 0, pauseMs: FIRST_PAUSE_MS, openUntilMs: 0 },
  initial: "closed",
  states: {
    closed: {
      description: "The route is used.",
      on: {
        delivered: { actions: "forget" },
        failed: [{ guard: "isLastStraw", target: "open", actions: "openForAWhile" }, { actions: "countFailure" }],
        faulty: { target: "open", actions: "openForLong" },
      },
    },
    open: {
      description:
        "The route is down: passed over, not listed; after its pause, or when its operator has seen to it, it may be tried again.",
      on: {
        cooled: { guard: "isCool", target: "halfOpen" },
        mended: { target: "halfOpen", actions: "forget" },
        delivered: { target: "closed", actions: "forget" },
      },
    },
    halfOpen: {
      description: "The route is used again, on trial: a delivery closes it, a failure opens it for twice as long.",
      on: {
        delivered: { target: "closed", actions: "forget" },
        failed: { target: "open", actions: "openForAWhile" },
        faulty: { target: "open", actions: "openForLong" },
      },
    },
  },
});
