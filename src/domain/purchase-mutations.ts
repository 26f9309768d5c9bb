// Types of purchases, refunds and disputes, and the mutations that write them.

import type { LowBalance } from "./low-balance.ts";
import type { Principal } from "./mutations.ts";
import type { SpendReached } from "./spend-alert.ts";
import type { Credits } from "./types.ts";
import type { PendingDelivery } from "./webhooks.ts";

/** Offered packs in USD (§1). A purchase can also be any whole amount between the limits. */
export const PACKS_USD = [10, 25, 50, 100, 250, 500, 1000, 2500, 5000] as const;
export const MIN_USD = 10;
export const MAX_USD = 5000;

/** `stripe`: real payments. `test`: the checkout of a simulated service. */
export type PurchaseProvider = "stripe" | "test";
/** `mismatched`: the payment differs from the order, so nothing is credited and an operator decides. */
export const PURCHASE_STATES = ["open", "expired", "mismatched", "paid"] as const;
export type PurchaseState = (typeof PURCHASE_STATES)[number];

/** A stored purchase. */
export type PurchaseRow = {
  id: string;
  accountId: string;
  accountSeq: number;
  userId: string | null;
  credits: Credits;
  provider: PurchaseProvider;
  state: PurchaseState;
  createdAtMs: number;
  expiresAtMs: number;
  sessionId: string | null;
  paymentIntent: string | null;
  found: string | null;
  paidAtMs: number | null;
  receipt: number | null;
  invoiceNumber: string | null;
  invoiceUrl: string | null;
  /** Credits currently reversed by refunds and disputes. */
  reversedCredits: Credits;
  refundedCredits: Credits;
  disputedCredits: Credits;
};

/** The principal that the audit log records with the change: the buyer or the payment service. */
type WithPrincipal = { by: Principal };

/** Stored before the checkout is created. A repeated id changes nothing. */
export type OpenPurchase = {
  mutation: "open-purchase";
  id: string;
  accountSeq: number;
  userId: string | null;
  /** A whole number of USD from 10 to 5,000, in credits. */
  credits: Credits;
  provider: PurchaseProvider;
  expiresAtMs: number;
  atMs: number;
} & WithPrincipal;
/** Stores the provider's session id of the checkout. */
export type NameCheckout = { mutation: "name-checkout"; id: string; sessionId: string; atMs: number };
/** Stores the time of a status check, so that the next round checks other purchases first. */
export type RecordStatusCheck = { mutation: "note-asked"; id: string; atMs: number };
/** The payment as the provider reports it. */
export type Payment = { sessionId: string; paymentIntent: string | null; amountCredits: Credits | null; currency: string };
/**
 * Credits a purchase exactly once, for any number and order of events. Refunds that are already known are applied at once. A
 * payment of another amount or currency credits nothing.
 */
export type PayPurchase = { mutation: "pay-purchase"; id: string; payment: Payment; atMs: number } & WithPrincipal;
/** The checkout expired without a payment. A paid purchase stays paid. */
export type ExpirePurchase = { mutation: "expire-purchase"; id: string; atMs: number };
export type RecordInvoice = { mutation: "note-invoice"; id: string; number: string | null; url: string; atMs: number };

export type ReversalState = "asked" | "taken" | "lost" | "returned";
/**
 * A refund or dispute as the provider reports it. Events can arrive twice and in any order. A refund only advances (asked, taken,
 * lost, returned). For a dispute the latest event counts, because a dispute that was won can be lost later. The credits to
 * reverse change at once, or when the payment arrives.
 */
export type RecordReversal = {
  mutation: "note-reversal";
  id: string;
  kind: "refund" | "dispute";
  paymentIntent: string;
  credits: Credits;
  state: ReversalState;
  /** The time of the event according to the provider. */
  reportedAtMs: number;
  atMs: number;
} & WithPrincipal;
/**
 * A refund or dispute in a currency other than USD. Its amount in credits is unknown. While it takes from a paid purchase, the
 * account is paused until an operator decides the amount (`decide-reversal`).
 */
export type RecordForeignReversal = Omit<RecordReversal, "mutation" | "credits"> & {
  mutation: "note-foreign-reversal";
  /** In the smallest unit of the currency. */
  amount: number;
  currency: string;
};
/** A refund or dispute that an operator must decide. */
export type UndecidedReversal = {
  id: string;
  kind: "refund" | "dispute";
  paymentIntent: string;
  amount: number;
  currency: string;
  state: ReversalState;
  atMs: number;
  purchaseId: string;
  accountId: string;
  /** The credits of the purchase, and the credits that are already reversed. */
  boughtCredits: Credits;
  reversedCredits: Credits;
};
/** Sets the available balance below which an account is notified; null: the default of the service. */
export type SetLowBalanceAlert = {
  mutation: "set-low-balance";
  accountSeq: number;
  credits: Credits | null;
  atMs: number;
} & WithPrincipal;

/** Sets the spend of a calendar month (UTC) that an account is notified about; null: none. */
export type SetSpendAlert = {
  mutation: "set-spend-alert";
  accountSeq: number;
  credits: Credits | null;
  atMs: number;
} & WithPrincipal;

export type PurchaseMutation =
  | OpenPurchase
  | NameCheckout
  | RecordStatusCheck
  | PayPurchase
  | ExpirePurchase
  | RecordInvoice
  | RecordReversal
  | RecordForeignReversal
  | SetLowBalanceAlert
  | SetSpendAlert;
export type PurchaseResult =
  /** `changed`: whether anything changed. `transferredCredits`: credits added to the balance (negative: taken from it). */
  | {
      kind: "purchase";
      changed: boolean;
      transferredCredits: Credits;
      /** The purchase of the mutation; null if it is not known (yet). */
      purchase: { id: string; accountId: string; state: PurchaseState; owedCredits: Credits } | null;
      /** Number of its refunds and disputes that an operator must decide; absent: none. */
      undecided?: number;
      /** What was added to the outbox of webhooks; absent: nothing. */
      deliveries?: readonly PendingDelivery[];
      /** The balance became low. */
      lowBalance?: LowBalance;
      /** The spend of a month has reached the amount of the account; absent: none. */
      spendReached?: readonly SpendReached[];
    }
  /** Nothing was written; `reason` is a sentence for the operator. */
  | { kind: "refused"; reason: string };

const PURCHASE_MUTATIONS: ReadonlySet<string> = new Set<PurchaseMutation["mutation"]>([
  "open-purchase",
  "name-checkout",
  "note-asked",
  "pay-purchase",
  "expire-purchase",
  "note-invoice",
  "note-reversal",
  "note-foreign-reversal",
  "set-low-balance",
  "set-spend-alert",
]);
export const isPurchaseMutation = (mutation: { mutation: string }): mutation is PurchaseMutation =>
  PURCHASE_MUTATIONS.has(mutation.mutation);
