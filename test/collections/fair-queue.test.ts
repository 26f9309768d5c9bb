// Fair queue: the least recent usage goes first, within a number of places for each account.
import { expect, test } from "bun:test";
import { createFairQueue, type Release } from "../../src/collections/fair-queue.ts";

const NEVER = new AbortController().signal;

/** Queues callers and records the order in which they get a place. */
const openScene = (options: Parameters<typeof createFairQueue>[0]) => {
  const line = createFairQueue(options);
  const came: string[] = [];
  const leaves: Release[] = [];
  const come = (share: string, account: string, signal = NEVER) =>
    line.take({ share, account }, signal).then((leave) => {
      came.push(leave ? account : `${account} gave up`);
      if (leave) leaves.push(leave);
    });
  const settle = () => new Promise((turn) => setTimeout(turn, 0));
  const next = async (cost?: number) => {
    leaves.shift()?.(cost);
    await settle();
  };
  return { line, came, come, next, settle };
};

test("serves accounts in turn, however many callers of one account wait", async () => {
  const { came, come, next, settle } = openScene({ places: 1, perAccount: 1, cost: 1 });
  for (let n = 0; n < 4; n++) void come("input", "a");
  void come("input", "b");
  void come("input", "c");
  await settle();
  for (let n = 0; n < 6; n++) await next();
  expect(came.slice(0, 3).sort()).toEqual(["a", "b", "c"]);
  expect(came.slice(3)).toEqual(["a", "a", "a"]);
});

test("serves accounts with little usage before an account with much usage", async () => {
  const { came, come, next, settle } = openScene({ places: 1, perAccount: 1, cost: 10 });
  for (let n = 0; n < 3; n++) void come("input", "costly");
  for (let n = 0; n < 3; n++) void come("input", "light");
  await settle();
  await next(3000);
  for (let n = 0; n < 5; n++) await next(5);
  expect(came).toEqual(["costly", "light", "light", "light", "costly", "costly"]);
});

test("serves each share without waiting for another share", async () => {
  const { came, come, next, settle } = openScene({ places: 1, perAccount: 8, cost: 1 });
  for (let n = 0; n < 5; n++) void come("input", `in ${n}`);
  for (let n = 0; n < 2; n++) void come("result", `out ${n}`);
  await settle();
  for (let n = 0; n < 7; n++) await next();
  expect(came.slice(0, 4).filter((one) => one.startsWith("out")).length).toBe(2);
});

test("limits an account to its places while other places are free", async () => {
  const { line, came, come, next, settle } = openScene({ places: 4, perAccount: 2, cost: 1 });
  for (let n = 0; n < 5; n++) void come("input", "a");
  await settle();
  expect([came, line.waiting()]).toEqual([["a", "a"], 3]);
  void come("input", "b");
  await settle();
  expect(came).toEqual(["a", "a", "b"]);
  await next();
  expect(came).toEqual(["a", "a", "b", "a"]);
});

test("removes an aborted caller from the queue and ignores a second release of a place", async () => {
  const { line, came, come, next, settle } = openScene({ places: 1, perAccount: 1, cost: 1 });
  const end = new AbortController();
  const leave = await line.take({ share: "input", account: "first" }, NEVER);
  void come("input", "a", end.signal);
  void come("input", "b");
  end.abort();
  await settle();
  expect(came).toEqual(["a gave up"]);
  leave?.();
  leave?.();
  await settle();
  void come("input", "c");
  await settle();
  expect([came, line.waiting()]).toEqual([["a gave up", "b"], 1]);
  await next();
  expect(came).toEqual(["a gave up", "b", "c"]);
});

test("serves an account that comes later before the further work of accounts that hold all places", async () => {
  const { came, come, next, settle } = openScene({ places: 16, perAccount: 4, cost: 1 });
  for (const account of ["a", "b", "c", "d"]) for (let n = 0; n < 20; n++) void come("input", account);
  await settle();
  void come("input", "late");
  for (let n = 0; n < 4; n++) await next();
  expect(came.slice(16)).toContain("late");
});

test("work without a place takes places from its account only", async () => {
  const { line, came, come, settle } = openScene({ places: 2, perAccount: 2, cost: 1 });
  const over = [line.count({ share: "input", account: "a" }), line.count({ share: "input", account: "a" })];
  void come("input", "a");
  for (let n = 0; n < 3; n++) void come("input", "b");
  await settle();
  expect([came, line.waiting()]).toEqual([["b", "b"], 2]);
  for (const end of over) end();
  await settle();
  expect(came).toEqual(["b", "b"]);
});
