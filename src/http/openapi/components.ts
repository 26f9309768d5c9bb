// Shared components of the OpenAPI document: headers, error responses and converted schemas.
import { REFUSALS, type RefusalCode } from "../../domain/api-errors.ts";
import { INTERFACE_VERSION, type Json, type JsonObject } from "../../domain/types.ts";

const ref = (kind: string, name: string): JsonObject => ({ $ref: `#/components/${kind}/${name}` });
export const schemaRef = (name: string): JsonObject => ref("schemas", name);
export const parameterRef = (name: string): JsonObject => ref("parameters", name);
const text = (description: string, example: Json): JsonObject => ({ description, schema: { type: "string" }, example });

/** Every header that a response may have. */
export const HEADERS: JsonObject = {
  "X-Request-Id": text(
    "The request's id: the one that was sent, if it was 1 to 80 word characters or hyphens, else a new one.",
    "req_1f0c",
  ),
  "Genrouter-Version": text("Version of the interface.", INTERFACE_VERSION),
  "Cache-Control": text("Who may keep the answer and for how long.", "no-store"),
  "X-Content-Type-Options": text("Always `nosniff`.", "nosniff"),
  "Retry-After": { description: "Seconds to wait before asking again.", schema: { type: "integer", minimum: 0 }, example: 2 },
  Location: text("Where the generation can be polled, or where the file can be had.", "/v1/generations/gen_0a1b2c"),
  Allow: text("Methods that the path takes.", "GET, HEAD"),
  "WWW-Authenticate": text("How to authenticate.", 'Bearer realm="genrouter"'),
  Vary: text("What of the request chose these bytes.", "Accept-Encoding"),
  "Content-Encoding": text("How the bytes are compressed; absent where they are not.", "gzip"),
  ETag: text("Names these bytes; send it back as If-None-Match.", '"q1w2e3"'),
  "Accept-Ranges": text("Parts of the file can be asked for.", "bytes"),
  "Content-Range": text("Which bytes of the file these are.", "bytes 0-1023/71319"),
  "Content-Disposition": text("Name for the file.", 'attachment; filename="gen_0a1b2c-1.mp4"'),
  "Content-Security-Policy": text("Keeps a browser from running what is in a file.", "sandbox"),
  "Cross-Origin-Resource-Policy": text("Pages of other sites may show the file.", "cross-origin"),
  "Referrer-Policy": text("The link is a secret: it is not passed on.", "no-referrer"),
  "Access-Control-Allow-Origin": text("Any page may read this.", "*"),
  "Access-Control-Expose-Headers": text("Headers that a page may read.", "ETag"),
  "Access-Control-Allow-Methods": text("Methods that a page may use.", "GET, HEAD, OPTIONS"),
  "Access-Control-Allow-Headers": text("Headers that a page may send.", "If-None-Match"),
  "Access-Control-Max-Age": text("Seconds that a browser may remember this.", "86400"),
};

/** Marks extensions to the specification. */
export const EXTENSION = { "x-extension": true } as const;

const COMMON = ["X-Request-Id", "Genrouter-Version", "X-Content-Type-Options"];
/** Headers of a response by name, preceded by the headers that every response has. */
export const headers = (...names: string[]): JsonObject =>
  Object.fromEntries([...COMMON, ...names].map((name) => [name, ref("headers", name)]));

const isConst = (schema: Json): schema is { const: Json } =>
  typeof schema === "object" && schema !== null && !Array.isArray(schema) && schema.const !== undefined;

/** Converts TypeBox's union of constants to `enum`, which readers and generators support best. */
const asEnum = (_name: string, value: Json): Json => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const { anyOf, ...rest } = value;
  if (!Array.isArray(anyOf) || !anyOf.every(isConst)) return value;
  return { type: "string", enum: anyOf.map((each) => each.const), ...rest };
};

/** A schema as plain JSON, without the symbols that TypeBox adds. */
export const plain = (schema: unknown): JsonObject => JSON.parse(JSON.stringify(schema), asEnum) as JsonObject;

/** A JSON response. */
export const jsonAnswer = (
  description: string,
  schema: JsonObject,
  headerNames: string[],
  examples?: JsonObject,
): JsonObject => ({
  description,
  headers: headers(...headerNames),
  content: { "application/json": { schema, ...(examples ? { examples } : {}) } },
});

/** Additional headers of error responses by status. */
const HEADERS_OF: Readonly<Record<number, string[]>> = {
  401: ["WWW-Authenticate"],
  405: ["Allow"],
  429: ["Retry-After"],
  503: ["Retry-After"],
};

/** An error response: its code, and its status if that is not the default status of the code. */
export type No = RefusalCode | { code: RefusalCode; status: number; when: string; headers?: string[] };

/** The error responses of an operation, one per status, each with its codes as examples. */
export const noes = (...list: No[]): JsonObject => {
  const byStatus = new Map<number, { code: RefusalCode; when: string; headers?: string[] }[]>();
  for (const no of list) {
    const { status, ...one } = typeof no === "string" ? { code: no, ...REFUSALS[no] } : no;
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
  when: "The path does not take the method; `Allow` names those it takes.",
};
