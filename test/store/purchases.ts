// Purchases for store tests, one line each.

import type { DecideReversal, Principal } from "../../src/domain/mutations.ts";
import type {
  OpenPurchase,
  PayPurchase,
  PurchaseResult,
  RecordForeignReversal,
  RecordReversal,
} from "../../src/domain/purchase-mutations.ts";
import type { Store } from "../../src/store/store.ts";
import { commitOne, NOW_MS } from "./fixture.ts";

/** The principal of a purchase, and the principal of payment events. */
export const BUYER: Principal = { kind: "user", id: "per_1", name: "ada@example.com" };
export const STRIPE: Principal = { kind: "service", id: "stripe", name: "Stripe" };

/** Short names: purchase `a` is `pur_a`, its checkout `cs_a`, its payment `pi_a`. */
export const openPurchaseMutation = (accountSeq: number, name: string, credits: number): OpenPurchase => ({
  mutation: "open-purchase",
  id: `pur_${name}`,
  accountSeq,
  userId: null,
  credits,
  provider: "stripe",
  expiresAtMs: NOW_MS + 86_400_000,
  by: BUYER,
  atMs: NOW_MS,
});

export const payMutation = (name: string, amountCredits: number | null, currency = "usd"): PayPurchase => ({
  mutation: "pay-purchase",
  id: `pur_${name}`,
  payment: { sessionId: `cs_${name}`, paymentIntent: `pi_${name}`, amountCredits, currency },
  by: STRIPE,
  atMs: NOW_MS + 1000,
});

export const reversalMutation = (
  id: string,
  of: string,
  credits: number,
  changes: Partial<RecordReversal> = {},
): RecordReversal => ({
  mutation: "note-reversal",
  id,
  kind: "refund",
  paymentIntent: `pi_${of}`,
  credits,
  state: "taken",
  reportedAtMs: NOW_MS + 2000,
  by: STRIPE,
  atMs: NOW_MS + 2000,
  ...changes,
});

/** A reversal in another currency; `amount` is in its smallest unit. */
export const foreignMutation = (
  id: string,
  of: string,
  amount: number,
  changes: Partial<RecordForeignReversal> = {},
): RecordForeignReversal => {
  const { credits: _, mutation: __, ...reported } = reversalMutation(id, of, amount);
  return { ...reported, mutation: "note-foreign-reversal", amount, currency: "eur", ...changes };
};

/** An operator's decision about a reversal in another currency. */
export const decideMutation = (id: string, credits: number): DecideReversal => ({
  ...{ mutation: "decide-reversal", id, credits, reason: "the rate of that day", atMs: NOW_MS + 3000 },
});

/** Opens and pays a purchase. */
export const buy = async (store: Store, accountSeq: number, name: string, credits: number): Promise<PurchaseResult> => {
  await store.commit([openPurchaseMutation(accountSeq, name, credits)]);
  return commitOne(store, payMutation(name, credits));
};
