// A node's lease keeper over a store that it shares with others: it keeps its lease, goes on with what dead nodes left, and knows when it must stop.
import type { Clock } from "../domain/clock.ts";
import type { Log } from "../logging/events.ts";
import type { Node, Surroundings } from "../store/cluster-port.ts";
import { StoreUnknown } from "../store/mutations.ts";

export type LeaseKeeperDeps = {
  node: Pick<Node, "attend" | "takeOver" | "leaseMs" | "noteAway">;
  clock: Clock;
  /** Time that passes also while this process is stopped, ms. */
  monoMs: () => number;
  log: Log;
  /** Goes on with generations that are this node's from now on. */
  takeUp: (seqs: readonly number[]) => Promise<void>;
  /** Told at each look round; no lease waits for what is done about it. */
  looked: (around: Surroundings) => Promise<void>;
  /** The admin service of some node has changed what may be remembered here. */
  changed: () => Promise<void>;
  /** Another node has ended this one: nothing more may be done. */
  ended: () => void;
};
export type LeaseKeeper = {
  /** Whether this node can be sure that nobody has taken over from it, without asking. */
  isSure(): boolean;
  /** Resolves when it is sure: at once, except after it stood still or while the store is away. */
  sure(): Promise<void>;
  /** Whether the store does not answer: the last look failed, or one waits for its answer for the time of several. */
  isAway(): boolean;
  /** When that was last so, ms; null: never. */
  awayAtMs(): number | null;
  /** Whether it is the oldest of the nodes, which does what one of them has to. */
  isFirst(): boolean;
  /** Looks for the first time, and takes over what was left before; then again and again. */
  begin(): Promise<void>;
  /** Looks at once; resolves when what it saw has been taken over. @throws when the store does not answer. */
  look(): Promise<void>;
  /** Tells the others that this node drains. Whether one stays is known when it resolves, unless the store does not answer. */
  leave(): Promise<void>;
  stop(): void;
};

/** The longest time between two looks; a short lease is looked after more often. */
const LOOK_MS = 1000;
const LOOKS_PER_LEASE = 5;
/** A store that owes an answer for the time of so many looks is away, though none of them has failed yet. */
const SILENT_LOOKS = 3;
/** A node stops trusting its lease this much before it ends: clocks do not run alike. */
const MARGIN_PART = 0.1;
/** Clocks that are this far apart are told of. */
const APART_MS = 2000;
/** Generations taken over at a time. */
const TAKE_OVER = 200;

export const createLeaseKeeper = (deps: LeaseKeeperDeps): LeaseKeeper => {
  const { node, clock, monoMs, log } = deps;
  const everyMs = Math.min(LOOK_MS, node.leaseMs / LOOKS_PER_LEASE);
  /** Not before it has looked: its lease began when the store was opened. */
  let sureUntilMs = Number.NEGATIVE_INFINITY;
  const isSure = () => monoMs() < sureUntilMs;
  let waiting: (() => void)[] = [];
  let isFirst = false;
  let news: string | null = null;
  let isAway = false;
  /** Since when a look has been waiting for its answer. */
  let unansweredMs: number | null = null;
  let awayAtMs: number | null = null;
  /** When the store was asked for the last answer that came. */
  let reachedAtMs = clock.nowMs();
  let isStopped = false;
  let isLeaving = false;
  let takeBack: (() => void) | null = null;

  const end = (reason: string): void => {
    isStopped = true;
    log("node fenced, exiting", { reason });
    deps.ended();
  };
  const reasonOf = (fault: unknown): string => (fault instanceof Error ? fault.message : String(fault));

  let isApart = false;
  const tellApart = (apartMs: number): void => {
    const wasApart = isApart;
    isApart = Math.abs(apartMs) > APART_MS;
    if (isApart && !wasApart)
      log("clock skew detected", {
        reason: `the database's clock is ${Math.round(apartMs / 1000)} s ${apartMs > 0 ? "ahead of" : "behind"} this machine's: nodes need the same time (NTP)`,
      });
    if (!isApart && wasApart) log("clock skew ended", {});
  };

  const isAwayNow = () => !isStopped && (isAway || monoMs() - (unansweredMs ?? monoMs()) > SILENT_LOOKS * everyMs);

  let takingOver: Promise<void> | undefined;
  const takeAll = async (): Promise<void> => {
    for (;;) {
      const seqs = await node.takeOver(TAKE_OVER);
      if (seqs.length === 0 || isStopped) return;
      log("generations reclaimed", { count: seqs.length });
      try {
        await deps.takeUp(seqs);
      } catch (fault) {
        // They are this node's now, and nobody else goes on with them as long as it lives.
        end(`what it took over cannot be read: ${reasonOf(fault)}`);
        return;
      }
    }
  };
  /** Beside the lease: however long it takes, that is kept. */
  const takeOver = (): Promise<void> => {
    takingOver ??= takeAll().finally(() => {
      takingOver = undefined;
    });
    return takingOver;
  };
  /** What is done about what was seen last. */
  let following: Promise<unknown> = Promise.resolve();
  const look = async (): Promise<void> => {
    // Counted from before it was asked for: the lease runs from when the store heard of it, which is later.
    const [askedMs, askedAtMs] = [monoMs(), clock.nowMs()];
    unansweredMs ??= askedMs;
    const around = await node.attend(isLeaving).finally(() => {
      if (isAwayNow()) awayAtMs = clock.nowMs();
      unansweredMs = null;
    });
    if (isStopped) return;
    if (around === null) {
      end("its lease ran out and another node has taken over: this process ends");
      return;
    }
    if (isAway) {
      log("database recovered", {});
      node.noteAway(null);
    }
    isAway = false;
    reachedAtMs = askedAtMs;
    tellApart(around.apartMs);
    sureUntilMs = askedMs + node.leaseMs * (1 - MARGIN_PART);
    isFirst = around.isFirst;
    // An answer that was on its way while this node stood still tells of a lease that may be over.
    if (isSure()) {
      const woken = waiting;
      waiting = [];
      for (const wake of woken) wake();
    }
    const isNew = news !== null && news !== around.news;
    following = Promise.all([deps.looked(around), ...(isNew ? [deps.changed()] : [])]);
    news = around.news;
    if (around.ended.length > 0)
      log("node considered dead", {
        count: around.ended.length,
        reason: `the lease of ${around.ended.map((epoch) => `epoch ${epoch}`).join(", ")} ran out; what was left there is taken over`,
        action: "genrouter nodes says which node that was; its log says why it ended",
      });
    if (around.isAnythingLeft) takeOver().catch(tell);
  };
  const tell = (fault: unknown): void => {
    if (isStopped) return;
    // It was ended meanwhile, or may own what it has not heard of: nobody would go on with that as long as this node lives.
    if (fault instanceof StoreUnknown) end(`what became of a take-over is not known: ${reasonOf(fault)}`);
    else log("takeover failed", { reason: reasonOf(fault) });
  };
  const turn = async (): Promise<void> => {
    try {
      await look();
    } catch (fault) {
      if (!isStopped && !isAway) {
        log("database unavailable", { reason: reasonOf(fault) });
        node.noteAway(reachedAtMs);
      }
      isAway = true;
    }
    if (!isStopped) takeBack = clock.after(everyMs, () => void turn());
  };

  const leave = async (): Promise<void> => {
    isLeaving = true;
    await look().catch(() => undefined);
  };

  return {
    isSure,
    sure: () => (isSure() ? Promise.resolve() : new Promise((wake) => waiting.push(wake))),
    isAway: isAwayNow,
    awayAtMs: () => (isAwayNow() ? clock.nowMs() : awayAtMs),
    isFirst: () => isFirst,
    look: async () => {
      await look();
      await following;
    },
    leave,
    begin: async () => {
      await turn();
      await takingOver?.catch(() => undefined);
    },
    stop: () => {
      isStopped = true;
      takeBack?.();
      for (const wake of waiting) wake();
      waiting = [];
    },
  };
};
