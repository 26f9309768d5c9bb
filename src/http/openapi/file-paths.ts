// Paths of uploaded files in the OpenAPI document.
import type { JsonObject } from "../../domain/types.ts";
import { EXTENSION, jsonAnswer, noes, schemaRef } from "./components.ts";
import { file, redirect } from "./file-responses.ts";
import { KEYED, keyed, withRequestId } from "./operations.ts";

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
export const FILE_PATHS: JsonObject = {
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
          { code: "invalid_request", status: 408, when: "The body arrives too slowly, or takes more than 30 minutes." },
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
};
