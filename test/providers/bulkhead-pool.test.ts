// Bulkhead: a bounded, fair pool of slots that tolerates cancellation and double release.
import { expect, test } from "bun:test";
import { createBulkhead } from "../../src/providers/bulkhead.ts";

const never = new AbortController().signal;

test("a bulkhead hands out at most its slots and serves waiting callers in order of arrival", async () => {
  const pool = createBulkhead(2);
  const first = await pool.take(never);
  const second = await pool.take(never);
  const served: number[] = [];
  const line = [3, 4, 5].map(async (n) => {
    const release = await pool.take(never);
    served.push(n);
    return release;
  });
  expect([pool.inUse, pool.waiting]).toEqual([2, 3]);
  first();
  (await line[0])?.();
  second();
  await Promise.all(line);
  expect(served).toEqual([3, 4, 5]);
  expect([pool.inUse, pool.waiting]).toEqual([2, 0]);
});

test("a new caller does not overtake a waiting one", async () => {
  const pool = createBulkhead(1);
  const held = await pool.take(never);
  const served: string[] = [];
  const serve = async (name: string) => {
    const release = await pool.take(never);
    served.push(name);
    release();
  };
  const waited = serve("waited");
  held();
  const newcomer = serve("newcomer");
  await Promise.all([waited, newcomer]);
  expect(served).toEqual(["waited", "newcomer"]);
  expect(pool.inUse).toBe(0);
});

test("releasing a slot twice frees one slot", async () => {
  const pool = createBulkhead(1);
  const release = await pool.take(never);
  release();
  release();
  expect(pool.inUse).toBe(0);
  await pool.take(never);
  release();
  expect(pool.inUse).toBe(1);
});

test("a cancelled caller leaves the queue and takes no slot", async () => {
  const pool = createBulkhead(1);
  const held = await pool.take(never);
  const giver = new AbortController();
  const given = pool.take(giver.signal);
  const next = pool.take(never);
  giver.abort(new Error("enough"));
  await expect(given).rejects.toThrow("enough");
  expect(pool.waiting).toBe(1);
  held();
  (await next)();
  expect([pool.inUse, pool.waiting]).toEqual([0, 0]);
});

test("cancellation after the slot was taken has no effect", async () => {
  const pool = createBulkhead(1);
  const giver = new AbortController();
  const held = await pool.take(never);
  const given = pool.take(giver.signal);
  held();
  const release = await given;
  giver.abort();
  expect(pool.inUse).toBe(1);
  release();
  expect(pool.inUse).toBe(0);
});

test("a caller with an aborted signal takes no slot", async () => {
  const pool = createBulkhead(1);
  await expect(pool.take(AbortSignal.abort(new Error("enough")))).rejects.toThrow("enough");
  expect(pool.inUse).toBe(0);
});

test("rejects a waiting caller after its timeout", async () => {
  const pool = createBulkhead(1);
  await pool.take(never);
  await expect(pool.take(never, 20)).rejects.toThrow("no slot within 20 ms");
  expect(pool.waiting).toBe(0);
});

test("10,000 cancelled callers leave the queue", async () => {
  const pool = createBulkhead(1);
  await pool.take(never);
  const givers = Array.from({ length: 10_000 }, () => new AbortController());
  const line = givers.map(({ signal }) => pool.take(signal).catch(() => "left"));
  for (const giver of givers.reverse()) giver.abort();
  expect(new Set(await Promise.all(line))).toEqual(new Set(["left"]));
  expect(pool.waiting).toBe(0);
});
