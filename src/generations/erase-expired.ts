// Erases the texts of generations past the retention of their account: in bounded batches, and at the end where it is 0.
import type { Clock } from "../domain/clock.ts";
import type { AdminResult, EraseGeneration } from "../domain/mutations.ts";
import type { PromptRetention } from "../domain/types.ts";
import type { Log } from "../logging/events.ts";
import type { StoreReads } from "../store/store.ts";
import type { CommitListener, PostCommit } from "./post-commit.ts";

export type EraseExpiredDeps = {
  reads: Pick<StoreReads, "dueErasures" | "accountsErasedAtEnd">;
  post: (mutation: EraseGeneration) => Promise<AdminResult>;
  /** The retention of accounts without one of their own. */
  service: PromptRetention;
  clock: Pick<Clock, "nowMs">;
  log: Log;
  watch: CommitListener;
  soon: (then: () => void) => void;
};

/** Erasures that are posted together, so that they share transactions. */
const BATCH = 50;

/** What erases the texts of accounts whose row numbers are in a range. @returns the number of erased generations */
const createEraseOf = ({ reads, post, service, clock, log }: EraseExpiredDeps) => {
  const erase = async (seq: number, accountSeq: number): Promise<number> => {
    const outcome = await post({ mutation: "erase-generation", seq, accountSeq, withFiles: false, atMs: clock.nowMs() });
    if (outcome.kind === "refused") throw new Error(`the store refused an erasure: ${outcome.reason}`);
    return outcome.count ?? 0;
  };
  return async (accounts: { fromAccount: number; untilAccount?: number }): Promise<void> => {
    let count = 0;
    try {
      for (let next: number | null = accounts.fromAccount; next !== null; ) {
        const query = { ...accounts, nowMs: clock.nowMs(), service, fromAccount: next, limit: BATCH };
        const { due, nextAccount }: Awaited<ReturnType<StoreReads["dueErasures"]>> = await reads.dueErasures(query);
        for (const erased of await Promise.all(due.map(({ seq, accountSeq }) => erase(seq, accountSeq)))) count += erased;
        if (due.length < BATCH) next = nextAccount;
      }
    } finally {
      if (count > 0) log("expired texts erased", { count });
    }
  };
};

export type EraseExpired = {
  /** Erases until nothing is due, and reads which accounts have a retention of 0. */
  sweep: () => Promise<void>;
  /** Reads which accounts have a retention of 0; their texts are erased at the end of each generation from then on. */
  refresh: () => Promise<void>;
};

/**
 * Creates what erases by retention. A stored row says what is erased, so an erasure that failed, or a sweep that ended early, is
 * continued by the next sweep. The files keep their own retention.
 */
export const createEraseExpired = (deps: EraseExpiredDeps): EraseExpired => {
  const { reads, service, watch, soon } = deps;
  const eraseOf = createEraseOf(deps);
  let atEnd: ReadonlySet<number> = new Set();
  const waiting = new Set<number>();
  let isSweeping = false;

  const onCommit: PostCommit = (mutation, outcome) => {
    if (mutation.mutation !== "step" || outcome.kind !== "stepped") return;
    const { accountSeq, completedAtMs } = outcome.record;
    if (completedAtMs === null || (service !== 0 && !atEnd.has(accountSeq)) || waiting.has(accountSeq)) return;
    // The ends of one commit are erased together.
    waiting.add(accountSeq);
    soon(() => {
      waiting.delete(accountSeq);
      eraseOf({ fromAccount: accountSeq, untilAccount: accountSeq }).catch(() => undefined);
    });
  };
  const refresh = async (): Promise<void> => {
    atEnd = new Set(await reads.accountsErasedAtEnd());
    watch.committed = service === 0 || atEnd.size > 0 ? onCommit : null;
  };
  return {
    refresh,
    sweep: async () => {
      // With many generations, a sweep may take longer than the interval.
      if (isSweeping) return;
      isSweeping = true;
      try {
        await refresh();
        await eraseOf({ fromAccount: 0 });
      } finally {
        isSweeping = false;
      }
    },
  };
};
