// The store of one of several nodes: the shared database over connections that hang, break and lose what it answered, as the driver treats them.

import { DatabaseUnavailable } from "../../store/errors.ts";
import { type Mutation, type MutationResult, StoreFull, StoreUnknown } from "../../store/mutations.ts";
import { ConnectionLost } from "../../store/postgres/errors.ts";
import { createRenewalStreak, longestLookMs } from "../../store/postgres/node-lease.ts";
import type { Store } from "../../store/store.ts";
import type { CoverageCounters } from "./coverage-counters.ts";
import { ASKED, crossingOf, type DiskDeps, describeMutation, insistOnSteps, lateReads } from "./disk.ts";
import type { Rows, SharedDatabase, Transaction } from "./shared-database.ts";
import { UNASKED } from "./unused-reads.ts";

export type NodeStoreDeps = Omit<DiskDeps, "database"> & {
  shared: SharedDatabase;
  leaseMs: number;
  /** Until when nothing of the store can be reached, and until when its lease cannot be renewed; true time. */
  cutUntilMs: () => number;
  deafUntilMs: () => number;
  situations: CoverageCounters;
};

/** As the driver has them: how long a transaction may take, and how long the store may be away. */
const LONGEST_MS = 10_000;
const PATIENCE_MS = 30_000;
/** A look whether a transaction that nobody heard of is over. */
const LOOK_MS = 250;
/** The last of the pauses after which a read that found no connection gives up. */
const READ_PATIENCE_MS = 3_400;
/** Of what is left for an owner, answers have the numbers of their attempts; decisions are far below. */
const MOST_ATTEMPTS = 10_000;
/** Looks that are answered late. */
const LATE_LOOKS = 0.05;
/** Reads of a take-over, and of what other nodes have switched and judged, beside those that one node alone waits for. */
const ASKED_TO_TAKE_UP = ["attemptsOf", "generationBySeq", "routeHealth", "switchedOff", "lastSeenMs"] as const;
/** Why a read failed that could not reach the store: no fault of the service. */
export const OUT_OF_REACH = "the store is out of reach";

/** @throws ConnectionLost the store cannot be reached. */
export const createNodeStore = async (deps: NodeStoreDeps): Promise<Store> => {
  const { life, dice, trace, shared, leaseMs } = deps;
  const { world } = life;
  const longestMs = Math.min(LONGEST_MS, leaseMs);
  const cutForMs = () => Math.max(0, deps.cutUntilMs() - world.nowMs());
  if (cutForMs() > 0) throw new ConnectionLost(OUT_OF_REACH);
  const { epoch, slot, newestGeneration } = shared.open(life.name, leaseMs, life.clock.nowMs());
  let batch = 0;
  let isClosed = false;

  /** Waits until the store can be reached. @throws StoreUnknown it was away for too long. */
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
      await life.sleep(LOOK_MS);
      if (world.nowMs() > untilMs) throw new StoreUnknown("the database does not answer");
    }
  };

  /** Commits, or loses its connection while it does. @returns false: nobody knows. */
  const end = <T>(transaction: Transaction, work: (rows: Rows) => T, told: (value: T) => void): boolean => {
    if (transaction.isOver()) return false;
    const isLost = dice.chance(deps.faults().lostCommit) || cutForMs() > 0;
    if (!isLost) {
      told(transaction.commit(work));
      return true;
    }
    const isWritten = dice.chance(0.5);
    // The server takes the row's lock with it until it has noticed, whatever becomes of the node.
    world.after(dice.between(0, longestMs / 2), () => {
      if (transaction.isOver()) return;
      if (isWritten) told(transaction.commit(work));
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
        await life.sleep(LOOK_MS);
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
  /** One at a time, in the order in which they were asked for. */
  let last: Promise<unknown> = Promise.resolve();
  const transact = <T>(work: (rows: Rows) => T): Promise<T> => {
    const turn = last.then(() => carryOut(work));
    last = turn.catch(() => undefined);
    return turn;
  };

  const commit = async (mutations: readonly Mutation[]): Promise<MutationResult[]> => {
    await life.cross("commit: before");
    // On its way, and before anything is locked: longer than a lease, now and then.
    const slowMs = dice.chance(0.9) ? 4_000 : 3 * leaseMs;
    await life.sleep(dice.chance(deps.faults().slowCommit) ? dice.between(100, slowMs) : dice.between(0, 4));
    await life.cross("commit: before");
    if (deps.isFull()) throw new StoreFull("the database has no room");
    const outcomes = await transact((rows) => {
      const sent = mutations.map(deps.tamper);
      const told = rows.carryOut(sent);
      insistOnSteps(mutations, sent, told, deps.fault);
      mutations.forEach((mutation, at) => {
        const outcome = told[at];
        if (outcome) describeMutation(trace, life.name, mutation, outcome);
      });
      return told;
    });
    await life.cross(crossingOf(mutations));
    return outcomes;
  };

  /** What hangs is given up after a while; the lease has a connection of its own. */
  const streak = createRenewalStreak(leaseMs, life.monoMs);
  const attend = async (isLeaving: boolean) => {
    const awayMs = Math.max(cutForMs(), deps.deafUntilMs() - world.nowMs());
    if (awayMs > 0) await life.sleep(longestLookMs(leaseMs));
    if (awayMs > 0) throw new ConnectionLost(OUT_OF_REACH);
    const around = shared.attend(epoch, leaseMs, isLeaving, streak.isLong());
    for (const one of around?.ended ?? []) trace.tell(life.name, "ends", `epoch ${one}`);
    // As a rule it is answered at once: looks are most of what happens in a world.
    if (dice.chance(LATE_LOOKS)) await life.sleep(dice.between(0, 100));
    await life.cross("lease: renewed");
    if (around) streak.renewed();
    return around;
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
    node: {
      ...{ epoch, slot, leaseMs, newestGeneration, attend },
      takeOver: async (limit) => {
        const seqs = await transact((rows) => rows.claim(limit));
        if (seqs.length === 0) return seqs;
        trace.tell(life.name, "claims", seqs.join(" "));
        await life.cross("claim: written, not taken up");
        return seqs;
      },
      leaveHint: async (hint) => {
        await reachToRead();
        shared.leaveHint(hint);
        if (hint.n <= 0) deps.situations.count(hint.n > -MOST_ATTEMPTS ? "answersPassedOn" : "decisionsLeft");
        await life.cross("decision: left for its owner");
      },
      hints: async () => {
        await reachToRead();
        return shared.hintsOf(epoch);
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
      // Where it cannot be given back it runs out by itself.
      while (cutForMs() === 0 && !shared.resign(epoch)) await life.sleep(LOOK_MS);
    },
  };
};
