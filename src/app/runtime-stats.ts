// What a running service says of its own inside: generations and machines, memory, and how late its event loop is.

import { heapStats } from "bun:jsc";
import { monitorEventLoopDelay } from "node:perf_hooks";

/** What the rooms count, each in constant time. */
export type Counts = {
  /** Generations without a seat, and those that run. */
  queued: number;
  running: number;
  /** Machines in memory. */
  awake: number;
  deadlines: number;
  /** Generations that something is being done for outside. */
  tasks: number;
  /** Writes that wait for the ledger. */
  writes: number;
};

export type RuntimeStats = Counts & {
  uptimeS: number;
  rssBytes: number;
  heapBytes: number;
  /** How late timers fired since the question before, ms; nothing before the first question. */
  lagP99Ms: number;
  lagMaxMs: number;
  /** Only after a full collection: the objects that are alive, the 25 most frequent types. */
  objects: Record<string, number> | null;
};

export type StatsReader = {
  /** Collects all garbage first, which holds everything up for a moment: then the heap is what is really kept. */
  collect: boolean;
};

/** How often the delay of the event loop is taken. */
const LAG_EVERY_MS = 10;
const TYPES_SHOWN = 25;
const NS_PER_MS = 1e6;

const frequent = (counts: Record<string, number>): Record<string, number> =>
  Object.fromEntries(
    Object.entries(counts)
      .sort(([, a], [, b]) => b - a)
      .slice(0, TYPES_SHOWN),
  );

/** Answers questions about this process. The event loop is watched from the first question on, so that nobody pays who never asks. */
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
    // What the collection took is this question's own doing.
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
