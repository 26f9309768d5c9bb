// SQLite store in one thread over one connection, for tests and simulated worlds.

import type { Database } from "bun:sqlite";
import type { Credits } from "../../domain/types.ts";
import { pack } from "../sql/serialized-mutations.ts";
import type { Mode, Store } from "../store.ts";
import { createBatchRunner } from "./batch.ts";
import { newestGenerationOf, ownDatabase } from "./initialize.ts";
import { DEFAULT_PRAGMAS, openWriter, type Pragmas } from "./open.ts";
import { readsOver } from "./reads.ts";

const over = (db: Database, path: string, mode: Mode, nowMs: number, lowBalanceCredits: Credits = 0): Store => {
  const batch = createBatchRunner(db, ownDatabase(db, path, mode, nowMs), lowBalanceCredits);
  return {
    ...readsOver(db),
    node: null,
    newestGeneration: newestGenerationOf(db),
    commit: async (mutations) => batch(mutations.map(pack)),
  };
};

/**
 * Opens a store over a connection of `openWriter` to an in-memory database. Reopening the same connection simulates the next
 * process: all committed data and a new epoch.
 */
export const openSqliteOver = async (
  db: Database,
  { mode, nowMs, lowBalanceCredits }: { mode: Mode; nowMs: number; lowBalanceCredits?: Credits },
): Promise<Store> => over(db, ":memory:", mode, nowMs, lowBalanceCredits);

/** Opens `path` (or `:memory:`) for reading and writing in this thread. It takes no lock, so the caller must be the only user. */
export const openSqliteInProcess = async (options: {
  path: string;
  mode: Mode;
  nowMs?: number;
  pragmas?: Partial<Pragmas>;
  lowBalanceCredits?: Credits;
}): Promise<Store> => {
  const db = openWriter(options.path, { ...DEFAULT_PRAGMAS, ...options.pragmas });
  return over(db, options.path, options.mode, options.nowMs ?? Date.now(), options.lowBalanceCredits);
};
