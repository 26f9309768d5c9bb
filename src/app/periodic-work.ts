// Periodic work of a running service: heartbeats, nightly backups, deletion of files, maintenance and purchases.
import type { Nightly } from "../backup/nightly.ts";
import type { Clock } from "../domain/clock.ts";
import type { Log } from "../logging/events.ts";
import { createClockMonitor } from "./clock-monitor.ts";
import { type Component, type ComponentList, createComponentList } from "./component-list.ts";
import { logMaintenanceFailure } from "./maintenance.ts";
import type { Components } from "./service-types.ts";

/** Interval of heartbeats, so that time never runs backwards across a restart. */
const BEAT_MS = 10_000;
/** Interval at which key uses are stored and usage is rolled up. */
const UPKEEP_MS = 60_000;
/** Maximum time that a file outlives its retention. */
const SWEEP_MS = 60_000;
/** Maximum time that former versions of erased rows stay in a shared store, while no long transaction holds them. */
const VACUUM_MS = 600_000;
/** Interval at which webhook deliveries of ended nodes are taken over. */
const TAKE_OVER_MS = 10_000;
/** Interval at which pending purchases are queried. */
const ROUNDS_MS = 300_000;

type Work = () => Promise<void>;

/** Calls `work` periodically while it runs. A failed run is reported, and the next one follows. */
const repeated = (clock: Clock, failed: (fault: unknown) => void, name: string, everyMs: number, work: Work): Component => {
  let takeBack: () => void = () => undefined;
  const arm = () => {
    takeBack = clock.after(everyMs, () => {
      arm();
      work().catch(failed);
    });
  };
  return { name, start: arm, stop: () => takeBack() };
};

export type PeriodicWorkDeps = {
  clock: Clock;
  log: Log;
  nightly: Nightly;
  components: Pick<
    Components,
    "post" | "sweep" | "eraseExpired" | "learnRetentions" | "vacuumErased" | "upkeep" | "checkout" | "leaseKeeper" | "webhooks"
  >;
};
export type PeriodicWork = Pick<ComponentList, "start" | "stop"> & {
  /** Started with the other work; a drain stops it, because its end can take a while. */
  nightly: Nightly;
};

const createHeartbeat = ({ clock, log, components }: PeriodicWorkDeps): Work => {
  const watchClock = createClockMonitor(log);
  return async () => {
    watchClock(clock.aheadMs?.() ?? 0);
    await components.post({ mutation: "beat", atMs: clock.nowMs() });
  };
};

export const createPeriodicWork = (deps: PeriodicWorkDeps): PeriodicWork => {
  const { clock, log, components, nightly } = deps;
  const { sweep, eraseExpired, learnRetentions, vacuumErased, upkeep, checkout, leaseKeeper, webhooks } = components;
  const failed = logMaintenanceFailure(log);
  const list = createComponentList();
  const add = (name: string, everyMs: number, work: Work) => list.add(repeated(clock, failed, name, everyMs, work));
  add("heartbeats", BEAT_MS, createHeartbeat(deps));
  list.add({ name: "nightly backups", start: nightly.start, stop: () => nightly.stop(0) });
  add("deletion of files", SWEEP_MS, sweep);
  add("erasure of texts", SWEEP_MS, async () => {
    await ((leaseKeeper?.isFirst() ?? true) ? eraseExpired() : learnRetentions());
  });
  if (leaseKeeper) add("vacuum after erasures", VACUUM_MS, vacuumErased);
  add("maintenance", UPKEEP_MS, async () => {
    await upkeep.noteKeyUse();
    await upkeep.rollUpUsage();
    await upkeep.settleDebts();
  });
  if (leaseKeeper) add("webhooks of other nodes", TAKE_OVER_MS, webhooks.takeOver);
  add("retention of webhooks", UPKEEP_MS, async () => {
    if (leaseKeeper?.isFirst() ?? true) await webhooks.sweep();
  });
  /** One node of a cluster does this for all. */
  const reconcilePurchases = async () => {
    if (leaseKeeper?.isFirst() ?? true) await checkout.rounds();
  };
  add("pending purchases", ROUNDS_MS, reconcilePurchases);
  // Payments during the downtime are queried immediately in the background.
  list.add({ name: "purchases of the downtime", start: () => void reconcilePurchases().catch(failed) });
  return { start: list.start, stop: list.stop, nightly };
};
