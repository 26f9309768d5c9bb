// A cancel request in every state of the statechart: no attempt begins, nothing is sent, and what was sent may still deliver.
import { describe, expect, test } from "bun:test";
import { cancelRequestedAtMs, freeze, leafOf } from "../../actors/generation/snapshot.ts";
import type { MachineOutput } from "../../actors/generation/types.ts";
import { tryOn } from "../../actors/replay/dry-run.ts";
import { eventFor, explore, nameOf, PLANS, type Situation, type Variant } from "./explore.ts";

const CANCEL: Variant = { type: "cancelRequested", of: "none" };
const of = (who: Variant["of"], ...types: Variant["type"][]): Variant[] => types.map((type) => ({ type, of: who }));
const UNSENT: ReadonlySet<string> = new Set([
  "queued",
  "running.awaitingSlot",
  "running.submitting.intent",
  "running.backingOff",
]);

const situations = PLANS.flatMap((plan) => [...explore(plan).values()]).filter(({ snapshot }) => snapshot.status === "active");
const isArriving = ({ snapshot }: Situation) => snapshot.context.watched.some(({ arriving }) => arriving);
const isFirst = ({ snapshot }: Situation) => snapshot.context.cancelRequestedAtMs === undefined;

const apply = (situation: Pick<Situation, "snapshot">, variants: readonly Variant[]) => {
  let { snapshot: after } = situation;
  let outputs: MachineOutput[] = [];
  for (const [step, variant] of variants.entries()) {
    const event = eventFor(variant, after, 100 + step);
    if (!event) throw new Error(`there is no attempt for ${nameOf(variant)}`);
    ({ after, outputs } = tryOn(after, event));
  }
  return { after, leaf: leafOf(after), outputs };
};
/** The situation at the end of a path over the first plan. */
const at = (...path: Variant[]) => {
  const [plan = []] = PLANS;
  const first = situations.find((one) => one.plan === plan && one.path.length === 0);
  if (!first) throw new Error("there is no first situation");
  return { snapshot: apply(first, path).after };
};
const releasedAs = (outputs: readonly MachineOutput[]) =>
  outputs.flatMap((output) => (output.type === "note.release" ? [output.error.code] : []));

describe("a cancel request", () => {
  test("ends every generation of which no provider has a request, and releases its hold as cancelled", () => {
    const unsent = situations.filter((one) => UNSENT.has(leafOf(one.snapshot)) && !isArriving(one));
    expect(unsent.length).toBeGreaterThan(10);
    for (const situation of unsent) {
      const { leaf, outputs } = apply(situation, [CANCEL]);
      expect([String(leaf), releasedAs(outputs)]).toEqual(["failed", ["cancelled"]]);
    }
  });

  test("leaves every other generation where it is, with the time of the request in its snapshot", () => {
    const sent = situations.filter((one) => isFirst(one) && !UNSENT.has(leafOf(one.snapshot)) && !isArriving(one));
    expect(sent.length).toBeGreaterThan(10);
    for (const situation of sent) {
      const { leaf, after, outputs } = apply(situation, [CANCEL]);
      if (leaf === "failed") {
        expect([String(leafOf(situation.snapshot)), releasedAs(outputs)]).toEqual(["running.parked", ["cancelled"]]);
        continue;
      }
      expect(String(leaf)).toBe(leafOf(situation.snapshot));
      expect(cancelRequestedAtMs(freeze(after))).toEqual(expect.any(Number));
    }
  });

  test("is followed by no new attempt and no sending, whatever happens then", () => {
    const cancelled = situations.filter((one) => !isFirst(one));
    expect(cancelled.length).toBeGreaterThan(20);
    const leaves = new Set(cancelled.map(({ snapshot }) => leafOf(snapshot)));
    for (const leaf of [...UNSENT, "running.submitting.intent"]) expect(leaves).not.toContain(leaf);
  });

  test("changes nothing the second time", () => {
    for (const situation of situations.filter((one) => !isFirst(one))) {
      const { after, outputs } = apply(situation, [CANCEL]);
      if (leafOf(after) === "failed") continue;
      expect(after.context).toEqual(situation.snapshot.context);
      expect(outputs.filter(({ type }) => type.startsWith("note."))).toEqual([]);
    }
  });
});

describe("after a cancel request", () => {
  const polling = of("current", "slotTaken", "accepted");

  test("the provider of a running job is asked to cancel it, also after a restart", () => {
    const { after, outputs } = apply(at(...of("none", "begun"), ...polling), [CANCEL]);
    expect(outputs).toContainEqual({ type: "effect.poll", n: 1, cancelRequested: true });
    expect(leafOf(after)).toBe("running.polling");
  });

  test("a job that delivers all the same is charged", () => {
    const { leaf, outputs } = apply(at(...of("none", "begun"), ...polling), [CANCEL, ...of("current", "announced", "collected")]);
    expect(leaf).toBe("succeeded");
    expect(outputs).toContainEqual(expect.objectContaining({ type: "note.capture", n: 1 }));
  });

  test("a job that fails ends the generation as cancelled, although routes are left", () => {
    const failed: Variant = { type: "jobFailed", of: "current", failure: "job_failed" };
    const { leaf, outputs } = apply(at(...of("none", "begun"), ...polling), [CANCEL, failed]);
    expect([String(leaf), releasedAs(outputs)]).toEqual(["failed", ["cancelled"]]);
  });

  test("a request in transit that is rejected for its rate is not sent again", () => {
    const limited: Variant = { type: "rejected", of: "current", failure: "rate_limited" };
    const { leaf, outputs } = apply(at(...of("none", "begun"), ...of("current", "slotTaken")), [CANCEL, limited]);
    expect([String(leaf), releasedAs(outputs)]).toEqual(["failed", ["cancelled"]]);
  });

  test("a submission without a response is looked up without buying a job", () => {
    const { leaf, outputs } = apply(at(...of("none", "begun"), ...of("current", "slotTaken", "answerLost")), [CANCEL]);
    expect(leaf).toBe("running.confirming.acceptance");
    expect(outputs).toContainEqual({ type: "effect.confirm", n: 1, cancelRequested: true });
  });

  test("files of an earlier attempt that are arriving are collected and charged", () => {
    const late = at(
      ...of("none", "begun"),
      ...polling,
      ...of("current", "attemptTimeEnded"),
      ...of("none", "begun"),
      ...of("watched", "announced"),
    );
    const { leaf, after } = apply(late, [CANCEL]);
    expect(leaf).toBe("running.collecting.fetching");
    expect(after.context.current?.n).toBe(1);
    expect(apply(late, [CANCEL, ...of("current", "collected")]).leaf).toBe("succeeded");
  });

  test("an input that its provider refused is reported as refused", () => {
    const refused: Variant = { type: "rejected", of: "current", failure: "refused_input" };
    const { outputs } = apply(at(...of("none", "begun"), ...of("current", "slotTaken")), [CANCEL, refused]);
    expect(releasedAs(outputs)).toEqual(["input_refused"]);
  });
});
