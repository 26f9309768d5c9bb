// Request counter: a histogram of HTTP requests in plain arrays.
//
// Most requests are polls, which take hardly more time than a counter may.
import { REQUEST_BUCKETS } from "./metrics.ts";

/** Methods with a label value of their own; OpenTelemetry's conventions use `_OTHER` for the rest. */
const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
const OTHER_METHOD = "_OTHER";

/**
 * Requests of one endpoint, method and status. `buckets[i]` counts the requests above bound i−1 and within bound i; the last
 * counts those above all bounds.
 */
export type Tally = { method: string; route: string; status: number; buckets: Float64Array; sumS: number; count: number };

/** Counts one response of an endpoint. */
export type CountRequest = (method: string, status: number, ms: number) => void;

export type Requests = {
  /** Called once for each endpoint, never per request. */
  of(route: string): CountRequest;
  tallies(): readonly Tally[];
};

const LAST = REQUEST_BUCKETS.length;

export const createRequests = (): Requests => {
  const all: Tally[] = [];
  const tallyOf = (method: string, route: string, status: number): Tally => {
    const known = all.find((one) => one.method === method && one.route === route && one.status === status);
    if (known) return known;
    const tally = { method, route, status, buckets: new Float64Array(LAST + 1), sumS: 0, count: 0 };
    all.push(tally);
    return tally;
  };
  return {
    of: (route) => {
      // By status, then by method: statuses below 600 index an array, and an endpoint has two methods.
      const known: (Map<string, Tally> | undefined)[] = [];
      const meet = (method: string, status: number): Tally => {
        const isKnown = METHODS.has(method);
        const tally = tallyOf(isKnown ? method : OTHER_METHOD, route, status);
        const byMethod = known[status] ?? new Map<string, Tally>();
        known[status] = byMethod;
        if (isKnown) byMethod.set(method, tally);
        return tally;
      };
      return (method, status, ms) => {
        const tally = known[status]?.get(method) ?? meet(method, status);
        const s = ms / 1000;
        let at = 0;
        while (at < LAST && s > (REQUEST_BUCKETS[at] ?? 0)) at += 1;
        tally.buckets[at] = (tally.buckets[at] ?? 0) + 1;
        tally.sumS += s;
        tally.count += 1;
      };
    },
    tallies: () => all,
  };
};
