// Paths of resumable uploads in the OpenAPI document.
import type { JsonObject } from "../../domain/types.ts";
import { EXTENSION, headers, jsonAnswer, type No, noes, parameterRef, schemaRef } from "./components.ts";
import { KEYED, keyed, OPEN, open, withRequestId } from "./operations.ts";

const UPLOAD_ID = "upl_06cq2v8k3mh7x1n5s9t0w4b6yz";
const PATH_ID = parameterRef("UploadId");

const header = (name: string, description: string, example: string, required = true, schema: JsonObject = {}): JsonObject => ({
  ...{ name, in: "header", required, description },
  ...{ schema: { type: "string", ...schema }, example },
});
const BYTES: JsonObject = { pattern: "^[0-9]{1,15}$" };
const VERSION = header("Tus-Resumable", "Version of the tus protocol.", "1.0.0", true, { enum: ["1.0.0"] });
const LENGTH = header(
  "Upload-Length",
  "Size of the whole file in bytes, at most `limits.upload_bytes`.",
  "71319000",
  true,
  BYTES,
);
const METADATA = header("Upload-Metadata", "Pairs of name and Base64; HEAD returns them.", "filename Y2xpcC5tcDQ=", false);
const OFFSET = header("Upload-Offset", "The offset that HEAD or the previous PATCH returned.", "4194304", true, BYTES);
const CHECKSUM = header(
  "Upload-Checksum",
  "Algorithm and Base64 digest of the body.",
  "sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=",
  false,
);
const OVERRIDE = header("X-HTTP-Method-Override", "The method.", "PATCH", true, { enum: ["PATCH", "DELETE"] });

const rejected = (
  status: number,
  when: string,
  code: "invalid_request" | "not_found" = "invalid_request",
  more: string[] = [],
): No => ({
  ...{ code, status, when },
  headers: more,
});
const WRONG_VERSION = rejected(412, "Tus-Resumable is not 1.0.0.", "invalid_request", ["Tus-Version"]);
const OVER = rejected(410, "The upload was terminated or has expired.", "not_found");
const LOCKED: No = {
  code: "concurrency_limit",
  status: 423,
  when: "Another request appends to the upload.",
  headers: ["Retry-After"],
};
/** Errors of the file, which the request that completes the upload returns. */
const OF_FILE: readonly No[] = ["invalid_input", "upload_quota_exceeded"];

/** Names the version in every response of an operation of tus. */
const inTus = (responses: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(responses).map(([status, response]) => {
      const made = response as JsonObject & { headers: JsonObject };
      return [status, { ...made, headers: { ...made.headers, ...headers("Tus-Resumable") } }];
    }),
  );
const empty = (description: string, ...names: string[]): JsonObject => ({
  description,
  headers: headers("Cache-Control", ...names),
});
const STATE = ["Upload-Offset", "Upload-Expires", "Genrouter-File", "Location"];
const shared = { tags: ["files"], ...keyed, ...EXTENSION };

const APPENDED = inTus({
  "204": empty("The bytes are stored. `Genrouter-File` names the file that a completed upload has become.", ...STATE),
  ...noes(
    ...KEYED.filter((no) => no !== "rate_limited"),
    ...(["generation_not_enabled", "not_found", "body_too_large", "invalid_request", "concurrency_limit"] as const),
    ...[OVER, LOCKED, WRONG_VERSION, ...OF_FILE],
    rejected(409, "Upload-Offset is not the offset of the upload."),
    rejected(415, "Content-Type is not application/offset+octet-stream."),
    rejected(460, "The checksum does not match; the bytes of the body were discarded."),
  ),
});
const TERMINATED = inTus({
  "204": empty("The upload and its bytes are deleted."),
  ...noes(...KEYED, "generation_not_enabled", "not_found", OVER, WRONG_VERSION, rejected(409, "The upload has become a file.")),
});
const BODY: JsonObject = {
  required: true,
  content: { "application/offset+octet-stream": { schema: { type: "string", format: "binary" } } },
};
const TUS_OPTIONS = (operationId: string, ...parameters: JsonObject[]): JsonObject => ({
  operationId,
  summary: "Read which version and extensions of tus are supported",
  tags: ["files"],
  ...open,
  ...EXTENSION,
  parameters: [...parameters, ...withRequestId()],
  responses: {
    "204": empty(
      "Version, extensions and limits.",
      ...["Tus-Resumable", "Tus-Version", "Tus-Extension", "Tus-Max-Size", "Tus-Checksum-Algorithm"],
    ),
    ...noes(...OPEN),
  },
});

/** The paths of resumable uploads. */
export const RESUMABLE_PATHS: JsonObject = {
  "/v1/files/uploads": {
    post: {
      operationId: "createResumableUpload",
      summary: "Create a resumable upload (tus 1.0)",
      description: "The whole size counts against the upload quota until the upload becomes a file, is terminated or expires.",
      ...shared,
      parameters: [VERSION, LENGTH, METADATA, ...withRequestId()],
      responses: inTus({
        "201": empty("The upload is open for 24 hours.", "Location", "Upload-Expires"),
        ...noes(
          ...KEYED,
          "generation_not_enabled",
          { code: "body_too_large", status: 413, when: "Upload-Length is over limits.upload_bytes.", headers: ["Tus-Max-Size"] },
          "invalid_request",
          "concurrency_limit",
          "insufficient_credits",
          "upload_quota_exceeded",
          WRONG_VERSION,
        ),
      }),
    },
    options: TUS_OPTIONS("describeResumableUploads"),
  },
  "/v1/files/uploads/{id}": {
    get: {
      operationId: "readResumableUpload",
      summary: "Read the state of a resumable upload",
      ...shared,
      parameters: [PATH_ID, ...withRequestId()],
      responses: {
        "200": jsonAnswer("The upload.", schemaRef("ResumableUpload"), ["Cache-Control"], {
          open: { value: { id: UPLOAD_ID, object: "upload", offset: 4_194_304, length: 71_319_000 } },
        }),
        ...noes(...KEYED, "not_found", OVER),
      },
    },
    head: {
      operationId: "resumeUpload",
      summary: "Read the offset of a resumable upload",
      description: "An upload whose bytes are all stored becomes a file first, if an earlier request could not complete it.",
      ...shared,
      parameters: [PATH_ID, VERSION, ...withRequestId()],
      responses: inTus({
        "200": empty("The offset.", ...STATE, "Upload-Length", "Upload-Metadata"),
        ...noes(...KEYED, "generation_not_enabled", "not_found", OVER, LOCKED, WRONG_VERSION, ...OF_FILE),
      }),
    },
    patch: {
      operationId: "appendToUpload",
      summary: "Append bytes to a resumable upload",
      description: "The request is outside of the rate limit. Bytes before a broken connection are kept.",
      ...shared,
      parameters: [PATH_ID, VERSION, OFFSET, CHECKSUM, ...withRequestId()],
      requestBody: BODY,
      responses: APPENDED,
    },
    delete: {
      operationId: "terminateUpload",
      summary: "Terminate a resumable upload",
      ...shared,
      parameters: [PATH_ID, VERSION, ...withRequestId()],
      responses: TERMINATED,
    },
    post: {
      operationId: "overrideUploadMethod",
      summary: "Send PATCH or DELETE as POST",
      ...shared,
      parameters: [PATH_ID, OVERRIDE, VERSION, { ...OFFSET, required: false }, CHECKSUM, ...withRequestId()],
      requestBody: { ...BODY, required: false },
      responses: { ...TERMINATED, ...APPENDED, ...inTus(noes("rate_limited", "concurrency_limit")) },
    },
    options: TUS_OPTIONS("describeResumableUpload", PATH_ID),
  },
};
