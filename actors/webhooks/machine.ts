// The condition of a webhook endpoint: healthy, failing or disabled.
import { assign, setup } from "xstate";

const HOUR_MS = 3_600_000;
/** An endpoint that has only failed for this time is disabled. */
const DISABLE_AFTER_MS = 120 * HOUR_MS;
/**
 * Failures further apart do not belong together: nothing was tried in between, or the clock jumped. Retries of a pending delivery
 * are at most 12 hours apart.
 */
const MAX_GAP_MS = 24 * HOUR_MS;

/** First and last failure since the last success. */
export type EndpointContext = { failingSinceMs: number | null; lastFailureAtMs: number | null };
type EndpointEvent = { type: "delivered" | "failed" | "gone"; atMs: number };

const isConnected = ({ lastFailureAtMs }: EndpointContext, { atMs }: EndpointEvent): boolean =>
  lastFailureAtMs !== null && atMs - lastFailureAtMs <= MAX_GAP_MS;

export const webhookEndpointMachine = setup({
  types: { context: {} as EndpointContext, events: {} as EndpointEvent },
  guards: {
    failsTooLong: ({ context, event }) =>
      isConnected(context, event) && event.atMs - (context.failingSinceMs ?? event.atMs) >= DISABLE_AFTER_MS,
  },
  actions: {
    noteFailure: assign(({ context, event }) => ({
      failingSinceMs: isConnected(context, event) ? context.failingSinceMs : event.atMs,
      lastFailureAtMs: event.atMs,
    })),
    forget: assign({ failingSinceMs: null, lastFailureAtMs: null }),
  },
}).createMachine({
  id: "webhook-endpoint",
  context: { failingSinceMs: null, lastFailureAtMs: null },
  initial: "healthy",
  states: {
    healthy: {
      description: "The last try succeeded, or there was none. Several tries run concurrently.",
      on: {
        failed: { target: "failing", actions: "noteFailure" },
        gone: { target: "disabled", actions: "noteFailure" },
      },
    },
    failing: {
      description: "The last try failed. One try runs at a time. Five days without a success disable the endpoint.",
      on: {
        delivered: { target: "healthy", actions: "forget" },
        failed: [{ guard: "failsTooLong", target: "disabled", actions: "noteFailure" }, { actions: "noteFailure" }],
        gone: { target: "disabled", actions: "noteFailure" },
      },
    },
    disabled: {
      type: "final",
      description:
        "Nothing is sent, and new events are not stored. An endpoint that its account enables again starts as healthy.",
    },
  },
});
