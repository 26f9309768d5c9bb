// The only socket of this room: one HTTP call with a total deadline and a counted body, told as a value and never thrown.
import { decoded, Undecodable } from "../http-client/content-encoding.ts";
import { KEEPS_CONNECTIONS } from "../http-client/keep-alive.ts";
import { MOST_LEFT_BYTES, sift } from "./large-strings.ts";
import type { ProviderRequest, ProviderResponse } from "./port.ts";

/**
 * What became of a call. `not_sent` proves that no byte of the request reached anybody. `broken` proves nothing: the
 * request may have been read, so a submission that ends here is ambiguous. Details hold codes only, never an address.
 */
export type Called =
  | { kind: "answered"; response: ProviderResponse }
  | { kind: "not_sent"; detail: string }
  | { kind: "broken"; detail: string };

export type CallRules = {
  /** Added to the request's own headers; this is where the credential comes in. */
  headers: Record<string, string>;
  /** Total time for connecting, sending and reading the whole answer. */
  timeoutMs: number;
  /** Largest answer, counted while it arrives. */
  maxBytes: number;
  signal: AbortSignal;
  /** The attempt that it is about: its reference, and the request that made its generation. For the log. */
  about?: { ref: string; requestId?: string };
};

/** Makes one call; never throws for what the outside does. */
export type CallProvider = (request: ProviderRequest, rules: CallRules) => Promise<Called>;

/** Answers nested deeper are rubbish; walking them could exhaust the stack. */
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
 * Whether an error code of `fetch` proves that the request was not sent. A reset, a timeout and a rubbish answer look the
 * same before and after the provider has read the request, so they prove nothing. Behind an HTTP proxy these codes are
 * about the proxy hop: still proof that nothing was sent, but no reason to blame the provider.
 */
export const provesNotSent = (code: string): boolean =>
  code === "ECONNREFUSED" || code === "ENOTFOUND" || CERTIFICATE_CODES.has(code);

/** The code of an error, never its message or path: those may hold a signed address. */
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

/** The JSON in a text; undefined when it is none, or nested beyond reason. */
export const readJson = (text: string): unknown => {
  if (!isShallow(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** An answer that is a file itself: it is no text, and is not made one. Some call JSON a stream of octets. */
const isFile = (answer: Response, whole: Uint8Array): boolean => {
  const type = answer.headers.get("content-type") ?? "";
  return (
    /^(image|audio|video)\//i.test(type) || (/^application\/octet-stream/i.test(type) && whole[0] !== 0x7b && whole[0] !== 0x5b)
  );
};

/** Whether a body begins as compressed ones do that say it themselves. */
const seemsPacked = (bytes: Uint8Array): boolean => bytes[0] === 0x1f || bytes[0] === 0x28;
/** What is announced to be no longer is read in one go: few answers are. */
const SMALL_BYTES = 64 * 1024;

const utf8 = new TextDecoder();

const inOnePiece = async function* (whole: Uint8Array): AsyncGenerator<Uint8Array> {
  yield whole;
};

/** The pieces, as long as there are no more bytes than the bound. */
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

/** What the pieces of a body are; undefined when they are, or grow, past the bound, compressed or not. Throws what the socket throws. */
const gathered = async (body: AsyncIterable<Uint8Array>, answer: Response, maxBytes: number): Promise<Body | undefined> => {
  try {
    const { chunks } = await decoded(upTo(body, maxBytes), answer.headers.get("content-encoding"), maxBytes);
    const pieces = upTo(chunks, maxBytes)[Symbol.asyncIterator]();
    const { done, value: first = new Uint8Array() } = await pieces.next();
    if (done) return { text: "" };
    const all = async function* () {
      yield first;
      yield* { [Symbol.asyncIterator]: () => pieces };
    };
    if (!isFile(answer, first)) return await sift(all(), Math.min(maxBytes, MOST_LEFT_BYTES));
    const whole: Uint8Array[] = [];
    for await (const piece of all()) whole.push(piece);
    return { bytes: Buffer.concat(whole) };
  } catch (fault) {
    if (fault instanceof TooLarge || (fault instanceof Undecodable && fault.isTooLarge)) return undefined;
    throw fault;
  }
};

/** Reads a body; undefined when it is, or grows, past the bound. Throws what the socket throws, and what cannot be decoded. */
const readBounded = async (answer: Response, maxBytes: number): Promise<Body | undefined> => {
  // No more comes than was announced, unless it comes in chunks; only then it is counted piece by piece, which costs more than all else here.
  const announced = answer.headers.has("transfer-encoding") ? null : answer.headers.get("content-length");
  if (announced !== null && Number(announced) > maxBytes) return undefined;
  const { body } = answer;
  if (body === null) return { text: "" };
  if (announced === null || Number(announced) > SMALL_BYTES || answer.headers.has("content-encoding"))
    return gathered(body, answer, maxBytes);
  const whole = await answer.bytes();
  if (seemsPacked(whole)) return gathered(inOnePiece(whole), answer, maxBytes);
  return isFile(answer, whole) ? { bytes: whole } : { text: utf8.decode(whole) };
};

const bodyOf = ({ body, form, file }: ProviderRequest): { body?: string | FormData | Blob } => {
  if (file?.field === null) return { body: file.bytes };
  if (form === undefined && file === undefined) return body === undefined ? {} : { body: JSON.stringify(body) };
  const parts = new FormData();
  for (const [name, value] of Object.entries(form ?? {})) parts.append(name, value);
  if (typeof file?.field === "string") parts.append(file.field, new Blob([file.bytes], { type: file.mime }), file.name);
  return { body: parts };
};

/**
 * Makes one call; never throws for what the outside does. Redirects are handed back, not followed: a followed 307 would
 * send the body a second time, to somebody else. Nothing is ever sent again by itself.
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
  try {
    const answer = await fetch(request.url, {
      method: request.method,
      headers: { accept: "application/json", ...request.headers, ...rules.headers, "accept-encoding": "identity" },
      ...bodyOf(request),
      redirect: "manual",
      keepalive: KEEPS_CONNECTIONS,
      decompress: false,
      signal: stop.signal,
      // A provider on this machine is never behind the operator's proxy.
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
    if (stopped === "" && begun === "" && provesNotSent(code)) return { kind: "not_sent", detail: code };
    return { kind: "broken", detail: begun + (stopped || code) };
  } finally {
    clearTimeout(deadline);
    rules.signal.removeEventListener("abort", giveUp);
    // Frees the connection of an answer that was not read to its end.
    if (!isWhole) stop.abort();
  }
};
