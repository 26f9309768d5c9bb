// Types of the console's credit pages, shared by server and browser.
//
// Credits are whole numbers; 1 credit is 0.01 USD.

import type { PurchaseProvider, PurchaseState } from "../domain/purchase-mutations.ts";
import type { Credits } from "../domain/types.ts";

/** `GET /console/api/credits`. */
export type CreditsView = {
  account: { id: string; name: string; paused: boolean };
  balanceCredits: Credits;
  heldCredits: Credits;
  availableCredits: Credits;
  owedCredits: Credits;
  /** Threshold of the low-balance alert; 0 switches it off. */
  low: { thresholdCredits: Credits; isDefault: boolean; isLow: boolean };
  /** `provider` is null if only an operator grants credits. `mayBuy`: the user may buy credits for this account. */
  buying: { provider: PurchaseProvider | null; mayBuy: boolean; packsUsd: readonly number[]; leastUsd: number; mostUsd: number };
};

/** A purchase: `GET /console/api/purchases/:id`, and in lists. */
export type PurchaseView = {
  id: string;
  accountId: string;
  accountName: string;
  credits: Credits;
  provider: PurchaseProvider;
  state: PurchaseState;
  createdAtMs: number;
  /** Time until which an open purchase can be paid. */
  expiresAtMs: number;
  paidAtMs: number | null;
  /** `R-000042`; null until the purchase is paid. */
  receipt: string | null;
  invoice: { number: string | null; url: string } | null;
  refundedCredits: Credits;
  disputedCredits: Credits;
};
export type PurchasesPage = { purchases: PurchaseView[]; next: string | null };
/** `POST /console/api/purchases`: URL of the checkout. */
export type Bought = { id: string; url: string };

/** `GET /console/api/ledger`. */
export type { LedgerLine } from "../reports/ledger.ts";
export type { LedgerRow, LedgerRowsPage } from "../reports/ledger-rows.ts";
