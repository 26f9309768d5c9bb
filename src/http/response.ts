// Answers as they leave: the headers that every one of them carries, request ids, and JSON that may be cached by its ETag.

import { INTERFACE_VERSION } from "../domain/types.ts";
import { takes } from "./accept-encoding.ts";

/** Values of the path's parameters by name, already percent-decoded: check before use. */
export type PathParams = Readonly<Record<string, string>>;
/** Answers one request. Throws a `Refusal` for a no; anything else thrown is a defect. */
export type Answer = (request: Request, requestId: string, params: PathParams) => Response | Promise<Response>;

const ACCEPTED_ID = /^[\w-]{1,80}$/;
const startedAs = `${crypto.randomUUID().replaceAll("-", "").slice(0, 12)}_`;
let made = 0;

/** The caller's `X-Request-Id` where it is usable, else a new one: unique over restarts, not secret. */
export const requestIdOf = (request: Request): string => {
  const sent = request.headers.get("x-request-id");
  if (sent !== null && ACCEPTED_ID.test(sent)) return sent;
  made += 1;
  return `req_${startedAs}${made}`;
};

/**
 * What all JSON answers that nobody may keep have in common. Made once: an answer copies them as it is made, at a third of what making
 * them costs, and what is its own is set here just before. To set it in the answer would give each a second object for its headers.
 */
const COMMON = new Headers({
  "content-type": "application/json",
  "cache-control": "no-store",
  "genrouter-version": INTERFACE_VERSION,
  "x-content-type-options": "nosniff",
});
/** The common headers and some more, for answers that are made often. */
export const commonHeaders = (more: Readonly<Record<string, string>>): Headers => {
  const headers = new Headers(COMMON);
  for (const [name, value] of Object.entries(more)) headers.set(name, value);
  return headers;
};

/** A JSON answer that nobody may keep. @param headers are copied, after the request id was set in them. */
export const answerJson = (status: number, json: string, requestId: string, headers = COMMON): Response => {
  headers.set("x-request-id", requestId);
  return new Response(json, { status, headers });
};

/** Adds the headers of every answer to one that was made elsewhere (a file). */
export const signAnswer = (response: Response, requestId: string): Response => {
  response.headers.set("genrouter-version", INTERFACE_VERSION);
  response.headers.set("x-content-type-options", "nosniff");
  response.headers.set("x-request-id", requestId);
  return response;
};

/** The same for everybody in one coding, with a strong validator over its bytes. */
type Printed = { bytes: Uint8Array<ArrayBuffer>; etag: string; headers: Headers };
/** JSON that is the same for everybody; any web page may read it. `packed`: compressed, made when it is first asked for. */
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

/** Whether `If-None-Match` names the ETag; weak comparison, as RFC 9110 asks for GET and HEAD. */
const isKnown = (request: Request, etag: string): boolean => {
  const sent = request.headers.get("if-none-match");
  if (sent === null) return false;
  if (sent.trim() === "*") return true;
  return sent.split(",").some((one) => one.trim().replace(/^W\//, "") === etag);
};

/** Answers public JSON: 200, or 304 where the caller has it. */
export const answerPublic = ({ plain, packed }: PublicJson, request: Request, requestId: string): Response => {
  const { bytes, etag, headers } = takes(request, "gzip") ? packed() : plain;
  headers.set("x-request-id", requestId);
  if (!isKnown(request, etag)) return new Response(bytes, { headers });
  const known = new Response(null, { status: 304, headers });
  // There is no body that could be unpacked.
  known.headers.delete("content-encoding");
  return known;
};

/** The preflight answer of paths that any web page may read, sending these headers. */
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
