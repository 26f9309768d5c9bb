// The burst guard of §8: at most so many requests of one account in one second, over all keyed endpoints.
import { refuse } from "../refusal.ts";
import type { Caller } from "../terms.ts";

const WINDOW_MS = 1000;

type Window = { startedAtMs: number; taken: number };

/** How often windows that are long over are dropped. */
const SWEEP_MS = 10_000;

/** Counts in windows of one second that begin with an account's first request. Accounts that rest for long are forgotten. */
export class BurstGuard {
  private readonly windows = new Map<number, Window>();
  private readonly perS: number;
  private sweptAtMs = 0;

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
    if (nowMs - this.sweptAtMs >= SWEEP_MS) this.sweep(nowMs);
    const limit = caller.burstPerS ?? this.perS;
    const window = this.windows.get(caller.accountSeq);
    if (window === undefined) this.windows.set(caller.accountSeq, { startedAtMs: nowMs, taken: 1 });
    else if (nowMs - window.startedAtMs >= WINDOW_MS) {
      window.startedAtMs = nowMs;
      window.taken = 1;
    } else if (window.taken < limit) window.taken += 1;
    else refuse("rate_limited", `More than ${limit} requests in one second; wait one second and send it again.`);
  }

  private sweep(nowMs: number): void {
    this.sweptAtMs = nowMs;
    for (const [accountSeq, { startedAtMs }] of this.windows)
      if (nowMs - startedAtMs >= SWEEP_MS) this.windows.delete(accountSeq);
  }
}
