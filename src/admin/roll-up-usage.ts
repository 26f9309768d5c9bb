// Adds the usage of ended generations to the daily sums, in small mutations.
import type { AdminResult, RollUpUsage } from "../domain/mutations.ts";
import type { StoreReads } from "../store/store.ts";

/** Transfers per mutation: a few milliseconds of the writer thread. */
const TRANSFERS_PER_BATCH = 500;

type RollUpDeps = {
  reads: Pick<StoreReads, "usageBehind">;
  post: (mutation: RollUpUsage) => Promise<AdminResult>;
  /** Yields the ledger to other writes. */
  breathe: () => Promise<void>;
};

/** Adds every generation that has ended by now; later ones belong to the next run. */
export const rollUpUsage = async ({ reads, post, breathe }: RollUpDeps): Promise<void> => {
  for (let behind = await reads.usageBehind(); behind > 0; behind -= TRANSFERS_PER_BATCH) {
    const outcome = await post({ mutation: "roll-up-usage", limit: TRANSFERS_PER_BATCH });
    if (outcome.kind === "refused") throw new Error(`usage rollup failed: ${outcome.reason}`);
    await breathe();
  }
};
