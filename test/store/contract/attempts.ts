// Store contract of attempts, deadlines and messages.
import { expect, test } from "bun:test";
import type { Stage } from "../conformance.ts";
import {
  admit,
  admitMutation,
  capturedMutation,
  commitOne,
  NOW_MS,
  releasedMutation,
  startedMutation,
  stepMutation,
} from "../fixture.ts";

export const attemptPromises = (stage: Stage): void => {
  test("rejects a step that assigns the job of one attempt to another attempt", async () => {
    const { store, account } = stage;
    const [one, two] = [await admit(store, account), await admit(store, account)];
    await store.commit([startedMutation(one)]);
    const jobId = `job-${one.seq}-1`;
    expect(await store.jobOwner("fal", jobId)).toEqual({ seq: one.seq, n: 1 });
    expect(await store.jobOwner("replicate", jobId)).toBeUndefined();
    const thief = startedMutation(two);
    thief.attemptChanges = thief.attemptChanges.map((change) => (change.job ? { ...change, job: { jobId } } : change));
    expect((await commitOne(store, thief)).kind).toBe("refused");
  });

  test("reads back every stored field of an attempt", async () => {
    const { store, account } = stage;
    const mutation = await admit(store, account);
    await store.commit([
      startedMutation(mutation),
      stepMutation(mutation.seq, 2, {
        attemptChanges: [
          {
            n: 1,
            state: "lost",
            failure: { class: "gone", detail: "404" },
            watchUntilMs: NOW_MS + 900_000,
            results: [{ url: "https://up.example/f" }],
          },
        ],
      }),
    ]);
    expect(await store.attemptsOf(mutation.seq)).toEqual([
      {
        seq: mutation.seq,
        n: 1,
        ref: `${mutation.id.slice(4)}-1`,
        requestId: mutation.requestId,
        route: { routeId: "a", provider: "fal", endpoint: "video/fast", options: { tier: "std" }, kind: "video" },
        priceCredits: 75,
        state: "lost",
        request: '{"method":"POST"}',
        sentAtMs: NOW_MS + 500,
        endsAtMs: NOW_MS + 600_500,
        job: { jobId: `job-${mutation.seq}-1`, urls: { poll: "https://up.example/1" } },
        results: [{ url: "https://up.example/f" }],
        failure: { class: "gone", detail: "404" },
        watchUntilMs: NOW_MS + 900_000,
        endedAtMs: NOW_MS + 2000,
      },
    ]);
  });

  test("accepts a late mark after the end of a generation, and rejects marks that send or charge the attempt", async () => {
    const { store, account, balance } = stage;
    const mutation = await admit(store, account);
    const mark = (change: object) =>
      commitOne(store, { mutation: "mark-attempt", seq: mutation.seq, atMs: NOW_MS + 9000, change: { n: 1, ...change } });
    await store.commit([startedMutation(mutation)]);
    expect((await mark({ watchUntilMs: null })).kind).toBe("refused");
    await store.commit([
      releasedMutation(mutation.seq, 2, { attemptChanges: [{ n: 1, state: "capped", watchUntilMs: NOW_MS + 900_000 }] }),
    ]);
    expect(await store.watchedAttempts(0, 10)).toMatchObject([{ seq: mutation.seq, n: 1, state: "capped" }]);
    expect((await mark({ state: "delivered" })).kind).toBe("refused");
    expect((await mark({ state: "sending" })).kind).toBe("refused");
    expect(await mark({ state: "late", watchUntilMs: null })).toEqual({ kind: "done" });
    expect(await store.watchedAttempts(0, 10)).toEqual([]);
    expect(await store.attempt(mutation.seq, 1)).toMatchObject({ state: "late", endedAtMs: NOW_MS + 9000 });
    expect(await balance()).toEqual([1000, 0, 0, 0]);
  });

  test("charges a late delivery of an earlier attempt at its own price before the generation ends", async () => {
    const { store, account } = stage;
    const mutation = await admit(store, account);
    await store.commit([
      startedMutation(mutation),
      stepMutation(mutation.seq, 2, { attemptChanges: [{ n: 1, state: "lost", watchUntilMs: NOW_MS + 900_000 }] }),
      startedMutation(mutation, 3, 2, "b"),
      {
        ...capturedMutation(mutation.seq, 4, 1, 75),
        attemptChanges: [{ n: 2, state: "superseded", watchUntilMs: NOW_MS + 900_000 }],
      },
    ]);
    expect(await store.generationBySeq(mutation.seq)).toMatchObject({ status: "succeeded", costCredits: 75, attempts: 2 });
    expect((await store.attemptsOf(mutation.seq)).map(({ state }) => state)).toEqual(["delivered", "superseded"]);
    expect(await store.watchedAttempts(0, 10)).toMatchObject([{ n: 2 }]);
  });

  test("replaces a deadline, keeps it when a step omits it, and removes it when a step sets null", async () => {
    const { store, account } = stage;
    const mutation = await admit(store, account);
    const deadline = async () => (await store.unfinished(0, 10))[0]?.deadline;
    await store.commit([startedMutation(mutation), stepMutation(mutation.seq, 2)]);
    expect(await deadline()).toEqual({ kind: "attempt", n: 1, dueAtMs: NOW_MS + 600_500 });
    await store.commit([stepMutation(mutation.seq, 3, { deadline: { kind: "collect", n: 1, dueAtMs: 7 } })]);
    expect(await deadline()).toEqual({ kind: "collect", n: 1, dueAtMs: 7 });
    await store.commit([stepMutation(mutation.seq, 4, { deadline: null })]);
    expect(await deadline()).toBeNull();
    await store.commit([stepMutation(mutation.seq, 5, { deadline: { kind: "attempt", n: 1, dueAtMs: NOW_MS + 600_500 } })]);
  });

  test("sets a message while the generation runs, and clears it at the end", async () => {
    const { store, account } = stage;
    const mutation = await admit(store, account);
    await store.commit([
      startedMutation(mutation),
      stepMutation(mutation.seq, 2, { message: "Confirming." }),
      stepMutation(mutation.seq, 3),
    ]);
    expect(await store.generationBySeq(mutation.seq)).toMatchObject({ status: "running", message: "Confirming." });
    await store.commit([releasedMutation(mutation.seq, 4, { attemptChanges: [{ n: 1, state: "failed" }] })]);
    expect(await store.generationBySeq(mutation.seq)).toMatchObject({ message: null });
  });

  test.each([
    ["an attempt that never began", { n: 9, watchUntilMs: null }],
    ["nothing", { n: 1 }],
    ["a request", { n: 1, request: "{}" }],
    ["the request of an attempt that never began", { n: 9, request: "{}" }],
  ] as const)("rejects a mark of %s after the end", async (_, change) => {
    const { store, account } = stage;
    const mutation = await admit(store, account);
    const failed = releasedMutation(mutation.seq, 2, { attemptChanges: [{ n: 1, state: "failed" }] });
    await store.commit([startedMutation(mutation), failed]);
    const marked = await commitOne(store, { mutation: "mark-attempt", seq: mutation.seq, atMs: NOW_MS + 9000, change });
    expect(marked.kind).toBe("refused");
  });

  test.each([
    ["column", { n: 9, watchUntilMs: null }],
    ["request", { n: 9, request: "{}" }],
    ["column and request", { n: 9, state: "sending", sentAtMs: NOW_MS, request: "{}" }],
  ] as const)(
    "rejects only the step that changes the %s of a missing attempt, and commits the rest of its batch",
    async (_, change) => {
      const { store, account, balance } = stage;
      const [one, two, three] = [await admit(store, account), await admit(store, account), await admit(store, account)];
      await store.commit([startedMutation(one), startedMutation(two)]);
      const outcomes = await store.commit([
        admitMutation(account, { idempotencyKey: "r" }),
        capturedMutation(one.seq, 2, 1, 75),
        stepMutation(two.seq, 2, { attemptChanges: [{ n: 1, watchUntilMs: 5 }, change] }),
        releasedMutation(three.seq, 1),
        stepMutation(two.seq, 2),
        admitMutation(account, { idempotencyKey: "r" }),
      ]);
      expect(outcomes.map(({ kind }) => kind)).toEqual(["admitted", "stepped", "refused", "stepped", "stepped", "replayed"]);
      expect(await store.attempt(two.seq, 1)).toMatchObject({ watchUntilMs: null });
      expect(await store.eventsOf(two.seq)).toHaveLength(2);
      expect(await balance()).toEqual([705, 220, 75, 2]);
    },
  );
};
