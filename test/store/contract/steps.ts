// Store contract of transitions: captures, releases, rejected steps and stale steps.
import { expect, test } from "bun:test";
import type { Stage } from "../conformance.ts";
import {
  admit,
  admitMutation,
  capturedMutation,
  commitOne,
  NOW_MS,
  OUTPUT,
  openAccount,
  releasedMutation,
  startedMutation,
  stepMutation,
} from "../fixture.ts";

export const stepPromises = (stage: Stage): void => {
  test("captures the attempt's price, releases the rest and ends the generation in one step", async () => {
    const { store, account, balance } = stage;
    const mutation = await admit(store, account);
    await store.commit([startedMutation(mutation)]);
    expect(await store.unfinished(0, 10)).toMatchObject([{ status: "running", version: 1 }]);
    expect(await store.attemptsOf(mutation.seq)).toMatchObject([{ n: 1, state: "accepted" }]);
    const outcome = await commitOne(store, capturedMutation(mutation.seq, 2, 1, 75));
    if (outcome.kind !== "stepped") throw new Error(outcome.kind);
    expect(outcome.record).toMatchObject({
      status: "succeeded",
      costCredits: 75,
      output: OUTPUT,
      completedAtMs: NOW_MS + 2000,
    });
    expect(await store.generationById(mutation.id, account.seq)).toEqual(outcome.record);
    expect(await balance()).toEqual([925, 0, 75, 0]);
    expect(await store.unfinished(0, 10)).toEqual([]);
    expect(await store.snapshotOf(mutation.seq)).toBeUndefined();
    expect((await store.transfersOf(mutation.seq)).map((m) => [m.kind, m.credits, m.from, m.to, m.attemptN])).toEqual([
      ["hold", 110, "available", "held", null],
      ["capture", 75, "held", "charged", 1],
      ["release", 35, "held", "available", null],
    ]);
    expect(await store.attempt(mutation.seq, 1)).toMatchObject({
      state: "delivered",
      endedAtMs: NOW_MS + 2000,
      priceCredits: 75,
    });
    expect(await store.recentDeliveries(5)).toEqual(new Map([["a", [1500]]]));
  });

  test("returns generations with their transfers and the beginning of the prompt, and skips unknown ones", async () => {
    const { store, account } = stage;
    const [open, ended] = [await admit(store, account), await admit(store, account)];
    await store.commit([startedMutation(ended), capturedMutation(ended.seq, 2, 1, 75)]);
    const found = await store.ledgerGenerations([ended.seq, open.seq, open.seq + 1_000_000]);
    expect(new Set(found.keys())).toEqual(new Set([open.id, ended.id]));
    for (const { id, seq, model } of [open, ended])
      expect(found.get(id)).toEqual({ id, model, prompt: "a fox in the snow", transfers: await store.transfersOf(seq) });
    expect(await store.ledgerGenerations([])).toEqual(new Map());
  });

  test("keeps plan and start deadline after the end, and returns undefined for an unknown generation", async () => {
    const { store, account } = stage;
    const mutation = await admit(store, account);
    const agreed = { plan: mutation.plan, waitEndsAtMs: mutation.waitEndsAtMs };
    expect(await store.planOf(mutation.seq)).toEqual(agreed);
    await store.commit([startedMutation(mutation), capturedMutation(mutation.seq, 2, 1, 75)]);
    expect(await store.planOf(mutation.seq)).toEqual(agreed);
    expect(await store.planOf(mutation.seq + 1)).toBeUndefined();
  });

  test("writes no release when the capture takes the whole hold", async () => {
    const { store, account, balance } = stage;
    const mutation = await admit(store, account);
    await store.commit([startedMutation(mutation, 1, 1, "c"), capturedMutation(mutation.seq, 2, 1, 110)]);
    expect((await store.transfersOf(mutation.seq)).map(({ kind }) => kind)).toEqual(["hold", "capture"]);
    expect(await balance()).toEqual([890, 0, 110, 0]);
  });

  test("releases the whole hold on failure, also when a queued generation fails at its first step", async () => {
    const { store, account, balance } = stage;
    const mutation = await admit(store, account);
    const outcome = await commitOne(store, releasedMutation(mutation.seq, 1));
    expect(outcome).toMatchObject({
      kind: "stepped",
      record: { status: "failed", costCredits: 0, error: { code: "timed_out" }, attempts: 0 },
    });
    expect(await balance()).toEqual([1000, 0, 0, 0]);
    expect((await store.eventsOf(mutation.seq)).map((line) => [line.version, line.event.type, line.stateAfter])).toEqual([
      [1, "deadline", "failed"],
    ]);
  });

  test("returns stale for a step of another version, a repeated step or a step after the end, and writes nothing", async () => {
    const { store, account, balance } = stage;
    const mutation = await admit(store, account);
    expect((await commitOne(store, stepMutation(mutation.seq, 2))).kind).toBe("stale");
    await store.commit([startedMutation(mutation)]);
    expect((await commitOne(store, startedMutation(mutation))).kind).toBe("stale");
    await store.commit([capturedMutation(mutation.seq, 2, 1, 75)]);
    expect((await commitOne(store, releasedMutation(mutation.seq, 3))).kind).toBe("stale");
    expect((await commitOne(store, stepMutation(12345, 1))).kind).toBe("stale");
    expect(await store.eventsOf(mutation.seq)).toHaveLength(2);
    expect(await balance()).toEqual([925, 0, 75, 0]);
  });

  test("reads the versions of some generations: 0 for one without a step, and none is lost by its end", async () => {
    const { store, account } = stage;
    const [ended, queued] = [await admit(store, account), await admit(store, account)];
    await store.commit([startedMutation(ended), capturedMutation(ended.seq, 2, 1, 75)]);
    const versions = await store.versionsAmong([queued.seq, ended.seq, 12345]);
    expect([...versions].sort()).toEqual(
      [
        [queued.seq, 0],
        [ended.seq, 2],
        [12345, 0],
      ].sort() as never,
    );
    expect(await store.versionsAmong([])).toEqual(new Map());
  });

  test("reads the activity of some accounts: starts and ends of generations change it, and other accounts do not", async () => {
    const { store, account } = stage;
    const other = await openAccount(store, 500);
    const activity = async () => Object.fromEntries(await store.activityAmong([account.seq, other.seq, 12345]));
    const seen = [await activity()];
    const mutation = await admit(store, account);
    seen.push(await activity());
    await store.commit([startedMutation(mutation)]);
    seen.push(await activity());
    await store.commit([capturedMutation(mutation.seq, 2, 1, 75)]);
    seen.push(await activity());
    const others = { [other.seq]: { transferNo: 1, running: 0 } };
    expect(seen).toEqual([
      { [account.seq]: { transferNo: 1, running: 0 }, ...others },
      { [account.seq]: { transferNo: 2, running: 0 }, ...others },
      { [account.seq]: { transferNo: 2, running: 1 }, ...others },
      { [account.seq]: { transferNo: 4, running: 0 }, ...others },
    ]);
    expect(await store.activityAmong([])).toEqual(new Map());
  });

  test("applies the first of two ending steps in one batch", async () => {
    const { store, account, balance } = stage;
    const mutation = await admit(store, account);
    await store.commit([startedMutation(mutation)]);
    const outcomes = await store.commit([capturedMutation(mutation.seq, 2, 1, 75), releasedMutation(mutation.seq, 2)]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(["stepped", "stale"]);
    expect(await balance()).toEqual([925, 0, 75, 0]);
  });

  test("rejects only a capture that differs from the attempt's price, and commits the rest of its batch", async () => {
    const { store, account, balance } = stage;
    const mutation = await admit(store, account);
    const neighbour = admitMutation(account);
    await store.commit([startedMutation(mutation)]);
    const outcomes = await store.commit([neighbour, capturedMutation(mutation.seq, 2, 1, 76), admitMutation(account)]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(["admitted", "refused", "admitted"]);
    expect(outcomes[1]).toEqual({ kind: "refused", reason: "attempt 1 was quoted 75 credits and the capture is 76" });
    expect(await balance()).toEqual([670, 330, 0, 3]);
    expect(await store.attempt(mutation.seq, 1)).toMatchObject({ state: "accepted" });
    expect(await store.eventsOf(mutation.seq)).toHaveLength(1);
  });

  test.each([
    ["a capture of an attempt that never began", (seq: number) => capturedMutation(seq, 2, 9, 75)],
    ["a step that ends without a settlement", (seq: number) => stepMutation(seq, 2, { snapshot: null })],
    ["a success without a capture", (seq: number) => stepMutation(seq, 2, { status: "succeeded" })],
    ["a return to queued", (seq: number) => stepMutation(seq, 2, { status: "queued", attempts: 0 })],
    [
      "a second attempt with the number of the first",
      (seq: number) => startedMutation({ ...admitMutation({ seq: 1, id: "", keySeq: 1, keyHash: "" }), seq }, 2, 1),
    ],
    [
      "another time limit for a running attempt",
      (seq: number) => stepMutation(seq, 2, { attemptChanges: [{ n: 1, endsAtMs: NOW_MS + 9 }] }),
    ],
    ["a second request for an attempt", (seq: number) => stepMutation(seq, 2, { attemptChanges: [{ n: 1, request: "{}" }] })],
    [
      "a second job for an attempt",
      (seq: number) => stepMutation(seq, 2, { attemptChanges: [{ n: 1, job: { jobId: "other" } }] }),
    ],
  ])("rejects %s and changes nothing", async (_name, step) => {
    const { store, account, balance } = stage;
    const mutation = await admit(store, account);
    await store.commit([startedMutation(mutation)]);
    const before = [await store.generationBySeq(mutation.seq), await store.attemptsOf(mutation.seq), await balance()];
    expect(await commitOne(store, step(mutation.seq))).toMatchObject({ kind: "refused", reason: expect.any(String) });
    expect([await store.generationBySeq(mutation.seq), await store.attemptsOf(mutation.seq), await balance()]).toEqual(before);
    expect((await commitOne(store, stepMutation(mutation.seq, 2))).kind).toBe("stepped");
  });
};
