// Checkout: opens purchases, applies payment events and reconciles pending purchases.

import { ClockCache } from "../collections/clock-cache.ts";
import type { Settings } from "../config/schema.ts";
import type { Clock } from "../domain/clock.ts";
import { newId } from "../domain/ids.ts";
import type { Mutation, Principal, ResultOf } from "../domain/mutations.ts";
import { MAX_USD, MIN_USD, type PurchaseProvider, type PurchaseRow } from "../domain/purchase-mutations.ts";
import type { Log } from "../logging/events.ts";
import type { StoreReads } from "../store/store.ts";
import { createEventApplier } from "./apply-event.ts";
import { watchAvailability } from "./availability.ts";
import { createBackfill } from "./backfill-events.ts";
import { BillingError } from "./billing-error.ts";
import { createPendingReconciler } from "./reconcile-pending.ts";
import { createStripeClient, type StripeClient, StripeUnavailable } from "./stripe.ts";
import { isStripeSet, requireStripeSettings } from "./validate-config.ts";
import { createWebhook, type WebhookAnswer } from "./webhook.ts";

export type CheckoutDeps = {
  settings: Pick<Settings, "stripe">;
  mode: "test" | "live";
  clock: Clock;
  log: Log;
  reads: Pick<
    StoreReads,
    "purchase" | "purchases" | "openPurchases" | "countOpenPurchases" | "uninvoicedPurchases" | "account" | "restored"
  >;
  post: <D extends Mutation>(mutation: D) => Promise<ResultOf<D>>;
  /** Base URL of the service, without a trailing slash. */
  baseUrl: () => string;
};

export type Checkout = {
  /** Payment provider; null if only an operator grants credits. */
  provider: PurchaseProvider | null;
  /**
   * Opens a purchase and its checkout. The purchase is committed before any request to Stripe.
   * @param usd a whole number from 10 to 5,000. @throws BillingError
   */
  buy(ask: { accountId: string; by: Principal; usd: number }): Promise<{ purchaseId: string; url: string }>;
  /** URL of the checkout of an open purchase; creates the checkout if it is missing. @throws BillingError */
  checkoutUrl(purchaseId: string): Promise<string>;
  /**
   * Reconciles an open purchase, or fetches the invoice of a paid one; if Stripe is unavailable, nothing changes. @returns the
   * current row
   */
  refresh(purchaseId: string): Promise<PurchaseRow | undefined>;
  /**
   * Ends the checkout of an open purchase without a payment. A checkout at Stripe is ended there first, so that it cannot be paid any
   * more. @throws BillingError
   */
  cancel(purchaseId: string): Promise<void>;
  /** Ends a simulated checkout. @throws BillingError */
  endTest(purchaseId: string, how: "pay" | "cancel", by: Principal): Promise<void>;
  /** Handles a delivery of Stripe; null if Stripe is not configured. */
  webhook: ((body: string, signature: string | null) => Promise<WebhookAnswer>) | null;
  /**
   * One bounded round that reconciles pending purchases and invoices; over several rounds each purchase gets its turn. The first
   * round, and one per day, starts with the events of the last 30 days that may have been missed.
   */
  rounds(): Promise<void>;
};

/**
 * Stripe keeps a checkout open for at least 30 minutes; a repeated request for it must be sent earlier than that before its end.
 */
const OPEN_MS = 7_200_000;
/** Maximum number of open checkouts per account. */
const OPEN_AT_MOST = 20;
/** Minimum interval between two requests to Stripe about the same purchase. */
const POLL_MS = 2_000;

export const createCheckout = (deps: CheckoutDeps): Checkout => {
  const { settings, mode, clock, log, reads, post } = deps;
  requireStripeSettings(settings, mode);
  const stripe: StripeClient | null = isStripeSet(settings.stripe)
    ? watchAvailability(createStripeClient(settings.stripe), log)
    : null;
  const provider: PurchaseProvider | null = stripe ? "stripe" : mode === "test" ? "test" : null;
  const booking = createEventApplier({ clock, log, reads, post, stripe });
  const missed = createBackfill({ clock, log, reads, stripe, booking });
  const round = createPendingReconciler({ clock, log, reads, post, stripe, booking });

  const looked = new ClockCache<string, { atMs: number }>(1000);
  const found = async (id: string): Promise<PurchaseRow> => {
    const row = await reads.purchase(id);
    if (!row) throw new BillingError("not_found", `There is no purchase ${id}.`);
    return row;
  };

  const urlOf = async (row: PurchaseRow): Promise<string> => {
    if (row.provider === "test") return `${deps.baseUrl()}/console/checkout/${row.id}`;
    const credits = `${deps.baseUrl()}/console/credits`;
    const place = { successUrl: `${credits}?purchase=${row.id}`, cancelUrl: `${credits}?cancelled=${row.id}` };
    if (!stripe) throw new BillingError("unavailable", "Credits cannot be bought at present; contact your operator.");
    try {
      // A known checkout is looked up. A release that builds the request differently would be rejected under the idempotency key
      // of the first request.
      const known = row.sessionId === null ? null : await stripe.checkout(row.sessionId);
      const { sessionId, url } = known ? { sessionId: known.id, url: known.url } : await stripe.openCheckout(row, place);
      const named = await post({ mutation: "name-checkout", id: row.id, sessionId, atMs: clock.nowMs() });
      // It was canceled meanwhile: the new checkout must not be paid any more.
      if (named.kind === "purchase" && named.purchase?.state !== "open") await stripe.expireCheckout(sessionId);
      // A payment of a checkout that is not the purchase's own would not be credited.
      else if (named.kind === "purchase" && url !== null) return url;
    } catch (fault) {
      if (!(fault instanceof StripeUnavailable)) throw fault;
      log("payment provider unavailable", { purchase_id: row.id, account_id: row.accountId, reason: fault.message });
      throw new BillingError(
        "unavailable",
        "The payment service is unavailable: nothing was bought and nothing was charged. Try again in a minute.",
      );
    }
    throw new BillingError("conflict", "This checkout has expired; start a new purchase.");
  };

  /** @throws BillingError if Stripe cannot end the checkout; then it may still be paid. */
  const endAtStripe = async (row: PurchaseRow, sessionId: string): Promise<void> => {
    const unavailable = new BillingError(
      "unavailable",
      "The payment service is unavailable, so the checkout is still open. Try again in a minute.",
    );
    if (!stripe) throw unavailable;
    try {
      if (await stripe.expireCheckout(sessionId)) return;
      // A checkout that is no longer open was paid, has expired, or waits for a delayed payment, which still can arrive.
      await round.ask(row);
      if ((await found(row.id)).state === "open")
        throw new BillingError("conflict", "A payment of this checkout is being processed, so it cannot be canceled.");
    } catch (fault) {
      if (!(fault instanceof StripeUnavailable)) throw fault;
      log("payment provider unavailable", { purchase_id: row.id, account_id: row.accountId, reason: fault.message });
      throw unavailable;
    }
  };

  return {
    provider,
    buy: async ({ accountId, by, usd }) => {
      if (provider === null) throw new BillingError("unavailable", "This service does not sell credits; contact your operator.");
      if (!Number.isInteger(usd) || usd < MIN_USD || usd > MAX_USD)
        throw new BillingError(
          "invalid",
          `amount_usd: expected a whole number from ${MIN_USD} to ${MAX_USD.toLocaleString("en-US")}`,
        );
      const atMs = clock.nowMs();
      const account = await reads.account(accountId);
      if (!account) throw new BillingError("not_found", `There is no account ${accountId}.`);
      if ((await reads.countOpenPurchases(account.seq, atMs)) >= OPEN_AT_MOST)
        throw new BillingError(
          "conflict",
          `${OPEN_AT_MOST} checkouts are already open: complete one of them, or wait until they expire.`,
        );
      const id = newId("pur");
      const outcome = await post({
        ...{ mutation: "open-purchase", id, accountSeq: account.seq, credits: usd * 100, provider, by, atMs },
        ...{ userId: by.kind === "user" ? by.id : null, expiresAtMs: atMs + OPEN_MS },
      });
      if (outcome.kind === "refused") throw new Error(outcome.reason);
      return { purchaseId: id, url: await urlOf(await found(id)) };
    },
    checkoutUrl: async (id) => {
      const row = await found(id);
      if (row.state !== "open" || clock.nowMs() >= row.expiresAtMs)
        throw new BillingError("conflict", "This checkout has expired; start a new purchase.");
      return urlOf(row);
    },
    refresh: async (id) => {
      const row = await reads.purchase(id);
      const mayHaveChanged =
        row?.state === "open" || (row?.state === "paid" && row.provider === "stripe" && row.invoiceUrl === null);
      if (!row || !mayHaveChanged || clock.nowMs() < (looked.get(id)?.atMs ?? 0) + POLL_MS) return row;
      looked.set(id, { atMs: clock.nowMs() });
      try {
        if (row.state === "open") await round.ask(row);
        const paid = await found(id);
        if (paid.state === "paid" && stripe) await booking.invoice(paid);
      } catch (fault) {
        if (!(fault instanceof StripeUnavailable)) throw fault;
        log("payment provider unavailable", { purchase_id: id, account_id: row.accountId, reason: fault.message });
      }
      return reads.purchase(id);
    },
    cancel: async (id) => {
      const row = await found(id);
      if (row.state === "open" && row.provider === "stripe" && row.sessionId !== null) await endAtStripe(row, row.sessionId);
      const { state } = await found(id);
      if (state === "paid" || state === "mismatched")
        throw new BillingError("conflict", "This purchase was paid, so it cannot be canceled.");
      if (state === "open") await booking.over(id);
    },
    endTest: async (id, how, by) => {
      const row = await found(id);
      if (mode !== "test" || row.provider !== "test") throw new BillingError("not_found", `There is no purchase ${id}.`);
      if (row.state === "paid" && how === "pay") return;
      if (row.state !== "open") throw new BillingError("conflict", "This checkout has expired; start a new purchase.");
      if (how === "cancel") await booking.over(id);
      else {
        const names = { sessionId: `test-${id}`, paymentIntent: `test-${id}` };
        await booking.pay(id, { ...names, amountCredits: row.credits, currency: "usd" }, by);
      }
    },
    webhook: stripe && createWebhook({ stripe, booking, log, settings: settings.stripe }),
    rounds: async () => {
      if (provider === null) return;
      await Promise.all([missed(), round.go()]);
    },
  };
};
