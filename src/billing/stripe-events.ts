// Interprets Stripe events: a payment, an expired checkout, a refund, a dispute, or nothing.
import type Stripe from "stripe";
import type { Payment, ReversalState } from "../domain/purchase-mutations.ts";
import type { Credits } from "../domain/types.ts";

/** The purchase that a checkout names in its metadata. */
export type Named = { purchaseId: string; accountId: string | null; credits: Credits | null };
export type StripeEvent =
  | { kind: "paid"; named: Named; payment: Payment }
  | { kind: "over"; named: Named; sessionId: string }
  | ({ kind: "reversal"; credits: Credits } & Reversal)
  /** In a currency other than usd: `amount` is in its smallest unit, and an operator decides the amount in credits. */
  | ({ kind: "foreign"; amount: number; currency: string } & Reversal)
  /** A payment was refunded; the refunds themselves must be requested. */
  | { kind: "refunded"; paymentIntent: string };
/** `reportedAtMs`: time of this state according to Stripe. */
type Reversal = { id: string; of: "refund" | "dispute"; paymentIntent: string; state: ReversalState; reportedAtMs: number };

const idOf = (named: string | { id: string } | null): string | null =>
  named === null || typeof named === "string" ? named : named.id;

const PURCHASE_ID = /^pur_[0-9a-z]{26}$/;
const namedIn = ({ metadata }: Stripe.Checkout.Session): Named | null => {
  const purchaseId = metadata?.purchase_id ?? "";
  if (!PURCHASE_ID.test(purchaseId)) return null;
  const credits = Number(metadata?.credits);
  return { purchaseId, accountId: metadata?.account_id ?? null, credits: Number.isSafeInteger(credits) ? credits : null };
};

/** State of a checkout; null if it is undecided or does not belong to this service. */
export const eventOfCheckout = (session: Stripe.Checkout.Session): StripeEvent | null => {
  const named = namedIn(session);
  if (named === null) return null;
  const { id: sessionId, status, payment_status, amount_total, currency } = session;
  if (payment_status === "paid") {
    const payment = {
      sessionId,
      paymentIntent: idOf(session.payment_intent),
      amountCredits: amount_total,
      currency: currency ?? "",
    };
    return { kind: "paid", named, payment };
  }
  return status === "expired" ? { kind: "over", named, sessionId } : null;
};

const REFUND_STATES: Readonly<Record<string, ReversalState>> = { failed: "returned", canceled: "returned" };
/** An inquiry takes nothing; an appeal belongs to a lost dispute. No state is final: the newest event of a dispute applies. */
const DISPUTE_STATES: Readonly<Record<string, ReversalState>> = {
  warning_needs_response: "asked",
  warning_under_review: "asked",
  warning_closed: "asked",
  prevented: "asked",
  appeal_needs_response: "lost",
  appeal_under_review: "lost",
  lost: "lost",
  won: "returned",
};

const reversal = (
  of: "refund" | "dispute",
  one: { id: string; amount: number; currency: string; payment_intent: string | { id: string } | null },
  state: ReversalState,
  reportedAtMs: number,
): StripeEvent | null => {
  const paymentIntent = idOf(one.payment_intent);
  // Checkout creates a payment for every purchase, so a reversal without a payment belongs to none.
  if (paymentIntent === null || one.amount < 1) return null;
  const shared = { id: one.id, of, paymentIntent, state, reportedAtMs };
  if (one.currency !== "usd") return { kind: "foreign", ...shared, amount: one.amount, currency: one.currency };
  return { kind: "reversal", ...shared, credits: one.amount };
};

/** @param atMs time of this state */
export const eventOfRefund = (refund: Stripe.Refund, atMs: number): StripeEvent | null =>
  reversal("refund", refund, REFUND_STATES[refund.status ?? ""] ?? "taken", atMs);

/** Withdrawn funds are gone whatever the status is: a won dispute may be lost later by pre-arbitration. */
const stateOfDispute = (type: Stripe.Event["type"], status: string): ReversalState => {
  const state = DISPUTE_STATES[status] ?? "taken";
  if (type === "charge.dispute.funds_reinstated") return "returned";
  return type === "charge.dispute.funds_withdrawn" && state !== "taken" ? "taken" : state;
};

/** @returns null for an event that does not concern this service */
export const eventOf = (event: Stripe.Event): StripeEvent | null => {
  const reportedAtMs = event.created * 1000;
  switch (event.type) {
    case "checkout.session.completed":
    case "checkout.session.async_payment_succeeded":
    case "checkout.session.expired":
      return eventOfCheckout(event.data.object);
    case "checkout.session.async_payment_failed": {
      const named = namedIn(event.data.object);
      return named && { kind: "over", named, sessionId: event.data.object.id };
    }
    case "refund.created":
    case "refund.updated":
    case "refund.failed":
    case "charge.refund.updated":
      return eventOfRefund(event.data.object, reportedAtMs);
    case "charge.refunded": {
      const paymentIntent = idOf(event.data.object.payment_intent);
      return paymentIntent === null ? null : { kind: "refunded", paymentIntent };
    }
    case "charge.dispute.created":
    case "charge.dispute.updated":
    case "charge.dispute.funds_withdrawn":
    case "charge.dispute.closed":
    case "charge.dispute.funds_reinstated": {
      const dispute = event.data.object;
      return reversal("dispute", dispute, stateOfDispute(event.type, dispute.status), reportedAtMs);
    }
    default:
      return null;
  }
};
