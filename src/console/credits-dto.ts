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
  /**
   * The spend of this calendar month (UTC) and the amount that the account is notified about; null: no alert. `monthSpentCredits`: what
   * the generations cost that have ended in it, up to a minute ago.
   */
  spend: { alertCredits: Credits | null; monthSpentCredits: Credits; isReached: boolean };
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
/** `GET /console/api/purchases/:id`: `seller` is null if the settings name none. An address has several lines. */
export type ReceiptView = PurchaseView & { seller: { name: string; address: string; taxId: string } | null };
export type PurchasesPage = { purchases: PurchaseView[]; next: string | null };
/** `POST /console/api/purchases`: URL of the checkout. */
export type Bought = { id: string; url: string };

/** `GET /console/api/first-steps`: what a new account has done. `mayInvite`: the user may invite others to it. */
export type FirstSteps = {
  hasGenerated: boolean;
  hasCredits: boolean;
  hasKey: boolean;
  hasColleague: boolean;
  mayInvite: boolean;
};

/** `GET /console/api/ledger`. */
export type { LedgerLine } from "../reports/ledger.ts";
export type { LedgerRow, LedgerRowsPage } from "../reports/ledger-rows.ts";
