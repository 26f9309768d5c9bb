// What is written beside the hot path: when keys were last used, and what generations came to by day.

import type { KeyNetwork } from "../config/cidr-list.ts";
import type { Clock } from "../domain/clock.ts";
import type { Log } from "../logging/events.ts";
import type { AdminResult, Mutation, Principal, ResultOf, RollUpUsage } from "../store/mutations.ts";
import type { StoreReads } from "../store/store.ts";

export type MaintenanceDeps = {
  reads: Pick<StoreReads, "usageBehind" | "unsettledDebts">;
  clock: Pick<Clock, "nowMs">;
  post: <D extends Mutation>(mutation: D) => Promise<ResultOf<D>>;
  keys: {
    unnotedUses: () => [keySeq: number, atMs: number][];
    noted: (uses: readonly (readonly [keySeq: number, atMs: number])[]) => void;
    unnotedNetworks: () => KeyNetwork[];
    networkNoted: (seen: KeyNetwork) => void;
  };
  log: Log;
  /** Lets others have the ledger. */
  breathe: () => Promise<void>;
};
export type Maintenance = {
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

type RollUp = Pick<MaintenanceDeps, "breathe"> & { reads: Pick<StoreReads, "usageBehind"> } & {
  post: (mutation: RollUpUsage) => Promise<AdminResult>;
};

/** Adds up all that has ended by now; what ends meanwhile is the next one's. */
export const rollUpUsage = async ({ reads, post, breathe }: RollUp): Promise<void> => {
  for (let behind = await reads.usageBehind(); behind > 0; behind -= POSTINGS) {
    const outcome = await post({ mutation: "roll-up-usage", limit: POSTINGS });
    if (outcome.kind === "refused") throw new Error(`usage is not rolled up: ${outcome.reason}`);
    await breathe();
  }
};

const BY: Principal = { kind: "service", id: "genrouter", name: "API" };

export const createMaintenance = ({ reads, post, keys, breathe, clock, log }: MaintenanceDeps): Maintenance => {
  let rollingUp: Promise<void> | undefined;
  const rollUp = () => rollUpUsage({ reads, post, breathe });
  const noteUses = async () => {
    const uses = keys.unnotedUses();
    if (uses.length === 0) return;
    const outcome = await post({ mutation: "note-key-use", uses });
    if (outcome.kind === "refused") throw new Error(`the use of keys is not noted: ${outcome.reason}`);
    keys.noted(uses);
  };
  const noteNetworks = async () => {
    for (const seen of keys.unnotedNetworks()) {
      const outcome = await post({ mutation: "note-key-network", ...seen, by: BY, atMs: clock.nowMs() });
      if (outcome.kind === "refused") throw new Error(`where a key is used from is not noted: ${outcome.reason}`);
      keys.networkNoted(seen);
      if (outcome.of !== undefined) log("key used from new network", { key_id: outcome.of, address: seen.address });
    }
  };
  return {
    noteKeyUse: async () => {
      await noteUses();
      await noteNetworks();
    },
    settleDebts: async () => {
      for (const accountSeq of await reads.unsettledDebts(DEBTS))
        await post({ mutation: "settle-debt", accountSeq, atMs: clock.nowMs() });
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
