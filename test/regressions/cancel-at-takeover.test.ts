// A cancellation that waits for an owner is the first thing that a takeover applies.
//
// A node took a cancellation while the owner was down. Minutes later another node took the generation over. The pause between two
// sends was over by then, and it sent the request before it read the cancellation.
import { expect, test } from "bun:test";
import { createTakeover } from "../../src/cluster/takeover.ts";
import type { Hint } from "../../src/store/cluster-port.ts";
import { runSeed } from "../../src/torture/simulation/run.ts";

type Parts = Parameters<typeof createTakeover>[0];
const CANCELLED = { type: "cancelRequested", by: "key-1", decidedAtMs: 7 };
const ENDED = { type: "failedByOperator", by: "Ada", reason: "seen at the provider", decidedAtMs: 8 };
const RETRIED = { type: "retriedByOperator", by: "Ada", reason: "again", decidedAtMs: 9, hasJob: false };
const ACCEPTED = { type: "accepted", n: 1, job: { jobId: "job-1" }, atMs: 5 };

test("a takeover restores generations together with the decisions that stop them, and leaves other entries for the next read", async () => {
  const left: Hint[] = [
    { seq: 1, n: -7, body: JSON.stringify(CANCELLED) },
    { seq: 1, n: -8, body: JSON.stringify(ENDED) },
    { seq: 2, n: -9, body: JSON.stringify(RETRIED) },
    { seq: 3, n: -1, body: JSON.stringify(ACCEPTED) },
    { seq: 3, n: 1, body: '{"status":"COMPLETED"}' },
    { seq: 4, n: -7, body: JSON.stringify(CANCELLED) },
  ];
  const calls: unknown[] = [];
  const supervisor: Partial<Parts["supervisor"]> = {
    recover: async (_unfinished, decided) => calls.push(["recover", Object.fromEntries(decided ?? [])]),
    resume: () => void calls.push(["resume"]),
  };
  const node = { hints: async () => left, dropHint: async (hint: Hint) => void calls.push(["dropped", hint]) };
  const store = { node, unfinished: async () => [], attemptsOf: async () => [] };
  const takeover = createTakeover({
    ...{ store, supervisor, effects: { takenUp: () => undefined }, clock: { nowMs: () => 100 } },
  } as unknown as Parts);
  await takeover.takeUp([1, 2, 3]);
  const decided = [CANCELLED, ENDED].map((one) => ({ ...one, atMs: 100 }));
  expect(calls).toEqual([["recover", { 1: decided }], ["resume"]]);
});

test("simulation seed 2856, in which a takeover once bought a cancelled generation, has no faults", async () => {
  expect((await runSeed(2856)).faults).toEqual([]);
}, 60_000);
