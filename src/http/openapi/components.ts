// Shared components of the OpenAPI document: headers, error responses and converted schemas.
import { API_ERRORS, type ApiErrorCode } from "../../domain/api-errors.ts";
import { INTERFACE_VERSION, type Json, type JsonObject } from "../../domain/types.ts";

const ref = (kind: string, name: string): JsonObject => ({ $ref: `#/components/${kind}/${name}` });
export const schemaRef = (name: string): JsonObject => ref("schemas", name);
export const parameterRef = (name: string): JsonObject => ref("parameters", name);
const text = (description: string, example: Json): JsonObject => ({ description, schema: { type: "string" }, example });

/** Every header that a response may have. */
export const HEADERS: JsonObject = {
  "X-Request-Id": text(
    "Id of the request. It equals the id that was sent if that has 1 to 80 word characters or hyphens; otherwise it is new.",
    "req_1f0c",
  ),
  "Genrouter-Version": text("Version of the interface.", INTERFACE_VERSION),
  "Cache-Control": text("Caching rules of the response.", "no-store"),
  "X-Accel-Buffering": text("Proxies pass on each event at once.", "no"),
  "X-Content-Type-Options": text("Always `nosniff`.", "nosniff"),
  "Retry-After": { description: "Seconds to wait before the next request.", schema: { type: "integer", minimum: 0 }, example: 2 },
  Location: text("Address of the generation, or of the file.", "/v1/generations/gen_0a1b2c"),
  "Genrouter-File": text(
    "Id of the file that the upload has become; absent while it is open.",
    "file_06cq2v8k3mh7x1n5s9t0w4b6yz",
  ),
  "Tus-Resumable": text("Version of the tus protocol.", "1.0.0"),
  "Tus-Version": text("Supported versions of the tus protocol.", "1.0.0"),
  "Tus-Extension": text("Supported extensions of the tus protocol.", "creation,expiration,termination,checksum"),
  "Tus-Max-Size": text("Maximum of Upload-Length in bytes.", "536870912"),
  "Tus-Checksum-Algorithm": text("Supported algorithms of Upload-Checksum.", "md5,sha1,sha256"),
  "Upload-Offset": text("Number of bytes that are stored.", "4194304"),
  "Upload-Length": text("Size of the whole file in bytes.", "71319000"),
  "Upload-Metadata": text("Upload-Metadata of the creation.", "filename Y2xpcC5tcDQ="),
  "Upload-Expires": text("When an open upload expires.", "Tue, 20 Oct 2026 12:00:00 GMT"),
  "Preference-Applied": text("The preference of the request that was applied; absent if none was.", "wait=30"),
  Allow: text("Methods that the path supports.", "GET, HEAD"),
  "WWW-Authenticate": text("How to authenticate.", 'Bearer realm="genrouter"'),
  Vary: text("Request headers that determine the response.", "Accept-Encoding"),
  "Content-Encoding": text("Compression of the body; absent if it is not compressed.", "gzip"),
  ETag: text("Version of the body; send it as If-None-Match.", '"q1w2e3"'),
  "Accept-Ranges": text("Range requests are supported.", "bytes"),
  "Content-Range": text("Byte range of the body within the file.", "bytes 0-1023/71319"),
  "Content-Disposition": text("Name of the file for saving.", 'attachment; filename="gen_0a1b2c-1.mp4"'),
  "Content-Security-Policy": text("Prevents a browser from running the content of a file.", "sandbox"),
  "Cross-Origin-Resource-Policy": text("Pages of other sites may show the file.", "cross-origin"),
  "Referrer-Policy": text("Prevents browsers from sending the link, which is a secret, to other sites.", "no-referrer"),
  "Access-Control-Allow-Origin": text("Any page may read the response.", "*"),
  "Access-Control-Expose-Headers": text("Headers that a page may read.", "ETag"),
  "Access-Control-Allow-Methods": text("Methods that a page may use.", "GET, HEAD, OPTIONS"),
  "Access-Control-Allow-Headers": text("Headers that a page may send.", "If-None-Match"),
  "Access-Control-Max-Age": text("Seconds for which a browser may cache the preflight response.", "86400"),
};

/** Marks additions to the interface that docs/interface.md defines. */
export const EXTENSION = { "x-extension": true } as const;

const COMMON = ["X-Request-Id", "Genrouter-Version", "X-Content-Type-Options"];
/** Headers of a response by name, preceded by the headers that every response has. */
export const headers = (...names: string[]): JsonObject =>
  Object.fromEntries([...COMMON, ...names].map((name) => [name, ref("headers", name)]));

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isConst = (schema: Json): schema is { const: Json } =>
  typeof schema === "object" && schema !== null && !Array.isArray(schema) && schema.const !== undefined;

/** The pattern of TypeBox's records, which every member name matches. */
const ANY_NAME = "^(.*)$";

/**
 * Converts what TypeBox writes to what generators of clients support. A union of constants becomes `enum`. A record becomes
 * `additionalProperties`, because generators drop the type of pattern properties. A number has 64 bits, because the default of
 * some languages has 32.
 */
const forGenerators = (_name: string, value: Json): Json => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const { anyOf, patternProperties, ...rest } = value;
  if (Array.isArray(anyOf) && anyOf.every(isConst)) return { type: "string", enum: anyOf.map((each) => each.const), ...rest };
  if (value.type === "number") return { type: "number", format: "double", ...rest };
  const members = isObject(patternProperties) ? patternProperties[ANY_NAME] : undefined;
  return members === undefined ? value : { ...rest, additionalProperties: members };
};

/** A schema as plain JSON, without the symbols that TypeBox adds. */
export const plain = (schema: unknown): JsonObject => JSON.parse(JSON.stringify(schema), forGenerators) as JsonObject;

/** A JSON response. */
export const jsonAnswer = (
  description: string,
  schema: JsonObject,
  headerNames: string[],
  examples?: JsonObject,
  links?: JsonObject,
): JsonObject => ({
  description,
  headers: headers(...headerNames),
  content: { "application/json": { schema, ...(examples ? { examples } : {}) } },
  ...(links ? { links } : {}),
});

/** Additional headers of error responses by status. */
const HEADERS_OF: Readonly<Record<number, string[]>> = {
  401: ["WWW-Authenticate"],
  405: ["Allow"],
  429: ["Retry-After"],
  503: ["Retry-After"],
};

/** An error response: its code, and its status if that is not the default status of the code. */
export type No = ApiErrorCode | { code: ApiErrorCode; status: number; when: string; headers?: string[] };

/** The error responses of an operation, one per status, each with its codes as examples. */
export const noes = (...list: No[]): JsonObject => {
  const byStatus = new Map<number, { code: ApiErrorCode; when: string; headers?: string[] }[]>();
  for (const no of list) {
    const { status, ...one } = typeof no === "string" ? { code: no, ...API_ERRORS[no] } : no;
    byStatus.set(status, [...(byStatus.get(status) ?? []), one]);
  }
  const responses: JsonObject = {};
  for (const [status, codes] of [...byStatus].sort(([a], [b]) => a - b)) {
    const examples: JsonObject = {};
    for (const { code, when } of codes) examples[code] = { summary: when, value: { error: { code, message: when } } };
    const description = codes.map(({ code, when }) => `\`${code}\`: ${when}`).join(" ");
    const more = new Set([...(HEADERS_OF[status] ?? []), ...codes.flatMap((one) => one.headers ?? [])]);
    responses[status] = jsonAnswer(description, schemaRef("Error"), ["Cache-Control", ...more], examples);
  }
  return responses;
};

/** The response to a method that the path of an operation does not support. */
export const WRONG_METHOD: No = {
  code: "invalid_request",
  status: 405,
  when: "The path does not support the method; `Allow` lists the supported methods.",
};
