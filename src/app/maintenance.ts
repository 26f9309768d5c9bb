// Periodic writes outside the hot path: last use of keys and daily usage.

import { rollUpUsage } from "../admin/roll-up-usage.ts";
import type { Clock } from "../domain/clock.ts";
import { StoreFull } from "../domain/commit-errors.ts";
import type { Mutation, Principal, ResultOf } from "../domain/mutations.ts";
import type { KeyNetwork } from "../domain/types.ts";
import { StorageUnavailable } from "../files/port.ts";
import type { Log } from "../logging/events.ts";
import type { StoreReads } from "../store/store.ts";

export type MaintenanceDeps = {
  reads: Pick<StoreReads, "unsettledDebts">;
  clock: Pick<Clock, "nowMs">;
  post: <D extends Mutation>(mutation: D) => Promise<ResultOf<D>>;
  keys: {
    unnotedUses: () => [keySeq: number, atMs: number][];
    noted: (uses: readonly (readonly [keySeq: number, atMs: number])[]) => void;
    unnotedNetworks: () => KeyNetwork[];
    networkNoted: (seen: KeyNetwork) => void;
  };
  log: Log;
  rollUpUsage: () => Promise<void>;
};
export type Maintenance = {
  noteKeyUse: () => Promise<void>;
  /** Resolves when usage includes every generation that has ended by now. */
  rollUpUsage: () => Promise<void>;
  /** Repays debts from available credits. A node of an older version leaves an account with both, even while this node runs. */
  settleDebts: () => Promise<void>;
};

/** Debts repaid in one run. */
const DEBTS = 100;
const BY: Principal = { kind: "service", id: "genrouter", name: "API" };

/** Logs a failed run; a full disk or an unavailable bucket is reported once by its component, and the next run follows. */
export const logMaintenanceFailure =
  (log: Log) =>
  (fault: unknown): void => {
    if (fault instanceof StoreFull || fault instanceof StorageUnavailable) return;
    log("maintenance failed", { reason: fault instanceof Error ? fault.message : String(fault) });
  };

/** Creates the function that sums usage. A call resolves when usage includes every generation that had ended before it. */
export const createUsageRollUp = (deps: Parameters<typeof rollUpUsage>[0]): (() => Promise<void>) => {
  let rollingUp: Promise<void> | undefined;
  const rollUp = () => rollUpUsage(deps);
  return () => {
    // A running pass may have started too early for this caller.
    const before = rollingUp;
    const turn = (before ? before.catch(() => undefined).then(rollUp) : rollUp()).finally(() => {
      if (rollingUp === turn) rollingUp = undefined;
    });
    rollingUp = turn;
    return turn;
  };
};

export const createMaintenance = ({ reads, post, keys, clock, log, rollUpUsage: rollUp }: MaintenanceDeps): Maintenance => {
  const noteUses = async () => {
    const uses = keys.unnotedUses();
    if (uses.length === 0) return;
    const outcome = await post({ mutation: "note-key-use", uses });
    if (outcome.kind === "refused") throw new Error(`recording the use of keys failed: ${outcome.reason}`);
    keys.noted(uses);
  };
  const noteNetworks = async () => {
    for (const seen of keys.unnotedNetworks()) {
      const outcome = await post({ mutation: "note-key-network", ...seen, by: BY, atMs: clock.nowMs() });
      if (outcome.kind === "refused") throw new Error(`recording the network of a key failed: ${outcome.reason}`);
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
    rollUpUsage: rollUp,
  };
};
