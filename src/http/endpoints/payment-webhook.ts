// Serves the webhook of Stripe: passes the raw body and its signature to billing.

import { readBody } from "../body.ts";
import { type Answer, answerJson } from "../response.ts";

/** Resolves after the event is committed. `message` is for readers of the payment service's delivery log. */
export type HandlePaymentEvent = (body: string, signature: string | null) => Promise<{ status: number; message: string }>;

export const stripeWebhook =
  (take: HandlePaymentEvent): Answer =>
  async (request, requestId) => {
    const body = new TextDecoder().decode(await readBody(request));
    const { status, message } = await take(body, request.headers.get("stripe-signature"));
    const code = status === 503 ? "busy" : "invalid_request";
    return answerJson(status, JSON.stringify(status === 200 ? { received: true } : { error: { code, message } }), requestId);
  };
