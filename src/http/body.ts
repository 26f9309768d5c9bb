// Reads request bodies: at most 1 MiB, and JSON of bounded depth and size.
import { refuse } from "../domain/api-errors.ts";
import type { Json } from "../domain/types.ts";

/** Maximum size of a body, bytes (§8). */
export const BODY_AT_MOST_BYTES = 1_048_576;
/** Maximum nesting of objects and arrays; the outermost is level 1. */
export const DEPTH_AT_MOST = 64;
/**
 * Maximum number of object members and array elements in total. 100,000 names block the event loop for 80 ms; valid requests have
 * less than a hundredth of this limit.
 */
export const MEMBERS_AT_MOST = 10_000;

const tooLarge = () =>
  refuse("body_too_large", "The body is over 1 MB (1,048,576 bytes); send media as URLs, not inside the request.");

const cutShort = () => refuse("invalid_request", "The body did not arrive whole.");

/** Counts the bytes of a body without Content-Length. The runtime discards the bytes after the limit. */
const readCounted = async (stream: ReadableStream<Uint8Array>): Promise<Uint8Array> => {
  const reader = stream.getReader();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for (;;) {
    const next = await reader.read().catch(cutShort);
    if (next.done) break;
    bytes += next.value.byteLength;
    if (bytes > BODY_AT_MOST_BYTES) {
      // Not awaited, so that the response does not wait for a client that is still sending.
      reader.cancel().catch(() => undefined);
      tooLarge();
    }
    chunks.push(next.value);
  }
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
};

const requireBodySize = (whole: Uint8Array): Uint8Array => (whole.byteLength > BODY_AT_MOST_BYTES ? tooLarge() : whole);

/**
 * Returns the bytes of the body.
 * @throws ApiError `body_too_large` at once if the announced length exceeds 1 MiB
 * @returns rejects with `body_too_large` above 1 MiB, with `invalid_request` if the client aborted the upload
 */
export const readBody = (request: Request): Promise<Uint8Array> => {
  const announced = request.headers.get("content-length");
  if (announced === null) return request.body === null ? Promise.resolve(new Uint8Array()) : readCounted(request.body);
  if (Number(announced) > BODY_AT_MOST_BYTES) tooLarge();
  return request.bytes().then(requireBodySize, cutShort);
};

const BACKSLASH = 0x5c;

/**
 * Index of the unescaped quote that ends the string after an opening quote; the length of the text if the string is not closed.
 */
const endOfString = (json: string, from: number): number => {
  for (let at = json.indexOf('"', from); at >= 0; at = json.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (at - 1 - backslashes >= from && json.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return at;
  }
  return json.length;
};

/** True if the text contains the character more than `times` times. */
const hasMore = (text: string, char: string, times: number): boolean => {
  let left = times;
  for (let at = text.indexOf(char); at >= 0; at = text.indexOf(char, at + 1)) if (left-- === 0) return true;
  return false;
};

/**
 * True if JSON is nested deeper than allowed. Runs before parsing, so that no parser recurses into it. Few texts contain enough
 * brackets to be too deep; only those are scanned, with strings skipped.
 */
export const isTooDeep = (json: string): boolean => {
  if (!hasMore(json, "{", DEPTH_AT_MOST / 2) && !hasMore(json, "[", DEPTH_AT_MOST / 2)) return false;
  let depth = 0;
  for (let at = 0; at < json.length; at++) {
    const unit = json.charCodeAt(at);
    if (unit === 0x22) at = endOfString(json, at + 1);
    else if (unit === 0x5b || unit === 0x7b) {
      depth += 1;
      if (depth > DEPTH_AT_MOST) return true;
    } else if (unit === 0x5d || unit === 0x7d) depth -= 1;
  }
  return false;
};

/** True if JSON has more members and elements than allowed. Counts the commas outside of strings. */
export const isTooWide = (json: string): boolean => {
  if (!hasMore(json, ",", MEMBERS_AT_MOST)) return false;
  let left = MEMBERS_AT_MOST;
  for (let at = 0; at < json.length; at++) {
    const unit = json.charCodeAt(at);
    if (unit === 0x22) at = endOfString(json, at + 1);
    else if (unit === 0x2c && left-- === 0) return true;
  }
  return false;
};

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Parses bytes as JSON; the Content-Type is ignored. @throws ApiError `invalid_request`. */
export const parseJson = (bytes: Uint8Array): { text: string; value: Json } => {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    return refuse("invalid_request", "The body is not JSON in UTF-8; compressed bodies are not read.");
  }
  if (isTooDeep(text)) refuse("invalid_request", `The body is nested deeper than ${DEPTH_AT_MOST} levels.`);
  if (isTooWide(text)) refuse("invalid_request", `The body has more than ${MEMBERS_AT_MOST} members and elements.`);
  try {
    return { text, value: JSON.parse(text) as Json };
  } catch {
    return refuse("invalid_request", text === "" ? "The body is empty; send a JSON object." : "The body is not JSON.");
  }
};
