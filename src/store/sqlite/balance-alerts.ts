// Reads the thresholds of low balances for admissions.
import type { Database } from "bun:sqlite";
import type { Credits } from "../../domain/types.ts";

/** @param defaultCredits threshold of accounts without their own; 0: never */
export const prepareBalanceAlerts = (db: Database, defaultCredits: Credits) => {
  const selectAll = db.prepare<{ accountSeq: number; credits: Credits }, []>(
    "SELECT account_seq AS accountSeq, credits FROM balance_alert",
  );
  /** Thresholds of all accounts that set one, valid until one changes. */
  let known: Map<number, Credits> | undefined;
  return {
    defaultCredits,
    thresholdOf: (accountSeq: number): Credits => {
      known ??= new Map(selectAll.all().map((row) => [row.accountSeq, row.credits]));
      return known.get(accountSeq) ?? defaultCredits;
    },
    /** Drops known thresholds after a change of one, or after a rollback. */
    forget: (): void => {
      known = undefined;
    },
  };
};
export type BalanceAlerts = ReturnType<typeof prepareBalanceAlerts>;
