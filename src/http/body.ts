// Reads the bytes of a request: never more than 1 MiB of them, and JSON that is not nested too deep to be worked on.
import { refuse } from "../domain/api-errors.ts";
import type { Json } from "../domain/types.ts";

/** §8: exactly so many bytes pass. */
export const BODY_AT_MOST_BYTES = 1_048_576;
/** Levels of objects and arrays within each other; the outermost is the first. */
export const DEPTH_AT_MOST = 64;
/** Members of objects and elements of arrays, all together: 100,000 names cost the loop 80 ms. No request has a hundredth of them. */
export const MEMBERS_AT_MOST = 10_000;

const tooLarge = () =>
  refuse("body_too_large", "The body is over 1 MB (1,048,576 bytes); send media as URLs, not inside the request.");

const cutShort = () => refuse("invalid_request", "The body did not arrive whole.");

/** Counts what arrives without a Content-Length; what comes after the limit is left to the runtime to throw away. */
const readCounted = async (stream: ReadableStream<Uint8Array>): Promise<Uint8Array> => {
  const reader = stream.getReader();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for (;;) {
    const next = await reader.read().catch(cutShort);
    if (next.done) break;
    bytes += next.value.byteLength;
    if (bytes > BODY_AT_MOST_BYTES) {
      // Not awaited: the answer does not wait for a caller that is still sending.
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

const insistOnSize = (whole: Uint8Array): Uint8Array => (whole.byteLength > BODY_AT_MOST_BYTES ? tooLarge() : whole);

/**
 * The body's bytes.
 * @throws Refusal `body_too_large` at once for a length announced above 1 MiB
 * @returns rejects with `body_too_large` above 1 MiB, with `invalid_request` when the caller stopped half-way
 */
export const readBody = (request: Request): Promise<Uint8Array> => {
  const announced = request.headers.get("content-length");
  if (announced === null) return request.body === null ? Promise.resolve(new Uint8Array()) : readCounted(request.body);
  if (Number(announced) > BODY_AT_MOST_BYTES) tooLarge();
  return request.bytes().then(insistOnSize, cutShort);
};

const BACKSLASH = 0x5c;

/** Where a string ends that begins behind a quote: the place of the quote that no backslash takes along; the end of an open one. */
const endOfString = (json: string, from: number): number => {
  for (let at = json.indexOf('"', from); at >= 0; at = json.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (at - 1 - backslashes >= from && json.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return at;
  }
  return json.length;
};

/** Whether a character is there more often than so many times. */
const hasMore = (text: string, char: string, times: number): boolean => {
  let left = times;
  for (let at = text.indexOf(char); at >= 0; at = text.indexOf(char, at + 1)) if (left-- === 0) return true;
  return false;
};

/**
 * Whether JSON is nested deeper than allowed; looked at before parsing, so that nothing recurses into it. Few have as many brackets
 * as could be too deep; where they have, strings are leapt over.
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

/** Whether JSON has more members and elements than allowed, by the commas between them; those of texts do not count. */
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

/** Bytes as JSON, whatever the Content-Type said. @throws Refusal `invalid_request`. */
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
