// Locks of resumable uploads between two processes that share a store, over a clock that the test moves.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { ApiError } from "../../src/domain/api-errors.ts";
import type { Mutation } from "../../src/domain/mutations.ts";
import type { Store } from "../../src/store/store.ts";
import { createUploadLocks, type UploadLock } from "../../src/uploads/upload-locks.ts";
import { type TestClock, testClock } from "../clock.ts";
import { commitOne, NOW_MS, openAccount } from "../store/fixture.ts";
import { openHere } from "../store/open-store.ts";
import { createResumable } from "../store/uploads.ts";

let store: Store;
let clock: TestClock;
let uploadId: string;
let posted: Mutation["mutation"][];

beforeEach(async () => {
  clock = testClock(0, NOW_MS);
  store = await openHere({ path: ":memory:", mode: "test", nowMs: NOW_MS });
  const create = createResumable((await openAccount(store, 0)).seq);
  uploadId = create.uploadId;
  await store.commit([create]);
  posted = [];
});
afterEach(() => store.close());

/** The locks of one process. */
const processOf = (shared = true) =>
  createUploadLocks({
    clock,
    shared,
    post: (mutation) => {
      posted.push(mutation.mutation);
      return commitOne(store, mutation);
    },
  });
type Process = ReturnType<typeof processOf>;

/** Runs everything that is ready. */
const settle = () => new Promise<void>((resolve) => void setImmediate(resolve));

/** A request that holds the lock until `end`. */
const hold = async (process: Process) => {
  const { promise: ending, resolve: end } = Promise.withResolvers<void>();
  const { promise: taken, resolve: onTaken } = Promise.withResolvers<UploadLock>();
  const ended = process(uploadId, async (lock) => {
    onTaken(lock);
    await ending;
  });
  const lock = await Promise.race([taken, ended.then(() => Promise.reject(new Error("not taken")))]);
  const release = (): Promise<void> => {
    end();
    return ended;
  };
  return { lock, end: release };
};
/** The status with which a request is refused; 0 if it takes the lock. */
const statusOf = (process: Process): Promise<number> =>
  process(uploadId, async () => 0).catch((fault: unknown) => (fault instanceof ApiError ? fault.status : -1));

test("another process takes the lock 7 s after the last byte, and the former request ends", async () => {
  const first = await hold(processOf());
  clock.skip(6_999);
  expect(await statusOf(processOf())).toBe(423);
  clock.skip(1);
  const second = await hold(processOf());
  expect(first.lock.signal.aborted).toBe(false);
  first.lock.seen();
  await settle();
  expect(first.lock.signal.aborted).toBe(true);
  await first.end();
  expect(await statusOf(processOf())).toBe(423);
  await second.end();
  expect(await statusOf(processOf())).toBe(0);
});

test("arriving bytes keep the lock, with at most one write in 2 s", async () => {
  const first = await hold(processOf());
  for (let n = 0; n < 300; n += 1) {
    clock.skip(100);
    first.lock.seen();
    await settle();
    if (n % 50 === 0) expect(await statusOf(processOf())).toBe(423);
  }
  const renewals = posted.filter((mutation) => mutation === "lock-resumable-upload").length - 1 - 6;
  expect([renewals <= 15, renewals >= 14]).toEqual([true, true]);
  clock.skip(4_900);
  expect(await statusOf(processOf())).toBe(423);
  clock.skip(2_100);
  expect(await statusOf(processOf())).toBe(0);
  await first.end();
});

test("work of the service keeps the lock for as long as it takes, and counts as no idle time", async () => {
  for (const shared of [true, false]) {
    const process = processOf(shared);
    const first = await hold(process);
    const { promise: working, resolve: endWork } = Promise.withResolvers<void>();
    clock.skip(3_000);
    const work = first.lock.during(() => working);
    for (let second = 0; second < 1_800; second += 2) {
      clock.skip(2_000);
      await settle();
    }
    expect(await statusOf(shared ? processOf() : process)).toBe(423);
    endWork();
    await work;
    // 3 s were idle before the work.
    clock.skip(1_000);
    expect(await statusOf(shared ? processOf() : process)).toBe(423);
    clock.skip(3_000);
    if (shared) expect(await statusOf(processOf())).toBe(0);
    else {
      const next = statusOf(process);
      expect(first.lock.signal.aborted).toBe(true);
      await first.end();
      expect(await next).toBe(0);
    }
    await first.end();
  }
});

test("requests of the same process wait for a completion, at most 30 s", async () => {
  const process = processOf(false);
  const first = await hold(process);
  const { promise: completing, resolve: complete } = Promise.withResolvers<void>();
  const work = first.lock.completing(() => completing);
  const impatient = statusOf(process);
  await settle();
  clock.skip(30_000);
  expect(await impatient).toBe(423);
  const patient = statusOf(process);
  await settle();
  clock.skip(29_999);
  complete();
  await work;
  await first.end();
  expect(await patient).toBe(0);
});

test("a renewal that is under way does not take the lock again after its release", async () => {
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const slow = createUploadLocks({
    clock,
    shared: true,
    post: async (mutation) => {
      if (mutation.mutation === "lock-resumable-upload" && mutation.isHeld) await gate;
      return commitOne(store, mutation);
    },
  });
  const first = await hold(slow);
  clock.skip(2_000);
  first.lock.seen();
  const ended = first.end();
  await settle();
  open();
  await ended;
  expect(await statusOf(processOf())).toBe(0);
});
