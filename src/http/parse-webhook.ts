// Parses bodies of webhook endpoints and the header `Genrouter-Webhook`.

import type { TObject } from "@sinclair/typebox";
import { ApiError, refuse } from "../domain/api-errors.ts";
import { schemaCheck } from "../domain/compiled-schema.ts";
import type { Json } from "../domain/types.ts";
import { WEBHOOK_EVENTS } from "../domain/webhooks.ts";
import type { EndpointFields, WebhookService } from "../webhooks/service.ts";
import { parseJson } from "./body.ts";
import { ChangedWebhookEndpoint, NewWebhookEndpoint, SecretRotation } from "./webhook-schema.ts";

/** Constraint of each field, for the error message. */
const MUST_BE: Readonly<Record<string, string>> = {
  url: "must be a text of at most 2048 characters, a public https URL",
  events: `must be a list of ${WEBHOOK_EVENTS.join(", ")}, or ["*"] for all`,
  description: "must be a text of at most 500 characters",
  enabled: "must be true or false",
  overlap_s: "must be a whole number from 0 to 86400",
};
/** Unpaired surrogates and control characters, which a database may reject. */
const CONTROL = /\p{Cc}|\p{Cs}/u;
const DEFAULT_OVERLAP_S = 86_400;

const checkerOf = (schema: TObject) => ({ compiled: schemaCheck(schema), fields: Object.keys(schema.properties) });
type Checker = ReturnType<typeof checkerOf>;
const newEndpoint = checkerOf(NewWebhookEndpoint);
const changedEndpoint = checkerOf(ChangedWebhookEndpoint);
const rotation = checkerOf(SecretRotation);

/** @throws ApiError `invalid_request` with the field and what is allowed */
const check = ({ compiled, fields }: Checker, value: Json): void => {
  if (compiled.Check(value)) return;
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  if (!isObject) throw new ApiError("invalid_request", "The body must be a JSON object.");
  const unknown = Object.keys(value).find((field) => !fields.includes(field));
  if (unknown !== undefined)
    refuse("invalid_request", `${JSON.stringify(unknown.slice(0, 80))}: unknown; the fields are ${fields.join(", ")}.`);
  const field = compiled.Errors(value).First()?.path.split("/")[1] ?? "";
  const isMissing = !Object.hasOwn(value, field);
  refuse("invalid_request", `${field}: ${isMissing ? "is required; it " : ""}${MUST_BE[field] ?? "is wrong"}.`);
};

type Sent = { url?: string; events?: readonly string[]; description?: string; enabled?: boolean };

const fieldsOf = ({ url, events, description, enabled }: Sent): Partial<EndpointFields> => {
  for (const [name, text] of Object.entries({ url, description }))
    if (text !== undefined && CONTROL.test(text)) refuse("invalid_request", `${name}: contains a control character.`);
  return {
    ...(url === undefined ? {} : { url }),
    ...(events === undefined ? {} : { events: events.includes("*") ? "*" : [...new Set(events)].join(" ") }),
    ...(description === undefined ? {} : { description }),
    ...(enabled === undefined ? {} : { enabled }),
  };
};

/** @throws ApiError `invalid_request` */
export const readNewEndpoint = (value: Json): EndpointFields => {
  check(newEndpoint, value);
  return { url: "", events: "*", description: "", enabled: true, ...fieldsOf(value as Sent) };
};
export const parseNewEndpoint = (bytes: Uint8Array): EndpointFields => readNewEndpoint(parseJson(bytes).value);

/** @throws ApiError `invalid_request` */
export const readChangedEndpoint = (value: Json): Partial<EndpointFields> => {
  check(changedEndpoint, value);
  return fieldsOf(value as Sent);
};
export const parseChangedEndpoint = (bytes: Uint8Array): Partial<EndpointFields> => readChangedEndpoint(parseJson(bytes).value);

/** How long the previous secret stays valid, ms. @throws ApiError `invalid_request` */
export const readOverlap = (value: Json): number => {
  check(rotation, value);
  return ((value as { overlap_s?: number }).overlap_s ?? DEFAULT_OVERLAP_S) * 1000;
};
/** A day without a body. */
export const parseOverlap = (bytes: Uint8Array): number => readOverlap(bytes.length === 0 ? {} : parseJson(bytes).value);

/** The address of the header `Genrouter-Webhook`, checked when the returned function is called. @throws ApiError `invalid_request` */
export const webhookUrlOf = (
  request: Request,
  owner: { accountId: string },
  { submissionAddress }: Pick<WebhookService, "submissionAddress">,
): (() => string) | undefined => {
  const url = request.headers.get("genrouter-webhook");
  return url === null ? undefined : submissionAddress(owner, url);
};
