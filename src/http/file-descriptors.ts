// Reserves file descriptors that connections cannot take and detects when they are exhausted.
import { closeSync, openSync, readFileSync } from "node:fs";
import type { Log } from "../logging/events.ts";

/** Interval of the check, ms. It bounds how long the accept loop can spin. */
const POLL_MS = 250;
/** Descriptors reserved for files, the database, providers and the processes that read media. */
const RESERVE = 64;
/** If the limit is small, the reserve is this fraction (one SHARE-th) of it. */
const SHARE = 8;
/** Descriptors that the service needs besides one per client and one per running generation for its provider. */
const BASE = 256;
const NOTHING = "/dev/null";

export type DescriptorWatch = { stop(): void };

/**
 * Limit in the text of `/proc/PID/limits`; undefined if absent. The hard limit counts, because the runtime raises the soft limit
 * to it.
 */
export const descriptorLimit = (limits: string): number | undefined => {
  const hard = /^Max open files +\S+ +(\d+)/m.exec(limits)?.[1];
  return hard === undefined ? undefined : Number(hard);
};

/** @param process its id. Returns undefined on systems other than Linux. */
export const descriptorLimitOf = (process: number | "self"): number | undefined => {
  try {
    return descriptorLimit(readFileSync(`/proc/${process}/limits`, "utf8"));
  } catch {
    return undefined;
  }
};

/** Explains why a limit is too low for the number of running generations; undefined if it is sufficient or unknown. */
export const lowDescriptors = (running: number, limit = descriptorLimitOf("self")): string | undefined => {
  const needed = BASE + 2 * running;
  if (limit === undefined || limit >= needed) return undefined;
  return `the process may open ${limit} file descriptors; limits.max_running = ${running} needs ${needed}, one for each client and one for each provider's connection`;
};

const take = (count: number): number[] | undefined => {
  const taken: number[] = [];
  try {
    while (taken.length < count) taken.push(openSync(NOTHING, "r"));
    return taken;
  } catch {
    give(taken);
    return undefined;
  }
};
const give = (taken: readonly number[]): void => {
  for (const each of taken) closeSync(each);
};

/**
 * Holds the reserve and checks whether a further descriptor can be opened. If none can be opened, releases the reserve for the
 * running work and calls `exhausted`, which must stop accepting connections. Calls `recovered` when twice the reserve is free
 * again.
 */
export const watchDescriptors = (log: Log, on: { exhausted(): void; recovered(): void }): DescriptorWatch => {
  const limit = descriptorLimitOf("self");
  const size = Math.max(1, Math.min(RESERVE, Math.floor((limit ?? Number.POSITIVE_INFINITY) / SHARE)));
  let reserve = take(size);
  const of = limit === undefined ? "" : ` of ${limit}`;
  const sample = () => {
    if (reserve) {
      const spare = take(1);
      if (spare) return give(spare);
      give(reserve);
      reserve = undefined;
      log("file descriptors exhausted", {
        ...(limit === undefined ? {} : { count: limit }),
        reason: `no file descriptor${of} is left for connections: new ones are refused until some are closed; raise ulimit -n (LimitNOFILE)`,
      });
      return on.exhausted();
    }
    const free = take(2 * size);
    if (!free) return;
    reserve = free.splice(0, size);
    give(free);
    try {
      on.recovered();
      log("file descriptors recovered", { reason: "connections are accepted again" });
    } catch {
      // The port or a descriptor is not available now; the next check tries again.
      give(reserve);
      reserve = undefined;
    }
  };
  const timer = setInterval(sample, POLL_MS);
  timer.unref();
  return {
    stop: () => {
      clearInterval(timer);
      give(reserve ?? []);
      reserve = [];
    },
  };
};
