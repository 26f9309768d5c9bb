// A decision that a start applies before it performs the effects of a restored generation.
//
// The state was entered again, and the start then performed the effect of the stored state beside the new one: a cancelled submission
// was looked up by sending it again. It also set the stored deadline over the renewed one, and no timer was left.
import { expect, test } from "bun:test";
import { createActor } from "xstate";
import { applyEvent } from "../../actors/generation/apply-event.ts";
import { generationMachine } from "../../actors/generation/machine.ts";
import { effectsOnRestore, leafOf } from "../../actors/generation/snapshot.ts";
import type { GenerationEvent, MachineOutput } from "../../actors/generation/types.ts";
import { type HostedGeneration, newHostedGeneration, stateAfter } from "../../actors/supervisor/hosted-generation.ts";
import { remainingEffects } from "../../actors/supervisor/resume-queue.ts";
import { COLLECT_MS, eventFor, PLANS, STARTED_AT_MS, WAIT_MS } from "../machine/explore.ts";

/** A generation whose lost submission is being confirmed, and its state after an event. */
const confirming = () => {
  const outputs: MachineOutput[] = [];
  const actor = createActor(generationMachine, {
    input: { plan: PLANS[0] ?? [], waitEndsAtMs: STARTED_AT_MS + WAIT_MS, collectMs: COLLECT_MS },
  }).start();
  actor.on("*", (output) => void outputs.push(output));
  for (const type of ["begun", "slotTaken", "interrupted"] as const) {
    const event = eventFor({ type, of: type === "begun" ? "none" : "current" }, actor.getSnapshot(), 1);
    if (event) actor.send(event);
  }
  const restored = actor.getSnapshot();
  expect(leafOf(restored)).toBe("running.confirming.acceptance");
  outputs.length = 0;
  return {
    restored,
    after: (event: GenerationEvent) => {
      actor.send(event);
      const after = actor.getSnapshot();
      const step = applyEvent(1, 4, event, restored, after, outputs, 0);
      const of = { queueRoute: null, isCounted: true, watched: restored.context.watched };
      const held: HostedGeneration = newHostedGeneration(undefined as never, of);
      return {
        effects: step?.effects ?? [],
        leaf: leafOf(after),
        standing: stateAfter(held, restored, after, step?.effects ?? []),
      };
    },
  };
};
const CANCEL: GenerationEvent = { type: "cancelRequested", by: "key-1", decidedAtMs: 7, atMs: STARTED_AT_MS + 1000 };
const RETRY: GenerationEvent = {
  ...{ type: "retriedByOperator", by: "Ada", reason: "again", decidedAtMs: 7, hasJob: false },
  atMs: STARTED_AT_MS + 60_000,
};

for (const decision of [CANCEL, RETRY])
  test(`the effect of the stored state is not performed beside that of ${decision.type}, which entered the state again`, () => {
    const { restored, after } = confirming();
    const [stored] = effectsOnRestore(restored);
    const { effects, leaf, standing } = after(decision);
    expect(leaf).toBe("running.confirming.acceptance");
    expect(effects.map(({ type }) => type)).toEqual(["effect.confirm"]);
    expect(stored && remainingEffects(stored, [], standing)).toBeNull();
  });

test("a deadline that a decision renewed is kept", () => {
  expect(confirming().after(RETRY).standing.hasNewDeadline).toBe(true);
  expect(confirming().after(CANCEL).standing.hasNewDeadline).toBe(false);
});
