// Reconciles purchases without a payment event, one or all pending ones, oldest check first.
import type { Clock } from "../domain/clock.ts";
import type { Mutation, ResultOf } from "../domain/mutations.ts";
import type { PurchaseRow } from "../domain/purchase-mutations.ts";
import type { Log } from "../logging/events.ts";
import type { StoreReads } from "../store/store.ts";
import type { EventApplier } from "./apply-event.ts";
import { forEachPage, type StripeClient } from "./stripe.ts";
import { eventOfCheckout } from "./stripe-events.ts";

export type ReconcilePendingDeps = {
  clock: Clock;
  log: Log;
  reads: Pick<StoreReads, "openPurchases" | "uninvoicedPurchases">;
  post: <D extends Mutation>(mutation: D) => Promise<ResultOf<D>>;
  stripe: StripeClient | null;
  booking: EventApplier;
};

/** A checkout without a record at Stripe is given up this long after its expiry. */
const GIVEN_UP_MS = 86_400_000;
/** Events normally arrive within seconds. Before this delay no background check is made, and none is repeated. */
const NEWS_MS = 120_000;
/** Invoices are created within minutes. */
const INVOICE_MS = 86_400_000;
/** Maximum number of checks in one round, for checkouts and for invoices each. */
const ROUND_SIZE = 100;

export const createPendingReconciler = ({ clock, log, reads, post, stripe, booking }: ReconcilePendingDeps) => {
  /** @throws StripeUnavailable */
  const ask = async (row: PurchaseRow): Promise<void> => {
    const isOver = clock.nowMs() >= row.expiresAtMs;
    if (row.provider === "test" || row.sessionId === null) {
      // No buyer was sent to a checkout without a stored session.
      if (isOver) await booking.over(row.id);
      return;
    }
    // The purchase may have been paid. Without Stripe it stays pending.
    if (stripe === null) return;
    const session = await stripe.checkout(row.sessionId);
    const news = session && eventOfCheckout(session);
    if (news) await booking.take(news);
    else if (session === null && clock.nowMs() >= row.expiresAtMs + GIVEN_UP_MS) await booking.over(row.id);
  };

  /** The check is recorded before the request, so that a purchase whose check fails does not block the ones after it. */
  const inTurn = async (rows: readonly PurchaseRow[], requested: (row: PurchaseRow) => Promise<void>): Promise<void> => {
    const faults = await forEachPage(rows, async (row) => {
      await post({ mutation: "note-asked", id: row.id, atMs: clock.nowMs() });
      await requested(row);
    });
    const [first] = faults;
    if (first !== undefined)
      log("payment provider unavailable", { reason: `${faults.length} of ${rows.length} could not be queried: ${first}` });
  };

  const go = async (): Promise<void> => {
    const nowMs = clock.nowMs();
    await inTurn(await reads.openPurchases(nowMs - NEWS_MS, ROUND_SIZE), ask);
    if (stripe) await inTurn(await reads.uninvoicedPurchases(nowMs - INVOICE_MS, ROUND_SIZE), booking.invoice);
  };

  let underWay: Promise<void> | undefined;
  return {
    ask,
    /** Runs one round. A call during a round waits for its end. */
    go: (): Promise<void> => {
      underWay ??= go().finally(() => {
        underWay = undefined;
      });
      return underWay;
    },
  };
};
