// Paths, parameters and schemas of webhooks in the OpenAPI document.
import type { JsonObject } from "../../domain/types.ts";
import {
  ChangedWebhookEndpoint,
  NewWebhookEndpoint,
  SecretRotation,
  WebhookDelivery,
  WebhookEndpoint,
  WebhookSecret,
} from "../webhook-schema.ts";
import { EXTENSION, jsonAnswer, type No, noes, plain, schemaRef } from "./components.ts";
import { KEYED, keyed, withRequestId } from "./operations.ts";

const ENDPOINT_ID = "whe_01jf8k0m3q5r7t9v1x3z5a7c9e";
const ENDPOINT: JsonObject = {
  id: ENDPOINT_ID,
  object: "webhook_endpoint",
  url: "https://example.com/genrouter",
  events: ["generation.succeeded", "generation.failed"],
  description: "",
  enabled: true,
  disabled_reason: null,
  failing_since: null,
  created_at: "2026-10-19T12:00:00.000Z",
};
const DELIVERY: JsonObject = {
  id: "whd_05tk3m9q2r01h8v4w6x7y",
  object: "webhook_delivery",
  endpoint: ENDPOINT_ID,
  url: "https://example.com/genrouter",
  type: "generation.succeeded",
  generation: "gen_05tk3m9q2r01h8v4w6x7y",
  sequence: 6,
  state: "delivered",
  created_at: "2026-10-19T12:00:09.000Z",
  next_try_at: null,
  tries: [{ at: "2026-10-19T12:00:09.010Z", status: 200, duration_ms: 41, answer: "ok", error: null }],
};

const FULL: readonly No[] = [
  ...KEYED,
  {
    code: "generation_not_enabled",
    status: 403,
    when: "The key cannot generate, or has spend limits or a model allowlist.",
  },
];
const READING: readonly No[] = [
  ...KEYED,
  { code: "generation_not_enabled", status: 403, when: "The key has spend limits or a model allowlist." },
];
const NO_ENDPOINT: No = { code: "not_found", status: 404, when: "No webhook endpoint with this id on the account." };
const NO_DELIVERY: No = { code: "not_found", status: 404, when: "No webhook delivery with this id on the account." };
const DISABLED: No = { code: "invalid_request", status: 409, when: "The endpoint is disabled." };
const TOO_MANY: No = { code: "invalid_request", status: 409, when: "The account has 20 endpoints." };
const WRONG: readonly No[] = [
  "body_too_large",
  { code: "invalid_request", status: 400, when: "A field of the body is wrong; the message names it and what is allowed." },
];
const WRONG_QUERY: No = {
  code: "invalid_request",
  status: 400,
  when: "A parameter of the query is wrong; the message names it.",
};

const operation = (operationId: string, summary: string, more: JsonObject): JsonObject => ({
  ...{ operationId, summary, tags: ["webhooks"], ...keyed, ...EXTENSION },
  ...more,
});
const body = (name: string, required = true): JsonObject => ({
  requestBody: { required, content: { "application/json": { schema: schemaRef(name) } } },
});
const answered = (status: number, description: string, schema: string, example: JsonObject): JsonObject => ({
  [status]: jsonAnswer(description, schemaRef(schema), ["Cache-Control"], { one: { value: example } }),
});
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwAAAAAAAAAAA=";

const endpointPath = (): JsonObject => ({
  get: operation("readWebhookEndpoint", "Read a webhook endpoint", {
    parameters: withRequestId("WebhookEndpointId"),
    responses: {
      ...answered(200, "The endpoint, without its secret.", "WebhookEndpoint", ENDPOINT),
      ...noes(...READING, NO_ENDPOINT),
    },
  }),
  patch: operation("changeWebhookEndpoint", "Change a webhook endpoint", {
    description: "Absent fields stay unchanged. Enabling an endpoint clears its failures and continues its pending deliveries.",
    parameters: withRequestId("WebhookEndpointId"),
    ...body("ChangedWebhookEndpoint"),
    responses: {
      ...answered(200, "The changed endpoint.", "WebhookEndpoint", ENDPOINT),
      ...noes(...FULL, NO_ENDPOINT, ...WRONG),
    },
  }),
  delete: operation("deleteWebhookEndpoint", "Delete a webhook endpoint", {
    description: "Its pending deliveries are dropped.",
    parameters: withRequestId("WebhookEndpointId"),
    responses: {
      ...answered(200, "The endpoint is deleted.", "DeletedWebhookEndpoint", {
        id: ENDPOINT_ID,
        object: "webhook_endpoint",
        deleted: true,
      }),
      ...noes(...FULL, NO_ENDPOINT),
    },
  }),
});

const secretPath = (): JsonObject => {
  const example: JsonObject = { object: "webhook_secret", secret: SECRET, previous_secret_until: null };
  return {
    get: operation("readWebhookSecret", "Read the default secret", {
      description: "It signs requests to addresses that submissions name with `Genrouter-Webhook`.",
      parameters: withRequestId(),
      responses: { ...answered(200, "The secret.", "WebhookSecret", example), ...noes(...FULL) },
    }),
    post: operation("rotateWebhookSecret", "Replace the default secret", {
      parameters: withRequestId(),
      ...body("SecretRotation", false),
      responses: {
        ...answered(200, "The new secret.", "WebhookSecret", { ...example, previous_secret_until: "2026-10-20T12:00:00.000Z" }),
        ...noes(...FULL, ...WRONG),
      },
    }),
  };
};

/** Every path of webhooks. */
export const webhookPaths = (): JsonObject => ({
  "/v1/webhook_endpoints": {
    get: operation("listWebhookEndpoints", "List webhook endpoints", {
      description: "All endpoints of the account, newest first; at most 20.",
      parameters: withRequestId(),
      responses: {
        ...answered(200, "The endpoints, without their secrets.", "WebhookEndpointList", {
          ...{ object: "list", data: [ENDPOINT], has_more: false, next: null },
        }),
        ...noes(...READING),
      },
    }),
    post: operation("createWebhookEndpoint", "Create a webhook endpoint", {
      description: "The response contains the secret, which no later read returns.",
      parameters: withRequestId(),
      ...body("NewWebhookEndpoint"),
      responses: {
        ...answered(201, "The endpoint with its secret.", "WebhookEndpoint", { ...ENDPOINT, secret: SECRET }),
        ...noes(...FULL, ...WRONG, TOO_MANY),
      },
    }),
  },
  "/v1/webhook_endpoints/{id}": endpointPath(),
  "/v1/webhook_endpoints/{id}/rotate_secret": {
    post: operation("rotateWebhookEndpointSecret", "Replace the secret of a webhook endpoint", {
      description: "Until the overlap ends, requests carry a signature of each secret.",
      parameters: withRequestId("WebhookEndpointId"),
      ...body("SecretRotation", false),
      responses: {
        ...answered(200, "The endpoint with its new secret.", "WebhookEndpoint", {
          ...{ ...ENDPOINT, secret: SECRET, previous_secret_until: "2026-10-20T12:00:00.000Z" },
        }),
        ...noes(...FULL, NO_ENDPOINT, ...WRONG),
      },
    }),
  },
  "/v1/webhook_endpoints/{id}/recover": {
    post: operation("recoverWebhookEndpoint", "Send undelivered events again", {
      description:
        "Deliveries of the endpoint since a time whose last try failed are due now, oldest first, at most 10,000 in one call. If `has_more` is true, the same request with `after` continues. At most 10 recoveries, redeliveries and tests per account and minute.",
      parameters: withRequestId("WebhookEndpointId", "Since", "AfterRecovered"),
      responses: {
        ...answered(202, "The number of deliveries that are due now.", "WebhookRecovery", {
          ...{ object: "webhook_recovery", endpoint: ENDPOINT_ID, since: "2026-10-19T12:00:00.000Z" },
          ...{ deliveries: 12, has_more: false, next: null },
        }),
        ...noes(...FULL, NO_ENDPOINT, WRONG_QUERY, DISABLED),
      },
    }),
  },
  "/v1/webhook_endpoints/{id}/test": {
    post: operation("testWebhookEndpoint", "Send a test event", {
      description: "Sends an event of type `webhook.test`, whatever the endpoint subscribes to.",
      parameters: withRequestId("WebhookEndpointId"),
      responses: {
        ...answered(202, "The delivery.", "WebhookDelivery", { ...DELIVERY, type: "webhook.test", generation: null }),
        ...noes(...FULL, NO_ENDPOINT, DISABLED),
      },
    }),
  },
  "/v1/webhook_secret": secretPath(),
  "/v1/webhook_deliveries": {
    get: operation("listWebhookDeliveries", "List webhook deliveries", {
      description: "Newest first, with the tries of each. Deliveries are kept for 30 days.",
      parameters: withRequestId("Limit", "AfterDelivery"),
      responses: {
        ...answered(200, "A page of deliveries.", "WebhookDeliveryList", {
          ...{ object: "list", data: [DELIVERY], has_more: false, next: null },
        }),
        ...noes(...READING, WRONG_QUERY),
      },
    }),
  },
  "/v1/webhook_deliveries/{id}/redeliver": {
    post: operation("redeliverWebhook", "Send a delivery again", {
      description: "The event keeps its `webhook-id`. Its schedule of retries begins again.",
      parameters: withRequestId("WebhookDeliveryId"),
      responses: {
        ...answered(202, "The delivery, which is due now.", "WebhookDelivery", DELIVERY),
        ...noes(...FULL, NO_DELIVERY, DISABLED),
      },
    }),
  },
});

const parameter = (place: string, name: string, description: string, schema: JsonObject): JsonObject => ({
  ...{ name, in: place, description, schema },
  ...(place === "path" || name === "since" ? { required: true } : {}),
});

export const webhookParameters = (): JsonObject => ({
  Webhook: {
    ...parameter(
      "header",
      "Genrouter-Webhook",
      "A public https URL that receives the events of this generation, signed with the default secret of the account. It is no part of the request that an Idempotency-Key identifies.",
      { type: "string", format: "uri", maxLength: 2048 },
    ),
    ...EXTENSION,
  },
  WebhookEndpointId: parameter("path", "id", "The endpoint's id.", { type: "string" }),
  WebhookDeliveryId: parameter("path", "id", "The delivery's id.", { type: "string" }),
  Limit: parameter("query", "limit", "Maximum number of entries; 20 if absent.", { type: "integer", minimum: 1, maximum: 100 }),
  AfterDelivery: parameter("query", "after", "`next` of the previous page.", { type: "string", minLength: 1 }),
  AfterRecovered: parameter("query", "after", "`next` of the call before.", { type: "string", minLength: 1 }),
  Since: parameter("query", "since", "Time of the first event.", { type: "string", format: "date-time" }),
});

const listOf = (name: string): JsonObject => ({
  type: "object",
  properties: {
    object: { type: "string", const: "list" },
    data: { type: "array", items: schemaRef(name) },
    has_more: { type: "boolean" },
    next: { anyOf: [{ type: "string" }, { type: "null" }], description: "Send it as `after` for the next page." },
  },
  required: ["object", "data", "has_more", "next"],
  additionalProperties: false,
});

export const webhookSchemas = (): JsonObject => ({
  NewWebhookEndpoint: plain(NewWebhookEndpoint),
  ChangedWebhookEndpoint: plain(ChangedWebhookEndpoint),
  SecretRotation: plain(SecretRotation),
  WebhookEndpoint: plain(WebhookEndpoint),
  WebhookEndpointList: listOf("WebhookEndpoint"),
  DeletedWebhookEndpoint: {
    type: "object",
    properties: {
      id: { type: "string" },
      object: { type: "string", const: "webhook_endpoint" },
      deleted: { type: "boolean", description: "Always true." },
    },
    required: ["id", "object", "deleted"],
    additionalProperties: false,
  },
  WebhookSecret: plain(WebhookSecret),
  WebhookDelivery: plain(WebhookDelivery),
  WebhookDeliveryList: listOf("WebhookDelivery"),
  WebhookRecovery: {
    type: "object",
    properties: {
      object: { type: "string", const: "webhook_recovery" },
      endpoint: { type: "string" },
      since: { type: "string", format: "date-time" },
      deliveries: { type: "integer", minimum: 0, maximum: 10_000 },
      has_more: { type: "boolean" },
      next: { anyOf: [{ type: "string" }, { type: "null" }], description: "Send it as `after` to continue." },
    },
    required: ["object", "endpoint", "since", "deliveries", "has_more", "next"],
    additionalProperties: false,
  },
});
