// Builds the OpenAPI 3.1 document that is served at /openapi.json and committed as openapi.json.
import type { TSchema } from "@sinclair/typebox";
import { INTERFACE_VERSION, type JsonObject } from "../../domain/types.ts";
import { EndUserLimitBody, EndUserList, EndUserObject } from "../end-user-schema.ts";
import {
  BalanceObject,
  CancelledGeneration,
  DeletedFile,
  DeletedGeneration,
  ErrorBody,
  FileList,
  Generation,
  GenerationErrorObject,
  GenerationList,
  GenerationOutput,
  GenerationRequest,
  LedgerEntry,
  LedgerList,
  ModelEntryObject,
  ModelList,
  QuoteObject,
  ResumableUploadObject,
  UploadedFileObject,
  UsageObject,
} from "../schema.ts";
import { EXTENSION, HEADERS, plain, schemaRef } from "./components.ts";
import { EVENT_PARAMETERS, EVENT_SCHEMAS, WEBHOOKS } from "./event-paths.ts";
import { Input } from "./input-schema.ts";
import { openApiPaths } from "./paths.ts";
import { webhookParameters, webhookSchemas } from "./webhook-paths.ts";

const DESCRIPTION = `One key and one request shape for image, video and audio generation, paid from prepaid credits (100 credits = 1 USD).
A client submits a generation, polls it until it is finished, and downloads its files. The cheapest route is tried first. If it fails, the
next route is tried. Only the route that delivers is charged.

Every path that supports GET supports HEAD. Every error has the body \`{"error":{"code","message"}}\`, with three exceptions:

- If a request is not valid HTTP, or its headers exceed about 16 kB, the response has an empty body and the connection is closed.
- If the method is not an HTTP method, the connection is closed without a response.
- If a request follows a POST before the response to the POST (pipelining, which RFC 9112 advises against), the connection may be closed
  without a response. Send the POST again with its Idempotency-Key.

\`x-extension\` marks additions to the interface that docs/interface.md defines.

Further pages: [error catalogue](/docs/errors) and [summary of the API](/llms.txt).`;

const query = (name: string, description: string, schema: JsonObject): JsonObject => ({
  name,
  in: "query",
  required: true,
  description,
  schema,
});
const header = (name: string, description: string, schema: JsonObject): JsonObject => ({
  name,
  in: "header",
  description,
  schema,
});
const path = (name: string, description: string, schema: JsonObject): JsonObject => ({
  name,
  in: "path",
  required: true,
  description,
  schema,
});

const PARAMETERS: JsonObject = {
  FileId: path("id", "The file's id.", { type: "string", pattern: "^[A-Za-z0-9_-]{1,80}$" }),
  UploadId: path("id", "The upload's id.", { type: "string", pattern: "^[A-Za-z0-9_-]{1,80}$" }),
  Limit: {
    name: "limit",
    in: "query",
    description: "Maximum number of entries; 20 if absent.",
    schema: { type: "integer", minimum: 1, maximum: 100 },
  },
  After: {
    name: "after",
    in: "query",
    description: "`next` of the previous page; absent: the newest entries.",
    schema: { type: "string", minLength: 1, maxLength: 80 },
  },
  EndUserId: path("id", "The end user's id, percent-encoded.", { type: "string", minLength: 1, maxLength: 120 }),
  Id: path("id", "The generation's id.", { type: "string", pattern: "^[A-Za-z0-9_-]{1,80}$" }),
  ModelId: path("id", "The model's id.", { type: "string" }),
  Position: path("n", "Position in `output.urls`.", { type: "integer", minimum: 2, maximum: 99 }),
  FilePosition: path("n", "Position in `output.urls`; 1 for an uploaded file. It can end in the extension of the file.", {
    type: "string",
    pattern: "^[1-9][0-9]?(\\.[0-9a-z]{1,5})?$",
  }),
  IdempotencyKey: header(
    "Idempotency-Key",
    "A repeated request with the same key and the same body returns the existing generation (200). With another body it returns 409. Use one key per account and request. Until the response arrives, send nothing after the body and keep the sending side of the connection open. Otherwise the connection may end without a response, or with a 400 without a body. After a lost connection, repeat the request with the same key.",
    { type: "string", minLength: 1, maxLength: 200 },
  ),
  Metadata: header(
    "Genrouter-Metadata",
    "A JSON object in ASCII of at most 4,096 bytes, with at most 16 members. Names have 1 to 40 characters, and values are strings of at most 500. Responses return it as `metadata`.",
    { type: "string", maxLength: 4096, examples: ['{"order":"1207"}'] },
  ),
  EndUserHeader: header(
    "Genrouter-End-User",
    "The end user for whom the generation is made. Responses return it as `end_user`, its limit applies, and usage counts it.",
    {
      type: "string",
      minLength: 1,
      maxLength: 120,
    },
  ),
  Prefer: {
    ...header(
      "Prefer",
      "`wait=30` lets the response wait until the generation has ended, at most for this number of seconds and 60. The status stays the same. `Preference-Applied` is absent if the response did not wait because the account has 100 waiting requests or the service stops.",
      { type: "string", examples: ["wait=30"] },
    ),
    ...EXTENSION,
  },
  RequestId: header(
    "X-Request-Id",
    "Id of the request: 1 to 80 letters, digits, hyphens and underscores. The response returns it, and the log of the service contains it. Any other value is replaced by a new id.",
    { type: "string" },
  ),
  ...webhookParameters(),
  ...EVENT_PARAMETERS,
  Range: header("Range", "One range of bytes.", { type: "string", examples: ["bytes=0-1023"] }),
  IfNoneMatch: header("If-None-Match", "ETags that the caller has stored.", { type: "string" }),
  LinkExpiry: query("exp", "Expiry of the link.", { type: "string" }),
  LinkKeyId: query("kid", "Id of the key that signed the link.", { type: "string" }),
  LinkSignature: query("sig", "Signature of the link.", { type: "string" }),
};

/** A list whose items are described by another schema. */
const listOf = (list: JsonObject, item: string): JsonObject => ({
  ...list,
  properties: { ...(list.properties as JsonObject), data: { type: "array", items: schemaRef(item) } },
});

/** A generation whose output and error are schemas of their own, so that generated types have a name. */
const withParts = (generation: TSchema): JsonObject => {
  const { properties, ...rest } = plain(generation) as { properties: JsonObject };
  const [output, error] = ["GenerationOutput", "GenerationError"].map((name) => ({ anyOf: [schemaRef(name), { type: "null" }] }));
  return { ...rest, properties: { ...properties, output, error } } as JsonObject;
};

const schemas = (): JsonObject => {
  const request = plain(GenerationRequest);
  const envelope = request.properties as JsonObject;
  return {
    GenerationRequest: {
      ...request,
      properties: {
        ...envelope,
        input: schemaRef("Input"),
      },
    },
    Input: plain(Input),
    Generation: withParts(Generation),
    CancelledGeneration: withParts(CancelledGeneration),
    GenerationOutput: plain(GenerationOutput),
    GenerationError: plain(GenerationErrorObject),
    DeletedGeneration: plain(DeletedGeneration),
    UploadedFile: plain(UploadedFileObject),
    UploadedFileList: listOf(plain(FileList), "UploadedFile"),
    DeletedFile: plain(DeletedFile),
    ResumableUpload: plain(ResumableUploadObject),
    Error: plain(ErrorBody),
    ModelEntry: plain(ModelEntryObject),
    ModelList: {
      ...plain(ModelList),
      properties: { object: { type: "string", const: "list" }, data: { type: "array", items: schemaRef("ModelEntry") } },
    },
    GenerationList: listOf(plain(GenerationList), "CancelledGeneration"),
    Quote: plain(QuoteObject),
    Balance: plain(BalanceObject),
    Usage: plain(UsageObject),
    LedgerEntry: plain(LedgerEntry),
    LedgerList: listOf(plain(LedgerList), "LedgerEntry"),
    EndUserLimit: plain(EndUserLimitBody),
    EndUser: plain(EndUserObject),
    EndUserList: listOf(plain(EndUserList), "EndUser"),
    ...webhookSchemas(),
    ...EVENT_SCHEMAS,
    Health: {
      type: "object",
      properties: {
        status: { type: "string", enum: ["ok", "ready"] },
        faults: { type: "array", items: { type: "string" } },
      },
      required: ["status"],
    },
  };
};

/** The complete document as plain JSON. */
export const openApiDocument = (): JsonObject => ({
  openapi: "3.1.0",
  info: {
    title: "genrouter",
    version: INTERFACE_VERSION,
    summary: "Image, video and audio generation behind one key and one request shape.",
    description: DESCRIPTION,
    license: { name: "MIT", identifier: "MIT" },
  },
  servers: [{ url: "/", description: "The service that serves this document." }],
  security: [{ apiKey: [] }],
  tags: [
    { name: "generations", description: "Submit, poll and cancel." },
    { name: "files", description: "Upload media, and download files." },
    { name: "models", description: "Available models and their prices." },
    { name: "account", description: "Balance, usage and ledger of the account." },
    { name: "end_users", description: "Spending and limits of the users for whom the account generates." },
    { name: "webhooks", description: "Events sent to the account's own servers." },
    { name: "webhook_events", description: "The requests that those servers receive." },
    { name: "service", description: "Status and description of the service." },
    { name: "cors", description: "CORS preflight requests." },
  ],
  paths: openApiPaths(),
  webhooks: WEBHOOKS,
  components: {
    securitySchemes: {
      apiKey: { type: "http", scheme: "bearer", description: "An API key, `gr_live_…` or `gr_test_…`. Use it on servers only." },
    },
    parameters: PARAMETERS,
    headers: HEADERS,
    schemas: schemas(),
  },
});
