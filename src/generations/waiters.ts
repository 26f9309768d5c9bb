// Requests that wait until a generation has ended. Without waiting requests, a commit costs one check and no query is sent.
//
// A waiting request is one entry of a map. The commit that ends the generation wakes it. If other nodes share the store, one query
// a second reads which of the awaited generations have ended there.
import type { Clock } from "../domain/clock.ts";
import type { GenerationRecord } from "../domain/types.ts";
import type { StoreReads } from "../store/store.ts";
import type { CommitListener } from "./post-commit.ts";

export type WaitersDeps = {
  watch: CommitListener;
  reads: Pick<StoreReads, "generationById" | "endedAmong">;
  clock: Clock;
  /** Aborted when the service drains: all waiting requests are answered. */
  closing: AbortSignal;
  /** Other nodes may end a generation. */
  isShared: boolean;
};

/** `isHonoured` is false if the request did not wait because of a limit or a drain. */
export type Waited = { record: GenerationRecord; isHonoured: boolean };
/** Waits for the end of a generation, at most `waitMs`. A disconnected client frees its place. @returns the latest record */
export type WaitForEnd = (record: GenerationRecord, waitMs: number, signal: AbortSignal) => Promise<Waited>;

const MAX_WAITERS_OF_ACCOUNT = 100;
const REMOTE_POLL_MS = 1000;

const hasEnded = ({ completedAtMs }: GenerationRecord): boolean => completedAtMs !== null;

export const createWaiters = (deps: WaitersDeps): WaitForEnd => {
  const { watch, reads, clock, closing } = deps;
  /** The functions that wake the waiting requests, by generation. */
  const waiting = new Map<number, Set<() => void>>();
  const ofAccount = new Map<number, number>();
  let isPolling = false;

  const wake = (seq: number): void => {
    for (const end of [...(waiting.get(seq) ?? [])]) end();
  };
  const onCommit: NonNullable<CommitListener["committed"]> = (_mutation, outcome) => {
    if (outcome.kind === "stepped" && hasEnded(outcome.record)) wake(outcome.record.seq);
  };
  /** Reads which generations have ended on other nodes, as long as requests wait. */
  const pollWhileWaiting = async (): Promise<void> => {
    isPolling = true;
    while (waiting.size > 0) {
      await new Promise<void>((next) => clock.after(REMOTE_POLL_MS, next));
      // A failed read is repeated after a second; the waiting requests end at their own time in any case.
      const ended = await reads.endedAmong([...waiting.keys()]).catch(() => []);
      for (const seq of ended) wake(seq);
    }
    isPolling = false;
  };
  const enter = (seq: number, accountSeq: number, end: () => void): void => {
    waiting.set(seq, (waiting.get(seq) ?? new Set()).add(end));
    ofAccount.set(accountSeq, (ofAccount.get(accountSeq) ?? 0) + 1);
    watch.committed = onCommit;
    if (deps.isShared && !isPolling) void pollWhileWaiting();
  };
  const leave = (seq: number, accountSeq: number, end: () => void): void => {
    const others = waiting.get(seq);
    others?.delete(end);
    if (others?.size === 0) waiting.delete(seq);
    const left = (ofAccount.get(accountSeq) ?? 1) - 1;
    if (left > 0) ofAccount.set(accountSeq, left);
    else ofAccount.delete(accountSeq);
    if (waiting.size === 0) watch.committed = null;
  };
  closing.addEventListener("abort", () => {
    for (const seq of [...waiting.keys()]) wake(seq);
  });

  return async (record, waitMs, signal) => {
    const { seq, id, accountSeq } = record;
    const latest = async (): Promise<GenerationRecord> => (await reads.generationById(id, accountSeq)) ?? record;
    if (hasEnded(record) || waitMs === 0) return { record, isHonoured: true };
    if (closing.aborted || (ofAccount.get(accountSeq) ?? 0) >= MAX_WAITERS_OF_ACCOUNT) return { record, isHonoured: false };
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const end = () => resolve();
    enter(seq, accountSeq, end);
    const cancelTimer = clock.after(waitMs, end);
    signal.addEventListener("abort", end);
    try {
      // Read after the entry, so that an end that was committed before it is seen.
      if (!signal.aborted && !hasEnded(await latest())) await ended;
      return { record: await latest(), isHonoured: !closing.aborted };
    } finally {
      cancelTimer();
      signal.removeEventListener("abort", end);
      leave(seq, accountSeq, end);
    }
  };
};
