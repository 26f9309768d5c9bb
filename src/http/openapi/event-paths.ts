// OpenAPI paths of the event streams: the events of one generation, and the events of an account.
import type { JsonObject } from "../../domain/types.ts";
import { type DeliveryType, GENERATION_EVENTS, WEBHOOK_EVENTS } from "../../domain/webhooks.ts";
import { EXTENSION, headers, type No, noes, schemaRef } from "./components.ts";
import { KEYED, keyed, withRequestId } from "./operations.ts";

const GENERATION_STREAM = `retry: 1000

id: evt_05tk3m9q2r01h8v4w6x7y_0
event: generation.queued
data: {"id":"gen_05tk3m9q2r01h8v4w6x7y","object":"generation","status":"queued"}

`;
const ACCOUNT_STREAM = `retry: 1000

id: evt_05tk3m9q2r01h8v4w6x7y_6.mgx1c0w0.0.cur_1z_b3BhcXVlIGFuZCBzaWduZW
event: generation.succeeded
data: {"type":"generation.succeeded","timestamp":"2026-10-19T12:00:09.000Z","sequence":6,"data":{"id":"gen_05tk3m9q2r01h8v4w6x7y"}}

`;

const stream = (description: string, example: string): JsonObject => ({
  description,
  headers: headers("Cache-Control", "X-Accel-Buffering"),
  // Without a type, because some readers apply the schema to the whole text, and others to each event.
  content: { "text/event-stream": { schema: {}, examples: { beginning: { value: example } } } },
});

const BAD_POSITION: No = {
  code: "invalid_request",
  status: 400,
  when: "`Last-Event-ID` is no id of this stream, or a member of the query is wrong; the message names it.",
};
const LIMITED_KEY: No = { code: "generation_not_enabled", status: 403, when: "The key has spend limits or a model allowlist." };
const TOO_MANY: No = { code: "concurrency_limit", status: 429, when: "The account, or the service, has too many event streams." };

export const EVENT_PATHS: JsonObject = {
  "/v1/generations/{id}/events": {
    get: {
      operationId: "streamGenerationEvents",
      summary: "Stream the events of a generation",
      description:
        "Server-sent events: the history of the generation from its submission, then each change until its end, after which the stream closes. `data` is the generation as a poll showed it after the change. A key with limits or models reads the generations that it submitted.",
      tags: ["generations"],
      ...keyed,
      ...EXTENSION,
      parameters: withRequestId("Id", "LastEventId"),
      responses: {
        "200": stream(
          `The events, of the types ${GENERATION_EVENTS.map((type) => `\`${type}\``).join(", ")}.`,
          GENERATION_STREAM,
        ),
        "204": {
          description: "No event follows: `Last-Event-ID` is the end of the generation. A browser stops connecting.",
          headers: headers("Cache-Control"),
        },
        ...noes(...KEYED, "not_found", BAD_POSITION, TOO_MANY),
      },
    },
  },
  "/v1/events": {
    get: {
      operationId: "streamEvents",
      summary: "Stream the events of the account",
      description:
        "Server-sent events of the account as they become true, with or without a webhook endpoint. `data` is the body of the webhook (`WebhookEvent`), and `id` is its `webhook-id`, a dot and a position.",
      tags: ["webhooks"],
      ...keyed,
      ...EXTENSION,
      parameters: withRequestId("EventTypes", "LastEventId"),
      responses: {
        "200": stream("The events.", ACCOUNT_STREAM),
        ...noes(...KEYED, LIMITED_KEY, BAD_POSITION, TOO_MANY),
      },
    },
  },
};

export const EVENT_PARAMETERS: JsonObject = {
  LastEventId: {
    name: "Last-Event-ID",
    in: "header",
    description: "The id of the last event that the client has; the stream resumes after it.",
    schema: { type: "string", maxLength: 200 },
  },
  EventTypes: {
    name: "types",
    in: "query",
    description: `Event types, separated by commas, of ${WEBHOOK_EVENTS.map((type) => `\`${type}\``).join(", ")}; \`*\` for all.`,
    schema: { type: "string", default: "*" },
  },
};

const PURCHASE: JsonObject = {
  type: "object",
  properties: {
    id: { type: "string" },
    object: { type: "string", const: "purchase" },
    amount_usd: { type: "number", format: "double" },
    paid_at: { type: "string", format: "date-time" },
  },
  required: ["id", "object", "amount_usd", "paid_at"],
  additionalProperties: false,
};

const eventSchema = (type: DeliveryType, data: JsonObject): JsonObject => ({
  type: "object",
  properties: {
    type: { type: "string", const: type },
    timestamp: { type: "string", format: "date-time", description: "When the event became true." },
    sequence: { type: "integer", format: "int64", minimum: 1, description: "Rises with each event about the same object." },
    data,
  },
  required: ["type", "timestamp", "sequence", "data"],
  additionalProperties: false,
});

/** The events of webhooks by the names of their schemas. One schema per type, because generators map one type to a schema. */
const EVENTS: Readonly<Record<string, { type: DeliveryType; data: JsonObject }>> = {
  GenerationRunningEvent: { type: "generation.running", data: schemaRef("Generation") },
  GenerationSucceededEvent: { type: "generation.succeeded", data: schemaRef("Generation") },
  GenerationFailedEvent: { type: "generation.failed", data: schemaRef("Generation") },
  CreditsLowEvent: { type: "credits.low", data: schemaRef("Balance") },
  PurchaseCompletedEvent: { type: "purchase.completed", data: schemaRef("Purchase") },
  WebhookTestEvent: { type: "webhook.test", data: { type: "object", additionalProperties: false } },
};

export const EVENT_SCHEMAS: JsonObject = {
  Purchase: PURCHASE,
  WebhookEvent: {
    description: "The body of a webhook, and the data of an event of the account.",
    oneOf: Object.keys(EVENTS).map(schemaRef),
    // Generators need it to distinguish the members of the union.
    discriminator: {
      propertyName: "type",
      mapping: Object.fromEntries(Object.entries(EVENTS).map(([name, { type }]) => [type, `#/components/schemas/${name}`])),
    },
  },
  ...Object.fromEntries(Object.entries(EVENTS).map(([name, { type, data }]) => [name, eventSchema(type, data)])),
};

const signatureHeader = (name: string, description: string): JsonObject => ({
  ...{ name, in: "header", required: true, description, schema: { type: "string" } },
});

/** The request that an endpoint of the account receives. */
export const WEBHOOKS: JsonObject = {
  event: {
    post: {
      operationId: "receiveWebhook",
      summary: "An event of the account",
      description: "Signed as Standard Webhooks defines. Events repeat their `webhook-id`.",
      // Not the tag of the paths, because generators write one file for each tag and would overwrite it.
      tags: ["webhook_events"],
      security: [],
      ...EXTENSION,
      parameters: [
        signatureHeader("webhook-id", "The id of the event, the same for every try."),
        signatureHeader("webhook-timestamp", "The time of the try in seconds since 1970."),
        signatureHeader(
          "webhook-signature",
          "`v1,` and the signature; during a rotation one for each secret, separated by spaces.",
        ),
      ],
      requestBody: { required: true, content: { "application/json": { schema: schemaRef("WebhookEvent") } } },
      responses: {
        "2XX": { description: "The event is delivered." },
        "4XX": { description: "The event is delivered again later; 410 disables the endpoint." },
      },
    },
  },
};
