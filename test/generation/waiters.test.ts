// Requests that wait for the end of a generation: what wakes them, places of an account, and no cost without them.
import { beforeEach, expect, test } from "bun:test";
import type { MutationResult } from "../../src/domain/mutations.ts";
import type { GenerationRecord } from "../../src/domain/types.ts";
import type { CommitListener } from "../../src/generations/post-commit.ts";
import { createWaiters, type WaitForEnd } from "../../src/generations/waiters.ts";
import { testClock } from "../clock.ts";
import { eventually } from "../eventually.ts";

/** One turn of the event loop, in which every pending step runs. */
const turn = () => new Promise<void>((next) => setImmediate(next));
const NEVER = new AbortController().signal;
const recordOf = (seq: number, accountSeq = 1): GenerationRecord => ({
  ...{ seq, id: `gen_${seq}`, accountSeq, requestId: "req", model: "m", status: "running", message: null },
  ...{ quotedCredits: 1, reservedCredits: 1, costCredits: null, attempts: 1, error: null, output: null },
  ...{ createdAtMs: 0, completedAtMs: null, filesExpiredAtMs: null, erasedAtMs: null, labels: null },
});

let watch: CommitListener;
let stored: Map<string, GenerationRecord>;
let closing: AbortController;
let polls: (readonly number[])[];
let clock: ReturnType<typeof testClock>;
let waitForEnd: WaitForEnd;
const open = (isShared = false) => {
  watch = { committed: null };
  stored = new Map();
  closing = new AbortController();
  polls = [];
  clock = testClock(0);
  const reads = {
    generationById: async (id: string) => stored.get(id),
    endedAmong: async (seqs: readonly number[]) => {
      polls.push(seqs);
      return [...stored.values()]
        .filter(({ seq, completedAtMs }) => completedAtMs !== null && seqs.includes(seq))
        .map(({ seq }) => seq);
    },
  };
  waitForEnd = createWaiters({ watch, reads, clock, closing: closing.signal, isShared });
};
beforeEach(() => open());

const end = (record: GenerationRecord): GenerationRecord => {
  const ended: GenerationRecord = { ...record, status: "succeeded", completedAtMs: 5 };
  stored.set(record.id, ended);
  return ended;
};
const commit = (record: GenerationRecord) =>
  watch.committed?.({ mutation: "note-recovery", text: "" }, { kind: "stepped", record } as MutationResult);
/** Begins to wait; resolves when the request has its place. */
const begin = async (record: GenerationRecord, signal = NEVER, waitMs = 30_000) => {
  let waited: Awaited<ReturnType<WaitForEnd>> | undefined;
  const whole = waitForEnd(record, waitMs, signal).then((result) => {
    waited = result;
    return result;
  });
  await turn();
  return { whole, isOver: () => waited !== undefined };
};

test("a commit that ends the generation wakes its requests only, with the record of that commit", async () => {
  const [one, other] = [await begin(recordOf(1)), await begin(recordOf(2))];
  commit({ ...recordOf(1), attempts: 2 });
  await turn();
  expect([one.isOver(), other.isOver()]).toEqual([false, false]);
  const ended = end(recordOf(1));
  commit(ended);
  expect(await one.whole).toEqual({ record: ended, isHonoured: true });
  expect(other.isOver()).toBe(false);
  closing.abort();
  await other.whole;
});

test("an end that was committed before the request was entered is seen", async () => {
  const ended = end(recordOf(1));
  expect(await waitForEnd(recordOf(1), 30_000, NEVER)).toEqual({ record: ended, isHonoured: true });
  expect(await waitForEnd(ended, 30_000, NEVER)).toEqual({ record: ended, isHonoured: true });
});

test("the time ends the wait with the state of that moment", async () => {
  const later = { ...recordOf(1), attempts: 2 };
  const waiting = await begin(recordOf(1));
  stored.set("gen_1", later);
  clock.skip(29_999);
  await turn();
  expect(waiting.isOver()).toBe(false);
  clock.skip(1);
  expect(await waiting.whole).toEqual({ record: later, isHonoured: true });
});

test("a drain answers waiting requests at once, and later ones do not wait", async () => {
  const waiting = await begin(recordOf(1));
  closing.abort();
  expect(await waiting.whole).toEqual({ record: recordOf(1), isHonoured: false });
  expect(await waitForEnd(recordOf(1), 30_000, NEVER)).toEqual({ record: recordOf(1), isHonoured: false });
});

test("an account has 100 places, a further request is answered at once, and a disconnected client frees its place", async () => {
  const client = new AbortController();
  const all = [await begin(recordOf(1), client.signal)];
  for (let seq = 2; seq <= 100; seq += 1) all.push(await begin(recordOf(seq)));
  expect(await waitForEnd(recordOf(101), 30_000, NEVER)).toEqual({ record: recordOf(101), isHonoured: false });
  const ofOther = await begin(recordOf(102, 2));
  expect(ofOther.isOver()).toBe(false);
  client.abort();
  await all[0]?.whole;
  const next = await begin(recordOf(101));
  expect(next.isOver()).toBe(false);
  closing.abort();
  await Promise.all([...all, ofOther, next].map(({ whole }) => whole));
});

test("without waiting requests, commits are not observed and nothing is read", async () => {
  open(true);
  expect(watch.committed).toBeNull();
  const waiting = await begin(recordOf(1));
  expect(watch.committed).not.toBeNull();
  end(recordOf(1));
  await eventually(async () => {
    clock.skip(1000);
    return waiting.isOver();
  }, "the read of a generation that ended on another node");
  expect(polls[0]).toEqual([1]);
  expect(watch.committed).toBeNull();
  const before = polls.length;
  clock.skip(10_000);
  await turn();
  expect(polls.length).toBe(before);
});
