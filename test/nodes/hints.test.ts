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
