// Webhook events, deliveries and their mutations.
import type { Credits, JsonObject } from "./types.ts";

/** Event types that an endpoint can subscribe to, and that the stream of an account sends. */
export const WEBHOOK_EVENTS = [
  "generation.running",
  "generation.succeeded",
  "generation.failed",
  "credits.low",
  "purchase.completed",
] as const;
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];
/** `webhook.test`: sent on request of the account, to one endpoint. */
export type DeliveryType = WebhookEvent | "webhook.test";

/**
 * Event types of the stream of one generation. `generation.updated`: another attempt began, or the message changed, and the status
 * is the same.
 */
export const GENERATION_EVENTS = [
  "generation.queued",
  "generation.running",
  "generation.updated",
  "generation.succeeded",
  "generation.failed",
] as const;
export type GenerationEventType = (typeof GENERATION_EVENTS)[number];

/** The data of `purchase.completed`. */
export const purchaseData = ({ id, credits, paidAtMs }: { id: string; credits: Credits; paidAtMs: number }): JsonObject => ({
  ...{ id, object: "purchase", amount_usd: credits / 100, paid_at: new Date(paidAtMs).toISOString() },
});

/** Whether an endpoint receives an event. @param events stored types, separated by spaces; `*` for all */
export const isSubscribed = (events: string, type: DeliveryType): boolean => events === "*" || events.split(" ").includes(type);

/**
 * `pending`: a try is due at some time. `failed`: the schedule of retries has ended. `dropped`: the event is outdated.
 */
export const DELIVERY_STATES = ["pending", "delivered", "failed", "dropped"] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** A delivery of the outbox that waits for its next try. */
export type PendingDelivery = {
  /** Row number, which rises with time. */
  seq: number;
  accountSeq: number;
  /** Null: `url` is the address that the submission names. */
  endpointSeq: number | null;
  url: string | null;
  type: DeliveryType;
  generationSeq: number | null;
  /** Data of an event without a generation, as JSON. */
  data: string | null;
  /** Rises with each event about the same object. */
  sequence: number;
  createdAtMs: number;
  /** Number of tries so far. */
  tries: number;
  /** Position in the schedule of retries. */
  retryNo: number;
  dueAtMs: number;
};

/** The queue of a delivery: the row number of its endpoint, or the negative one of the account for addresses of submissions. */
export const laneOf = ({ endpointSeq, accountSeq }: Pick<PendingDelivery, "endpointSeq" | "accountSeq">): number =>
  endpointSeq ?? -accountSeq;

/** One try of a delivery. `status` is null if no response arrived; `error` then states why. */
export type WebhookTry = {
  atMs: number;
  status: number | null;
  /** At most the first 1,024 bytes of the response; null for a private host. */
  answer: string | null;
  error: string | null;
  durationMs: number;
};

/** The result of a delivery's turn. `made` is null if the delivery was dropped without a try. */
export type TryResult = {
  seq: number;
  /** Number of tries before this one. The row must still have it. */
  triesBefore: number;
  made: WebhookTry | null;
  state: DeliveryState;
  retryNo: number;
  dueAtMs: number | null;
};

/** The condition of an endpoint after tries. `disabledReason` disables it. */
export type EndpointCondition = {
  endpointSeq: number;
  failingSinceMs: number | null;
  lastFailureAtMs: number | null;
  disabledReason: string | null;
};

/** Creates an endpoint. An account has at most `MAX_ENDPOINTS`. `keySeq` null: an operator creates it. */
export type CreateWebhookEndpoint = {
  mutation: "create-webhook-endpoint";
  id: string;
  accountSeq: number;
  keySeq: number | null;
  url: string;
  events: string;
  description: string;
  enabled: boolean;
  atMs: number;
};
/**
 * Changes an endpoint; absent members stay unchanged. Enabling clears its failures. `keySeq` null: an operator changes it. A key that
 * changes the URL becomes the creator, so that only addresses of operators reach the hosts of operators.
 */
export type UpdateWebhookEndpoint = {
  mutation: "set-webhook-endpoint";
  id: string;
  accountSeq: number;
  keySeq: number | null;
  url?: string;
  events?: string;
  description?: string;
  enabled?: boolean;
  atMs: number;
};
export type DeleteWebhookEndpoint = { mutation: "delete-webhook-endpoint"; id: string; accountSeq: number; atMs: number };
/** Replaces the secret of an endpoint, or the default secret of the account (null). The previous one signs until the overlap ends. */
export type RotateWebhookSecret = {
  mutation: "rotate-webhook-secret";
  accountSeq: number;
  endpointId: string | null;
  overlapMs: number;
  atMs: number;
};
/** Records tries of deliveries with their results. */
export type RecordWebhookTries = {
  mutation: "record-webhook-tries";
  results: readonly TryResult[];
  endpoints: readonly EndpointCondition[];
};
/**
 * Makes deliveries due again: the one named, or those of an enabled endpoint after `afterSeq` that have failed at least once, at most
 * `limit`. The result is their number in `count`, and in `seq` the last of them if more follow.
 */
export type RequeueWebhooks = { mutation: "requeue-webhooks"; accountSeq: number; atMs: number } & (
  | { deliverySeq: number; endpointSeq: number | null }
  | { endpointSeq: number; afterSeq: number; limit: number }
);
/** Adds a test event for one endpoint to the outbox. */
export type SendTestWebhook = { mutation: "send-test-webhook"; accountSeq: number; endpointSeq: number; atMs: number };
/** Deletes deliveries before a row number with their tries, at most `limit`. */
export type SweepWebhooks = { mutation: "sweep-webhooks"; beforeSeq: number; limit: number };

export type WebhookMutation =
  | CreateWebhookEndpoint
  | UpdateWebhookEndpoint
  | DeleteWebhookEndpoint
  | RotateWebhookSecret
  | RecordWebhookTries
  | RequeueWebhooks
  | SendTestWebhook
  | SweepWebhooks;

/** Maximum number of endpoints of an account. */
export const MAX_ENDPOINTS = 20;
/** Maximum characters of an address, as sent and as stored. */
export const MAX_URL_CHARS = 2048;
