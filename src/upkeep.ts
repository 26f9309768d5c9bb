// What is written beside the hot path: when keys were last used, and what generations came to by day.
import type { Clock } from "./clock.ts";
import type { Deed, OfficeOutcome, OutcomeOf, RollUpUsageDeed } from "./deeds.ts";
import type { StoreReads } from "./store/store.ts";

export type UpkeepParts = {
  reads: Pick<StoreReads, "usageBehind" | "unsettledDebts">;
  clock: Pick<Clock, "nowMs">;
  post: <D extends Deed>(deed: D) => Promise<OutcomeOf<D>>;
  keys: {
    unnotedUses: () => [keySeq: number, atMs: number][];
    noted: (uses: readonly (readonly [keySeq: number, atMs: number])[]) => void;
  };
  /** Lets others have the ledger. */
  breathe: () => Promise<void>;
};
export type Upkeep = {
  noteKeyUse: () => Promise<void>;
  /** Resolves when all that has ended by now is in the usage. */
  rollUpUsage: () => Promise<void>;
  /** An account that owes has nothing available; a release that did not see to it may have left both, and may still write beside this one. */
  settleDebts: () => Promise<void>;
};

/** Debts settled at a time. */
const DEBTS = 100;
/** Postings added at a time: a few ms of the writing thread, which nobody's submission notices. */
const POSTINGS = 500;

type RollUp = Pick<UpkeepParts, "breathe"> & { reads: Pick<StoreReads, "usageBehind"> } & {
  post: (deed: RollUpUsageDeed) => Promise<OfficeOutcome>;
};

/** Adds up all that has ended by now; what ends meanwhile is the next one's. */
export const rollUpUsage = async ({ reads, post, breathe }: RollUp): Promise<void> => {
  for (let behind = await reads.usageBehind(); behind > 0; behind -= POSTINGS) {
    const outcome = await post({ deed: "roll-up-usage", limit: POSTINGS });
    if (outcome.kind === "refused") throw new Error(`usage is not rolled up: ${outcome.reason}`);
    await breathe();
  }
};

export const openUpkeep = ({ reads, post, keys, breathe, clock }: UpkeepParts): Upkeep => {
  let rollingUp: Promise<void> | undefined;
  const rollUp = () => rollUpUsage({ reads, post, breathe });
  return {
    noteKeyUse: async () => {
      const uses = keys.unnotedUses();
      if (uses.length === 0) return;
      const outcome = await post({ deed: "note-key-use", uses });
      if (outcome.kind === "refused") throw new Error(`the use of keys is not noted: ${outcome.reason}`);
      keys.noted(uses);
    },
    settleDebts: async () => {
      for (const accountSeq of await reads.unsettledDebts(DEBTS))
        await post({ deed: "settle-debt", accountSeq, atMs: clock.nowMs() });
    },
    rollUpUsage: () => {
      // One that is under way may have looked too early for whoever asks now.
      const before = rollingUp;
      const turn = (before ? before.catch(() => undefined).then(rollUp) : rollUp()).finally(() => {
        if (rollingUp === turn) rollingUp = undefined;
      });
      rollingUp = turn;
      return turn;
    },
  };
};
