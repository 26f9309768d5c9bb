// The database that the nodes of a world share: SQLite's rows and mutations behind the rules of the PostgreSQL driver for owners, leases and claims.

import { SLOTS } from "../../domain/ids.ts";
import type { Hint, Surroundings } from "../../store/cluster-port.ts";
import { type Mutation, type MutationResult, StoreUnknown } from "../../store/mutations.ts";
import { FREQUENT } from "../../store/postgres/batch.ts";
import { ConnectionLost } from "../../store/postgres/errors.ts";
import { Fenced } from "../../store/postgres/fenced-transactions.ts";
import type { Opening } from "../../store/postgres/node-lease.ts";
import { ownerOf } from "../../store/postgres/ownership.ts";
import { attemptReads } from "../../store/sql/queries/attempts.ts";
import { recoveryReads } from "../../store/sql/queries/recovery.ts";
import { pack } from "../../store/sql/serialized-mutations.ts";
import { type Batch, createBatchRunner } from "../../store/sqlite/batch.ts";
import { ownDatabase } from "../../store/sqlite/initialize.ts";
import { CLAIM, HAS_ENDED, LEFT_BEHIND, LEFT_OPEN, NEWEST, OWNER } from "../../store/sqlite/simulated-ownership.ts";
import { openQuery, SQLITE } from "../../store/sqlite/sql-program.ts";
import type { StoreReads } from "../../store/store.ts";
import type { OwnershipOracle } from "./ownership-oracle.ts";
import type { Timeline } from "./timeline.ts";
import type { WorldDatabase } from "./world-database.ts";

/** What a transaction may do before it is committed; all of it happens at the commit. */
export type Rows = { carryOut(mutations: readonly Mutation[]): MutationResult[]; claim(limit: number): number[] };
export type Transaction = {
  /** It was undone by the server, because it took too long. */
  isOver(): boolean;
  /** @throws ConnectionLost it was undone before. */
  commit<T>(work: (rows: Rows) => T): T;
  rollBack(): void;
};
/** `busy`: a transaction of the owner is still under way, and whoever asks waits for it. */
export type Verdict = "committed" | "undone" | "busy";

export type SharedDatabase = {
  open(name: string, leaseMs: number, nowMs: number): Opening;
  /** Ends the dead, where this owner may, renews its lease, looks round. Null: it was ended. */
  attend(epoch: number, leaseMs: number, isLeaving: boolean, endsOthers: boolean): Surroundings | null;
  /** Begins a transaction that holds its owner's row, at most for `longestMs`. Null: another one of it holds that. @throws Fenced */
  begin(epoch: number, batch: number, longestMs: number): Transaction | null;
  /** What became of a transaction that nobody heard of. @throws Fenced */
  lookUp(epoch: number, wanted: number): Verdict;
  /** Ends this owner of its own will. False: a transaction of it is still under way. */
  resign(epoch: number): boolean;
  /** What is left for the owner of a generation, and what of that is for this owner. */
  leaveHint(hint: Hint): void;
  hintsOf(epoch: number): Hint[];
  dropHint(hint: Hint): void;
  /** What a node reads: recovery and watches see its own alone. */
  readsOf(epoch: number): StoreReads;
  /** Generations that have not ended and whose owner was ended for this long already. */
  leftFor(ms: number): number[];
};

type Owner = {
  epoch: number;
  slot: number;
  leaseEndsMs: number;
  endedAtMs: number | null;
  /** Transactions that were committed. */
  batch: number;
  isLocked: boolean;
  isLeaving: boolean;
};

/**
 * Its clock is true time: nodes have clocks that are not. What PostgreSQL guards with locks on rows is guarded here by everything of a
 * transaction happening at its commit; what matters of a lock is that its owner is not ended meanwhile, and that is kept.
 */
export const createSharedDatabase = (of: {
  database: WorldDatabase;
  reads: StoreReads;
  world: Timeline;
  book: OwnershipOracle;
}): SharedDatabase => {
  const { database, world, book } = of;
  const owners = new Map<number, Owner>();
  /** Mutations of the admin service so far: nodes learn by it that what they remember may be old. */
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
  /** Those of them that have left something, as far as is known. */
  let leaving: Owner[] = [];
  const fenced = () => new Fenced("another node has taken over what this one owned: it must not write any more");
  const end = (owner: Owner) => {
    owner.endedAtMs = world.nowMs();
    alive = alive.filter((one) => one !== owner);
    ended.push(owner);
    leaving.push(owner);
    book.ended(owner.epoch);
  };
  /** @param moreMs that their leases must have been over for. */
  const endDead = (moreMs = 0): number[] => {
    const isDead = ({ leaseEndsMs, isLocked }: Owner) => leaseEndsMs + moreMs < world.nowMs() && !isLocked;
    if (!alive.some(isDead)) return [];
    const dead = alive.filter(isDead);
    dead.forEach(end);
    return dead.map(({ epoch }) => epoch);
  };

  /** The SQLite writer remembers rows, because nobody else writes them: after another's commit it is made anew. */
  const writerOf = (epoch: number): Batch => {
    if (written?.epoch !== epoch) written = { epoch, batch: createBatchRunner(database, epoch) };
    return written.batch;
  };
  const isOwn = (epoch: number, seq: number): boolean =>
    (database.query(OWNER).get(seq) as { epoch: number } | null)?.epoch === epoch;
  /** It has ended, and so has its owner. */
  const isNobodys = (seq: number): boolean => {
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
      book.done(epoch, mutation, outcome);
      return outcome;
    });
  };
  const claim = (epoch: number, limit: number): number[] => {
    const seqs = seqsOf(LEFT_BEHIND, JSON.stringify(leaving.map((owner) => owner.epoch)), limit);
    for (const seq of seqs) {
      database.query(CLAIM).run(seq, epoch);
      book.claimed(epoch, seq);
    }
    if (seqs.length > 0) return seqs;
    // Nothing of theirs is left, as what was just asked says.
    leaving = [];
    return [];
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
      book.joined(epoch, name);
      const { newest } = database.query(NEWEST).get() as { newest: number | null };
      return { epoch, slot, newestGeneration: newest ?? 0, newestPosting: 0 };
    },
    attend: (epoch, leaseMs, isLeaving, endsOthers) => {
      const me = ownerAt(epoch);
      if (me.endedAtMs !== null) return null;
      const wasRenewedLately = me.leaseEndsMs >= world.nowMs() + leaseMs / 2;
      const dead = endsOthers && wasRenewedLately ? endDead() : [];
      me.leaseEndsMs = world.nowMs() + leaseMs;
      me.isLeaving = isLeaving;
      const isFirst = alive[0] === me;
      const others = alive.filter((one) => one !== me && !one.isLeaving).length;
      const around = { apartMs: 0, alive: alive.length, others, isFirst, news: String(admin), hasHints: hints.size > 0 };
      return { ...around, isAnythingLeft: leaving.length > 0, ended: dead };
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
    hintsOf: (epoch) => [...hints.values()].filter(({ seq, n }) => isOwn(epoch, seq) || (n <= 0 && isNobodys(seq))),
    dropHint: ({ seq, n, body }) => {
      if (hints.get(`${seq} ${n}`)?.body === body) hints.delete(`${seq} ${n}`);
    },
    readsOf: (epoch) => {
      const owned = `${ownerOf("g")} = ${epoch}`;
      const { unfinished } = recoveryReads(query, SQLITE, owned);
      const { watchedAttempts } = attemptReads(query, owned);
      return { ...of.reads, unfinished, watchedAttempts };
    },
    leftFor: (ms) => {
      const long = ended.filter(({ endedAtMs }) => endedAtMs !== null && world.nowMs() - endedAtMs > ms);
      return seqsOf(LEFT_OPEN, JSON.stringify(long.map(({ epoch }) => epoch)));
    },
  };
};
