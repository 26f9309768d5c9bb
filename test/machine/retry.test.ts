// An operator's retry of a parked generation: nothing is bought that has already arrived, and the time of the attempt begins again.
import { expect, test } from "bun:test";
import { type GenerationSnapshot, leafOf } from "../../actors/generation/snapshot.ts";
import type { MachineOutput } from "../../actors/generation/types.ts";
import { beginning, tryOn } from "../../actors/replay/dry-run.ts";
import { COLLECT_MS, eventFor, PLANS, STARTED_AT_MS, type Variant, WAIT_MS } from "./explore.ts";

const [PLAN = []] = PLANS;
const of = (who: Variant["of"], ...types: Variant["type"][]): Variant[] => types.map((type) => ({ type, of: who }));
/** The first attempt is capped, and the second one waits after a rejection. */
const BACKING_OFF: readonly Variant[] = [
  ...of("none", "begun"),
  ...of("current", "slotTaken", "accepted", "attemptTimeEnded"),
  ...of("none", "begun"),
  ...of("current", "slotTaken"),
  { type: "rejected", of: "current", failure: "rate_limited" },
];

/** Applies events one second apart; a deadline moves the time of all later events. */
const play = (variants: readonly Variant[]) => {
  let after: GenerationSnapshot = beginning({
    plan: PLAN,
    waitEndsAtMs: STARTED_AT_MS + WAIT_MS,
    collectMs: COLLECT_MS,
  }).after;
  let outputs: MachineOutput[] = [];
  let atMs = STARTED_AT_MS;
  for (const variant of variants) {
    const event = eventFor(variant, after, atMs + 1000 - STARTED_AT_MS);
    if (!event) throw new Error(`there is no attempt for ${variant.type}`);
    ({ after, outputs } = tryOn(after, event));
    atMs = event.atMs;
  }
  return { leaf: leafOf(after), context: after.context, outputs, atMs };
};

test("collects the files of an earlier attempt that arrived before, and gives up the unsent attempt", () => {
  const { leaf, context, outputs } = play([
    ...BACKING_OFF,
    ...of("watched", "announced"),
    ...of("none", "parked", "retriedByOperator"),
  ]);
  expect(leaf).toBe("running.collecting.fetching");
  expect(context.current?.n).toBe(1);
  expect(outputs).toContainEqual({ type: "note.attempt", change: expect.objectContaining({ n: 2, state: "cancelled" }) });
});

test("sends a rejected attempt again with its full time, and keeps the first end in its row", () => {
  const parked: readonly Variant[] = [...BACKING_OFF, ...of("none", "parked")];
  const retried = play([...parked, { type: "retriedByOperator", of: "none" }]);
  expect(retried.leaf).toBe("running.submitting.intent");
  expect(retried.context.current?.endsAtMs).toBe(retried.atMs + 60_000);
  const sent = play([...parked, ...of("none", "retriedByOperator"), ...of("current", "slotTaken")]);
  expect(sent.leaf).toBe("running.submitting.sending");
  expect(sent.outputs).not.toContainEqual(
    expect.objectContaining({ change: expect.objectContaining({ endsAtMs: expect.anything() }) }),
  );
  expect(sent.outputs).toContainEqual(expect.objectContaining({ change: expect.objectContaining({ n: 2, state: "sending" }) }));
});

test("gives an attempt that was never sent no time before it is sent", () => {
  const { leaf, context } = play([...of("none", "begun", "parked", "retriedByOperator")]);
  expect(leaf).toBe("running.submitting.intent");
  expect(context.current?.endsAtMs).toBeNull();
});

/** The second attempt is sent, and the generation is parked, because the capture of the first one's late result was refused. */
const PARKED_WHILE_SENDING: readonly Variant[] = [
  ...of("none", "begun"),
  ...of("current", "slotTaken", "accepted", "attemptTimeEnded"),
  ...of("none", "begun"),
  ...of("current", "slotTaken"),
  ...of("watched", "announced"),
  ...of("none", "parked"),
];

test("keeps the job of an attempt that is accepted while the generation is parked", () => {
  const { leaf, outputs } = play([...PARKED_WHILE_SENDING, ...of("current", "accepted")]);
  expect(leaf).toBe("running.parked");
  expect(outputs).toContainEqual({
    type: "note.attempt",
    change: expect.objectContaining({ n: 2, state: "accepted", job: expect.anything() }),
  });
});

test("collects the result that the current attempt announced while the generation was parked", () => {
  const { leaf, context } = play([...PARKED_WHILE_SENDING, ...of("current", "announced"), ...of("none", "retriedByOperator")]);
  expect([leaf, context.current?.n]).toEqual(["running.confirming.result", 2]);
});

test("takes no job for an attempt that was not sent before the generation was parked", () => {
  const unsent = of("none", "begun", "parked");
  expect(play(unsent).leaf).toBe("running.parked");
  expect(play([...unsent, ...of("current", "accepted")]).outputs).toEqual([]);
});
