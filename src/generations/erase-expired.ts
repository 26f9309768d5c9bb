// Erases the texts of generations past the retention of their account, in bounded batches.
import type { Clock } from "../domain/clock.ts";
import type { AdminResult, EraseGeneration } from "../domain/mutations.ts";
import type { PromptRetention } from "../domain/types.ts";
import type { Log } from "../logging/events.ts";
import type { StoreReads } from "../store/store.ts";

export type EraseExpiredDeps = {
  reads: Pick<StoreReads, "dueErasures">;
  post: (mutation: EraseGeneration) => Promise<AdminResult>;
  /** The retention of accounts without one of their own. */
  service: PromptRetention;
  clock: Pick<Clock, "nowMs">;
  log: Log;
};

/** Erasures that are posted together, so that they share transactions. */
const BATCH = 50;

/**
 * Creates the function that erases until nothing is due. A stored row says what is erased, so a sweep that ends early is continued
 * by the next one. The files keep their own retention.
 */
export const createEraseExpired = ({ reads, post, service, clock, log }: EraseExpiredDeps): (() => Promise<void>) => {
  const erase = async (seq: number, accountSeq: number): Promise<void> => {
    const outcome = await post({ mutation: "erase-generation", seq, accountSeq, withFiles: false, atMs: clock.nowMs() });
    if (outcome.kind === "refused") throw new Error(`the store refused an erasure: ${outcome.reason}`);
  };
  const sweep = async (): Promise<number> => {
    let count = 0;
    for (let fromAccount = 0; ; ) {
      const { due, nextAccount } = await reads.dueErasures({ nowMs: clock.nowMs(), service, fromAccount, limit: BATCH });
      await Promise.all(due.map(({ seq, accountSeq }) => erase(seq, accountSeq)));
      count += due.length;
      if (due.length === BATCH) continue;
      if (nextAccount === null) return count;
      fromAccount = nextAccount;
    }
  };
  let isSweeping = false;
  return async () => {
    // With many generations, a sweep may take longer than the interval.
    if (isSweeping) return;
    isSweeping = true;
    try {
      const count = await sweep();
      if (count > 0) log("expired texts erased", { count });
    } finally {
      isSweeping = false;
    }
  };
};
