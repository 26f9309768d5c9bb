// Fetches Stripe events that may have been missed.
//
// The webhook misses events if it is unreachable for longer than Stripe's retries. A restored backup does not contain events
// after the backup.
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
  stripe: StripeClient | null;
  booking: EventApplier;
};

/** Stripe keeps events for 30 days. */
const KEPT_MS = 30 * 86_400_000;
const AGAIN_MS = 86_400_000;
/** Delay after a request that failed. */
const RETRY_MS = 3_600_000;

type EventType = Stripe.Event["type"];
/** Events that take back or return money. No other component checks a paid purchase again. */
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
/** The pending reconciler checks every stored purchase; these events are for purchases that a backup does not contain. */
const PAYMENTS: EventType[] = ["checkout.session.completed", "checkout.session.async_payment_succeeded"];

/**
 * Order of application: complete events first, then events that require a request to Stripe. The latter are applied once per
 * payment, and only if no event of the refund itself is present.
 */
const inOrder = (all: readonly StripeEvent[]): StripeEvent[] => {
  const reported = new Set(all.flatMap((news) => (news.kind === "reversal" ? news.paymentIntent : [])));
  const requested = all.filter((news) => {
    if (news.kind !== "refunded" || reported.has(news.paymentIntent)) return false;
    reported.add(news.paymentIntent);
    return true;
  });
  return [...all.filter(({ kind }) => kind !== "refunded"), ...requested];
};

/**
 * @returns a function that fetches events when due: at the first call, then once a day. The events may have been applied already.
 */
export const createBackfill = ({ clock, log, reads, stripe: client, booking }: BackfillDeps) => {
  let dueAtMs = 0;
  const unavailable = (reason: string): void => log("payment provider unavailable", { reason });
  const newsSince = async (stripe: StripeClient, sinceMs: number, types: EventType[]): Promise<StripeEvent[]> =>
    (await stripe.eventsSince(Math.floor(sinceMs / 1000), types)).flatMap((event) => eventOf(event) ?? []);
  return async (): Promise<void> => {
    const nowMs = clock.nowMs();
    if (client === null || nowMs < dueAtMs) return;
    dueAtMs = nowMs + RETRY_MS;
    const sinceMs = nowMs - KEPT_MS;
    const backup = await reads.restored();
    try {
      const isYoung = backup !== null && backup.takenAtMs > sinceMs;
      const payments = isYoung ? await newsSince(client, backup.takenAtMs, PAYMENTS) : [];
      const reversals = await newsSince(client, sinceMs, REVERSALS);
      const faults = await forEachPage(inOrder([...payments, ...reversals]), booking.take);
      if (faults[0] !== undefined) unavailable(`the refunds of ${faults.length} payments could not be listed: ${faults[0]}`);
      dueAtMs = nowMs + AGAIN_MS;
    } catch (fault) {
      if (!(fault instanceof StripeUnavailable)) throw fault;
      unavailable(`refunds and disputes of the last 30 days could not be listed: ${fault.message}`);
    }
  };
};
