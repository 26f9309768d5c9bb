// Serves webhook endpoints, their secrets and their deliveries.
import { refuse } from "../../domain/api-errors.ts";
import { deliveryId } from "../../domain/ids.ts";
import type { JsonObject } from "../../domain/types.ts";
import type { DeliveryRow, EndpointRow } from "../../store/webhook-reads.ts";
import type { WebhookService } from "../../webhooks/service.ts";
import { type AuthenticatedHandler, requireUnlimitedKey } from "../auth.ts";
import { readBody } from "../body.ts";
import { parseChangedEndpoint, parseNewEndpoint, parseOverlap } from "../parse-webhook.ts";
import { integerIn, LIST_LIMIT, readQuery, timeIn } from "../query.ts";
import { answerJson, type PathParams } from "../response.ts";

export type WebhookEndpointsDeps = { webhooks: WebhookService };

const iso = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

const endpointObject = (row: EndpointRow): JsonObject => ({
  id: row.id,
  object: "webhook_endpoint",
  url: row.url,
  events: row.events.split(" "),
  description: row.description,
  enabled: row.enabled,
  disabled_reason: row.disabledReason,
  failing_since: iso(row.failingSinceMs),
  created_at: iso(row.createdAtMs),
});

const deliveryObject = (row: DeliveryRow): JsonObject => ({
  id: deliveryId(row.seq, row.token),
  object: "webhook_delivery",
  endpoint: row.endpointId,
  url: row.url,
  type: row.type,
  generation: row.generationId,
  sequence: row.sequence,
  state: row.state,
  created_at: iso(row.createdAtMs),
  next_try_at: row.state === "pending" ? iso(row.dueAtMs) : null,
  tries: row.tries.map(({ atMs, status, durationMs, answer, error }) => ({
    ...{ at: iso(atMs), status, duration_ms: durationMs, answer, error },
  })),
});

const idOf = ({ id = "" }: PathParams): string => id;
const answer = (body: JsonObject, requestId: string, status = 200): Response =>
  answerJson(status, JSON.stringify(body), requestId);

const secretObject = ({ secret, previousUntilMs }: { secret: string; previousUntilMs: number | null }): JsonObject => ({
  ...{ secret, previous_secret_until: iso(previousUntilMs) },
});

/** Webhooks send data of the whole account, so a limited key cannot set them up. */
const full =
  (work: AuthenticatedHandler): AuthenticatedHandler =>
  (request, requestId, caller, params) => {
    requireUnlimitedKey(caller);
    return work(request, requestId, caller, params);
  };

const recoveryOf = (request: Request): { sinceMs: number; after: string | null } => {
  const { since, after = null } = readQuery(request, ["since", "after"]);
  const sinceMs =
    timeIn("since", since) ?? refuse("invalid_request", "since: is required; send a time such as 2026-10-19T12:00:00Z.");
  return { sinceMs, after };
};

export const createEndpoint = (deps: WebhookEndpointsDeps): AuthenticatedHandler =>
  full(async (request, requestId, caller) => {
    const { endpoint, secret } = await deps.webhooks.create(caller, parseNewEndpoint(await readBody(request)));
    return answer({ ...endpointObject(endpoint), secret }, requestId, 201);
  });

export const listEndpoints = (deps: WebhookEndpointsDeps): AuthenticatedHandler =>
  full(async (_request, requestId, caller) => {
    const data = (await deps.webhooks.list(caller)).map(endpointObject);
    return answer({ object: "list", data, has_more: false, next: null }, requestId);
  });

export const readEndpoint = (deps: WebhookEndpointsDeps): AuthenticatedHandler =>
  full(async (_request, requestId, caller, params) =>
    answer(endpointObject(await deps.webhooks.find(caller, idOf(params))), requestId),
  );

export const changeEndpoint = (deps: WebhookEndpointsDeps): AuthenticatedHandler =>
  full(async (request, requestId, caller, params) => {
    const changed = await deps.webhooks.update(caller, idOf(params), parseChangedEndpoint(await readBody(request)));
    return answer(endpointObject(changed), requestId);
  });

export const deleteEndpoint = (deps: WebhookEndpointsDeps): AuthenticatedHandler =>
  full(async (_request, requestId, caller, params) => {
    await deps.webhooks.remove(caller, idOf(params));
    return answer({ id: idOf(params), object: "webhook_endpoint", deleted: true }, requestId);
  });

export const rotateEndpointSecret = (deps: WebhookEndpointsDeps): AuthenticatedHandler =>
  full(async (request, requestId, caller, params) => {
    const overlapMs = parseOverlap(await readBody(request));
    const { endpoint, ...secret } = await deps.webhooks.rotate(caller, idOf(params), overlapMs);
    return answer({ ...endpointObject(endpoint), ...secretObject(secret) }, requestId);
  });

export const readDefaultSecret = (deps: WebhookEndpointsDeps): AuthenticatedHandler =>
  full(async (_request, requestId, caller) =>
    answer({ object: "webhook_secret", ...secretObject(await deps.webhooks.defaultSecret(caller)) }, requestId),
  );

export const rotateDefaultSecret = (deps: WebhookEndpointsDeps): AuthenticatedHandler =>
  full(async (request, requestId, caller) => {
    const rotated = await deps.webhooks.rotateDefault(caller, parseOverlap(await readBody(request)));
    return answer({ object: "webhook_secret", ...secretObject(rotated) }, requestId);
  });

export const listDeliveries = (deps: WebhookEndpointsDeps): AuthenticatedHandler =>
  full(async (request, requestId, caller) => {
    const { limit: sent, after = null } = readQuery(request, ["limit", "after"]);
    const limit = integerIn("limit", sent, LIST_LIMIT);
    // One more than requested shows whether there is a further page.
    const rows = await deps.webhooks.deliveries(caller, after, limit + 1);
    const data = rows.slice(0, limit).map(deliveryObject);
    const hasMore = rows.length > limit;
    const next = hasMore ? (data.at(-1)?.id ?? null) : null;
    return answer({ object: "list", data, has_more: hasMore, next }, requestId);
  });

export const redeliver = (deps: WebhookEndpointsDeps): AuthenticatedHandler =>
  full(async (_request, requestId, caller, params) => {
    const row = await deps.webhooks.delivery(caller, idOf(params));
    return answer(deliveryObject(await deps.webhooks.redeliver(caller, row)), requestId, 202);
  });

export const recoverEndpoint = (deps: WebhookEndpointsDeps): AuthenticatedHandler =>
  full(async (request, requestId, caller, params) => {
    const from = recoveryOf(request);
    const { deliveries, next } = await deps.webhooks.recover(caller, idOf(params), from);
    const recovered = { endpoint: idOf(params), since: iso(from.sinceMs), deliveries, has_more: next !== null, next };
    return answer({ object: "webhook_recovery", ...recovered }, requestId, 202);
  });

export const testEndpoint = (deps: WebhookEndpointsDeps): AuthenticatedHandler =>
  full(async (_request, requestId, caller, params) =>
    answer(deliveryObject(await deps.webhooks.sendTest(caller, idOf(params))), requestId, 202),
  );
