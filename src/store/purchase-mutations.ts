// The words of purchases: what is bought, what is taken back of it, the mutations that write it, and how it is read.

import type { Credits } from "../domain/types.ts";
import type { Principal } from "./mutations.ts";

/** Packs offered, USD (§1); any whole amount between the limits may be bought besides. */
export const PACKS_USD = [10, 25, 50, 100, 250, 500, 1000, 2500, 5000] as const;
export const LEAST_USD = 10;
export const MOST_USD = 5000;

/** `stripe`: money moves. `test`: the checkout of a simulated service. */
export type PurchaseProvider = "stripe" | "test";
/** `mismatched`: paid, but not what was asked: nothing is credited, and a person looks. */
export const PURCHASE_STATES = ["open", "expired", "mismatched", "paid"] as const;
export type PurchaseState = (typeof PURCHASE_STATES)[number];

/** A purchase as it is kept. */
export type PurchaseRow = {
  id: string;
  accountId: string;
  accountSeq: number;
  personId: string | null;
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
  /** Taken back at present, by refunds and by disputes. */
  reversedCredits: Credits;
  refundedCredits: Credits;
  disputedCredits: Credits;
};

/** Who says so, written into the audit log beside what changes: whoever buys, or the payment service with its news. */
type Told = { by: Principal };

/** Written before the checkout is asked for. The same id again changes nothing. */
export type OpenPurchase = {
  mutation: "open-purchase";
  id: string;
  accountSeq: number;
  personId: string | null;
  /** A whole number of USD from 10 to 5,000. */
  credits: Credits;
  provider: PurchaseProvider;
  expiresAtMs: number;
  atMs: number;
} & Told;
/** Notes the provider's name of the checkout. */
export type NameCheckout = { mutation: "name-checkout"; id: string; sessionId: string; atMs: number };
/** Notes that the provider is asked about it now: the others come before it the next time. */
export type RecordStatusCheck = { mutation: "note-asked"; id: string; atMs: number };
/** What the provider says was paid. */
export type Payment = { sessionId: string; paymentIntent: string | null; amountCredits: Credits | null; currency: string };
/**
 * Credits a purchase, once whatever comes how often and in which order; what is known of refunds already is taken at once. A payment of
 * another amount or currency credits nothing.
 */
export type PayPurchase = { mutation: "pay-purchase"; id: string; payment: Payment; atMs: number } & Told;
/** The checkout is over unpaid. One that was paid stays so. */
export type ExpirePurchase = { mutation: "expire-purchase"; id: string; atMs: number };
export type RecordInvoice = { mutation: "note-invoice"; id: string; number: string | null; url: string; atMs: number };

export type ReversalState = "asked" | "taken" | "lost" | "returned";
/**
 * A refund or dispute as the provider says it stands. News may come twice and in any order: a refund only goes on (asked, taken, lost,
 * returned), of a dispute the latest news counts, as one that was won may be lost later. What the payment has to give back changes with it at
 * once, or when the payment comes.
 */
export type RecordReversal = {
  mutation: "note-reversal";
  id: string;
  kind: "refund" | "dispute";
  paymentIntent: string;
  credits: Credits;
  state: ReversalState;
  /** When the provider says that it was so. */
  toldAtMs: number;
  atMs: number;
} & Told;
/**
 * One in another currency than usd. What it takes back in credits is not known here: while it takes something of a purchase that was paid,
 * and until an operator has decided how much (`decide-reversal`), the account is paused.
 */
export type RecordForeignReversal = Omit<RecordReversal, "mutation" | "credits"> & {
  mutation: "note-foreign-reversal";
  /** In the smallest unit of the currency. */
  amount: number;
  currency: string;
};
/** One that an operator has to decide about. */
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
  /** What the purchase was for, and what is taken back of it already. */
  boughtCredits: Credits;
  reversedCredits: Credits;
};
/** Sets below how much available an account's people are told; null: the service's default. */
export type SetLowBalanceAlert = {
  mutation: "set-low-balance";
  accountSeq: number;
  credits: Credits | null;
  atMs: number;
} & Told;

export type PurchaseMutation =
  | OpenPurchase
  | NameCheckout
  | RecordStatusCheck
  | PayPurchase
  | ExpirePurchase
  | RecordInvoice
  | RecordReversal
  | RecordForeignReversal
  | SetLowBalanceAlert;
export type PurchaseResult =
  /** `changed`: whether anything is other than before. `movedCredits`: what came onto the balance (below zero: off it). */
  | {
      kind: "purchase";
      changed: boolean;
      movedCredits: Credits;
      /** The purchase it was about; null where that is not known here (yet). */
      purchase: { id: string; accountId: string; state: PurchaseState; owedCredits: Credits } | null;
      /** Refunds and disputes of it that an operator has to decide about; absent: none. */
      undecided?: number;
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
]);
export const isPurchaseMutation = (mutation: { mutation: string }): mutation is PurchaseMutation =>
  PURCHASE_MUTATIONS.has(mutation.mutation);
