// Reads of webhook endpoints, secrets and deliveries.
import type { DeliveryState, DeliveryType, PendingDelivery, WebhookTry } from "../domain/webhooks.ts";

export type EndpointRow = {
  seq: number;
  id: string;
  accountSeq: number;
  accountId: string;
  /** The key that created it, or that changed its URL; null: its URLs are of operators only. */
  keySeq: number | null;
  url: string;
  /** Event types, separated by spaces; `*` for all. */
  events: string;
  description: string;
  enabled: boolean;
  /** Why the service disabled it. */
  disabledReason: string | null;
  secretVersion: number;
  /** Until when the previous secret signs as well. */
  previousSecretUntilMs: number | null;
  failingSinceMs: number | null;
  lastFailureAtMs: number | null;
  createdAtMs: number;
};

/** Version of the default secret of an account. */
export type DefaultSecret = { accountId: string; version: number; previousUntilMs: number | null };

export type DeliveryRow = {
  seq: number;
  /** Random end of its id. */
  token: string;
  /** Null: the address of the submission. */
  endpointId: string | null;
  url: string;
  type: DeliveryType;
  generationId: string | null;
  sequence: number;
  createdAtMs: number;
  state: DeliveryState;
  dueAtMs: number | null;
  /** Oldest first. */
  tries: WebhookTry[];
};

/** The state of one delivery to an endpoint. */
export type EndpointOutcome = { endpointId: string; state: DeliveryState };

export interface WebhookReads {
  /** Endpoints of an account, newest first. */
  webhookEndpoints(accountSeq: number): Promise<EndpointRow[]>;
  /** An endpoint that is not deleted. */
  webhookEndpoint(seq: number): Promise<EndpointRow | undefined>;
  defaultWebhookSecret(accountSeq: number): Promise<DefaultSecret | undefined>;
  /** Queues with pending deliveries of this node. */
  webhookLanes(): Promise<{ lane: number; accountSeq: number }[]>;
  /** The next deliveries of a queue of this node by due time; at most `limit`. */
  nextWebhooks(lane: number, limit: number): Promise<PendingDelivery[]>;
  /** Deliveries of an account before a row number (null: all), newest first; at most `limit`. */
  webhookDeliveries(accountSeq: number, beforeSeq: number | null, limit: number): Promise<DeliveryRow[]>;
  webhookDelivery(accountSeq: number, seq: number): Promise<DeliveryRow | undefined>;
  /** A delivery in any state, as it is sent. `retryNo` and `dueAtMs` are those of its next or last try. */
  webhookEvent(accountSeq: number, seq: number): Promise<PendingDelivery | undefined>;
  /** States of the newest deliveries of an account to its endpoints, newest first; at most `limit`. */
  webhookOutcomes(accountSeq: number, limit: number): Promise<EndpointOutcome[]>;
}
