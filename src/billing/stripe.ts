// Stripe, through its own library: opens checkouts, asks what became of them, and tells genuine events from others.
import type Stripe from "stripe";
import type { Settings } from "../config/schema.ts";
import type { PurchaseRow } from "../store/purchase-mutations.ts";

/** Stripe cannot be reached, or does not want what was asked of it; the message is for the operator. */
export class StripeUnavailable extends Error {}
/** An event that was not signed with our secret, or long ago. */
export class BadSignature extends Error {}

/** After so many that Stripe did not answer the others wait for the next time: each may have taken half a minute. */
const FAULTS_AT_MOST = 5;
/** Does something for each in turn, whatever Stripe says of those before it, until too many were not answered. @returns what it said of these */
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
  /** Opens the checkout of a purchase, or finds the one that was opened for it. @throws StripeUnavailable */
  openCheckout(purchase: PurchaseRow, place: CheckoutSession): Promise<{ sessionId: string; url: string | null }>;
  /** With its invoice. Null: there is none of this name. @throws StripeUnavailable */
  checkout(sessionId: string): Promise<Stripe.Checkout.Session | null>;
  /** @throws StripeUnavailable */
  refundsOf(paymentIntent: string): Promise<Stripe.Refund[]>;
  /** Events of these types from a time on, oldest first; s since 1970. @throws StripeUnavailable */
  eventsSince(fromS: number, types: Stripe.Event["type"][]): Promise<Stripe.Event[]>;
  /** @throws BadSignature */
  event(body: string, signature: string): Promise<Stripe.Event>;
};

const TIMEOUT_MS = 15_000;
const RETRIES = 1;
const PAGE = 100;
const MOST_REFUNDS = 1000;
const MOST_EVENTS = 10_000;

const placeOf = (apiUrl: string) => {
  if (apiUrl === "") return {};
  const { protocol, hostname, port } = new URL(apiUrl);
  return { protocol: protocol === "http:" ? ("http" as const) : ("https" as const), host: hostname, ...(port ? { port } : {}) };
};

/** What a checkout is asked for. Made from the purchase alone, so that asking again is asking the same. */
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
    // Who pays in another currency could have it back in that, and what this is in credits would be a guess.
    adaptive_pricing: { enabled: false },
    invoice_creation: { enabled: true, invoice_data: { metadata } },
    success_url: successUrl,
    cancel_url: cancelUrl,
    expires_at: Math.floor(expiresAtMs / 1000),
  };
};

/** How a purchase is told from every other when its checkout is asked for a second time. */
const idempotencyKeyOf = (id: string): string => `genrouter-${id}`;

/** The library is loaded at the first use: a start does without it, and so does who has no Stripe. */
export const createStripeClient = (settings: Settings["stripe"]): StripeClient => {
  let loading: Promise<{ stripe: Stripe; isMissing: (fault: unknown) => boolean }> | undefined;
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
    }));
    return loading;
  };
  /** What Stripe says may name the account's e-mail or key: of a fault only its kind is told. */
  const away = (fault: unknown): never => {
    const { type, code, statusCode } = fault as { type?: string; code?: string; statusCode?: number };
    throw new StripeUnavailable([type ?? "no answer", code, statusCode].filter((part) => part !== undefined).join(" "));
  };
  return {
    openCheckout: async (purchase, place) => {
      const { stripe } = await library();
      const session = await stripe.checkout.sessions
        .create(checkoutOf(purchase, place), { idempotencyKey: idempotencyKeyOf(purchase.id) })
        .catch(away);
      return { sessionId: session.id, url: session.url };
    },
    checkout: async (sessionId) => {
      const { stripe, isMissing } = await library();
      return stripe.checkout.sessions
        .retrieve(sessionId, { expand: ["invoice"] })
        .catch((fault: unknown) => (isMissing(fault) ? null : away(fault)));
    },
    refundsOf: async (paymentIntent) => {
      const { stripe } = await library();
      const pages = stripe.refunds.list({ payment_intent: paymentIntent, limit: PAGE });
      return pages.autoPagingToArray({ limit: MOST_REFUNDS }).catch(away);
    },
    eventsSince: async (fromS, types) => {
      const { stripe } = await library();
      const pages = stripe.events.list({ created: { gte: fromS }, types, limit: PAGE });
      // They come newest first.
      return (await pages.autoPagingToArray({ limit: MOST_EVENTS }).catch(away)).reverse();
    },
    event: async (body, signature) => {
      const { stripe } = await library();
      // The other one, which does not wait, needs what this runtime has not.
      return stripe.webhooks.constructEventAsync(body, signature, settings.webhook_secret).catch((fault: unknown) => {
        throw new BadSignature(fault instanceof Error ? (fault.message.split("\n")[0] ?? "") : String(fault));
      });
    },
  };
};
