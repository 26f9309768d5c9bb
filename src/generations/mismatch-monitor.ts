// Accounts whose orders often come as something else: counted in memory over an hour, told once an hour, for whoever watches over abuse.
import { ClockCache } from "../collections/clock-cache.ts";

/** So many within an hour, and such a share of what came to an end, are worth a look. */
const AT_LEAST = 5;
const SHARE = 0.2;
const HOUR_MS = 3_600_000;
const ACCOUNTS = 2_000;

type Counted = { fromMs: number; mismatched: number; delivered: number; isTold: boolean };
export type Rate = { mismatched: number; of: number };

/** Counts what was delivered. @returns of an account that is to be told of now: how many of how many within its hour came as something else. */
export const createMismatchMonitor = () => {
  const accounts = new ClockCache<number, Counted>(ACCOUNTS);
  return (accountSeq: number, came: "mismatched" | "delivered", atMs: number): Rate | undefined => {
    const known = accounts.get(accountSeq);
    // Nearly all accounts never have one: nothing is kept of those.
    if (known === undefined && came === "delivered") return undefined;
    const isOfThisHour = known !== undefined && atMs - known.fromMs < HOUR_MS;
    const counted = isOfThisHour ? known : { fromMs: atMs, mismatched: 0, delivered: 0, isTold: false };
    counted[came] += 1;
    accounts.set(accountSeq, counted);
    const of = counted.mismatched + counted.delivered;
    if (counted.isTold || counted.mismatched < AT_LEAST || counted.mismatched < SHARE * of) return undefined;
    counted.isTold = true;
    return { mismatched: counted.mismatched, of };
  };
};
