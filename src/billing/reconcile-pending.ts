// Asks what became of purchases that no news came of: of one, and in rounds of all that are undecided, whoever waited longest first.
import type { Clock } from "../domain/clock.ts";
import type { Log } from "../logging/events.ts";
import type { Mutation, ResultOf } from "../store/mutations.ts";
import type { PurchaseRow } from "../store/purchase-mutations.ts";
import type { StoreReads } from "../store/store.ts";
import type { EventApplier } from "./apply-event.ts";
import { forEachPage, type StripeClient } from "./stripe.ts";
import { eventOfCheckout } from "./stripe-events.ts";

export type ReconcilePendingDeps = {
  clock: Clock;
  log: Log;
  reads: Pick<StoreReads, "openPurchases" | "uninvoicedPurchases">;
  post: <D extends Mutation>(mutation: D) => Promise<ResultOf<D>>;
  desk: StripeClient | null;
  booking: EventApplier;
};

/** A checkout of which Stripe knows nothing so long after its end is given up. */
const GIVEN_UP_MS = 86_400_000;
/** News takes seconds as a rule: before that nothing is asked in the background, and nothing asked again. */
const NEWS_MS = 120_000;
/** Invoices are made within minutes. */
const INVOICE_MS = 86_400_000;
/** Asked about in one round, of checkouts and of invoices each. */
const ROUND_SIZE = 100;

export const createPendingReconciler = ({ clock, log, reads, post, desk, booking }: ReconcilePendingDeps) => {
  /** @throws StripeUnavailable */
  const ask = async (row: PurchaseRow): Promise<void> => {
    const isOver = clock.nowMs() >= row.expiresAtMs;
    if (row.provider === "test" || row.sessionId === null) {
      // Nobody was ever sent to a checkout that was not named.
      if (isOver) await booking.over(row.id);
      return;
    }
    // It may have been paid: without Stripe it stays undecided.
    if (desk === null) return;
    const session = await desk.checkout(row.sessionId);
    const news = session && eventOfCheckout(session);
    if (news) await booking.take(news);
    else if (session === null && clock.nowMs() >= row.expiresAtMs + GIVEN_UP_MS) await booking.over(row.id);
  };

  /** Noted before it is asked: what fails, today or always, has had its turn, and those behind it come next. */
  const inTurn = async (rows: readonly PurchaseRow[], asked: (row: PurchaseRow) => Promise<void>): Promise<void> => {
    const faults = await forEachPage(rows, async (row) => {
      await post({ mutation: "note-asked", id: row.id, atMs: clock.nowMs() });
      await asked(row);
    });
    const [first] = faults;
    if (first !== undefined)
      log("payment provider unavailable", { reason: `${faults.length} of ${rows.length} could not be asked about: ${first}` });
  };

  const go = async (): Promise<void> => {
    const nowMs = clock.nowMs();
    await inTurn(await reads.openPurchases(nowMs - NEWS_MS, ROUND_SIZE), ask);
    if (desk) await inTurn(await reads.uninvoicedPurchases(nowMs - INVOICE_MS, ROUND_SIZE), booking.invoice);
  };

  let underWay: Promise<void> | undefined;
  return {
    ask,
    /** One round; who asks for one while it is under way waits for its end. */
    go: (): Promise<void> => {
      underWay ??= go().finally(() => {
        underWay = undefined;
      });
      return underWay;
    },
  };
};
