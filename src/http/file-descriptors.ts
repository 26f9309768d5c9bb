// The file descriptors of the process: a reserve that connections cannot take, and a watch that says when they are used up.
import { closeSync, openSync, readFileSync } from "node:fs";
import type { Log } from "../logging/events.ts";

/** How often it is looked at, ms: as long as the accept loop may spin. */
const LOOK_MS = 250;
/** Held back from connections, for files, the database, providers and the processes that read media. */
const RESERVE = 64;
/** Of a small limit the reserve is this part. */
const SHARE = 8;
/** Descriptors of the service besides one for each client and one for the provider of each running generation. */
const BASE = 256;
const NOTHING = "/dev/null";

export type DescriptorWatch = { stop(): void };

/** The limit in the text of `/proc/PID/limits`: the hard one, as the runtime raises the soft one to it; undefined where there is none. */
export const descriptorLimit = (limits: string): number | undefined => {
  const hard = /^Max open files +\S+ +(\d+)/m.exec(limits)?.[1];
  return hard === undefined ? undefined : Number(hard);
};

/** @param process its id; other systems than Linux do not tell. */
export const descriptorLimitOf = (process: number | "self"): number | undefined => {
  try {
    return descriptorLimit(readFileSync(`/proc/${process}/limits`, "utf8"));
  } catch {
    return undefined;
  }
};

/** Why a limit is too low for so many running generations; undefined where it is not, or is not known. */
export const lowDescriptors = (seats: number, limit = descriptorLimitOf("self")): string | undefined => {
  const needed = BASE + 2 * seats;
  if (limit === undefined || limit >= needed) return undefined;
  return `the process may open ${limit} file descriptors; limits.max_running = ${seats} needs ${needed}, one for each client and one for each provider's connection`;
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
 * Holds the reserve and looks whether a descriptor is left beside it. When none is, the reserve is given back, so that what is under way
 * goes on, and `exhausted` has to stop whoever takes more. `recovered` is called when twice the reserve is free again.
 */
export const watchDescriptors = (log: Log, on: { exhausted(): void; recovered(): void }): DescriptorWatch => {
  const limit = descriptorLimitOf("self");
  const size = Math.max(1, Math.min(RESERVE, Math.floor((limit ?? Number.POSITIVE_INFINITY) / SHARE)));
  let reserve = take(size);
  const of = limit === undefined ? "" : ` of ${limit}`;
  const look = () => {
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
      // The port, or a descriptor, cannot be had at this moment: the next look tries again.
      give(reserve);
      reserve = undefined;
    }
  };
  const timer = setInterval(look, LOOK_MS);
  timer.unref();
  return {
    stop: () => {
      clearInterval(timer);
      give(reserve ?? []);
      reserve = [];
    },
  };
};
