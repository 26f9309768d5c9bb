// The burst guard of §8: at most so many requests of one account in one second, over all keyed endpoints.
import { refuse } from "../refusal.ts";
import type { Caller } from "../terms.ts";

const WINDOW_MS = 1000;

type Window = { startedAtMs: number; taken: number };

/**
 * Counts in windows of one second that begin with an account's first request. A new window moves its account to the end
 * of the map, so those that are over stand at the front and are dropped there: only accounts seen in the last second
 * are remembered, whatever comes.
 */
export class BurstGuard {
  private readonly windows = new Map<number, Window>();
  private readonly perS: number;

  /** @param perS requests per second of accounts without a limit of their own. */
  constructor(perS: number) {
    this.perS = perS;
  }

  /** Accounts remembered at the moment. */
  get size(): number {
    return this.windows.size;
  }

  /** Counts one request. @throws Refusal `rate_limited` when the account has had its second's share. */
  take(caller: Caller, nowMs: number): void {
    const limit = caller.burstPerS ?? this.perS;
    const window = this.windows.get(caller.accountSeq);
    if (window !== undefined && nowMs - window.startedAtMs < WINDOW_MS) {
      if (window.taken >= limit)
        refuse("rate_limited", `More than ${limit} requests in one second; wait one second and send it again.`);
      window.taken += 1;
      return;
    }
    this.windows.delete(caller.accountSeq);
    this.dropFinished(nowMs);
    this.windows.set(caller.accountSeq, { startedAtMs: nowMs, taken: 1 });
  }

  private dropFinished(nowMs: number): void {
    for (const [accountSeq, window] of this.windows) {
      if (nowMs - window.startedAtMs < WINDOW_MS) return;
      this.windows.delete(accountSeq);
    }
  }
}
