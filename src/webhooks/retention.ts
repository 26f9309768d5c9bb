// Retention of webhook deliveries: deletes old ones with their tries until none is left.
import type { Clock } from "../domain/clock.ts";
import { leastSeqAt } from "../domain/ids.ts";
import type { Mutation, ResultOf } from "../domain/mutations.ts";

export type RetentionDeps = {
  clock: Clock;
  post: <D extends Mutation>(mutation: D) => Promise<ResultOf<D>>;
};

export type Retention = {
  /** Resolves when no old delivery is left. A call during a sweep waits for that one. */
  sweep(): Promise<void>;
  stop(): void;
};

/** Retention of deliveries and their tries. */
const KEPT_MS = 30 * 86_400_000;
/**
 * Deliveries of one transaction, and the pause after it. A transaction takes about 15 ms of the writer, so submissions and settlements
 * wait no longer, and several thousand deliveries a second are deleted.
 */
const LIMIT = 200;
const PAUSE_MS = 20;

export const createRetention = ({ clock, post }: RetentionDeps): Retention => {
  let sweeping: Promise<void> | undefined;
  let isStopped = false;
  let wake = (): void => undefined;

  const pause = (): Promise<void> =>
    new Promise((over) => {
      const takeBack = clock.after(PAUSE_MS, over);
      wake = () => {
        takeBack();
        over();
      };
    });
  const sweepAll = async (): Promise<void> => {
    const beforeSeq = leastSeqAt(clock.nowMs() - KEPT_MS);
    while (!isStopped) {
      const outcome = await post({ mutation: "sweep-webhooks", beforeSeq, limit: LIMIT });
      if (outcome.kind !== "done" || (outcome.count ?? 0) < LIMIT) return;
      await pause();
    }
  };

  return {
    sweep: () => {
      sweeping ??= sweepAll().finally(() => {
        sweeping = undefined;
      });
      return sweeping;
    },
    stop: () => {
      isStopped = true;
      wake();
    },
  };
};
