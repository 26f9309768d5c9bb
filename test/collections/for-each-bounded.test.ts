// Work for each item with a bounded number at a time.
import { expect, test } from "bun:test";
import { forEachBounded } from "../../src/collections/for-each-bounded.ts";

test("runs the work of all items, and never more than the bound at a time", async () => {
  const done: number[] = [];
  let [running, most] = [0, 0];
  await forEachBounded(
    Array.from({ length: 20 }, (_, n) => n),
    3,
    async (n) => {
      running += 1;
      most = Math.max(most, running);
      await Promise.resolve();
      running -= 1;
      done.push(n);
    },
  );
  expect([done.sort((a, b) => a - b), most]).toEqual([Array.from({ length: 20 }, (_, n) => n), 3]);
  await forEachBounded([], 3, () => Promise.reject(new Error("no item")));
});

test("waits for running work after a fault, throws it, and begins no other", async () => {
  const begun: number[] = [];
  let wasAwaited = false;
  const work = async (n: number): Promise<void> => {
    begun.push(n);
    if (n === 1) throw new Error("one");
    await new Promise<void>((resolve) => void setImmediate(resolve));
    wasAwaited = true;
  };
  expect(await forEachBounded([0, 1, 2, 3], 2, work).catch((fault: Error) => fault.message)).toBe("one");
  expect([begun, wasAwaited]).toEqual([[0, 1], true]);
});
