// The request of a webhook delivery, as its next try would send it.
import type { WebhookReads } from "../store/webhook-reads.ts";
import { bodyOf, eventId, recordAt } from "./payload.ts";
import type { SendDeps } from "./send.ts";

/** `id`: the header `webhook-id`. */
export type SentRequest = { id: string; body: string };
/** Undefined if the delivery or its generation is not stored any more. */
export type SentRequestOf = (accountSeq: number, seq: number) => Promise<SentRequest | undefined>;

type Deps = Pick<SendDeps, "recordOf" | "resourceOf"> & { reads: Pick<WebhookReads, "webhookEvent"> };

export const createSentRequestOf =
  ({ reads, recordOf, resourceOf }: Deps): SentRequestOf =>
  async (accountSeq, seq) => {
    const delivery = await reads.webhookEvent(accountSeq, seq);
    if (!delivery) return undefined;
    const record = await recordOf(delivery);
    if (delivery.generationSeq !== null && !record) return undefined;
    const data = record ? resourceOf(recordAt(delivery, record)) : (delivery.data ?? "{}");
    return { id: eventId(delivery, record), body: bodyOf(delivery, data) };
  };
