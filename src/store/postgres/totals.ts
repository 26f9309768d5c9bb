// Totals of all balances and all transfers.
import type { Query } from "../sql/sql-program.ts";
import type { LedgerSums } from "../store.ts";

const sum = (of: string): string => `CAST(coalesce(sum(${of}), 0) AS bigint)`;
const BALANCES = `SELECT ${sum("available_credits")} AS available, ${sum("held_credits")} AS held, ${sum("charged_credits")} AS charged,
  ${sum("owed_credits")} AS owed FROM balance`;
/** Credits taken from an account count as negative. */
const KINDS = `SELECT kind, count(*) AS times, ${sum("CASE WHEN kind = 'adjust' AND from_side = 'available' THEN -credits ELSE credits END")} AS credits
  FROM transfer_log GROUP BY kind ORDER BY kind`;

export const ledgerSums = async (query: Query): Promise<LedgerSums> => {
  const [balances] = await query<Omit<LedgerSums, "moved" | "movements">>(BALANCES);
  const kinds = await query<{ kind: string; times: number; credits: number }>(KINDS);
  return {
    ...(balances ?? { available: 0, held: 0, charged: 0, owed: 0 }),
    movements: kinds.reduce((all, { times }) => all + times, 0),
    moved: Object.fromEntries(kinds.map(({ kind, credits }) => [kind, credits])),
  };
};
