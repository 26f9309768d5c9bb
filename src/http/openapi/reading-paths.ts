// OpenAPI paths of the reading extensions: models, quotes, balance, usage and ledger.
import { GENERATION_STATUSES, type JsonObject, TRANSFER_KINDS } from "../../domain/types.ts";
import { EXTENSION, headers, jsonAnswer, type No, noes, schemaRef } from "./components.ts";
import { KEYED, keyed, open, preflight, publicJson, withRequestId } from "./operations.ts";

const NO_MODEL: No = { code: "not_found", status: 404, when: "No model with this id has a configured route." };

const QUOTE: JsonObject = {
  object: "quote",
  quoted_usd: 0.2,
  reserved_usd: 0.52,
  routes: 2,
  expected_s: 60,
  skipped: [{ reason: "over_max_cost", routes: 1 }],
};

const query = (name: string, description: string, schema: JsonObject): JsonObject => ({ name, in: "query", description, schema });
// Without defaults, because generated clients send them, also where another parameter excludes them.
const LIMIT = query("limit", "Number of items; 20 if absent.", { type: "integer", minimum: 1, maximum: 100 });
const AFTER = query("after", "The id of the last item of the previous page, or its `next`.", { type: "string", minLength: 1 });
const timeQuery = (name: string, description: string): JsonObject =>
  query(name, description, { type: "string", format: "date-time" });
const BAD_QUERY: No = { code: "invalid_request", status: 400, when: "A member of the query is unknown or has an invalid value." };

const LIMITED_KEY: No = { code: "generation_not_enabled", status: 403, when: "The key has spend limits or a model allowlist." };
const dayQuery = (name: string, description: string): JsonObject => query(name, description, { type: "string", format: "date" });

/** `GET /v1/generations`. */
export const LIST_GENERATIONS: JsonObject = {
  operationId: "listGenerations",
  summary: "List the generations of the account, newest first",
  description:
    "A key with limits or models lists the generations that it made. Without filter, or with `status`, `model` or one member of `metadata` alone, every page is full while items are left. With other filters a page examines at most 10,000 rows; it may have fewer items, and `next` continues.",
  tags: ["generations"],
  ...keyed,
  ...EXTENSION,
  parameters: [
    LIMIT,
    AFTER,
    query("status", "Only this status.", { type: "string", enum: [...GENERATION_STATUSES] }),
    query("model", "Only this model.", { type: "string", minLength: 1 }),
    timeQuery("created_after", "Only later than this time."),
    timeQuery("created_before", "Only earlier than this time."),
    {
      ...query("metadata", "Only with this metadata, as in `metadata[order]=1207`.", {
        type: "object",
        additionalProperties: { type: "string", maxLength: 500 },
        maxProperties: 16,
      }),
      ...{ style: "deepObject", explode: true },
    },
    ...withRequestId(),
  ],
  responses: {
    "200": jsonAnswer("The page.", schemaRef("GenerationList"), ["Cache-Control"]),
    ...noes(...KEYED, BAD_QUERY),
  },
};

export const READING_PATHS: JsonObject = {
  "/v1/quotes": {
    post: {
      operationId: "quoteGeneration",
      summary: "Quote a generation without submitting it",
      description:
        "Checks and prices a request like a submission. Nothing is stored or held, so balance, limits and queue are not checked. Links are opened only for an account with available credits.",
      tags: ["generations"],
      ...keyed,
      ...EXTENSION,
      parameters: withRequestId(),
      requestBody: {
        required: true,
        description: "At most 1 MB (1,048,576 bytes).",
        content: { "application/json": { schema: schemaRef("GenerationRequest") } },
      },
      responses: {
        "200": jsonAnswer("The quote.", schemaRef("Quote"), ["Cache-Control"], { quote: { value: QUOTE } }),
        ...noes(
          ...KEYED,
          "generation_not_enabled",
          "body_too_large",
          "invalid_request",
          "model_not_available",
          "invalid_input",
          "max_cost_exceeded",
          "model_unavailable",
          "insufficient_credits",
        ),
      },
    },
  },
  "/v1/models/{id}": {
    get: {
      operationId: "readModel",
      summary: "Read one model of the list",
      tags: ["models"],
      ...open,
      ...EXTENSION,
      parameters: withRequestId("ModelId", "IfNoneMatch"),
      responses: publicJson("The model.", schemaRef("ModelEntry"), NO_MODEL, "model_unavailable"),
    },
    options: preflight("readModelPreflight", "Preflight of a model", "ModelId"),
  },
  "/v1/models/{id}/schema": {
    get: {
      operationId: "readModelSchema",
      summary: "Read the JSON Schema of a model's input",
      description:
        "A JSON Schema (2020-12) of `input` with the fields, values, bounds, defaults and relations of the model. The content of linked media is checked at submission only.",
      tags: ["models"],
      ...open,
      ...EXTENSION,
      parameters: withRequestId("ModelId", "IfNoneMatch"),
      responses: publicJson("The JSON Schema.", { type: "object" }, NO_MODEL),
    },
    options: preflight("readModelSchemaPreflight", "Preflight of a model's schema", "ModelId"),
  },
  "/v1/balance": {
    get: {
      operationId: "readBalance",
      summary: "Read the balance of the account and the limits of the key",
      tags: ["account"],
      ...keyed,
      ...EXTENSION,
      parameters: withRequestId(),
      responses: {
        "200": jsonAnswer("The balance.", schemaRef("Balance"), ["Cache-Control"]),
        ...noes(...KEYED, BAD_QUERY),
      },
    },
  },
  "/v1/usage": {
    get: {
      operationId: "readUsage",
      summary: "Read the usage of the account by day, model, key or end user",
      description:
        "Generations that ended in a range of days in UTC, at most 400 days. By end user the response is one page; a page examines at most 1,000 end users, so it may have fewer items, and `next` continues. Generations without an end user are in `total` only.",
      tags: ["account"],
      ...keyed,
      ...EXTENSION,
      parameters: [
        dayQuery("from", "First day, by default 29 days before the last."),
        dayQuery("to", "Last day, by default today."),
        query("group_by", "The grouping; by day if absent.", {
          ...{ type: "string", enum: ["day", "model", "key", "end_user"] },
        }),
        query("limit", "Number of items, 20 if absent; with `group_by=end_user` only.", {
          type: "integer",
          minimum: 1,
          maximum: 100,
        }),
        query("after", "`next` of the previous page; with `group_by=end_user` only.", { type: "string" }),
        ...withRequestId(),
      ],
      responses: {
        "200": jsonAnswer("The usage.", schemaRef("Usage"), ["Cache-Control"]),
        ...noes(...KEYED, LIMITED_KEY, BAD_QUERY),
      },
    },
  },
  "/v1/ledger": {
    get: {
      operationId: "listLedger",
      summary: "List the transfers of the account, newest first",
      description:
        "With `Accept: text/csv` the response contains all transfers that match; `limit` and `after` are for JSON only.",
      tags: ["account"],
      ...keyed,
      ...EXTENSION,
      parameters: [
        LIMIT,
        query("after", "`next` of the previous page.", { type: "string", minLength: 1 }),
        query("kind", "Only this kind.", { type: "string", enum: [...TRANSFER_KINDS] }),
        timeQuery("created_after", "Only later than this time."),
        timeQuery("created_before", "Only earlier than this time."),
        ...withRequestId(),
      ],
      responses: {
        "200": {
          description: "The page, or all transfers as CSV.",
          headers: headers("Cache-Control", "Vary", "Content-Disposition"),
          content: {
            "application/json": { schema: schemaRef("LedgerList") },
            "text/csv": { schema: { type: "string" } },
          },
        },
        ...noes(...KEYED, LIMITED_KEY, BAD_QUERY),
      },
    },
  },
};
