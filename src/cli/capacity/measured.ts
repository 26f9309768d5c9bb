// Types of the measurements of `npm run costs`, stored as totals of whole runs.
//
// All costs per generation are derived from these totals.

/**
 * Totals of commits with `mutationsEach` mutations. `wallMs`: median duration of one commit. `logBytes`: bytes of the write-ahead
 * log.
 */
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

/** Totals of generations through the whole service, each with `looks` polls of its provider. */
export type Lives = {
  generations: number;
  polls: number;
  mutations: number;
  transactions: number;
  nodeCpuMs: number;
  databaseCpuMs: number;
  logBytes: number;
  residentBytes: number;
};

/** Totals of client polls. `elsewhere`: at a node that does not own the generations. */
export type Polls = { polls: number; elsewhere: boolean; nodeCpuMs: number; databaseCpuMs: number };

/** Rows, and bytes including indexes, of each table. */
export type Tables = Record<string, { rows: number; bytes: number; indexBytes: number }>;

export type StoreName = "sqlite" | "postgres";
/** `tables`: their growth during the first run of `lives`. */
export type MeasuredStore = { batches: Batched[]; lives: Lives[]; polls: Polls[]; tables: Tables };

export type Measured = {
  at: string;
  commit: string;
  machine: string;
  /** Duration of writing and syncing one page, ms. */
  syncMs: number;
  /** Memory of a running generation, measured by the bench `memory`. */
  runningBytes: number;
  stores: Record<StoreName, MeasuredStore>;
};
