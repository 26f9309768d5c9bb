// What `npm run costs` measures, as it is kept: totals of whole runs, from which everything that is told per generation is worked out.

/** Of commits with so many mutations each: totals. `wallMs`: the median of one. `logBytes`: of the log that makes them durable. */
export type Batched = {
  mutationsEach: number;
  batches: number;
  mutations: number;
  nodeCpuMs: number;
  databaseCpuMs: number;
  logBytes: number;
  pageImages: number;
  wallMs: number;
};

/** Of so many generations through the whole service, each looked at `looks` times at its provider: totals. */
export type Lives = {
  generations: number;
  looks: number;
  mutations: number;
  transactions: number;
  nodeCpuMs: number;
  databaseCpuMs: number;
  logBytes: number;
  residentBytes: number;
};

/** Of so many polls. `elsewhere`: at a node that the generations are not of. */
export type Polls = { polls: number; elsewhere: boolean; nodeCpuMs: number; databaseCpuMs: number };

/** Rows, and bytes with indexes, of each table. */
export type Tables = Record<string, { rows: number; bytes: number; indexBytes: number }>;

export type StoreName = "sqlite" | "postgres";
/** `tables`: by how much they grew with the first of `lives`. */
export type MeasuredStore = { batches: Batched[]; lives: Lives[]; polls: Polls[]; tables: Tables };

export type Measured = {
  at: string;
  commit: string;
  machine: string;
  /** What it takes to write a page and to sync it, ms. */
  syncMs: number;
  /** Memory of a generation that runs, as the bench `memory` has it. */
  runningBytes: number;
  stores: Record<StoreName, MeasuredStore>;
};
