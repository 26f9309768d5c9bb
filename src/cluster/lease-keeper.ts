// Renews the lease of a node in the shared database and reclaims generations of dead nodes.
//
// It reports when the node must stop because its lease may have expired.
import type { Clock } from "../domain/clock.ts";
import { StoreUnknown } from "../domain/commit-errors.ts";
import type { Log } from "../logging/events.ts";
import type { ClusterState, Node } from "../store/cluster-port.ts";

export type LeaseKeeperDeps = {
  node: Pick<Node, "renewLease" | "takeOver" | "leaseMs" | "recordUnavailable">;
  clock: Clock;
  /** Monotonic time in milliseconds, which also passes while the process is suspended. */
  monoMs: () => number;
  log: Log;
  /** Restores generations that belong to this node now. */
  takeUp: (seqs: readonly number[]) => Promise<void>;
  /** Called after each renewal with the state of the cluster; the lease does not wait for it. */
  looked: (clusterState: ClusterState) => Promise<void>;
  /** Called when an admin mutation of any node invalidates caches. */
  changed: () => Promise<void>;
  /** Called when another node has ended this one: the process must not continue. */
  ended: () => void;
};
export type LeaseKeeper = {
  /** Whether no other node can have taken over, without a query. */
  isSure(): boolean;
  /** Resolves when the lease is certain: immediately, except after a suspension or while the database is unavailable. */
  sure(): Promise<void>;
  /** Whether the database is unavailable: the last renewal failed, or one is pending for several intervals. */
  isUnavailable(): boolean;
  /** Last time in milliseconds at which the database was unavailable; null if never. */
  unavailableAtMs(): number | null;
  /** Whether this is the oldest node, which runs the singleton work of the cluster. */
  isFirst(): boolean;
  /** Renews for the first time, reclaims what is left, and then renews periodically. */
  begin(): Promise<void>;
  /** Renews now and resolves when its findings were reclaimed. @throws if the database does not answer. */
  look(): Promise<void>;
  /**
   * Marks this node as draining. When it resolves, the node knows whether another node stays, unless the database does not
   * answer.
   */
  leave(): Promise<void>;
  stop(): void;
};

/** Longest interval between renewals in milliseconds; a shorter lease has a shorter interval. */
const POLL_MS = 1000;
const RENEWALS_PER_LEASE = 5;
/** Number of intervals after which a pending renewal counts as an unavailable database. */
const SILENT_RENEWALS = 3;
/** Fraction of the lease before its end at which the node stops trusting it, because clocks drift. */
const MARGIN_PART = 0.1;
/** Clock skew in milliseconds that is logged. */
const SKEW_MS = 2000;
/** Generations reclaimed in one transaction. */
const TAKE_OVER = 200;

export const createLeaseKeeper = (deps: LeaseKeeperDeps): LeaseKeeper => {
  const { node, clock, monoMs, log } = deps;
  const everyMs = Math.min(POLL_MS, node.leaseMs / RENEWALS_PER_LEASE);
  /** The lease is not trusted before the first renewal, because it started when the store was opened. */
  let sureUntilMs = Number.NEGATIVE_INFINITY;
  const isSure = () => monoMs() < sureUntilMs;
  let waiting: (() => void)[] = [];
  let isFirst = false;
  let news: string | null = null;
  let isUnavailable = false;
  /** Start of the pending renewal; null if none is pending. */
  let unansweredMs: number | null = null;
  let unavailableAtMs: number | null = null;
  /** Start of the last renewal that was answered. */
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

  let isSkewed = false;
  const reportSkew = (apartMs: number): void => {
    const wasSkewed = isSkewed;
    isSkewed = Math.abs(apartMs) > SKEW_MS;
    if (isSkewed && !wasSkewed)
      log("clock skew detected", {
        reason: `the database's clock is ${Math.round(apartMs / 1000)} s ${apartMs > 0 ? "ahead of" : "behind"} this machine's: nodes need the same time (NTP)`,
      });
    if (!isSkewed && wasSkewed) log("clock skew ended", {});
  };

  const isDatabaseUnavailable = () =>
    !isStopped && (isUnavailable || monoMs() - (unansweredMs ?? monoMs()) > SILENT_RENEWALS * everyMs);

  let takingOver: Promise<void> | undefined;
  const takeAll = async (): Promise<void> => {
    for (;;) {
      const seqs = await node.takeOver(TAKE_OVER);
      if (seqs.length === 0 || isStopped) return;
      log("generations reclaimed", { count: seqs.length });
      try {
        await deps.takeUp(seqs);
      } catch (fault) {
        // The generations belong to this node now, and no other node continues them while it lives.
        end(`the reclaimed generations cannot be read: ${reasonOf(fault)}`);
        return;
      }
    }
  };
  /** Runs beside the renewals, which continue however long it takes. */
  const takeOver = (): Promise<void> => {
    takingOver ??= takeAll().finally(() => {
      takingOver = undefined;
    });
    return takingOver;
  };
  /** The work that follows from the last renewal. */
  let following: Promise<unknown> = Promise.resolve();
  const look = async (): Promise<void> => {
    // The lease starts when the database executes the renewal, which is later than this time.
    const [requestedMs, requestedAtMs] = [monoMs(), clock.nowMs()];
    unansweredMs ??= requestedMs;
    const clusterState = await node.renewLease(isLeaving).finally(() => {
      if (isDatabaseUnavailable()) unavailableAtMs = clock.nowMs();
      unansweredMs = null;
    });
    if (isStopped) return;
    if (clusterState === null) {
      end("its lease expired and another node has taken over: this process exits");
      return;
    }
    if (isUnavailable) {
      log("database recovered", {});
      node.recordUnavailable(null);
    }
    isUnavailable = false;
    reachedAtMs = requestedAtMs;
    reportSkew(clusterState.apartMs);
    sureUntilMs = requestedMs + node.leaseMs * (1 - MARGIN_PART);
    isFirst = clusterState.isFirst;
    // A response that arrived during a suspension may be about an expired lease.
    if (isSure()) {
      const woken = waiting;
      waiting = [];
      for (const wake of woken) wake();
    }
    const isNew = news !== null && news !== clusterState.news;
    following = Promise.all([deps.looked(clusterState), ...(isNew ? [deps.changed()] : [])]);
    news = clusterState.news;
    if (clusterState.ended.length > 0)
      log("node considered dead", {
        count: clusterState.ended.length,
        reason: `the lease of ${clusterState.ended.map((epoch) => `epoch ${epoch}`).join(", ")} expired; its open generations are taken over`,
        action: "genrouter nodes lists the node; its log has the reason",
      });
    if (clusterState.isAnythingLeft) takeOver().catch(report);
  };
  const report = (fault: unknown): void => {
    if (isStopped) return;
    // The node was ended meanwhile or may own generations that it does not know. No other node continues them while it lives.
    if (fault instanceof StoreUnknown) end(`the outcome of a takeover is unknown: ${reasonOf(fault)}`);
    else log("takeover failed", { reason: reasonOf(fault) });
  };
  const turn = async (): Promise<void> => {
    try {
      await look();
    } catch (fault) {
      if (!isStopped && !isUnavailable) {
        log("database unavailable", { reason: reasonOf(fault) });
        node.recordUnavailable(reachedAtMs);
      }
      isUnavailable = true;
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
    isUnavailable: isDatabaseUnavailable,
    unavailableAtMs: () => (isDatabaseUnavailable() ? clock.nowMs() : unavailableAtMs),
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
