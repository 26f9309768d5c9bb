// Types of the console page of webhooks, shared by server and browser.
import type { DeliveryState, DeliveryType, WebhookTry } from "../domain/webhooks.ts";

export type EndpointDto = {
  id: string;
  url: string;
  /** Event types; `*` for all. */
  events: string[];
  description: string;
  enabled: boolean;
  /** Why the service disabled it. */
  disabledReason: string | null;
  failingSinceMs: number | null;
  lastFailureAtMs: number | null;
  createdAtMs: number;
};
/** `GET /console/api/webhooks`. */
export type WebhooksPage = {
  account: { id: string; name: string };
  endpoints: EndpointDto[];
  /** States of the last 10 deliveries of each endpoint by its id, newest first. An endpoint without deliveries has no member. */
  outcomes: Record<string, DeliveryState[]>;
  mayChange: boolean;
};
/** Response of a creation, a rotation and a request for the secret. */
export type SecretDto = { secret: string; previousUntilMs: number | null };
export type CreatedEndpointDto = { endpoint: EndpointDto } & SecretDto;

export type DeliveryDto = {
  id: string;
  /** Null: the address of a submission. */
  endpointId: string | null;
  url: string;
  type: DeliveryType;
  generationId: string | null;
  state: DeliveryState;
  createdAtMs: number;
  /** Null unless pending. */
  nextTryAtMs: number | null;
  /** Oldest first. */
  tries: WebhookTry[];
};
/** `GET /console/api/webhook-deliveries/:id/request`: the request as its next try would send it. `id`: the header `webhook-id`. */
export type DeliveryRequestDto = { id: string; body: string };
/** `GET /console/api/webhook-deliveries`. `next`: the `after` of the next page; null at the end. */
export type DeliveriesPage = { deliveries: DeliveryDto[]; next: string | null };
/** Response of a recovery: the number of deliveries that are sent again. `next`: the last of them, if more follow; null at the end. */
export type RecoveryDto = { deliveries: number; next: string | null };
