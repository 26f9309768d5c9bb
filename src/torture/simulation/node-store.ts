// Store of one of several nodes: the shared database over unreliable connections.
//
// Connections hang, break and lose responses; the store reacts as the PostgreSQL driver does.

import { StoreFull, StoreUnknown } from "../../domain/commit-errors.ts";
import type { Mutation, MutationResult } from "../../domain/mutations.ts";
import { DatabaseUnavailable } from "../../store/errors.ts";
import { ConnectionLost } from "../../store/postgres/errors.ts";
import { createRenewalStreak, renewalTimeoutMs } from "../../store/postgres/node-lease.ts";
import type { Store } from "../../store/store.ts";
import type { CoverageCounters } from "./coverage-counters.ts";
import { ASKED, checkTransitions, crossingOf, type DiskDeps, describeMutation, lateReads } from "./disk.ts";
import type { Rows, SharedDatabase, Transaction } from "./shared-database.ts";
import { UNASKED } from "./unused-reads.ts";

export type NodeStoreDeps = Omit<DiskDeps, "database"> & {
  shared: SharedDatabase;
  leaseMs: number;
  /** Until when the node cannot reach the store, and until when it cannot renew its lease; true time. */
  cutUntilMs: () => number;
  deafUntilMs: () => number;
  situations: CoverageCounters;
};

/** As in the driver: the longest duration of a transaction, and the longest outage of the store. */
const MAX_MS = 10_000;
const PATIENCE_MS = 30_000;
/** Interval between checks whether a transaction with an unknown outcome is over. */
const POLL_MS = 250;
/** After this time without a connection a read fails. */
const READ_PATIENCE_MS = 3_400;
/** Hints for an owner: responses have the numbers of their attempts, which are far above those of decisions. */
const MAX_ATTEMPTS = 10_000;
/** Share of the lease renewals with a late response. */
const LATE_LOOKS = 0.05;
/** Reads of a takeover, and of the disabled routes and breakers of other nodes, in addition to those of a single node. */
const ASKED_TO_TAKE_UP = ["attemptsOf", "generationBySeq", "routeHealth", "switchedOff", "lastSeenMs"] as const;
/** The reason of a read that could not reach the store, which is not a fault of the service. */
export const OUT_OF_REACH = "the store is out of reach";

/** @throws ConnectionLost if the store cannot be reached. */
export const createNodeStore = async (deps: NodeStoreDeps): Promise<Store> => {
  const { life, dice, trace, shared, leaseMs } = deps;
  const { world } = life;
  const longestMs = Math.min(MAX_MS, leaseMs);
  const cutForMs = () => Math.max(0, deps.cutUntilMs() - world.nowMs());
  if (cutForMs() > 0) throw new ConnectionLost(OUT_OF_REACH);
  const { epoch, slot, newestGeneration } = shared.open(life.name, leaseMs, life.clock.nowMs());
  let batch = 0;
  let isClosed = false;

  /** Waits until the store can be reached. @throws StoreUnknown if it was unavailable for too long. */
  const reach = async (untilMs: number): Promise<void> => {
    for (let leftMs = cutForMs(); ; leftMs = cutForMs()) {
      if (isClosed) throw new StoreUnknown("the store is closed");
      if (leftMs === 0) return;
      await life.sleep(Math.min(leftMs, Math.max(0, untilMs - world.nowMs()) + 1));
      if (world.nowMs() > untilMs) throw new StoreUnknown("the database does not answer");
    }
  };
  const wasDone = async (untilMs: number): Promise<boolean> => {
    for (;;) {
      await reach(untilMs);
      const verdict = shared.lookUp(epoch, batch + 1);
      if (verdict !== "busy") return verdict === "committed";
      await life.sleep(POLL_MS);
      if (world.nowMs() > untilMs) throw new StoreUnknown("the database does not answer");
    }
  };

  /** Commits, or loses its connection during the commit. @returns false for an unknown outcome. */
  const end = <T>(transaction: Transaction, work: (rows: Rows) => T, onReport: (value: T) => void): boolean => {
    if (transaction.isOver()) return false;
    const isLost = dice.chance(deps.faults().lostCommit) || cutForMs() > 0;
    if (!isLost) {
      onReport(transaction.commit(work));
      return true;
    }
    const isWritten = dice.chance(0.5);
    // The server keeps the row lock until it detects the lost connection, regardless of the node's state.
    world.after(dice.between(0, longestMs / 2), () => {
      if (transaction.isOver()) return;
      if (isWritten) onReport(transaction.commit(work));
      else transaction.rollBack();
    });
    return false;
  };

  const carryOut = async <T>(work: (rows: Rows) => T): Promise<T> => {
    const untilMs = world.nowMs() + PATIENCE_MS;
    for (;;) {
      if (world.nowMs() > untilMs) throw new StoreUnknown("the database does not answer");
      await reach(untilMs);
      const isSlow = dice.chance(deps.faults().slowTransaction);
      let done: { value: T } | undefined;
      const transaction = shared.begin(epoch, batch + 1, longestMs);
      if (transaction === null) {
        await life.sleep(POLL_MS);
        continue;
      }
      await life.sleep(isSlow ? dice.between(0, 1.2 * longestMs) : dice.between(0, 4));
      const isHeard = end(transaction, work, (value) => {
        done = { value };
      });
      if (!isHeard) await life.sleep(dice.between(50, 1_000));
      if (isHeard || (await wasDone(untilMs))) {
        batch += 1;
        if (!done) throw new Error("a transaction that was committed has no value");
        return done.value;
      }
    }
  };
  /** One transaction at a time, in the order of the calls. */
  let last: Promise<unknown> = Promise.resolve();
  const transact = <T>(work: (rows: Rows) => T): Promise<T> => {
    const turn = last.then(() => carryOut(work));
    last = turn.catch(() => undefined);
    return turn;
  };

  const commit = async (mutations: readonly Mutation[]): Promise<MutationResult[]> => {
    await life.cross("commit: before");
    // Latency before any lock is taken; occasionally longer than a lease.
    const slowMs = dice.chance(0.9) ? 4_000 : 3 * leaseMs;
    await life.sleep(dice.chance(deps.faults().slowCommit) ? dice.between(100, slowMs) : dice.between(0, 4));
    await life.cross("commit: before");
    if (deps.isFull()) throw new StoreFull("the database has no free space");
    const outcomes = await transact((rows) => {
      const sent = mutations.map(deps.tamper);
      const reported = rows.carryOut(sent);
      deps.committed(sent, reported);
      checkTransitions(mutations, sent, reported, deps.fault);
      mutations.forEach((mutation, at) => {
        const outcome = reported[at];
        if (outcome) describeMutation(trace, life.name, mutation, outcome);
      });
      return reported;
    });
    await life.cross(crossingOf(mutations));
    return outcomes;
  };

  /** A hanging renewal is aborted after a while; the lease has a separate connection. */
  const streak = createRenewalStreak(leaseMs, life.monoMs);
  const renewLease = async (isLeaving: boolean) => {
    const unavailableMs = Math.max(cutForMs(), deps.deafUntilMs() - world.nowMs());
    if (unavailableMs > 0) await life.sleep(renewalTimeoutMs(leaseMs));
    if (unavailableMs > 0) throw new ConnectionLost(OUT_OF_REACH);
    const clusterState = shared.renewLease(epoch, leaseMs, isLeaving, streak.isLong());
    for (const one of clusterState?.ended ?? []) trace.report(life.name, "ends", `epoch ${one}`);
    // Usually immediate, because renewals are the most frequent events of a world.
    if (dice.chance(LATE_LOOKS)) await life.sleep(dice.between(0, 100));
    await life.cross("lease: renewed");
    if (clusterState) streak.renewed();
    return clusterState;
  };

  /** @throws DatabaseUnavailable */
  const reachToRead = async (): Promise<void> => {
    if (cutForMs() === 0) return;
    const leftMs = cutForMs();
    const gaveUp = leftMs > READ_PATIENCE_MS && dice.chance(0.5);
    await life.sleep(gaveUp ? READ_PATIENCE_MS : leftMs);
    if (gaveUp) throw new DatabaseUnavailable(OUT_OF_REACH);
  };
  const reads = lateReads(deps, shared.readsOf(epoch), [...ASKED, ...ASKED_TO_TAKE_UP], reachToRead);
  return {
    ...reads,
    commit,
    newestGeneration,
    node: {
      ...{ epoch, slot, leaseMs, renewLease },
      takeOver: async (limit) => {
        const seqs = await transact((rows) => rows.claim(limit));
        if (seqs.length === 0) return seqs;
        trace.report(life.name, "claims", seqs.join(" "));
        await life.cross("claim: written, not taken up");
        return seqs;
      },
      takeOverWebhooks: async (limit) => {
        const count = await transact((rows) => rows.claimDeliveries(limit));
        if (count > 0) deps.situations.count("deliveriesTakenOver");
        return count;
      },
      vacuumErased: () => Promise.resolve(),
      leaveHint: async (hint) => {
        await reachToRead();
        shared.leaveHint(hint);
        if (hint.n <= 0) deps.situations.count(hint.n > -MAX_ATTEMPTS ? "answersPassedOn" : "decisionsLeft");
        await life.cross("decision: left for its owner");
      },
      hints: async () => {
        await reachToRead();
        return shared.hintsOf(epoch);
      },
      events: async (seqs) => {
        await reachToRead();
        return shared.hintsOf(epoch).filter(({ seq, n }) => n <= 0 && (seqs === undefined || seqs.includes(seq)));
      },
      dropHint: async (hint) => {
        await life.cross("decision: taken, not dropped");
        await reachToRead();
        shared.dropHint(hint);
      },
      ...UNASKED,
    },
    close: async () => {
      isClosed = true;
      await life.cross("drain: lease not given back");
      // If the lease cannot be released, it expires.
      while (cutForMs() === 0 && !shared.resign(epoch)) await life.sleep(POLL_MS);
    },
  };
};
