// Derives the cost of one generation from measured totals.
//
// Costs are per commit, per mutation, per generation, per provider poll and per client poll.
import kept from "./costs.json" with { type: "json" };
import type { Measured, MeasuredStore, StoreName } from "./measured.ts";

/** A commit of `n` mutations costs `each + n * mutation`. */
export type Linear = { each: number; mutation: number };
export type TableCost = { table: string; rows: number; bytes: number; indexBytes: number };

/** Times are ms of one core, sizes are bytes; values are per generation unless stated otherwise. */
export type Costs = {
  /** Committed mutations per generation: its admission and its transitions. */
  mutations: number;
  commit: { nodeMs: Linear; databaseMs: Linear; logBytes: Linear };
  /** CPU time of the node except commits and polls. */
  lifeMs: number;
  /** CPU time of the database except commits, that is, reads. */
  readsMs: number;
  /** Cost of one poll of the provider, and of one poll by the client. */
  lookMs: number;
  pollMs: number;
  /** Cost of a client poll at a node that does not own the generation; zero for a single node. */
  pollElsewhere: { nodeMs: number; databaseMs: number };
  tables: TableCost[];
  /** Memory of a node that is almost idle, and of each running generation. */
  nodeBytes: number;
  runningBytes: number;
  /** Duration of an fsync on the measured machine, ms. */
  syncMs: number;
};

export const linearAt = ({ each, mutation }: Linear, mutations: number): number => each + mutations * mutation;

/** Least-squares fit with distances relative to each point, so that small and large commits have equal weight. */
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
  // Noise can make one coefficient negative. It is then set to 0, and the other one is fitted alone.
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
  if (!few || !many || !here) throw new Error(`costs of ${name} are incomplete`);
  const commit = {
    nodeMs: fitOf(store, "nodeCpuMs"),
    databaseMs: fitOf(store, "databaseCpuMs"),
    logBytes: fitOf(store, "logBytes"),
  };
  /** CPU time per generation without its commits. */
  const beside = ({ nodeCpuMs, transactions, mutations, generations }: typeof few): number =>
    (nodeCpuMs - transactions * commit.nodeMs.each - mutations * commit.nodeMs.mutation) / generations;
  const reads = ({ databaseCpuMs, transactions, mutations, generations }: typeof few): number =>
    (databaseCpuMs - transactions * commit.databaseMs.each - mutations * commit.databaseMs.mutation) / generations;
  const lookMs = Math.max(0, (beside(many) - beside(few)) / (many.polls - few.polls));
  const pollMs = here.nodeCpuMs / here.polls;
  return {
    ...{ mutations: few.mutations / few.generations, commit, lookMs, pollMs },
    lifeMs: Math.max(0, beside(few) - few.polls * lookMs),
    // Both runs read equally often, so the smaller value is less disturbed.
    readsMs: Math.max(0, Math.min(reads(few), reads(many))),
    pollElsewhere: there
      ? { nodeMs: there.nodeCpuMs / there.polls, databaseMs: there.databaseCpuMs / there.polls }
      : { nodeMs: pollMs, databaseMs: 0 },
    // A table without remaining rows contains only running work. Its pages are reused and do not grow with completed generations.
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
