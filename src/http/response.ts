// Creates HTTP responses: common headers, request ids, and public JSON with ETags.

import { INTERFACE_VERSION } from "../domain/types.ts";
import { takes } from "./accept-encoding.ts";

/** Path parameters by name, percent-decoded. Validate before use. */
export type PathParams = Readonly<Record<string, string>>;
/** Answers one request. Throws an `ApiError` to reject it; any other error is a defect. */
export type Answer = (request: Request, requestId: string, params: PathParams) => Response | Promise<Response>;

const ACCEPTED_ID = /^[\w-]{1,80}$/;
const startedAs = `${crypto.randomUUID().replaceAll("-", "").slice(0, 12)}_`;
let made = 0;

/** The client's `X-Request-Id` if it is valid, else a new id that is unique across restarts and not secret. */
export const requestIdOf = (request: Request): string => {
  const sent = request.headers.get("x-request-id");
  if (sent !== null && ACCEPTED_ID.test(sent)) return sent;
  made += 1;
  return `req_${startedAs}${made}`;
};

/**
 * Headers of all JSON responses that must not be cached. They are created once: a response copies them at a third of the cost of
 * creating them, and the request's own values are set here just before. Setting them on the response would allocate a second
 * headers object for each.
 */
const COMMON = new Headers({
  "content-type": "application/json",
  "cache-control": "no-store",
  "genrouter-version": INTERFACE_VERSION,
  "x-content-type-options": "nosniff",
});
/** The common headers plus further ones, for frequent responses. */
export const commonHeaders = (more: Readonly<Record<string, string>>): Headers => {
  const headers = new Headers(COMMON);
  for (const [name, value] of Object.entries(more)) headers.set(name, value);
  return headers;
};

/** A JSON response that must not be cached. @param headers copied after the request id was set in them. */
export const answerJson = (status: number, json: string, requestId: string, headers = COMMON): Response => {
  headers.set("x-request-id", requestId);
  return new Response(json, { status, headers });
};

/** Adds the common headers to a response that was created elsewhere (a file). */
export const signAnswer = (response: Response, requestId: string): Response => {
  response.headers.set("genrouter-version", INTERFACE_VERSION);
  response.headers.set("x-content-type-options", "nosniff");
  response.headers.set("x-request-id", requestId);
  return response;
};

/** A public response in one coding, with a strong validator over its bytes. */
type Printed = { bytes: Uint8Array<ArrayBuffer>; etag: string; headers: Headers };
/** JSON that is the same for all clients; any web page may read it. `packed` is the compressed form, created on first use. */
export type PublicJson = { plain: Printed; packed: () => Printed };

export const publicJson = (value: unknown, maxAgeS: number): PublicJson => {
  const bytes = new TextEncoder().encode(JSON.stringify(value));
  const hash = new Bun.CryptoHasher("sha256").update(bytes).digest("base64url").slice(0, 22);
  const print = (as: Uint8Array<ArrayBuffer>, etag: string, more: Readonly<Record<string, string>>): Printed => {
    const headers = commonHeaders({
      ...{ "cache-control": `public, max-age=${maxAgeS}`, etag, vary: "Accept-Encoding", ...more },
      "access-control-allow-origin": "*",
      "access-control-expose-headers": "ETag, Genrouter-Version, X-Request-Id",
    });
    return { bytes: as, etag, headers };
  };
  let packed: Printed | undefined;
  return {
    plain: print(bytes, `"${hash}"`, {}),
    packed: () => {
      packed ??= print(Bun.gzipSync(bytes), `"${hash}-gzip"`, { "content-encoding": "gzip" });
      return packed;
    },
  };
};

/** True if `If-None-Match` matches the ETag. The comparison is weak, as RFC 9110 requires for GET and HEAD. */
const isKnown = (request: Request, etag: string): boolean => {
  const sent = request.headers.get("if-none-match");
  if (sent === null) return false;
  if (sent.trim() === "*") return true;
  return sent.split(",").some((one) => one.trim().replace(/^W\//, "") === etag);
};

/** Serves public JSON: 200, or 304 if the client has the current version. */
export const answerPublic = ({ plain, packed }: PublicJson, request: Request, requestId: string): Response => {
  const { bytes, etag, headers } = takes(request, "gzip") ? packed() : plain;
  headers.set("x-request-id", requestId);
  if (!isKnown(request, etag)) return new Response(bytes, { headers });
  const known = new Response(null, { status: 304, headers });
  // A 304 has no body to which a coding applies.
  known.headers.delete("content-encoding");
  return known;
};

/** The preflight response of paths that any web page may read with the listed headers. */
export const preflight =
  (allowedHeaders: string): Answer =>
  (_request, requestId) =>
    new Response(null, {
      status: 204,
      headers: {
        allow: "GET, HEAD, OPTIONS",
        "access-control-allow-origin": "*",
        "access-control-allow-methods": "GET, HEAD, OPTIONS",
        "access-control-allow-headers": allowedHeaders,
        "access-control-max-age": "86400",
        "genrouter-version": INTERFACE_VERSION,
        "x-content-type-options": "nosniff",
        "x-request-id": requestId,
      },
    });

export const answerPreflight: Answer = preflight("Content-Type, If-None-Match, X-Request-Id");
