// Stripe webhook: verifies the signature and answers after the event is committed.
import type { Settings } from "../config/schema.ts";
import type { Log } from "../logging/events.ts";
import type { EventApplier } from "./apply-event.ts";
import { BadSignature, type StripeClient } from "./stripe.ts";
import { eventOf } from "./stripe-events.ts";
import { isLiveKey } from "./validate-config.ts";

/** `message` appears in Stripe's log of deliveries. */
export type WebhookAnswer = { status: 200 | 400 | 503; message: string };

type WebhookDeps = { stripe: StripeClient; booking: EventApplier; log: Log; settings: Settings["stripe"] };

const TAKEN: WebhookAnswer = { status: 200, message: "taken" };

export const createWebhook = ({ stripe, booking, log, settings }: WebhookDeps) => {
  const isLive = isLiveKey(settings.secret_key);
  const refused = (reason: string): WebhookAnswer => {
    log("webhook rejected", { reason });
    return { status: 400, message: reason };
  };
  /** Handles one delivery. Deliveries may repeat and arrive in any order. */
  return async (body: string, signature: string | null): Promise<WebhookAnswer> => {
    if (signature === null) return refused("The header Stripe-Signature is missing.");
    try {
      const event = await stripe.event(body, signature);
      if (event.livemode !== isLive)
        return refused(`The event belongs to Stripe's ${isLive ? "test" : "live"} mode, but the key does not.`);
      const news = eventOf(event);
      if (news) await booking.take(news);
      return TAKEN;
    } catch (fault) {
      if (fault instanceof BadSignature)
        return refused("The signature does not match the secret of this endpoint, or is too old.");
      // The event may not be committed. Stripe repeats the delivery for three days.
      log("request failed", { route: "/webhooks/stripe", reason: fault instanceof Error ? fault.message : String(fault) });
      return { status: 503, message: "The event was not stored; send it again." };
    }
  };
};
