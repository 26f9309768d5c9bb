// Enforces the burst limit of §8: requests per account and second, across all nodes.
//
// It counts requests to all keyed endpoints.
import { refuse } from "../domain/api-errors.ts";
import type { Caller } from "../domain/types.ts";

const WINDOW_MS = 1000;

/** `isSpent`: the part of this second that the nodes share is used up. */
type Window = { startedAtMs: number; taken: number; isSpent: boolean };

/** The limit that the nodes of a cluster share. */
export type SharedRateLimit = {
  /** Number of live nodes. */
  nodes: () => number;
  /** Takes one of `most` shared requests of an account in a second. @returns true if one was left. */
  take: (accountSeq: number, second: number, most: number) => Promise<boolean>;
};

/** Interval at which expired windows are dropped. */
const SWEEP_MS = 10_000;

/** Fraction of its share of a second that each node counts locally. All further requests are counted in the store one by one. */
const OWN_PART = 0.5;

/**
 * Counts requests in windows of one second. A window starts with the first request of an account; shared windows start with the
 * full second. Windows that have not been used for SWEEP_MS are dropped.
 */
export class RateLimiter {
  private readonly windows = new Map<number, Window>();
  private readonly perS: number;
  private readonly shared: SharedRateLimit | null;
  private sweptAtMs = 0;

  /** @param perS requests per second for accounts without their own limit. */
  constructor(perS: number, shared: SharedRateLimit | null = null) {
    this.perS = perS;
    this.shared = shared;
  }

  /** Number of accounts with a window. */
  get size(): number {
    return this.windows.size;
  }

  /**
   * Counts one request; most pass synchronously. @throws ApiError `rate_limited` when the account has used its share of the
   * second, either synchronously or as rejection of the promise.
   */
  take(caller: Caller, nowMs: number): void | Promise<void> {
    if (nowMs - this.sweptAtMs >= SWEEP_MS) this.sweep(nowMs);
    const limit = caller.burstPerS ?? this.perS;
    const nodes = this.shared?.nodes() ?? 1;
    const beginsAtMs = nodes === 1 ? nowMs : Math.floor(nowMs / WINDOW_MS) * WINDOW_MS;
    const window = this.windowOf(caller.accountSeq, nowMs, beginsAtMs);
    if (window.taken >= limit || window.isSpent) return tooMany(limit);
    window.taken += 1;
    if (this.shared === null || nodes === 1) return;
    const own = Math.floor((limit / nodes) * OWN_PART);
    if (window.taken > own) return this.request(this.shared, caller.accountSeq, window, { limit, most: limit - own * nodes });
  }

  private windowOf(accountSeq: number, nowMs: number, beginsAtMs: number): Window {
    const found = this.windows.get(accountSeq);
    if (found !== undefined && nowMs - found.startedAtMs < WINDOW_MS) return found;
    const window = found ?? { startedAtMs: 0, taken: 0, isSpent: false };
    if (found === undefined) this.windows.set(accountSeq, window);
    window.startedAtMs = beginsAtMs;
    window.taken = 0;
    window.isSpent = false;
    return window;
  }

  /** If the store does not answer, the request passes and the count of this node alone applies. */
  private async request(
    shared: SharedRateLimit,
    accountSeq: number,
    window: Window,
    { limit, most }: { limit: number; most: number },
  ) {
    const { startedAtMs } = window;
    const second = Math.floor(startedAtMs / WINDOW_MS);
    const isLeft = await shared.take(accountSeq, second, most).catch(() => true);
    if (isLeft) return;
    if (window.startedAtMs === startedAtMs) window.isSpent = true;
    tooMany(limit);
  }

  private sweep(nowMs: number): void {
    this.sweptAtMs = nowMs;
    for (const [accountSeq, { startedAtMs }] of this.windows)
      if (nowMs - startedAtMs >= SWEEP_MS) this.windows.delete(accountSeq);
  }
}

const tooMany = (limit: number): never =>
  refuse("rate_limited", `More than ${limit} requests in one second; wait one second and send it again.`);
