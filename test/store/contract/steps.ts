// Steps of a generation: what an end charges and gives back, and what is refused or stale.
import { expect, test } from "bun:test";
import type { Stage } from "../conformance.ts";
import { admit, admitDeed, capturedDeed, commitOne, NOW_MS, OUTPUT, releasedDeed, startedDeed, stepDeed } from "../fixture.ts";

export const stepPromises = (stage: Stage): void => {
  test("a delivery charges its own price, releases the rest and ends everything in one step", async () => {
    const { store, account, balance } = stage;
    const deed = await admit(store, account);
    await store.commit([startedDeed(deed)]);
    expect(await store.unfinished(0, 10)).toMatchObject([{ status: "running", version: 1 }]);
    expect(await store.attemptsOf(deed.seq)).toMatchObject([{ n: 1, state: "accepted" }]);
    const outcome = await commitOne(store, capturedDeed(deed.seq, 2, 1, 75));
    if (outcome.kind !== "stepped") throw new Error(outcome.kind);
    expect(outcome.record).toMatchObject({
      status: "succeeded",
      costCredits: 75,
      output: OUTPUT,
      completedAtMs: NOW_MS + 2000,
    });
    expect(await store.generationById(deed.id, account.seq)).toEqual(outcome.record);
    expect(await balance()).toEqual([925, 0, 75, 0]);
    expect(await store.unfinished(0, 10)).toEqual([]);
    expect(await store.snapshotOf(deed.seq)).toBeUndefined();
    expect((await store.movementsOf(deed.seq)).map((m) => [m.kind, m.credits, m.from, m.to, m.attemptN])).toEqual([
      ["hold", 110, "available", "held", null],
      ["capture", 75, "held", "charged", 1],
      ["release", 35, "held", "available", null],
    ]);
    expect(await store.attempt(deed.seq, 1)).toMatchObject({ state: "delivered", endedAtMs: NOW_MS + 2000, priceCredits: 75 });
    expect(await store.recentDeliveries(5)).toEqual(new Map([["a", [1500]]]));
  });

  test("what was agreed at submission is there after the end too, and of nothing that there is not", async () => {
    const { store, account } = stage;
    const deed = await admit(store, account);
    const agreed = { plan: deed.plan, waitEndsAtMs: deed.waitEndsAtMs };
    expect(await store.planOf(deed.seq)).toEqual(agreed);
    await store.commit([startedDeed(deed), capturedDeed(deed.seq, 2, 1, 75)]);
    expect(await store.planOf(deed.seq)).toEqual(agreed);
    expect(await store.planOf(deed.seq + 1)).toBeUndefined();
  });

  test("the dearest route leaves no rest, and a rest of nothing writes no movement", async () => {
    const { store, account, balance } = stage;
    const deed = await admit(store, account);
    await store.commit([startedDeed(deed, 1, 1, "c"), capturedDeed(deed.seq, 2, 1, 110)]);
    expect((await store.movementsOf(deed.seq)).map(({ kind }) => kind)).toEqual(["hold", "capture"]);
    expect(await balance()).toEqual([890, 0, 110, 0]);
  });

  test("a failure gives everything back, also from the queue at the first step", async () => {
    const { store, account, balance } = stage;
    const deed = await admit(store, account);
    const outcome = await commitOne(store, releasedDeed(deed.seq, 1));
    expect(outcome).toMatchObject({
      kind: "stepped",
      record: { status: "failed", costCredits: 0, error: { code: "timed_out" }, attempts: 0 },
    });
    expect(await balance()).toEqual([1000, 0, 0, 0]);
    expect((await store.journalOf(deed.seq)).map((line) => [line.version, line.event.type, line.stateAfter])).toEqual([
      [1, "deadline", "failed"],
    ]);
  });

  test("a step of another version, a repeated one and one after the end are stale and write nothing", async () => {
    const { store, account, balance } = stage;
    const deed = await admit(store, account);
    expect((await commitOne(store, stepDeed(deed.seq, 2))).kind).toBe("stale");
    await store.commit([startedDeed(deed)]);
    expect((await commitOne(store, startedDeed(deed))).kind).toBe("stale");
    await store.commit([capturedDeed(deed.seq, 2, 1, 75)]);
    expect((await commitOne(store, releasedDeed(deed.seq, 3))).kind).toBe("stale");
    expect((await commitOne(store, stepDeed(12345, 1))).kind).toBe("stale");
    expect(await store.journalOf(deed.seq)).toHaveLength(2);
    expect(await balance()).toEqual([925, 0, 75, 0]);
  });

  test("of two ends in one batch the first wins", async () => {
    const { store, account, balance } = stage;
    const deed = await admit(store, account);
    await store.commit([startedDeed(deed)]);
    const outcomes = await store.commit([capturedDeed(deed.seq, 2, 1, 75), releasedDeed(deed.seq, 2)]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(["stepped", "stale"]);
    expect(await balance()).toEqual([925, 0, 75, 0]);
  });

  test("a capture that is not the attempt's price is refused alone, and the rest of its batch is done", async () => {
    const { store, account, balance } = stage;
    const deed = await admit(store, account);
    const neighbour = admitDeed(account);
    await store.commit([startedDeed(deed)]);
    const outcomes = await store.commit([neighbour, capturedDeed(deed.seq, 2, 1, 76), admitDeed(account)]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(["admitted", "refused", "admitted"]);
    expect(outcomes[1]).toEqual({ kind: "refused", reason: "attempt 1 was quoted 75 credits and the capture is 76" });
    expect(await balance()).toEqual([670, 330, 0, 3]);
    expect(await store.attempt(deed.seq, 1)).toMatchObject({ state: "accepted" });
    expect(await store.journalOf(deed.seq)).toHaveLength(1);
  });

  test.each([
    ["an attempt that was never begun", (seq: number) => capturedDeed(seq, 2, 9, 75)],
    ["a step that ends without a settlement", (seq: number) => stepDeed(seq, 2, { snapshot: null })],
    ["success without money", (seq: number) => stepDeed(seq, 2, { status: "succeeded" })],
    ["the way back to the queue", (seq: number) => stepDeed(seq, 2, { status: "queued", attempts: 0 })],
    [
      "a second attempt with the first one's number",
      (seq: number) => startedDeed({ ...admitDeed({ seq: 1, id: "", keySeq: 1, keyHash: "" }), seq }, 2, 1),
    ],
    [
      "another route time for a running attempt",
      (seq: number) => stepDeed(seq, 2, { attemptChanges: [{ n: 1, endsAtMs: NOW_MS + 9 }] }),
    ],
    ["a second request for an attempt", (seq: number) => stepDeed(seq, 2, { attemptChanges: [{ n: 1, request: "{}" }] })],
    ["another job for an attempt", (seq: number) => stepDeed(seq, 2, { attemptChanges: [{ n: 1, job: { jobId: "other" } }] })],
  ])("%s is refused and changes nothing", async (_name, step) => {
    const { store, account, balance } = stage;
    const deed = await admit(store, account);
    await store.commit([startedDeed(deed)]);
    const before = [await store.generationBySeq(deed.seq), await store.attemptsOf(deed.seq), await balance()];
    expect(await commitOne(store, step(deed.seq))).toMatchObject({ kind: "refused", reason: expect.any(String) });
    expect([await store.generationBySeq(deed.seq), await store.attemptsOf(deed.seq), await balance()]).toEqual(before);
    expect((await commitOne(store, stepDeed(deed.seq, 2))).kind).toBe("stepped");
  });
};
