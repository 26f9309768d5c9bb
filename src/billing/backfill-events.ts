// Asks Stripe for news that may never have come: of times when nobody listened longer than it repeats them, or that a restored backup does not know.
import type Stripe from "stripe";
import type { Clock } from "../domain/clock.ts";
import type { Log } from "../logging/events.ts";
import type { StoreReads } from "../store/store.ts";
import type { EventApplier } from "./apply-event.ts";
import { forEachPage, type StripeClient, StripeUnavailable } from "./stripe.ts";
import { eventOf, type StripeEvent } from "./stripe-events.ts";

export type BackfillDeps = {
  clock: Clock;
  log: Log;
  reads: Pick<StoreReads, "restored">;
  desk: StripeClient | null;
  booking: EventApplier;
};

/** Stripe keeps events so long. */
const KEPT_MS = 30 * 86_400_000;
const AGAIN_MS = 86_400_000;
/** After a question that was not answered. */
const RETRY_MS = 3_600_000;

type EventType = Stripe.Event["type"];
/** What takes back or gives back: nobody asks about a paid purchase otherwise. */
const REVERSALS: EventType[] = [
  "charge.refunded",
  "refund.created",
  "refund.updated",
  "refund.failed",
  "charge.dispute.created",
  "charge.dispute.updated",
  "charge.dispute.funds_withdrawn",
  "charge.dispute.funds_reinstated",
  "charge.dispute.closed",
];
/** Rounds ask about each purchase that is known; these are of those that a backup does not know. */
const PAYMENTS: EventType[] = ["checkout.session.completed", "checkout.session.async_payment_succeeded"];

/**
 * In the order to take them: first what says itself what it is, then what has to be asked about, each payment once, and only where no
 * event of the refund itself is among them.
 */
const inOrder = (all: readonly StripeEvent[]): StripeEvent[] => {
  const told = new Set(all.flatMap((news) => (news.kind === "reversal" ? news.paymentIntent : [])));
  const asked = all.filter((news) => {
    if (news.kind !== "refunded" || told.has(news.paymentIntent)) return false;
    told.add(news.paymentIntent);
    return true;
  });
  return [...all.filter(({ kind }) => kind !== "refunded"), ...asked];
};

/** @returns asks when it is due: at the first call, then once a day. Everything it learns may be known already. */
export const createBackfill = ({ clock, log, reads, desk, booking }: BackfillDeps) => {
  let dueAtMs = 0;
  const away = (reason: string): void => log("payment provider unavailable", { reason });
  const newsSince = async (desk: StripeClient, sinceMs: number, types: EventType[]): Promise<StripeEvent[]> =>
    (await desk.eventsSince(Math.floor(sinceMs / 1000), types)).flatMap((event) => eventOf(event) ?? []);
  return async (): Promise<void> => {
    const nowMs = clock.nowMs();
    if (desk === null || nowMs < dueAtMs) return;
    dueAtMs = nowMs + RETRY_MS;
    const sinceMs = nowMs - KEPT_MS;
    const backup = await reads.restored();
    try {
      const isYoung = backup !== null && backup.takenAtMs > sinceMs;
      const payments = isYoung ? await newsSince(desk, backup.takenAtMs, PAYMENTS) : [];
      const reversals = await newsSince(desk, sinceMs, REVERSALS);
      const faults = await forEachPage(inOrder([...payments, ...reversals]), booking.take);
      if (faults[0] !== undefined) away(`of ${faults.length} payments the refunds could not be asked for: ${faults[0]}`);
      dueAtMs = nowMs + AGAIN_MS;
    } catch (fault) {
      if (!(fault instanceof StripeUnavailable)) throw fault;
      away(`refunds and disputes of the last 30 days could not be asked for: ${fault.message}`);
    }
  };
};
