// What one generation costs, worked out from the totals that were measured: per commit and per mutation, per life, per look and per poll.
import kept from "./costs.json" with { type: "json" };
import type { Measured, MeasuredStore, StoreName } from "./measured.ts";

/** A commit of `n` mutations costs `each + n * mutation`. */
export type Linear = { each: number; mutation: number };
export type TableCost = { table: string; rows: number; bytes: number; indexBytes: number };

/** Times are ms of one core, bytes are bytes; all of one generation unless it says otherwise. */
export type Costs = {
  /** Mutations that are committed of a generation: its admission and its steps. */
  mutations: number;
  commit: { nodeMs: Linear; databaseMs: Linear; logBytes: Linear };
  /** The node's work on it beside commits, looks and polls. */
  lifeMs: number;
  /** What the database does for it beside commits: reads. */
  readsMs: number;
  /** Of one look at its provider, and of one poll by its client. */
  lookMs: number;
  pollMs: number;
  /** Of a poll at a node that it is not of; nothing where there is one node. */
  pollElsewhere: { nodeMs: number; databaseMs: number };
  tables: TableCost[];
  /** A node's memory with next to nothing running, and of each that runs. */
  nodeBytes: number;
  runningBytes: number;
  /** What a sync took on the machine that was measured, ms. */
  syncMs: number;
};

export const linearAt = ({ each, mutation }: Linear, mutations: number): number => each + mutations * mutation;

/** The line that fits best, each point's distance taken as a share of it: small commits and large ones count alike. */
export const fit = (points: readonly { commits: number; mutations: number; total: number }[]): Linear => {
  let [aa, ab, bb, ay, by] = [0, 0, 0, 0, 0];
  for (const { commits, mutations, total } of points) {
    if (total === 0) continue;
    const [a, b] = [commits / total, mutations / total];
    aa += a * a;
    ab += a * b;
    bb += b * b;
    ay += a;
    by += b;
  }
  const whole = aa * bb - ab * ab;
  if (whole <= 0) return { each: 0, mutation: 0 };
  const each = (ay * bb - by * ab) / whole;
  // Noise can put one of them below nothing; the other then explains it alone.
  if (each < 0) return { each: 0, mutation: by / bb };
  const mutation = (by * aa - ay * ab) / whole;
  return mutation < 0 ? { each: ay / aa, mutation: 0 } : { each, mutation };
};

const fitOf = ({ batches }: MeasuredStore, total: "nodeCpuMs" | "databaseCpuMs" | "logBytes"): Linear =>
  fit(batches.map((one) => ({ commits: one.batches, mutations: one.mutations, total: one[total] })));

export const costsOf = (measured: Measured, name: StoreName): Costs => {
  const store = measured.stores[name];
  const [few, many] = store.lives;
  const here = store.polls.find(({ elsewhere }) => !elsewhere);
  const there = store.polls.find(({ elsewhere }) => elsewhere);
  if (!few || !many || !here) throw new Error(`costs of ${name} are not whole`);
  const commit = {
    nodeMs: fitOf(store, "nodeCpuMs"),
    databaseMs: fitOf(store, "databaseCpuMs"),
    logBytes: fitOf(store, "logBytes"),
  };
  /** Of one life, without what its commits cost. */
  const beside = ({ nodeCpuMs, transactions, mutations, generations }: typeof few): number =>
    (nodeCpuMs - transactions * commit.nodeMs.each - mutations * commit.nodeMs.mutation) / generations;
  const reads = ({ databaseCpuMs, transactions, mutations, generations }: typeof few): number =>
    (databaseCpuMs - transactions * commit.databaseMs.each - mutations * commit.databaseMs.mutation) / generations;
  const lookMs = Math.max(0, (beside(many) - beside(few)) / (many.looks - few.looks));
  const pollMs = here.nodeCpuMs / here.polls;
  return {
    ...{ mutations: few.mutations / few.generations, commit, lookMs, pollMs },
    lifeMs: Math.max(0, beside(few) - few.looks * lookMs),
    // Neither kind of life reads more than the other: of both, the one that was disturbed less.
    readsMs: Math.max(0, Math.min(reads(few), reads(many))),
    pollElsewhere: there
      ? { nodeMs: there.nodeCpuMs / there.polls, databaseMs: there.databaseCpuMs / there.polls }
      : { nodeMs: pollMs, databaseMs: 0 },
    // What has no rows left holds what runs: its pages are used again, and do not grow with what has been.
    tables: Object.entries(store.tables)
      .filter(([, { rows }]) => rows > 0)
      .map(([table, { rows, bytes, indexBytes }]) => ({
        table,
        rows: rows / few.generations,
        bytes: bytes / few.generations,
        indexBytes: indexBytes / few.generations,
      }))
      .sort((a, b) => b.bytes - a.bytes),
    ...{ nodeBytes: few.residentBytes, runningBytes: measured.runningBytes, syncMs: measured.syncMs },
  };
};

export const MEASURED: Measured = kept;
