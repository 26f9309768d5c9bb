// Paths of the OpenAPI document with every status, code and header of each response.
import { API_ERRORS } from "../../domain/api-errors.ts";
import type { JsonObject } from "../../domain/types.ts";
import { EXTENSION, jsonAnswer, noes, schemaRef } from "./components.ts";
import { END_USER_PATHS } from "./end-user-paths.ts";
import { EVENT_PATHS } from "./event-paths.ts";
import { FILE_PATHS } from "./file-paths.ts";
import { file, READABLE_HEADERS, redirect } from "./file-responses.ts";
import { KEYED, keyed, OPEN, open, preflight, publicJson, withRequestId } from "./operations.ts";
import { LIST_GENERATIONS, READING_PATHS } from "./reading-paths.ts";
import { RESUMABLE_PATHS } from "./resumable-paths.ts";
import { webhookPaths } from "./webhook-paths.ts";

const ID = "gen_05tk3m9q2r01h8v4w6x7y";
const REQUEST: JsonObject = {
  model: "vidmodel-2.0-fast",
  input: { prompt: "a red kite over dunes", resolution: "480p", duration: 4 },
  max_cost_usd: 1,
};
/** Viewers show it instead of a request that they compose, which would lack the optional Idempotency-Key. */
const SUBMIT_WITH_CURL = `curl https://api.example.org/v1/generations \\
  -H "Authorization: Bearer $GENROUTER_API_KEY" \\
  -H "Content-Type: application/json" \\
  -H "Idempotency-Key: my-first-generation" \\
  -d '${JSON.stringify(REQUEST)}'`;
const QUEUED: JsonObject = {
  id: ID,
  object: "generation",
  model: "vidmodel-2.0-fast",
  status: "queued",
  output: null,
  quoted_usd: 0.2,
  reserved_usd: 0.52,
  cost_usd: null,
  attempts: 0,
  error: null,
  created_at: "2026-10-19T12:00:00.000Z",
  completed_at: null,
};
const SUCCEEDED: JsonObject = {
  ...QUEUED,
  status: "succeeded",
  output: {
    urls: [`https://api.example.org/files/${ID}/1.mp4?exp=1792414800&kid=1&sig=c2lnbmF0dXJl`],
    width: 864,
    height: 496,
    duration_s: 4,
    has_audio: false,
  },
  reserved_usd: null,
  cost_usd: 0.32,
  attempts: 2,
  completed_at: "2026-10-19T12:00:09.000Z",
};
const FAILED: JsonObject = {
  ...QUEUED,
  status: "failed",
  reserved_usd: null,
  cost_usd: 0,
  attempts: 3,
  error: { code: "provider_failed", message: "Every route failed." },
  completed_at: "2026-10-19T12:00:30.000Z",
};
const CANCEL_PENDING: JsonObject = {
  ...QUEUED,
  status: "running",
  attempts: 1,
  cancel_requested_at: "2026-10-19T12:00:04.000Z",
};
const CANCELLED: JsonObject = {
  ...FAILED,
  attempts: 0,
  error: { code: "cancelled", message: "The generation was cancelled on request. Nothing was charged." },
};

const DELETED: JsonObject = {
  ...{ id: SUCCEEDED.id ?? "", object: "generation", deleted: true, erased_at: "2026-10-19T14:00:00.000Z" },
  backups: [{ name: "genrouter-20261019T033000Z", taken_at: "2026-10-19T03:30:00.000Z", expires_on: "2026-11-02" }],
};

/** The operations that take the id of the generation in a response. */
const linkTo = (operationId: string, description: string): JsonObject => ({
  operationId,
  parameters: { id: "$response.body#/id" },
  description,
});
const LINKS: JsonObject = {
  Poll: linkTo("pollGeneration", "Poll the generation."),
  Download: linkTo("downloadFirstFile", "Download the first result file after success."),
  Cancel: linkTo("cancelGeneration", "Cancel the generation."),
};

/** Every path of the service. */
export const openApiPaths = (): JsonObject => ({
  "/v1/generations": {
    get: LIST_GENERATIONS,
    post: {
      operationId: "submitGeneration",
      summary: "Submit a generation",
      description:
        "The generation runs in the background. Poll it until it is finished. The body is read as JSON with any Content-Type.",
      tags: ["generations"],
      ...keyed,
      "x-codeSamples": [{ lang: "Shell", label: "curl", source: SUBMIT_WITH_CURL }],
      parameters: withRequestId("IdempotencyKey", "Metadata", "EndUserHeader", "Webhook", "Prefer"),
      requestBody: {
        required: true,
        description: "At most 1 MB (1,048,576 bytes).",
        content: { "application/json": { schema: schemaRef("GenerationRequest"), examples: { video: { value: REQUEST } } } },
      },
      responses: {
        "200": jsonAnswer(
          "Replay: the existing generation with this Idempotency-Key.",
          schemaRef("Generation"),
          ["Cache-Control", "Preference-Applied"],
          {
            replay: { value: QUEUED },
          },
          LINKS,
        ),
        "202": jsonAnswer(
          "Accepted.",
          schemaRef("Generation"),
          ["Cache-Control", "Location", "Retry-After", "Preference-Applied"],
          {
            queued: { value: QUEUED },
          },
          LINKS,
        ),
        ...noes(
          ...KEYED,
          "generation_not_enabled",
          "body_too_large",
          "invalid_request",
          "idempotency_conflict",
          "model_not_available",
          "invalid_input",
          "max_cost_exceeded",
          "model_unavailable",
          "concurrency_limit",
          "insufficient_credits",
        ),
      },
    },
  },
  "/v1/generations/{id}": {
    get: {
      operationId: "pollGeneration",
      summary: "Poll a generation",
      description: "Poll every few seconds until `status` is `succeeded` or `failed`.",
      tags: ["generations"],
      ...keyed,
      parameters: withRequestId("Id", "Prefer"),
      responses: {
        "200": jsonAnswer("The generation.", schemaRef("Generation"), ["Cache-Control", "Preference-Applied"], {
          queued: { value: QUEUED },
          succeeded: { value: SUCCEEDED },
          failed: { value: FAILED },
        }),
        ...noes(...KEYED, "not_found"),
      },
    },
    delete: {
      operationId: "deleteGeneration",
      summary: "Delete a generation",
      description:
        "Erases prompt, input, metadata and end user of an ended generation, and deletes its files. Polls and replays of its Idempotency-Key still return it, and its files answer 404. What it cost stays in the ledger. A repetition has the same answer.",
      tags: ["generations"],
      ...keyed,
      ...EXTENSION,
      parameters: withRequestId("Id"),
      responses: {
        "200": jsonAnswer("The generation is deleted.", schemaRef("DeletedGeneration"), ["Cache-Control"], {
          deleted: { value: DELETED },
        }),
        ...noes(...KEYED, "generation_not_enabled", "not_found", "not_ended"),
      },
    },
  },
  "/v1/generations/{id}/cancel": {
    post: {
      operationId: "cancelGeneration",
      summary: "Cancel a generation",
      description:
        "From then on no attempt begins. A generation of which no provider has a request fails with `cancelled` at once. Otherwise the provider is asked to cancel; if it delivers all the same, the generation succeeds and is charged. The body is empty or `{}`.",
      tags: ["generations"],
      ...keyed,
      ...EXTENSION,
      parameters: withRequestId("Id"),
      responses: {
        "200": jsonAnswer(
          "The generation, also if it was cancelled before.",
          schemaRef("CancelledGeneration"),
          ["Cache-Control"],
          { pending: { value: CANCEL_PENDING }, cancelled: { value: CANCELLED } },
        ),
        ...noes(...KEYED, "generation_not_enabled", "not_found", "body_too_large", "invalid_request", "already_ended"),
      },
    },
  },
  "/v1/generations/{id}/content": {
    get: {
      operationId: "downloadFirstFile",
      summary: "Download the first result file",
      tags: ["files"],
      ...keyed,
      parameters: withRequestId("Id", "Range", "IfNoneMatch"),
      responses: { ...file([], ...KEYED, "not_found", "not_ready"), ...redirect() },
    },
  },
  "/v1/generations/{id}/content/{n}": {
    get: {
      operationId: "downloadFile",
      summary: "Download file n of a result with several files",
      tags: ["files"],
      ...keyed,
      parameters: withRequestId("Id", "Position", "Range", "IfNoneMatch"),
      responses: { ...file([], ...KEYED, "not_found", "not_ready"), ...redirect() },
    },
  },
  ...FILE_PATHS,
  ...RESUMABLE_PATHS,
  ...webhookPaths(),
  "/v1/models": {
    get: {
      operationId: "listModels",
      summary: "List the models that are available now",
      tags: ["models"],
      ...open,
      parameters: withRequestId("IfNoneMatch"),
      responses: publicJson("The models, with tasks, options and price.", schemaRef("ModelList")),
    },
    options: preflight("listModelsPreflight", "Preflight of the model list"),
  },
  ...READING_PATHS,
  ...EVENT_PATHS,
  ...END_USER_PATHS,
  "/models.json": {
    get: {
      operationId: "modelsFile",
      summary: "The model list as a file",
      tags: ["models"],
      ...open,
      ...EXTENSION,
      parameters: withRequestId("IfNoneMatch"),
      responses: publicJson("The same list as `GET /v1/models`.", schemaRef("ModelList")),
    },
    options: preflight("modelsFilePreflight", "Preflight of the models file"),
  },
  "/files/{id}/{n}": {
    get: {
      operationId: "linkedFile",
      summary: "Download a result file or an uploaded file by its link",
      description:
        "`output.urls` and the `url` of an uploaded file are such links. They need no key and expire within an hour. Pages of any site may fetch them.",
      tags: ["files"],
      ...open,
      ...EXTENSION,
      parameters: withRequestId("Id", "FilePosition", "LinkExpiry", "LinkKeyId", "LinkSignature", "Range", "IfNoneMatch"),
      responses: {
        ...file(
          ["Cross-Origin-Resource-Policy", ...READABLE_HEADERS],
          {
            ...{ code: "not_found", status: 403, headers: READABLE_HEADERS },
            when: "The link has expired or was altered; poll the generation for a new link.",
          },
          {
            ...{ code: "not_found", status: 404, headers: READABLE_HEADERS },
            when: "No file has this address, or its retention has expired.",
          },
          { code: "restarting", ...API_ERRORS.restarting, headers: READABLE_HEADERS },
          ...OPEN,
        ),
        ...redirect("Cross-Origin-Resource-Policy", ...READABLE_HEADERS),
      },
    },
    options: preflight("linkedFilePreflight", "Preflight of a file's link", "Id", "FilePosition"),
  },
  "/openapi.json": {
    get: {
      operationId: "interfaceDescription",
      summary: "This document",
      tags: ["service"],
      ...open,
      ...EXTENSION,
      parameters: withRequestId("IfNoneMatch"),
      responses: publicJson("This document.", { type: "object" }),
    },
    options: preflight("interfaceDescriptionPreflight", "Preflight of this document"),
  },
  "/healthz": {
    get: {
      operationId: "alive",
      summary: "Liveness of the process",
      tags: ["service"],
      ...open,
      ...EXTENSION,
      parameters: withRequestId(),
      responses: { "200": jsonAnswer("The process is alive.", schemaRef("Health"), ["Cache-Control"]), ...noes(...OPEN) },
    },
  },
  "/readyz": {
    get: {
      operationId: "ready",
      summary: "Readiness of the service for submissions",
      tags: ["service"],
      ...open,
      ...EXTENSION,
      parameters: withRequestId(),
      responses: {
        "200": jsonAnswer("The service accepts submissions.", schemaRef("Health"), ["Cache-Control"]),
        ...noes("restarting", ...OPEN),
      },
    },
  },
});
