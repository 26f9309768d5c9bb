// What a payment service tells of payments: its bytes as they came, and the signature over them.

import { readBody } from "../body.ts";
import { type Answer, answerJson } from "../response.ts";

/** Answers when what follows is on disk; `message` is for whoever looks into the log of deliveries. */
export type HandlePaymentEvent = (body: string, signature: string | null) => Promise<{ status: number; message: string }>;

export const webhook =
  (take: HandlePaymentEvent): Answer =>
  async (request, requestId) => {
    const body = new TextDecoder().decode(await readBody(request));
    const { status, message } = await take(body, request.headers.get("stripe-signature"));
    const code = status === 503 ? "busy" : "invalid_request";
    return answerJson(status, JSON.stringify(status === 200 ? { received: true } : { error: { code, message } }), requestId);
  };
