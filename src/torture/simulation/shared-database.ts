// Shared database of a world: SQLite with the ownership rules of the PostgreSQL driver.
//
// It implements the driver's owners, leases and claims.

import { StoreUnknown } from "../../domain/commit-errors.ts";
import { SLOTS } from "../../domain/ids.ts";
import type { Mutation, MutationResult } from "../../domain/mutations.ts";
import type { ClusterState, Hint } from "../../store/cluster-port.ts";
import { FREQUENT } from "../../store/postgres/batch.ts";
import { ConnectionLost } from "../../store/postgres/errors.ts";
import { Fenced } from "../../store/postgres/fenced-transactions.ts";
import type { Opening } from "../../store/postgres/node-lease.ts";
import { ownerOf } from "../../store/postgres/ownership.ts";
import { attemptReads } from "../../store/sql/queries/attempts.ts";
import { recoveryReads } from "../../store/sql/queries/recovery.ts";
import { webhookReads } from "../../store/sql/queries/webhooks.ts";
import { pack } from "../../store/sql/serialized-mutations.ts";
import { type Batch, createBatchRunner } from "../../store/sqlite/batch.ts";
import { ownDatabase } from "../../store/sqlite/initialize.ts";
import {
  CLAIM,
  CLAIM_DELIVERIES,
  HAS_ENDED,
  LEFT_BEHIND,
  LEFT_OPEN,
  NEWEST,
  OWNER,
} from "../../store/sqlite/simulated-ownership.ts";
import { openQuery, SQLITE } from "../../store/sqlite/sql-program.ts";
import type { StoreReads } from "../../store/store.ts";
import type { OwnershipOracle } from "./ownership-oracle.ts";
import type { Timeline } from "./timeline.ts";
import type { WorldDatabase } from "./world-database.ts";

/** The operations of a transaction before its commit; all of them run at the commit. */
export type Rows = {
  carryOut(mutations: readonly Mutation[]): MutationResult[];
  claim(limit: number): number[];
  /** Takes over pending webhook deliveries of ended owners. Returns their number. */
  claimDeliveries(limit: number): number;
};
export type Transaction = {
  /** The server has rolled it back, because it took too long. */
  isOver(): boolean;
  /** @throws ConnectionLost if it was already rolled back. */
  commit<T>(work: (rows: Rows) => T): T;
  rollBack(): void;
};
/** `busy`: a transaction of the owner is still in progress, and the caller must wait for it. */
export type Verdict = "committed" | "undone" | "busy";

export type SharedDatabase = {
  open(name: string, leaseMs: number, nowMs: number): Opening;
  /** Fences dead owners, if this owner may, renews its lease, and reads its surroundings. Null: this owner was fenced. */
  renewLease(epoch: number, leaseMs: number, isLeaving: boolean, endsOthers: boolean): ClusterState | null;
  /**
   * Begins a transaction that locks its owner's row, for at most `longestMs`. Null: another transaction of the owner holds the
   * lock. @throws Fenced
   */
  begin(epoch: number, batch: number, longestMs: number): Transaction | null;
  /** The outcome of a transaction without a response. @throws Fenced */
  lookUp(epoch: number, wanted: number): Verdict;
  /** Ends this owner voluntarily. False: a transaction of it is still in progress. */
  resign(epoch: number): boolean;
  /** Stores a hint for the owner of a generation, and reads the hints for this owner. */
  leaveHint(hint: Hint): void;
  hintsOf(epoch: number): Hint[];
  dropHint(hint: Hint): void;
  /** The reads of a node; recovery and watches return its own generations only. */
  readsOf(epoch: number): StoreReads;
  /** Open generations whose owner was fenced at least this long ago. */
  leftFor(ms: number): number[];
};

type Owner = {
  epoch: number;
  slot: number;
  leaseEndsMs: number;
  endedAtMs: number | null;
  /** The number of committed transactions. */
  batch: number;
  isLocked: boolean;
  isLeaving: boolean;
};

/**
 * Its clock is true time, unlike the clocks of nodes. PostgreSQL's row locks are replaced by transactions that run completely at
 * their commit. The essential property of a lock is kept: its owner is not fenced while it holds the lock.
 */
export const createSharedDatabase = (of: {
  database: WorldDatabase;
  reads: StoreReads;
  world: Timeline;
  ownership: OwnershipOracle;
}): SharedDatabase => {
  const { database, world, ownership } = of;
  const owners = new Map<number, Owner>();
  /** The number of admin mutations. Nodes detect by it that their caches may be outdated. */
  let admin = 0;
  const hints = new Map<string, Hint>();
  let written: { epoch: number; batch: Batch } | undefined;
  const query = openQuery(database);
  const seqsOf = (sql: string, ...values: (string | number)[]) =>
    (database.query(sql).all(...values) as { seq: number }[]).map(({ seq }) => seq);

  const ownerAt = (epoch: number): Owner => {
    const owner = owners.get(epoch);
    if (!owner) throw new Error(`no owner ${epoch}`);
    return owner;
  };
  /** In the order of their epochs. */
  let alive: Owner[] = [];
  const ended: Owner[] = [];
  /** Ended owners that may still have open generations. */
  let leaving: Owner[] = [];
  const fenced = () => new Fenced("another node has taken over the generations of this node; it must not write");
  const end = (owner: Owner) => {
    owner.endedAtMs = world.nowMs();
    alive = alive.filter((one) => one !== owner);
    ended.push(owner);
    leaving.push(owner);
    ownership.ended(owner.epoch);
  };
  /** @param moreMs how long their leases must have been expired. */
  const endDead = (moreMs = 0): number[] => {
    const isDead = ({ leaseEndsMs, isLocked }: Owner) => leaseEndsMs + moreMs < world.nowMs() && !isLocked;
    if (!alive.some(isDead)) return [];
    const dead = alive.filter(isDead);
    dead.forEach(end);
    return dead.map(({ epoch }) => epoch);
  };

  /** The SQLite writer caches rows, because it is the only writer. After a commit of another owner it is created again. */
  const writerOf = (epoch: number): Batch => {
    if (written?.epoch !== epoch) written = { epoch, batch: createBatchRunner(database, epoch) };
    return written.batch;
  };
  const isOwn = (epoch: number, seq: number): boolean =>
    (database.query(OWNER).get(seq) as { epoch: number } | null)?.epoch === epoch;
  /** The generation has ended, and its owner as well. */
  const isUnowned = (seq: number): boolean => {
    const { epoch } = database.query(OWNER).get(seq) as { epoch: number };
    return ownerAt(epoch).endedAtMs !== null && database.query(HAS_ENDED).get(seq) !== null;
  };
  const carryOut = (epoch: number, mutations: readonly Mutation[]): MutationResult[] => {
    const isFit = (mutation: Mutation) => mutation.mutation !== "step" || isOwn(epoch, mutation.seq);
    const done = writerOf(epoch)(mutations.filter(isFit).map(pack));
    admin += mutations.every(({ mutation }) => mutation === "admit" || mutation === "step" || FREQUENT.has(mutation)) ? 0 : 1;
    let at = 0;
    return mutations.map((mutation) => {
      const outcome = isFit(mutation) ? done[at++] : ({ kind: "stale" } as const);
      if (!outcome) throw new StoreUnknown("a mutation has no outcome");
      ownership.done(epoch, mutation, outcome);
      return outcome;
    });
  };
  const claim = (epoch: number, limit: number): number[] => {
    const seqs = seqsOf(LEFT_BEHIND, JSON.stringify(leaving.map((owner) => owner.epoch)), limit);
    for (const seq of seqs) {
      database.query(CLAIM).run(seq, epoch);
      ownership.claimed(epoch, seq);
    }
    if (seqs.length > 0) return seqs;
    // The preceding query found no open generations of ended owners.
    leaving = [];
    return [];
  };

  const claimDeliveries = (epoch: number, limit: number): number => {
    if (ended.length === 0) return 0;
    const epochs = JSON.stringify(ended.map((owner) => owner.epoch));
    return database.query(CLAIM_DELIVERIES).run(epoch, epochs, limit).changes;
  };

  return {
    open: (name, leaseMs, nowMs) => {
      if (alive.length === SLOTS) endDead(leaseMs);
      if (alive.length === SLOTS) endDead();
      const taken = new Set(alive.map(({ slot }) => slot));
      const slot = Array.from({ length: SLOTS }, (_, one) => one).find((one) => !taken.has(one)) ?? 0;
      const epoch = ownDatabase(database, ":memory:", "test", nowMs);
      const owner = {
        epoch,
        slot,
        leaseEndsMs: world.nowMs() + leaseMs,
        endedAtMs: null,
        batch: 0,
        isLocked: false,
        isLeaving: false,
      };
      owners.set(epoch, owner);
      alive.push(owner);
      ownership.joined(epoch, name);
      const { newest } = database.query(NEWEST).get() as { newest: number | null };
      return { epoch, slot, newestGeneration: newest ?? 0, newestTransfer: 0, newestDelivery: 0 };
    },
    renewLease: (epoch, leaseMs, isLeaving, endsOthers) => {
      const me = ownerAt(epoch);
      if (me.endedAtMs !== null) return null;
      const wasRenewedLately = me.leaseEndsMs >= world.nowMs() + leaseMs / 2;
      const dead = endsOthers && wasRenewedLately ? endDead() : [];
      me.leaseEndsMs = world.nowMs() + leaseMs;
      me.isLeaving = isLeaving;
      const isFirst = alive[0] === me;
      const others = alive.filter((one) => one !== me && !one.isLeaving).length;
      const clusterState = { apartMs: 0, alive: alive.length, others, isFirst, news: String(admin), hasHints: hints.size > 0 };
      return { ...clusterState, isAnythingLeft: leaving.length > 0, ended: dead };
    },
    begin: (epoch, batch, longestMs) => {
      const owner = ownerAt(epoch);
      if (owner.isLocked) return null;
      if (owner.endedAtMs !== null || owner.batch !== batch - 1) throw fenced();
      owner.isLocked = true;
      let isOver = false;
      const over = () => {
        if (!isOver) owner.isLocked = false;
        isOver = true;
        takeBack();
      };
      const takeBack = world.after(longestMs, over);
      return {
        isOver: () => isOver,
        rollBack: over,
        commit: (work) => {
          if (isOver) throw new ConnectionLost("the transaction was given up");
          try {
            const value = work({
              carryOut: (mutations) => carryOut(epoch, mutations),
              claim: (limit) => claim(epoch, limit),
              claimDeliveries: (limit) => claimDeliveries(epoch, limit),
            });
            owner.batch = batch;
            return value;
          } finally {
            over();
          }
        },
      };
    },
    lookUp: (epoch, wanted) => {
      const owner = ownerAt(epoch);
      if (owner.isLocked) return "busy";
      if (owner.batch >= wanted) return "committed";
      if (owner.endedAtMs !== null) throw fenced();
      return "undone";
    },
    resign: (epoch) => {
      const owner = ownerAt(epoch);
      if (owner.isLocked) return false;
      if (owner.endedAtMs === null) end(owner);
      return true;
    },
    leaveHint: (hint) => {
      const key = `${hint.seq} ${hint.n}`;
      hints.set(key, { ...hint, body: hint.body ?? hints.get(key)?.body ?? null });
    },
    hintsOf: (epoch) => [...hints.values()].filter(({ seq, n }) => isOwn(epoch, seq) || (n <= 0 && isUnowned(seq))),
    dropHint: ({ seq, n, body }) => {
      if (hints.get(`${seq} ${n}`)?.body === body) hints.delete(`${seq} ${n}`);
    },
    readsOf: (epoch) => {
      const owned = `${ownerOf("g")} = ${epoch}`;
      const { unfinished } = recoveryReads(query, SQLITE, owned);
      const { watchedAttempts } = attemptReads(query, owned);
      const { webhookLanes, nextWebhooks } = webhookReads(query, SQLITE, `d.epoch = ${epoch}`);
      return { ...of.reads, unfinished, watchedAttempts, webhookLanes, nextWebhooks };
    },
    leftFor: (ms) => {
      const long = ended.filter(({ endedAtMs }) => endedAtMs !== null && world.nowMs() - endedAtMs > ms);
      return seqsOf(LEFT_OPEN, JSON.stringify(long.map(({ epoch }) => epoch)));
    },
  };
};
