// Counts mismatched deliveries for each account in memory and reports accounts with a high rate.
import { ClockCache } from "../collections/clock-cache.ts";

/** Minimum mismatches within an hour, and minimum share of completed generations, for a report. */
const AT_LEAST = 5;
const SHARE = 0.2;
const HOUR_MS = 3_600_000;
const ACCOUNTS = 2_000;

type Counted = { fromMs: number; mismatched: number; delivered: number; isReported: boolean };
export type Rate = { mismatched: number; of: number };

/** Counts a delivery. @returns the mismatches and the total of the hour if the account must be reported now. */
export const createMismatchMonitor = () => {
  const accounts = new ClockCache<number, Counted>(ACCOUNTS);
  return (accountSeq: number, came: "mismatched" | "delivered", atMs: number): Rate | undefined => {
    const known = accounts.get(accountSeq);
    // Most accounts have no mismatch and need no entry.
    if (known === undefined && came === "delivered") return undefined;
    const isOfThisHour = known !== undefined && atMs - known.fromMs < HOUR_MS;
    const counted = isOfThisHour ? known : { fromMs: atMs, mismatched: 0, delivered: 0, isReported: false };
    counted[came] += 1;
    accounts.set(accountSeq, counted);
    const of = counted.mismatched + counted.delivered;
    if (counted.isReported || counted.mismatched < AT_LEAST || counted.mismatched < SHARE * of) return undefined;
    counted.isReported = true;
    return { mismatched: counted.mismatched, of };
  };
};
