// Condition of one endpoint in memory: an actor that exists from its first failure on.
import { type Actor, createActor } from "xstate";
import type { EndpointCondition } from "../../src/domain/webhooks.ts";
import { type EndpointContext, webhookEndpointMachine } from "./machine.ts";

/** The verdict of a try on its endpoint. `gone`: status 410. */
export type EndpointVerdict = "delivered" | "failed" | "gone";

const REASONS = {
  gone: "The endpoint returned 410 Gone.",
  failed: "Every try has failed for five days.",
} as const;

export type Condition = {
  isFailing(): boolean;
  /** @returns the condition to store; undefined if it is unchanged. Only the verdict that disables the endpoint has a reason. */
  judge(verdict: EndpointVerdict, atMs: number): EndpointCondition | undefined;
  stop(): void;
};

/** @param saved the stored condition of an enabled endpoint */
export const createCondition = (endpointSeq: number, saved: EndpointContext): Condition => {
  let actor: Actor<typeof webhookEndpointMachine> | undefined;
  const open = (): Actor<typeof webhookEndpointMachine> => {
    const value = saved.failingSinceMs === null ? "healthy" : "failing";
    const { failingSinceMs, lastFailureAtMs } = saved;
    const snapshot = webhookEndpointMachine.resolveState({ value, context: { failingSinceMs, lastFailureAtMs } });
    return createActor(webhookEndpointMachine, { snapshot }).start();
  };
  // An endpoint that never failed needs no actor.
  if (saved.failingSinceMs !== null) actor = open();
  return {
    isFailing: () => actor !== undefined && actor.getSnapshot().value !== "healthy",
    judge: (verdict, atMs) => {
      if (actor === undefined && verdict === "delivered") return undefined;
      actor ??= open();
      const before = actor.getSnapshot();
      actor.send({ type: verdict, atMs });
      const { value, context } = actor.getSnapshot();
      if (before.value === "disabled" || (before.value === "healthy" && value === "healthy")) return undefined;
      const disabledReason = value !== "disabled" || verdict === "delivered" ? null : REASONS[verdict];
      return { endpointSeq, ...context, disabledReason };
    },
    stop: () => void actor?.stop(),
  };
};
