// The burst guard of §8: at most so many requests of one account in one second, over all keyed endpoints and all nodes.
import { refuse } from "../domain/api-errors.ts";
import type { Caller } from "../domain/types.ts";

const WINDOW_MS = 1000;

/** `isSpent`: what the nodes have in common of this second is used up. */
type Window = { startedAtMs: number; taken: number; isSpent: boolean };

/** What nodes beside each other have in common. */
export type SharedBurst = {
  /** How many are alive. */
  nodes: () => number;
  /** Takes one of at most `most` that they may take together for an account in a second. @returns whether there was one left. */
  take: (accountSeq: number, second: number, most: number) => Promise<boolean>;
};

/** How often windows that are long over are dropped. */
const SWEEP_MS = 10_000;

/** Of what one second holds, each of several nodes has this part of its share to itself; all the rest is asked for one by one. */
const OWN_PART = 0.5;

/**
 * Counts in windows of one second that begin with an account's first request; those that nodes share begin with the second. Accounts that rest
 * for long are forgotten.
 */
export class BurstGuard {
  private readonly windows = new Map<number, Window>();
  private readonly perS: number;
  private readonly shared: SharedBurst | null;
  private sweptAtMs = 0;

  /** @param perS requests per second of accounts without a limit of their own. */
  constructor(perS: number, shared: SharedBurst | null = null) {
    this.perS = perS;
    this.shared = shared;
  }

  /** Accounts remembered at the moment. */
  get size(): number {
    return this.windows.size;
  }

  /**
   * Counts one request; most are let in at once. @throws Refusal `rate_limited` when the account has had its second's share, at once or as what
   * the promise comes to.
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
    if (window.taken > own) return this.ask(this.shared, caller.accountSeq, window, { limit, most: limit - own * nodes });
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

  /** A store that does not answer keeps nobody out: this node's own count goes on. */
  private async ask(shared: SharedBurst, accountSeq: number, window: Window, { limit, most }: { limit: number; most: number }) {
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
