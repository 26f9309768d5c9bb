// Answers of children are handed on in groups while others wait, and at once when nobody does.
import { expect, test } from "bun:test";
import { createBatchResolve } from "../../../src/media/sandbox/batch-resolve.ts";

const joins = (most: number, longestMs: number, count: number) => {
  const groups = createBatchResolve({ most, longestMs });
  const gone: number[] = [];
  const all = Array.from({ length: count }, (_, n) => groups.join().then(() => gone.push(n)));
  return { groups, gone, all };
};

test("a full group goes on in the order in which its members came", async () => {
  const { gone, all } = joins(3, 60_000, 5);
  await Promise.all(all.slice(0, 3));
  expect(gone).toEqual([0, 1, 2]);
});

test("a group that is not full goes on when it is let go, and the next one begins anew", async () => {
  const { groups, gone, all } = joins(3, 60_000, 4);
  groups.release();
  await Promise.all(all);
  expect(gone).toEqual([0, 1, 2, 3]);
  const next = groups.join();
  groups.release();
  await next;
});

test("nobody waits for company for longer than the bound", async () => {
  const { gone, all } = joins(100, 1, 2);
  await Promise.all(all);
  expect(gone).toEqual([0, 1]);
});
