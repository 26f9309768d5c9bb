// Stripe client: opens checkouts, reads their state and verifies event signatures.
//
// It uses Stripe's own library.
import type Stripe from "stripe";
import type { Settings } from "../config/schema.ts";
import type { PurchaseRow } from "../domain/purchase-mutations.ts";

/** Stripe cannot be reached or rejects a request; the message is for the operator. */
export class StripeUnavailable extends Error {}
/** An event whose signature is invalid or too old. */
export class BadSignature extends Error {}

/** After this many failed requests the remaining ones are postponed, because each may have taken 30 s. */
const FAULTS_AT_MOST = 5;
/** Runs `ask` for each item in turn, also after failures, until too many have failed. @returns the messages of the failures */
export const forEachPage = async <T>(all: readonly T[], ask: (one: T) => Promise<void>): Promise<string[]> => {
  const faults: string[] = [];
  for (const one of all) {
    if (faults.length === FAULTS_AT_MOST) break;
    await ask(one).catch((fault: unknown) => {
      if (!(fault instanceof StripeUnavailable)) throw fault;
      faults.push(fault.message);
    });
  }
  return faults;
};

export type CheckoutSession = { successUrl: string; cancelUrl: string };
export type StripeClient = {
  /** Opens the checkout of a purchase, or returns the one that was opened for it. @throws StripeUnavailable */
  openCheckout(purchase: PurchaseRow, place: CheckoutSession): Promise<{ sessionId: string; url: string | null }>;
  /** The checkout with its invoice; null if it does not exist. @throws StripeUnavailable */
  checkout(sessionId: string): Promise<Stripe.Checkout.Session | null>;
  /** Ends an open checkout, so that it cannot be paid. @returns false if it is no longer open. @throws StripeUnavailable */
  expireCheckout(sessionId: string): Promise<boolean>;
  /** @throws StripeUnavailable */
  refundsOf(paymentIntent: string): Promise<Stripe.Refund[]>;
  /** Events of the given types since a time (s since 1970), oldest first. @throws StripeUnavailable */
  eventsSince(fromS: number, types: Stripe.Event["type"][]): Promise<Stripe.Event[]>;
  /** @throws BadSignature */
  event(body: string, signature: string): Promise<Stripe.Event>;
};

const TIMEOUT_MS = 15_000;
const RETRIES = 1;
const PAGE = 100;
const MAX_REFUNDS = 1000;
const MAX_EVENTS = 10_000;

const placeOf = (apiUrl: string) => {
  if (apiUrl === "") return {};
  const { protocol, hostname, port } = new URL(apiUrl);
  return { protocol: protocol === "http:" ? ("http" as const) : ("https" as const), host: hostname, ...(port ? { port } : {}) };
};

/** Parameters of a checkout. They depend on the purchase alone, so that a repeated request is identical. */
export const checkoutOf = (
  { id, accountId, credits, expiresAtMs }: PurchaseRow,
  { successUrl, cancelUrl }: CheckoutSession,
): Stripe.Checkout.SessionCreateParams => {
  const metadata = { purchase_id: id, account_id: accountId, credits: String(credits) };
  return {
    mode: "payment",
    client_reference_id: id,
    line_items: [
      {
        quantity: 1,
        price_data: {
          currency: "usd",
          unit_amount: credits,
          product_data: { name: `Prepaid credits, ${(credits / 100).toLocaleString("en-US")} USD` },
        },
      },
    ],
    metadata,
    payment_intent_data: { metadata },
    // A payment in another currency could be refunded in that currency, whose amount in credits would be a guess.
    adaptive_pricing: { enabled: false },
    invoice_creation: { enabled: true, invoice_data: { metadata } },
    success_url: successUrl,
    cancel_url: cancelUrl,
    expires_at: Math.floor(expiresAtMs / 1000),
  };
};

/** Idempotency key of a purchase's checkout. */
const idempotencyKeyOf = (id: string): string => `genrouter-${id}`;

/** The library is loaded on first use, so that a start, and a service without Stripe, does not load it. */
export const createStripeClient = (settings: Settings["stripe"]): StripeClient => {
  type Loaded = { stripe: Stripe; isMissing: (fault: unknown) => boolean; isRejected: (fault: unknown) => boolean };
  let loading: Promise<Loaded> | undefined;
  const library = () => {
    loading ??= import("stripe").then(({ default: Library }) => ({
      stripe: new Library(settings.secret_key, {
        ...placeOf(settings.api_url),
        timeout: TIMEOUT_MS,
        maxNetworkRetries: RETRIES,
        telemetry: false,
      }),
      isMissing: (fault) =>
        fault instanceof Library.errors.StripeInvalidRequestError &&
        (fault.code === "resource_missing" || fault.statusCode === 404),
      // 403 is a key without the permission, which says nothing about the checkout.
      isRejected: (fault) => fault instanceof Library.errors.StripeInvalidRequestError && fault.statusCode !== 403,
    }));
    return loading;
  };
  /** Stripe's messages may contain the account's e-mail address or key, so only the kind of a fault is reported. */
  const unavailable = (fault: unknown): never => {
    const { type, code, statusCode } = fault as { type?: string; code?: string; statusCode?: number };
    throw new StripeUnavailable([type ?? "no answer", code, statusCode].filter((part) => part !== undefined).join(" "));
  };
  return {
    openCheckout: async (purchase, place) => {
      const { stripe } = await library();
      const session = await stripe.checkout.sessions
        .create(checkoutOf(purchase, place), { idempotencyKey: idempotencyKeyOf(purchase.id) })
        .catch(unavailable);
      return { sessionId: session.id, url: session.url };
    },
    checkout: async (sessionId) => {
      const { stripe, isMissing } = await library();
      return stripe.checkout.sessions
        .retrieve(sessionId, { expand: ["invoice"] })
        .catch((fault: unknown) => (isMissing(fault) ? null : unavailable(fault)));
    },
    expireCheckout: async (sessionId) => {
      const { stripe, isRejected } = await library();
      return stripe.checkout.sessions.expire(sessionId).then(
        () => true,
        (fault: unknown) => (isRejected(fault) ? false : unavailable(fault)),
      );
    },
    refundsOf: async (paymentIntent) => {
      const { stripe } = await library();
      const pages = stripe.refunds.list({ payment_intent: paymentIntent, limit: PAGE });
      return pages.autoPagingToArray({ limit: MAX_REFUNDS }).catch(unavailable);
    },
    eventsSince: async (fromS, types) => {
      const { stripe } = await library();
      const pages = stripe.events.list({ created: { gte: fromS }, types, limit: PAGE });
      // Stripe returns the newest event first.
      return (await pages.autoPagingToArray({ limit: MAX_EVENTS }).catch(unavailable)).reverse();
    },
    event: async (body, signature) => {
      const { stripe } = await library();
      // Verifies the webhook signature. The synchronous variant needs a feature that this runtime lacks.
      return stripe.webhooks.constructEventAsync(body, signature, settings.webhook_secret).catch((fault: unknown) => {
        throw new BadSignature(fault instanceof Error ? (fault.message.split("\n")[0] ?? "") : String(fault));
      });
    },
  };
};
