// Read-only client of a shared database for commands, with or without running nodes.
import { DatabaseEmpty, DatabaseUnavailable, WrongSchema } from "../errors.ts";
import { readsThrough } from "../sql/reads.ts";
import type { LedgerSums, StoreReads } from "../store.ts";
import { type Address, createPool } from "./connections.ts";
import { NO_TABLE, stateOf } from "./errors.ts";
import { requireKnownSchema, STEPS_RUN, type StepRun } from "./migrate.ts";
import { createNodeReads } from "./node-reads.ts";
import { unavailableError } from "./server-requirements.ts";
import { USAGE_BEHIND } from "./shared-mutations.ts";
import { POSTGRES } from "./sql-program.ts";
import { ledgerSums } from "./totals.ts";
import { verifyPostgres } from "./verify.ts";

export type Reading = StoreReads & {
  /** Whether any node is alive. */
  isServed(): Promise<boolean>;
  /** Totals over all accounts. */
  sums(): Promise<LedgerSums>;
};

const READERS = 2;

/**
 * @throws DatabaseUnavailable if it is unreachable or has no service data. @throws WrongSchema if its schema is of another
 * release.
 */
export const openPostgresReads = async (address: Address): Promise<Reading> => {
  const pool = createPool(address, READERS);
  try {
    const { version, newest } = requireKnownSchema(await pool.query<StepRun>(STEPS_RUN));
    if (version < newest)
      throw new WrongSchema(
        `the database has schema ${version} and this release knows ${newest}: use the release that its nodes run, or start this release once, which converts it`,
      );
  } catch (fault) {
    await pool.close();
    if (fault instanceof WrongSchema || fault instanceof DatabaseUnavailable) throw fault;
    if (stateOf(fault) !== NO_TABLE) throw unavailableError(address.url, "read", fault);
    throw new DatabaseEmpty(
      "the database of GENROUTER_STORE__URL is empty: start a service on it, or migrate a data directory (genrouter migrate-store)",
    );
  }
  return {
    ...readsThrough(pool.query, POSTGRES, { usageBehind: USAGE_BEHIND }),
    nodes: createNodeReads(pool.query),
    verify: (nowMs, report) => verifyPostgres(address, nowMs, report),
    isServed: async () => (await pool.query("SELECT 1 AS alive FROM lease WHERE ends_at_ms >= now_ms() LIMIT 1")).length > 0,
    sums: () => ledgerSums(pool.query),
    close: () => pool.close(),
  };
};
