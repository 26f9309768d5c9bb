// Builds the OpenAPI 3.1 document that is served at /openapi.json and committed as openapi.json.
import { INTERFACE_VERSION, type JsonObject } from "../../domain/types.ts";
import { ErrorBody, Generation, GenerationRequest, ModelEntryObject, ModelList } from "../schema.ts";
import { HEADERS, plain, schemaRef } from "./components.ts";
import { CommonInput, ExtendedInput } from "./input-schema.ts";
import { openApiPaths } from "./paths.ts";

const DESCRIPTION = `One key and one request shape for image, video and audio generation, paid from prepaid credits (100 credits = 1 USD).
A generation is submitted, polled until it is finished, and its files are downloaded. The cheapest route is tried first; if it fails, the
next one is; only the route that delivers is charged.

HEAD works wherever GET does. Every error has the body \`{"error":{"code","message"}}\`; only requests that are no HTTP at all, or whose
headers are over about 16 kB, are answered by the runtime with an empty body and a closed connection; on a method that HTTP does not know
it closes the connection without an answer, and so it does where a request is sent behind a POST before that was answered (pipelining,
which RFC 9112 advises clients against): send the POST again, with its Idempotency-Key. What is marked \`x-extension\` goes beyond the specification.

Outside /v1 there are pages too: [every error, when it comes and what to do](/docs/errors) and [the API in short](/llms.txt).`;

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
  Id: path("id", "The generation's id.", { type: "string", pattern: "^[A-Za-z0-9_-]{1,80}$" }),
  Position: path("n", "Position in `output.urls`.", { type: "integer", minimum: 2, maximum: 99 }),
  FilePosition: path("n", "Position in `output.urls`.", { type: "integer", minimum: 1, maximum: 99 }),
  IdempotencyKey: header(
    "Idempotency-Key",
    "Sending the same key with the same body again answers the generation that it made (200); with another body, 409. One key per account and request. Send nothing after the body, and leave the sending side of the connection open, until the answer has come: otherwise the connection may end without an answer or with a 400 that has no body. After that, as after any lost connection, repeat the request with the same key.",
    { type: "string", minLength: 1, maxLength: 200 },
  ),
  RequestId: header("X-Request-Id", "An id for the request; it comes back with the answer and stands in the service's log.", {
    type: "string",
    pattern: "^[A-Za-z0-9_-]{1,80}$",
  }),
  Range: header("Range", "One range of bytes.", { type: "string", examples: ["bytes=0-1023"] }),
  IfNoneMatch: header("If-None-Match", "ETags that the caller has.", { type: "string" }),
  LinkExpiry: query("exp", "When the link expires.", { type: "string" }),
  LinkKeyId: query("kid", "Which key signed it.", { type: "string" }),
  LinkSignature: query("sig", "The signature.", { type: "string" }),
};

const schemas = (): JsonObject => {
  const request = plain(GenerationRequest);
  const envelope = request.properties as JsonObject;
  return {
    GenerationRequest: {
      ...request,
      properties: {
        ...envelope,
        input: {
          description:
            "`ExtendedInput` for `vidmodel-2.5`, `CommonInput` for every other model; what a model takes is in its `options`.",
          anyOf: [schemaRef("CommonInput"), schemaRef("ExtendedInput")],
        },
      },
    },
    CommonInput: plain(CommonInput),
    ExtendedInput: plain(ExtendedInput),
    Generation: plain(Generation),
    Error: plain(ErrorBody),
    ModelEntry: plain(ModelEntryObject),
    ModelList: {
      ...plain(ModelList),
      properties: { object: { type: "string", const: "list" }, data: { type: "array", items: schemaRef("ModelEntry") } },
    },
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
    { name: "generations", description: "Submit and poll." },
    { name: "files", description: "Download results." },
    { name: "models", description: "What can be generated with, and at what price." },
    { name: "service", description: "The service itself." },
    { name: "cors", description: "What browsers ask first." },
  ],
  paths: openApiPaths(),
  components: {
    securitySchemes: {
      apiKey: { type: "http", scheme: "bearer", description: "An API key, `gr_live_…` or `gr_test_…`; kept server side." },
    },
    parameters: PARAMETERS,
    headers: HEADERS,
    schemas: schemas(),
  },
});
