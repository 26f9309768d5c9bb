// Batching of child responses: in groups while others wait, and at once otherwise.
import { expect, test } from "bun:test";
import { createBatchResolve } from "../../../src/media/sandbox/batch-resolve.ts";

const joins = (most: number, longestMs: number, count: number) => {
  const groups = createBatchResolve({ most, longestMs });
  const gone: number[] = [];
  const all = Array.from({ length: count }, (_, n) => groups.join().then(() => gone.push(n)));
  return { groups, gone, all };
};

test("resolves a full group in the order in which its members joined", async () => {
  const { gone, all } = joins(3, 60_000, 5);
  await Promise.all(all.slice(0, 3));
  expect(gone).toEqual([0, 1, 2]);
});

test("resolves a partial group on release and then starts a new group", async () => {
  const { groups, gone, all } = joins(3, 60_000, 4);
  groups.release();
  await Promise.all(all);
  expect(gone).toEqual([0, 1, 2, 3]);
  const next = groups.join();
  groups.release();
  await next;
});

test("resolves a partial group after the maximum waiting time", async () => {
  const { gone, all } = joins(100, 1, 2);
  await Promise.all(all);
  expect(gone).toEqual([0, 1]);
});
