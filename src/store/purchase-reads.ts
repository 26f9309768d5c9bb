// Reads about purchases, a part of the store port.

import type { PurchaseRow, UndecidedReversal } from "../domain/purchase-mutations.ts";
import type { SpendAlert } from "../domain/spend-alert.ts";
import type { Credits } from "../domain/types.ts";

export type AdjustmentFacts = { isRepayment: boolean; owedCredits: Credits };

export interface PurchaseReads {
  purchase(id: string): Promise<PurchaseRow | undefined>;
  /** Newest first, before the purchase `beforeId` (null: all), of one account or of all (null); at most `limit`. */
  purchases(accountId: string | null, beforeId: string | null, limit: number): Promise<PurchaseRow[]>;
  /** Open purchases whose last status check was before a time, the longest waiting first; at most `limit`. */
  openPurchases(checkedBeforeMs: number, limit: number): Promise<PurchaseRow[]>;
  /** Number of open purchases of an account that expire after a time. */
  countOpenPurchases(accountSeq: number, nowMs: number): Promise<number>;
  /** Mismatched purchases that were opened at or after a time, newest first; at most `limit`. */
  mismatchedPurchases(sinceMs: number, limit: number): Promise<PurchaseRow[]>;
  /** Undecided refunds and disputes of paid purchases in currencies other than USD; at most `limit`. */
  undecidedReversals(limit: number): Promise<UndecidedReversal[]>;
  /**
   * Purchases without an invoice that were paid through Stripe at or after a time, the longest waiting first; at most `limit`.
   */
  uninvoicedPurchases(sinceMs: number, limit: number): Promise<PurchaseRow[]>;
  /** Purchase ids by the row number of the transfer that credits or reverses them. */
  purchasesOfTransfers(seqs: readonly number[]): Promise<Map<number, string>>;
  /** Of transfers that are adjustments of a balance: whether each repays a debt, and the debt after it, by row number. */
  adjustmentsOfTransfers(seqs: readonly number[]): Promise<Map<number, AdjustmentFacts>>;
  /** The available balance below which the users of an account are notified; null: the default of the service. */
  lowBalance(accountSeq: number): Promise<Credits | null>;
  /** The spend alert of an account; null: none. */
  spendAlert(accountSeq: number): Promise<SpendAlert | null>;
  /** What the generations of an account cost that ended in the month of a time, as far as usage is rolled up. */
  monthSpend(accountSeq: number, atMs: number): Promise<Credits>;
}
