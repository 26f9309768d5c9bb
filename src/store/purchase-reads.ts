// What may be read of purchases: part of the store port.

import type { Credits } from "../domain/types.ts";
import type { PurchaseRow, UndecidedReversal } from "./purchase-mutations.ts";

export interface PurchaseReads {
  purchase(id: string): Promise<PurchaseRow | undefined>;
  /** Newest first, before one of them (null: all), of an account or (null) of all; at most `limit`. */
  purchases(accountId: string | null, beforeId: string | null, limit: number): Promise<PurchaseRow[]>;
  /** Not decided yet and last asked about before a time, those first that have waited longest; at most `limit`. */
  openPurchases(askedBeforeMs: number, limit: number): Promise<PurchaseRow[]>;
  /** Opened at or after a time and paid otherwise than was asked, newest first; at most `limit`. */
  mismatchedPurchases(sinceMs: number, limit: number): Promise<PurchaseRow[]>;
  /** Refunds and disputes in another currency than usd that take something of a paid purchase, and nobody has decided how much; at most `limit`. */
  undecidedReversals(limit: number): Promise<UndecidedReversal[]>;
  /** Paid through Stripe at or after a time, without an invoice, those first that have waited longest; at most `limit`. */
  uninvoicedPurchases(sinceMs: number, limit: number): Promise<PurchaseRow[]>;
  /** What movements of the ledger have to do with purchases, by the row of the movement. */
  purchasesOfMovements(seqs: readonly number[]): Promise<Map<number, string>>;
  /** Below how much available the account's people are told; null: the service's default. */
  lowBalance(accountSeq: number): Promise<Credits | null>;
}
