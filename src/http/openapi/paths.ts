// Paths of the OpenAPI document with every status, code and header of each response.
import { API_ERRORS } from "../../domain/api-errors.ts";
import type { JsonObject } from "../../domain/types.ts";
import { EXTENSION, headers, jsonAnswer, type No, noes, parameterRef, schemaRef, WRONG_METHOD } from "./components.ts";
import { file, READABLE_HEADERS, redirect } from "./file-responses.ts";

const ID = "gen_05tk3m9q2r01h8v4w6x7y";
const REQUEST: JsonObject = {
  model: "vidmodel-2.0-fast",
  input: { prompt: "a red kite over dunes", resolution: "480p", duration: 4 },
  max_cost_usd: 1,
};
const QUEUED: JsonObject = {
  id: ID,
  object: "generation",
  model: "vidmodel-2.0-fast",
  status: "queued",
  output: null,
  quoted_usd: 0.2,
  reserved_usd: 0.28,
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
  cost_usd: 0.22,
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

const KEYED: readonly No[] = [
  "unauthorized",
  "account_disabled",
  "rate_limited",
  "restarting",
  "busy",
  "server_error",
  WRONG_METHOD,
];
const OPEN: readonly No[] = ["server_error", WRONG_METHOD];
const keyed = { security: [{ apiKey: [] }] };
const open = { security: [] };
const withRequestId = (...names: string[]) => [...names, "RequestId"].map(parameterRef);

const PUBLIC_HEADERS = ["Cache-Control", "ETag", "Vary", "Access-Control-Allow-Origin", "Access-Control-Expose-Headers"];
const publicJson = (description: string, schema: JsonObject): JsonObject => ({
  "200": jsonAnswer(description, schema, [...PUBLIC_HEADERS, "Content-Encoding"]),
  "304": { description: "The stored copy of the caller is current.", headers: headers(...PUBLIC_HEADERS) },
  ...noes(...OPEN),
});
const preflight = (operationId: string, summary: string, ...parameters: string[]): JsonObject => ({
  operationId,
  summary,
  tags: ["cors"],
  ...open,
  ...EXTENSION,
  parameters: withRequestId(...parameters),
  responses: {
    "204": {
      description: "Pages of any site may read this path.",
      headers: headers(
        "Allow",
        "Access-Control-Allow-Origin",
        "Access-Control-Allow-Methods",
        "Access-Control-Allow-Headers",
        "Access-Control-Max-Age",
      ),
    },
    ...noes(...OPEN),
  },
});

const FILE_ID = "file_06cq2v8k3mh7x1n5s9t0w4b6yz";
const FILE: JsonObject = {
  id: FILE_ID,
  object: "file",
  kind: "image",
  content_type: "image/png",
  bytes: 71_319,
  sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  width: 1024,
  height: 768,
  duration_s: null,
  url: `https://api.example.org/files/${FILE_ID}/1.png?exp=1792414800&kid=1&sig=c2lnbmF0dXJl`,
  created_at: "2026-10-19T12:00:00.000Z",
  expires_at: "2026-10-26T12:00:00.000Z",
};
const BINARY: JsonObject = { schema: { type: "string", format: "binary" } };

/** The paths of uploaded files. */
const filePaths = (): JsonObject => ({
  "/v1/files": {
    post: {
      operationId: "uploadFile",
      summary: "Upload a picture, a clip or sound",
      description:
        "Any media field of `input` then takes the `id` or the `url` of the file. Identical bytes of an account are stored once.",
      tags: ["files"],
      ...keyed,
      ...EXTENSION,
      parameters: withRequestId(),
      requestBody: {
        required: true,
        description: "A form with the part `file`, or the bytes themselves. At most `limits.upload_bytes` (512 MiB by default).",
        content: {
          "multipart/form-data": {
            schema: { type: "object", properties: { file: { type: "string", format: "binary" } }, required: ["file"] },
          },
          "application/octet-stream": BINARY,
        },
      },
      responses: {
        "201": jsonAnswer("The file.", schemaRef("File"), ["Cache-Control", "Location"], { picture: { value: FILE } }),
        ...noes(
          ...KEYED,
          "generation_not_enabled",
          "body_too_large",
          "invalid_request",
          "invalid_input",
          "concurrency_limit",
          "insufficient_credits",
          "upload_quota_exceeded",
        ),
      },
    },
    get: {
      operationId: "listFiles",
      summary: "List the uploaded files of the account, newest first",
      tags: ["files"],
      ...keyed,
      ...EXTENSION,
      parameters: withRequestId("Limit", "After"),
      responses: {
        "200": jsonAnswer("A page of files.", schemaRef("FileList"), ["Cache-Control"], {
          page: { value: { object: "list", data: [FILE], has_more: false, next: null } },
        }),
        ...noes(...KEYED, "invalid_request"),
      },
    },
  },
  "/v1/files/{id}": {
    get: {
      operationId: "readUploadedFile",
      summary: "Read an uploaded file, with a new link",
      tags: ["files"],
      ...keyed,
      ...EXTENSION,
      parameters: withRequestId("FileId"),
      responses: {
        "200": jsonAnswer("The file.", schemaRef("File"), ["Cache-Control"], { picture: { value: FILE } }),
        ...noes(...KEYED, "not_found"),
      },
    },
    delete: {
      operationId: "deleteUploadedFile",
      summary: "Delete an uploaded file",
      tags: ["files"],
      ...keyed,
      ...EXTENSION,
      parameters: withRequestId("FileId"),
      responses: {
        "200": jsonAnswer("The file is deleted.", schemaRef("DeletedFile"), ["Cache-Control"], {
          deleted: { value: { id: FILE_ID, object: "file", deleted: true } },
        }),
        ...noes(...KEYED, "generation_not_enabled", "not_found", "file_in_use"),
      },
    },
  },
  "/v1/files/{id}/content": {
    get: {
      operationId: "downloadUploadedFile",
      summary: "Download an uploaded file",
      tags: ["files"],
      ...keyed,
      ...EXTENSION,
      parameters: withRequestId("FileId", "Range", "IfNoneMatch"),
      responses: { ...file([], ...KEYED, "not_found"), ...redirect() },
    },
  },
});

/** Every path of the service. */
export const openApiPaths = (): JsonObject => ({
  "/v1/generations": {
    post: {
      operationId: "submitGeneration",
      summary: "Submit a generation",
      description:
        "The generation runs in the background. Poll it until it is finished. The body is read as JSON with any Content-Type.",
      tags: ["generations"],
      ...keyed,
      parameters: withRequestId("IdempotencyKey"),
      requestBody: {
        required: true,
        description: "At most 1 MB (1,048,576 bytes).",
        content: { "application/json": { schema: schemaRef("GenerationRequest"), examples: { video: { value: REQUEST } } } },
      },
      responses: {
        "200": jsonAnswer(
          "Replay: the existing generation with this Idempotency-Key.",
          schemaRef("Generation"),
          ["Cache-Control"],
          {
            replay: { value: QUEUED },
          },
        ),
        "202": jsonAnswer("Accepted.", schemaRef("Generation"), ["Cache-Control", "Location", "Retry-After"], {
          queued: { value: QUEUED },
        }),
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
      parameters: withRequestId("Id"),
      responses: {
        "200": jsonAnswer("The generation.", schemaRef("Generation"), ["Cache-Control"], {
          queued: { value: QUEUED },
          succeeded: { value: SUCCEEDED },
          failed: { value: FAILED },
        }),
        ...noes(...KEYED, "not_found"),
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
  ...filePaths(),
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
