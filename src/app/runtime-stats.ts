// Runtime statistics: generations, actors, memory and event loop lag.

import { heapStats } from "bun:jsc";
import { monitorEventLoopDelay } from "node:perf_hooks";

/** Counters of the components, each in constant time. */
export type Counts = {
  /** Queued and running generations. */
  queued: number;
  running: number;
  /** Actors in memory. */
  live: number;
  deadlines: number;
  /** Generations with pending effects. */
  tasks: number;
  /** Mutations that wait for the ledger. */
  writes: number;
};

export type RuntimeStats = Counts & {
  uptimeS: number;
  rssBytes: number;
  heapBytes: number;
  /** Lag of timers since the previous call in milliseconds; empty on the first call. */
  lagP99Ms: number;
  lagMaxMs: number;
  /** Only after a full collection: live objects of the 25 most frequent types. */
  objects: Record<string, number> | null;
};

export type StatsReader = {
  /** Runs a full garbage collection first, which blocks the event loop briefly, so that the heap shows live data. */
  collect: boolean;
};

/** Sampling interval of the event loop lag. */
const LAG_EVERY_MS = 10;
const TYPES_SHOWN = 25;
const NS_PER_MS = 1e6;

const frequent = (counts: Record<string, number>): Record<string, number> =>
  Object.fromEntries(
    Object.entries(counts)
      .sort(([, a], [, b]) => b - a)
      .slice(0, TYPES_SHOWN),
  );

/** Returns statistics of this process. The event loop is sampled from the first call on. */
export const createRuntimeStats = (counts: () => Counts): ((ask: StatsReader) => RuntimeStats) => {
  let lag: ReturnType<typeof monitorEventLoopDelay> | undefined;
  return ({ collect }) => {
    const lagP99Ms = (lag?.percentile(99) ?? 0) / NS_PER_MS;
    const lagMaxMs = (lag?.max ?? 0) / NS_PER_MS;
    if (collect) Bun.gc(true);
    const stats = collect ? heapStats() : null;
    const { rss, heapUsed } = process.memoryUsage();
    if (!lag) {
      lag = monitorEventLoopDelay({ resolution: LAG_EVERY_MS });
      lag.enable();
    }
    // The lag of the collection was caused by this call.
    lag.reset();
    return {
      ...counts(),
      uptimeS: Math.round(process.uptime()),
      rssBytes: rss,
      heapBytes: stats?.heapSize ?? heapUsed,
      lagP99Ms,
      lagMaxMs,
      objects: stats && frequent(stats.objectTypeCounts),
    };
  };
};
