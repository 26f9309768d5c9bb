// Nodes of a simulated world: one with its own disk, or several with a shared database.
//
// It also schedules the faults of shared nodes.
import type { StoreReads } from "../../store/store.ts";
import type { Faults } from "./faults.ts";
import { createNode } from "./node.ts";
import type { Node, NodeEnvironment } from "./node-environment.ts";
import { createOwnershipOracle, type OwnershipOracle } from "./ownership-oracle.ts";
import type { Rng } from "./rng.ts";
import { createSharedDatabase, type SharedDatabase } from "./shared-database.ts";

/** This share of the worlds has several nodes, unless the number is given. */
const SHARED_WORLDS = 0.15;
const MINUTE_MS = 60_000;
/** Lease lengths of worlds: short ones, which expire more often, and that of the service. */
const LEASES_MS = [5_000, 10_000, 30_000] as const;
/** A node that does not start with the world joins within this time. */
const LATEST_JOIN_MS = 3 * MINUTE_MS;
/** Time between the restarts of two nodes. */
const ROLLING_MS = 20_000;

export type Fleet = {
  nodes: readonly Node[];
  /** Null: one node with its own disk. */
  shared: SharedDatabase | null;
  leaseMs: number;
  /** True time since which all nodes are open and without faults; infinite if they are not. */
  wellSinceMs(): number;
  boot(): void;
  figures(): Record<string, number>;
};

/** The number of nodes of a seed; a given number has precedence. */
export const drawNodes = (dice: Rng, requested: number | undefined): number => {
  const drawn = dice.chance(SHARED_WORLDS) ? dice.whole(2, 3) : 1;
  return requested ?? drawn;
};

/** The faults of one node among several. True time. */
type Trouble = { cutUntilMs: number; deafUntilMs: number; fullUntilMs: number };
/** How long the store is unavailable, s; usually shorter than a process waits for it. */
const OUTAGE_S = [1, 12, 12, 12, 12, 60, 600] as const;

/** Duration of a fault that affects leases: usually about one lease, sometimes much longer. */
const spellMs = (dice: Rng, leaseMs: number): number =>
  dice.chance(0.8) ? dice.between(0.3, 4) * leaseMs : dice.between(1, 6) * MINUTE_MS;

export const createCluster = (of: {
  count: number;
  dice: Rng;
  environment: Omit<NodeEnvironment, "shared" | "book">;
  reads: StoreReads;
  faults: () => Faults;
}): Fleet => {
  const { count, dice, environment, faults } = of;
  const { world, trace, fault } = environment;
  if (count === 1) {
    const node = createNode("n1", { ...environment, shared: null });
    const wellSinceMs = () => (node.engine() ? node.openSinceMs() : Number.POSITIVE_INFINITY);
    return { nodes: [node], shared: null, leaseMs: 0, wellSinceMs, boot: () => node.boot(), figures: () => ({}) };
  }

  const leaseMs = dice.pick(LEASES_MS);
  const oracle: OwnershipOracle = createOwnershipOracle(fault);
  const shared = createSharedDatabase({ database: environment.database, reads: of.reads, world, ownership: oracle });
  const counts = { partitions: 0, zombies: 0, takeOvers: 0 };
  const troubles: Trouble[] = Array.from({ length: count }, () => ({ cutUntilMs: 0, deafUntilMs: 0, fullUntilMs: 0 }));
  const outages = dice.fork("outages");
  /** Longer than the lease, because a shorter stop has no effect. */
  const stopMs = (own: Rng) => {
    counts.zombies += 1;
    return own.chance(0.85) ? own.between(0.8, 4) * leaseMs : own.between(1, 10) * MINUTE_MS;
  };
  const nodes = troubles.map((trouble, at) => {
    const own = dice.fork(`trouble ${at}`);
    return createNode(`n${at + 1}`, {
      ...environment,
      shared: {
        ...{ database: shared, ownership: oracle, leaseMs },
        cutUntilMs: () => trouble.cutUntilMs,
        deafUntilMs: () => trouble.deafUntilMs,
        /** The store becomes unavailable shortly before a provider responds. */
        answers: (ms) => {
          const likelier = ms > 0 ? 3 : 1;
          if (!outages.chance(likelier * faults().storeOutage)) return;
          world.after(outages.between(0.6, 1) * ms + outages.pick([20, 400]) * outages.roll(), interruptStore);
        },
        isSpoolFull: () => world.nowMs() < trouble.fullUntilMs,
        tookOver: (generations) => {
          counts.takeOvers += generations;
        },
        stops: (times) => (own.chance(times * faults().zombieStep) ? stopMs(own) : 0),
        skew: () => {
          if (!own.chance(faults().clockSkew)) return { offsetMs: 0, rate: 1 };
          return { offsetMs: own.between(-5, 5) * MINUTE_MS * own.roll(), rate: 1 + own.between(-0.02, 0.02) };
        },
      },
    });
  });

  const onReport = (at: number, what: string, ms: number) => trace.report(`n${at + 1}`, what, "", `${(ms / 1000).toFixed(1)} s`);
  const befall = (at: number): void => {
    const trouble = troubles[at];
    if (!trouble) return;
    const ms = spellMs(dice, leaseMs);
    if (dice.chance(faults().partition)) {
      counts.partitions += 1;
      trouble.cutUntilMs = Math.ceil(world.nowMs() + ms);
      onReport(at, "cut off", ms);
    }
    if (dice.chance(faults().deafLease)) {
      trouble.deafUntilMs = Math.ceil(world.nowMs() + ms);
      onReport(at, "lease unheard", ms);
    }
    if (dice.chance(faults().zombie)) {
      const stoppedMs = stopMs(dice);
      nodes[at]?.life()?.freeze(stoppedMs);
      onReport(at, "stopped", stoppedMs);
    }
    if (outages.chance(faults().spoolFull)) {
      const fullMs = outages.between(1, 120) * 1000;
      trouble.fullUntilMs = world.nowMs() + fullMs;
      onReport(at, "spool full", fullMs);
    }
  };
  /** Cuts off all nodes at once. Sometimes the disk of a node is full at the same time. */
  const interruptStore = () => {
    const outageS = outages.pick(OUTAGE_S);
    for (const trouble of troubles) {
      trouble.cutUntilMs = Math.max(trouble.cutUntilMs, world.nowMs() + outageS * 1000);
      if (outages.chance(3 * faults().spoolFull)) trouble.fullUntilMs = world.nowMs() + outageS * 1000 * outages.roll();
    }
    environment.situations.count(`storeOutage${outageS}`);
    trace.report("store", "unavailable", "", `${outageS} s`);
  };
  const storeEveryMinute = () => {
    if (outages.chance(faults().storeOutage)) interruptStore();
    world.after(MINUTE_MS * outages.between(0.5, 1.5), storeEveryMinute);
  };
  const everyMinute = (at: number) => () => {
    befall(at);
    world.after(MINUTE_MS * dice.between(0.5, 1.5), everyMinute(at));
  };
  const rollOn = () => {
    if (dice.chance(faults().rollingRestart)) nodes.forEach((node, at) => void world.after(at * ROLLING_MS, () => node.retire()));
    world.after(10 * MINUTE_MS * dice.between(0.2, 1), rollOn);
  };

  return {
    ...{ nodes, shared, leaseMs },
    wellSinceMs: () =>
      Math.max(
        ...nodes.map((node) => (node.engine() ? node.openSinceMs() : Number.POSITIVE_INFINITY)),
        ...nodes.map((node) => node.life()?.frozenUntilMs() ?? 0),
        ...troubles.flatMap(({ cutUntilMs, deafUntilMs }) => [cutUntilMs, deafUntilMs]),
      ),
    boot: () => {
      nodes.forEach((node, at) => {
        const isLate = at > 0 && dice.chance(0.3);
        if (isLate) world.after(dice.between(0, LATEST_JOIN_MS), () => node.boot());
        else node.boot();
        world.after(dice.between(0, MINUTE_MS), everyMinute(at));
      });
      world.after(10 * MINUTE_MS * dice.roll(), rollOn);
      world.after(MINUTE_MS * outages.roll(), storeEveryMinute);
    },
    figures: () => ({ sharedWorlds: 1, ...counts, ...oracle.figures() }),
  };
};
