// The circuit breaker of a route: closed, open for a pause, or half open.
import { assign, setup } from "xstate";
import { type FailureClass, SET_UP_FAULTS } from "../../src/domain/types.ts";

/** Verdict of an attempt on its route. A rejected input gives no verdict. */
export type RouteVerdict = "delivered" | "failed" | "unclear" | "faulty";

/** Consecutive failures that open the circuit breaker. */
const FAILURES_TO_OPEN = 5;
/**
 * Unrecognized responses open it earlier, because nothing is polled for them: this many since the last delivery, over at least
 * this time.
 */
const UNCLEAR_TO_OPEN = 3;
const UNCLEAR_FOR_MS = 60_000;
const FIRST_PAUSE_MS = 30_000;
const MAX_PAUSE_MS = 600_000;

const FAILURES: ReadonlySet<FailureClass> = new Set([
  "overloaded",
  "not_sent",
  "job_failed",
  "gone",
  "result_expired",
  "result_unreadable",
  "mismatched",
]);

/** The verdict of a failure class; null if it gives none (rejected input, rate limit, our own capability list). */
export const verdictOf = (failureClass: FailureClass): RouteVerdict | null => {
  if (SET_UP_FAULTS.includes(failureClass)) return "faulty";
  return FAILURES.has(failureClass) ? "failed" : null;
};

/**
 * `unclear`: number and first time of submissions with an unrecognized response since the last delivery; absent or null if there
 * are none.
 */
type HealthContext = {
  failures: number;
  unclear?: { times: number; sinceMs: number } | null;
  pauseMs: number;
  openUntilMs: number;
};
type HealthEvent = { type: RouteVerdict | "pauseEnded" | "reset"; atMs: number };

export const circuitBreakerMachine = setup({
  types: { context: {} as HealthContext, events: {} as HealthEvent },
  guards: {
    reachesFailureThreshold: ({ context }) => context.failures + 1 >= FAILURES_TO_OPEN,
    reachesUnclearThreshold: ({ context: { failures, unclear }, event }) =>
      failures + 1 >= FAILURES_TO_OPEN ||
      (!!unclear && unclear.times + 1 >= UNCLEAR_TO_OPEN && event.atMs - unclear.sinceMs >= UNCLEAR_FOR_MS),
    isPauseOver: ({ context, event }) => event.atMs >= context.openUntilMs,
  },
  actions: {
    countFailure: assign({ failures: ({ context }) => context.failures + 1 }),
    countUnclear: assign(({ context: { failures, unclear }, event }) => ({
      failures: failures + 1,
      unclear: { times: (unclear?.times ?? 0) + 1, sinceMs: unclear?.sinceMs ?? event.atMs },
    })),
    forget: assign({ failures: 0, unclear: null, pauseMs: FIRST_PAUSE_MS, openUntilMs: 0 }),
    openForAWhile: assign(({ context, event }) => ({
      failures: 0,
      unclear: null,
      openUntilMs: event.atMs + context.pauseMs,
      pauseMs: Math.min(MAX_PAUSE_MS, context.pauseMs * 2),
    })),
    openForLong: assign(({ event }) => ({
      failures: 0,
      unclear: null,
      openUntilMs: event.atMs + MAX_PAUSE_MS,
      pauseMs: MAX_PAUSE_MS,
    })),
  },
}).createMachine({
  id: "route-health",
  context: { failures: 0, pauseMs: FIRST_PAUSE_MS, openUntilMs: 0 },
  initial: "closed",
  states: {
    closed: {
      description: "Attempts use the route.",
      on: {
        delivered: { actions: "forget" },
        failed: [{ guard: "reachesFailureThreshold", target: "open", actions: "openForAWhile" }, { actions: "countFailure" }],
        unclear: [{ guard: "reachesUnclearThreshold", target: "open", actions: "openForAWhile" }, { actions: "countUnclear" }],
        faulty: { target: "open", actions: "openForLong" },
      },
    },
    open: {
      description:
        "The route is down. Attempts skip it and the model list omits it until its pause ends or an operator resets it.",
      on: {
        pauseEnded: { guard: "isPauseOver", target: "halfOpen" },
        reset: { target: "halfOpen", actions: "forget" },
        delivered: { target: "closed", actions: "forget" },
      },
    },
    halfOpen: {
      description:
        "Attempts use the route on trial. A delivery closes the circuit breaker; a failure opens it for twice as long.",
      on: {
        delivered: { target: "closed", actions: "forget" },
        failed: { target: "open", actions: "openForAWhile" },
        unclear: { target: "open", actions: "openForAWhile" },
        faulty: { target: "open", actions: "openForLong" },
      },
    },
  },
});
