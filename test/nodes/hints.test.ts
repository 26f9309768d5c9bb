// Hints that other nodes left: each is acted on and dropped, and one that cannot be acted on holds up none of those behind it.
import { expect, test } from "bun:test";
import { openSharing } from "../../src/sharing.ts";
import type { Hint } from "../../src/store/node.ts";

type Parts = Parameters<typeof openSharing>[0];

test("one that throws, one that cannot be read and one that cannot be dropped stop nobody, and the first fault is told", async () => {
  const left: Hint[] = [
    { seq: 1, n: 1, body: null },
    { seq: 2, n: 1, body: "{" },
    { seq: 3, n: 1, body: null },
    { seq: 4, n: 1, body: null },
    { seq: 5, n: 1, body: '{"status":"COMPLETED"}' },
  ];
  const heard: unknown[] = [];
  const dropped: number[] = [];
  const effects: Partial<Parts["effects"]> = {
    isAsking: (seq) => seq !== 4,
    hint: (seq, _n, body) => {
      if (seq === 1) throw new Error("no such route");
      heard.push([seq, body]);
    },
  };
  const node = {
    hints: () => Promise.resolve(left),
    dropHint: async ({ seq }: Hint) => {
      if (seq === 3) throw new Error("the database is away");
      dropped.push(seq);
    },
  };
  const sharing = openSharing({ store: { node }, effects } as unknown as Parts);
  await expect(sharing.takeHints()).rejects.toThrow("no such route");
  expect(heard).toEqual([
    [3, undefined],
    [5, { status: "COMPLETED" }],
  ]);
  expect(dropped).toEqual([1, 2, 5]);
});

test("a decision left by another node is told to the machine here, also where the generation had stopped", async () => {
  const decision = { type: "failedByOperator", by: "Ada", reason: "seen at the provider" };
  const left: Hint[] = [1, 2].map((seq) => ({ seq, n: 0, body: JSON.stringify(decision) }));
  const decided: unknown[] = [];
  const takenUp = new Set<number>();
  const supervisor: Partial<Parts["supervisor"]> = {
    has: (seq) => seq === 1 || takenUp.has(seq),
    report: (seq, told) => void decided.push([seq, told]),
    recover: async () => 0,
    resume: () => undefined,
  };
  const node = { hints: () => Promise.resolve(left), dropHint: () => Promise.resolve() };
  const store = { node, unfinished: async () => [], attemptsOf: async () => [] };
  const effects = { takenUp: (seq: number) => takenUp.add(seq) };
  await openSharing({ store, supervisor, effects, clock: { nowMs: () => 1 } } as unknown as Parts).takeHints();
  expect([...takenUp]).toEqual([2]);
  expect(decided).toEqual([1, 2].map((seq) => [seq, { ...decision, atMs: 1 }]));
});
