// Decides which deliveries an event adds to the outbox of webhooks.
import { newDeliveryToken } from "../../domain/ids.ts";
import { balanceObject } from "../../domain/low-balance.ts";
import type { GenerationRecord } from "../../domain/types.ts";
import { type DeliveryType, isSubscribed, type PendingDelivery, type WebhookEvent } from "../../domain/webhooks.ts";
import type { Head } from "../sql/ledger.ts";

/** An enabled endpoint of an account with its event types. */
export type Subscriber = { seq: number; events: string };
/** An event with the addresses that may receive it. `url`: the address of the submission; null: none. */
export type OutboxEvent = Pick<PendingDelivery, "accountSeq" | "generationSeq" | "data" | "sequence"> & {
  type: DeliveryType;
  atMs: number;
  url: string | null;
};
/** A row of the outbox. */
export type NewDelivery = PendingDelivery & { token: string };

/** The event of a balance that a hold has made low. @param held the balance after the hold */
export const lowBalanceEvent = (accountSeq: number, held: Head, atMs: number): OutboxEvent => ({
  ...{ accountSeq, generationSeq: null, type: "credits.low", sequence: held.chainSeq, atMs, url: null },
  data: JSON.stringify(balanceObject(held)),
});

/** The event of a transition; null if the status is the same. */
export const eventOfTransition = (
  before: Pick<GenerationRecord, "status">,
  { status }: Pick<GenerationRecord, "status">,
): WebhookEvent | null => (status === before.status || status === "queued" ? null : `generation.${status}`);

/** One delivery for each subscribed endpoint, and one for the address of the submission. @param newSeq the next row number */
export const deliveriesOf = (
  { type, atMs, url, ...event }: OutboxEvent,
  subscribers: readonly Subscriber[],
  newSeq: () => number,
): NewDelivery[] => {
  const to = (endpointSeq: number | null): NewDelivery => ({
    ...{ ...event, seq: newSeq(), token: newDeliveryToken(), endpointSeq, url: endpointSeq === null ? url : null, type },
    ...{ createdAtMs: atMs, tries: 0, retryNo: 0, dueAtMs: atMs },
  });
  const deliveries = subscribers.filter(({ events }) => isSubscribed(events, type)).map(({ seq }) => to(seq));
  if (url !== null) deliveries.push(to(null));
  return deliveries;
};

/** The part of a delivery that the sender needs. */
export const pendingOf = ({ token: _, ...pending }: NewDelivery): PendingDelivery => pending;
