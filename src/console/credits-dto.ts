// What the console's pages about credits are sent: shapes that the server fills and the browser reads. Credits are whole; 1 is 0.01 USD.

import type { Credits, TransferKind } from "../domain/types.ts";
import type { PurchaseProvider, PurchaseState } from "../store/purchase-mutations.ts";

/** `GET /console/api/credits`. */
export type CreditsView = {
  account: { id: string; name: string; paused: boolean };
  balanceCredits: Credits;
  heldCredits: Credits;
  availableCredits: Credits;
  owedCredits: Credits;
  /** Below it people are told; 0: never. */
  low: { thresholdCredits: Credits; isDefault: boolean; isLow: boolean };
  /** `provider` null: only an operator grants credits. `mayBuy`: whoever asks may, here. */
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
  /** Until then an open one can be paid. */
  expiresAtMs: number;
  paidAtMs: number | null;
  /** `R-000042`; null until it is paid. */
  receipt: string | null;
  invoice: { number: string | null; url: string } | null;
  refundedCredits: Credits;
  disputedCredits: Credits;
};
export type PurchasesPage = { purchases: PurchaseView[]; next: string | null };
/** `POST /console/api/purchases`: where the checkout is. */
export type Bought = { id: string; url: string };

/** `GET /console/api/ledger`. `n` counts the account's movements from 1. */
export type LedgerLine = {
  seq: number;
  n: number;
  atMs: number;
  kind: TransferKind;
  credits: Credits;
  /** What it did to the balance: 0 for a hold and its release. */
  changeCredits: Credits;
  balanceCredits: Credits;
  availableCredits: Credits;
  heldCredits: Credits;
  generationId: string | null;
  purchaseId: string | null;
  note: string | null;
};
export type LedgerPage = { lines: LedgerLine[]; next: number | null };
