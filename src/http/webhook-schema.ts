// TypeBox schemas of webhook endpoints, secrets and deliveries.
import { Type } from "@sinclair/typebox";
import { DELIVERY_STATES, MAX_URL_CHARS, WEBHOOK_EVENTS } from "../domain/webhooks.ts";
import { dateTime, oneOf, orNull } from "./schema.ts";

const url = Type.String({
  minLength: 1,
  maxLength: MAX_URL_CHARS,
  description: "A public https URL on port 443. It is checked again at every try, and redirects are not followed.",
});
const events = Type.Array(oneOf([...WEBHOOK_EVENTS, "*"], "An event type; `*` for all."), { minItems: 1, maxItems: 20 });
const description = Type.String({ maxLength: 500, description: "For the account only." });
const enabled = Type.Boolean({
  description: "A disabled endpoint gets no new events. Pending deliveries continue when it is enabled.",
});

export const NewWebhookEndpoint = Type.Object(
  {
    url,
    events: Type.Optional(Type.Array(events.items, { minItems: 1, maxItems: 20, default: ["*"] })),
    description: Type.Optional(description),
    enabled: Type.Optional(enabled),
  },
  { additionalProperties: false },
);
export const ChangedWebhookEndpoint = Type.Object(
  {
    url: Type.Optional(url),
    events: Type.Optional(events),
    description: Type.Optional(description),
    enabled: Type.Optional(enabled),
  },
  { additionalProperties: false },
);
export const SecretRotation = Type.Object(
  {
    overlap_s: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 86_400,
        default: 86_400,
        description: "Seconds for which requests carry signatures of the previous secret, too.",
      }),
    ),
  },
  { additionalProperties: false },
);

export const WebhookEndpoint = Type.Object(
  {
    id: Type.String({ pattern: "^whe_[0-9a-z]{26}$" }),
    object: Type.Literal("webhook_endpoint"),
    url,
    events,
    description,
    enabled,
    disabled_reason: orNull(Type.String({ description: "Why the service disabled it." })),
    failing_since: orNull(dateTime("First failed try since the last success.")),
    created_at: dateTime("UTC."),
    secret: Type.Optional(
      Type.String({ pattern: "^whsec_", description: "Only in the response to the creation and to the rotation of the secret." }),
    ),
    previous_secret_until: Type.Optional(orNull(dateTime("Only after a rotation: end of the previous secret."))),
  },
  { additionalProperties: false },
);
export const WebhookSecret = Type.Object(
  {
    object: Type.Literal("webhook_secret"),
    secret: Type.String({ pattern: "^whsec_" }),
    previous_secret_until: orNull(dateTime("End of the previous secret; null if there was none.")),
  },
  { additionalProperties: false },
);
export const WebhookTryObject = Type.Object(
  {
    at: dateTime("UTC."),
    status: orNull(Type.Integer({ description: "Status of the response; null if there was none." })),
    duration_ms: Type.Integer({ minimum: 0 }),
    answer: orNull(
      Type.String({
        description: "The first 1,024 bytes of the response; null for a private host, and after the deletion of the generation.",
      }),
    ),
    error: orNull(Type.String({ description: "Why there was no response." })),
  },
  { additionalProperties: false },
);
export const WebhookDelivery = Type.Object(
  {
    id: Type.String({ pattern: "^whd_[0-9a-z]{21}$" }),
    object: Type.Literal("webhook_delivery"),
    endpoint: orNull(Type.String({ description: "Null for the address of a submission." })),
    url: Type.String(),
    type: oneOf([...WEBHOOK_EVENTS, "webhook.test"], "Event type."),
    generation: orNull(Type.String()),
    sequence: Type.Integer({ minimum: 1, description: "Rises with each event about the same object." }),
    state: oneOf(
      DELIVERY_STATES,
      "`failed`: all retries failed. `dropped`: the event was outdated, or its endpoint was deleted.",
    ),
    created_at: dateTime("UTC."),
    next_try_at: orNull(dateTime("UTC; null unless pending.")),
    tries: Type.Array(WebhookTryObject, { description: "Oldest first, kept for 30 days." }),
  },
  { additionalProperties: false },
);
