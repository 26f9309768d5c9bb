// HTTP call to a provider, with a total deadline and a byte limit.
//
// The only socket of `src/providers`. A call resolves to a result value and never throws.
import { decoded, Undecodable } from "../http-client/content-encoding.ts";
import { KEEPS_CONNECTIONS } from "../http-client/keep-alive.ts";
import { MAX_LEFT_BYTES, sift } from "./large-strings.ts";
import type { ProviderRequest, ProviderResponse } from "./port.ts";
import { bodyOf } from "./request-body.ts";

/**
 * The result of a call. `not_sent` proves that no byte of the request was received. `broken` proves nothing: the provider may
 * have read the request, so a submission with this result is ambiguous. Details contain codes only, never an address.
 */
export type Called =
  | { kind: "answered"; response: ProviderResponse }
  | { kind: "not_sent"; detail: string }
  | { kind: "broken"; detail: string };

export type CallRules = {
  /** Headers added to those of the request; they carry the credential. */
  headers: Record<string, string>;
  /** Total time for connecting, sending and reading the whole response, ms. */
  timeoutMs: number;
  /** Largest response in bytes, counted during the download. */
  maxBytes: number;
  signal: AbortSignal;
  /** For the log: the attempt's reference, and the HTTP request that created its generation. */
  about?: { ref: string; requestId?: string };
};

/** Makes one call. Network and provider errors never throw. */
export type CallProvider = (request: ProviderRequest, rules: CallRules) => Promise<Called>;

/** A response with deeper nesting is not parsed, because a recursive walk could exhaust the stack. */
const DEEPEST_JSON = 64;

const CERTIFICATE_CODES = new Set([
  "CERT_CHAIN_TOO_LONG",
  "CERT_HAS_EXPIRED",
  "CERT_NOT_YET_VALID",
  "CERT_REJECTED",
  "CERT_REVOKED",
  "CERT_SIGNATURE_FAILURE",
  "CERT_UNTRUSTED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "HOSTNAME_MISMATCH",
  "INVALID_CA",
  "INVALID_PURPOSE",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);

/**
 * Whether an error code of `fetch` proves that the request was not sent. A reset, a timeout and an invalid response look the same
 * before and after the provider has read the request, so they prove nothing. Behind an HTTP proxy these codes describe the hop to
 * the proxy. They still prove that nothing was sent, but the provider is not the cause.
 */
export const provesNotSent = (code: string): boolean =>
  code === "ECONNREFUSED" || code === "ENOTFOUND" || CERTIFICATE_CODES.has(code);

/** The code of an error, never its message or path, which can contain a signed URL. */
const codeOf = (error: unknown): string => {
  if (!(error instanceof Error)) return "unknown fault";
  if (error instanceof Undecodable) return "compressed, and it cannot be decoded";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
};

const isLoopback = (hostname: string) =>
  hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);

const isShallow = (text: string): boolean => {
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (quoted) {
      if (char === 0x5c) at++;
      else if (char === 0x22) quoted = false;
    } else if (char === 0x22) quoted = true;
    else if (char === 0x7b || char === 0x5b) {
      if (++depth > DEEPEST_JSON) return false;
    } else if (char === 0x7d || char === 0x5d) depth--;
  }
  return true;
};

/** Parses JSON; undefined if the text is not JSON or is nested deeper than the limit. */
export const readJson = (text: string): unknown => {
  if (!isShallow(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** Whether the response is a file, which is not decoded as text. Some providers send JSON as `application/octet-stream`. */
const isFile = (answer: Response, whole: Uint8Array): boolean => {
  const type = answer.headers.get("content-type") ?? "";
  return (
    /^(image|audio|video)\//i.test(type) || (/^application\/octet-stream/i.test(type) && whole[0] !== 0x7b && whole[0] !== 0x5b)
  );
};

/** Whether a body begins with the first byte of gzip or zstd. */
const seemsPacked = (bytes: Uint8Array): boolean => bytes[0] === 0x1f || bytes[0] === 0x28;
/** A body with a `content-length` up to this size is read in one call; most responses are. */
const SMALL_BYTES = 64 * 1024;

const utf8 = new TextDecoder();

const inOnePiece = async function* (whole: Uint8Array): AsyncGenerator<Uint8Array> {
  yield whole;
};

/** Yields the chunks up to the byte limit. @throws TooLarge */
const upTo = async function* (chunks: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new TooLarge();
    yield chunk;
  }
};
class TooLarge extends Error {}

type Body = { bytes: Uint8Array } | { text: string; longTexts?: ProviderResponse["longTexts"] };

/**
 * Reads the chunks of a body; undefined if it exceeds the limit before or after decompression. Throws the errors of the socket.
 */
const readBody = async (body: AsyncIterable<Uint8Array>, answer: Response, maxBytes: number): Promise<Body | undefined> => {
  try {
    const { chunks } = await decoded(upTo(body, maxBytes), answer.headers.get("content-encoding"), maxBytes);
    const pieces = upTo(chunks, maxBytes)[Symbol.asyncIterator]();
    const { done, value: first = new Uint8Array() } = await pieces.next();
    if (done) return { text: "" };
    const all = async function* () {
      yield first;
      yield* { [Symbol.asyncIterator]: () => pieces };
    };
    if (!isFile(answer, first)) return await sift(all(), Math.min(maxBytes, MAX_LEFT_BYTES));
    const whole: Uint8Array[] = [];
    for await (const piece of all()) whole.push(piece);
    return { bytes: Buffer.concat(whole) };
  } catch (fault) {
    if (fault instanceof TooLarge || (fault instanceof Undecodable && fault.isTooLarge)) return undefined;
    throw fault;
  }
};

/** Reads a body; undefined if it exceeds the limit. Throws the errors of the socket and of the decoder. */
const readBounded = async (answer: Response, maxBytes: number): Promise<Body | undefined> => {
  // The socket delivers at most `content-length` bytes, except with a transfer encoding. Only then the chunks are counted, which
  // costs more than the rest of this function.
  const announced = answer.headers.has("transfer-encoding") ? null : answer.headers.get("content-length");
  if (announced !== null && Number(announced) > maxBytes) return undefined;
  if (announced === null || Number(announced) > SMALL_BYTES || answer.headers.has("content-encoding")) {
    const { body } = answer;
    return body === null ? { text: "" } : readBody(body, answer, maxBytes);
  }
  // `body` is not touched before, because that creates a stream, which costs more than the call.
  const whole = await answer.bytes();
  if (seemsPacked(whole)) return readBody(inOnePiece(whole), answer, maxBytes);
  return isFile(answer, whole) ? { bytes: whole } : { text: utf8.decode(whole) };
};

/**
 * Makes one call. Network and provider errors never throw. Redirects are returned, not followed: a followed 307 would send the
 * body a second time, to another host. A call is never retried here.
 */
export const callProvider: CallProvider = async (request, rules) => {
  if (rules.signal.aborted) return { kind: "not_sent", detail: "given up before it was sent" };
  const stop = new AbortController();
  let stopped = "";
  const end = (why: string) => {
    stopped ||= why;
    stop.abort();
  };
  const giveUp = () => end("given up while waiting for the answer");
  const deadline = setTimeout(() => end(`no whole answer within ${rules.timeoutMs} ms`), rules.timeoutMs);
  rules.signal.addEventListener("abort", giveUp, { once: true });
  let begun = "";
  let isWhole = false;
  const { body, headers, isUnreadable } = bodyOf(request, stop.signal);
  try {
    const answer = await fetch(request.url, {
      method: request.method,
      headers: { accept: "application/json", ...headers, ...request.headers, ...rules.headers, "accept-encoding": "identity" },
      ...(body === undefined ? {} : { body }),
      redirect: "manual",
      keepalive: KEEPS_CONNECTIONS,
      decompress: false,
      signal: stop.signal,
      // A provider on a loopback address is never called through the operator's proxy.
      ...(isLoopback(new URL(request.url).hostname) ? { proxy: false } : {}),
    });
    begun = `${answer.status}, then `;
    const read = await readBounded(answer, rules.maxBytes);
    if (read === undefined) return { kind: "broken", detail: `${answer.status}, but over ${rules.maxBytes} bytes` };
    isWhole = true;
    const head = { status: answer.status, headers: Object.fromEntries(answer.headers) };
    if ("bytes" in read) return { kind: "answered", response: { ...head, json: undefined, text: "", bytes: read.bytes } };
    const { text, longTexts } = read;
    const aside = longTexts && longTexts.size > 0 ? { longTexts } : {};
    return { kind: "answered", response: { ...head, json: readJson(text), text, ...aside } };
  } catch (error) {
    const code = codeOf(error);
    // A request whose body ends before its announced length is none, so the provider has received nothing that it can accept.
    if (stopped === "" && begun === "" && isUnreadable()) return { kind: "not_sent", detail: "an input file cannot be read" };
    if (stopped === "" && begun === "" && provesNotSent(code)) return { kind: "not_sent", detail: code };
    return { kind: "broken", detail: begun + (stopped || code) };
  } finally {
    clearTimeout(deadline);
    rules.signal.removeEventListener("abort", giveUp);
    // Closes the connection of a response that was not read completely.
    if (!isWhole) stop.abort();
  }
};
