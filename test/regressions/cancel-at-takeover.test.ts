// Events that wait for an owner are the first that a takeover or a start applies.
//
// A node took a cancellation while the owner was down. Minutes later another node took the generation over. The pause between two
// sends was over by then, and it sent the request before it read the cancellation.
import { expect, test } from "bun:test";
import { createRecovery } from "../../src/app/recovery.ts";
import { createTakeover } from "../../src/cluster/takeover.ts";
import type { Hint } from "../../src/store/cluster-port.ts";
import { runSeed } from "../../src/torture/simulation/run.ts";
import { testClock } from "../clock.ts";

type Parts = Parameters<typeof createTakeover>[0];
const CANCELLED = { type: "cancelRequested", by: "key-1", decidedAtMs: 7 };
const ENDED = { type: "failedByOperator", by: "Ada", reason: "seen at the provider", decidedAtMs: 8 };
const RETRIED = { type: "retriedByOperator", by: "Ada", reason: "again", decidedAtMs: 9, hasJob: false };
const REJECTED = { type: "rejected", n: 1, failure: { class: "rate_limited", detail: "429" }, atMs: 5 };
const ACCEPTED = { type: "accepted", n: 1, job: { jobId: "job-1" }, atMs: 5 };

const scene = (left: readonly Hint[], journal: Readonly<Record<number, readonly object[]>> = {}) => {
  const calls: unknown[] = [];
  const supervisor: Partial<Parts["supervisor"]> = {
    recover: async (_unfinished, waiting) => calls.push(["recover", Object.fromEntries(waiting ?? [])]),
    resume: () => void calls.push(["resume"]),
  };
  const node = { events: async (seqs?: readonly number[]) => left.filter(({ seq }) => seqs === undefined || seqs.includes(seq)) };
  const eventsOf = async (seq: number) => (journal[seq] ?? []).map((event) => ({ event }));
  const attempt = async () => ({ route: { provider: "fal" } });
  const jobOwner = async (_: string, jobId: string) => (jobId === "job-of-another" ? { seq: 9, n: 1 } : undefined);
  const store = { node, unfinished: async () => [], attemptsOf: async () => [], eventsOf, attempt, jobOwner };
  const takeover = createTakeover({
    ...{ store, supervisor, effects: { takenUp: () => undefined }, clock: { nowMs: () => 100 } },
  } as unknown as Parts);
  return { takeover, calls };
};
const at100 = (...events: readonly object[]) => events.map((event) => ({ ...event, atMs: 100 }));

test("a takeover restores generations together with the events that wait for them, in their order", async () => {
  const { takeover, calls } = scene([
    { seq: 1, n: -1, body: JSON.stringify(ACCEPTED) },
    { seq: 2, n: -9, body: JSON.stringify(RETRIED) },
    { seq: 1, n: -7, body: JSON.stringify(CANCELLED) },
    { seq: 1, n: -8, body: JSON.stringify(ENDED) },
    { seq: 3, n: -8, body: JSON.stringify(ENDED) },
  ]);
  await takeover.takeUp([1, 2]);
  expect(calls).toEqual([["recover", { 1: at100(ACCEPTED, CANCELLED, ENDED), 2: at100(RETRIED) }], ["resume"]]);
});

test("a takeover ignores rejections, decisions that are carried out, jobs of other attempts and entries that it cannot read", async () => {
  const left = [
    { seq: 1, n: -1, body: JSON.stringify(REJECTED) },
    { seq: 2, n: -9, body: JSON.stringify(RETRIED) },
    { seq: 3, n: -7, body: "{" },
    { seq: 4, n: -7, body: null },
    { seq: 5, n: -7, body: JSON.stringify(CANCELLED) },
    { seq: 6, n: -1, body: JSON.stringify({ ...ACCEPTED, job: { jobId: "job-of-another" } }) },
  ];
  const { takeover } = scene(left, { 2: [RETRIED] });
  expect([...(await takeover.waiting())] as unknown[]).toEqual([[5, at100(CANCELLED)]]);
});

test("a start restores its generations together with the responses on its disk and then the events that wait for them", async () => {
  const left = [
    { seq: 1, sentAtMs: 1, outcome: ACCEPTED },
    { seq: 1, sentAtMs: 2, outcome: REJECTED },
    { seq: 2, sentAtMs: 1, outcome: ACCEPTED },
  ];
  const calls: unknown[] = [];
  const recover = createRecovery({
    store: { generationBySeq: async () => undefined, watchedAttempts: async () => [] },
    ...{ post: async () => ({ kind: "done" }), perform: () => undefined, log: () => undefined },
    clock: { ...testClock(), nowMs: () => 100 },
    inHand: { open: async () => left },
    waiting: async () => new Map([[1, at100(CANCELLED)]]),
    supervisor: { recover: async (...given: unknown[]) => calls.push(given), resume: () => undefined },
    ...{ soon: setImmediate, opened: () => undefined, isOver: () => true },
  } as unknown as Parameters<typeof createRecovery>[0]);
  await recover();
  expect(calls).toEqual([
    [
      undefined,
      new Map([
        [1, at100(ACCEPTED, CANCELLED)],
        [2, at100(ACCEPTED)],
      ]),
    ],
  ]);
});

test("simulation seed 2856, in which a takeover once bought a cancelled generation, has no faults", async () => {
  expect((await runSeed(2856)).faults).toEqual([]);
}, 60_000);
