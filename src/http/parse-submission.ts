// The envelope of §2.5: bytes and headers of a submission become an order, or the 400 that names what is wrong.
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { refuse } from "../domain/api-errors.ts";
import { fingerprintOf } from "../domain/idempotency.ts";
import type { Caller, Credits, Json, JsonObject } from "../domain/types.ts";
import type { SubmitRequest } from "../generations/submit.ts";
import { parseJson } from "./body.ts";
import { GenerationRequest } from "./schema.ts";

const checker = TypeCompiler.Compile(GenerationRequest);
const FIELDS = Object.keys(GenerationRequest.properties);

/** §2.5: the default of `max_cost_usd`, 100 USD. */
const MAX_COST_CREDITS: Credits = 10_000;
/** For idempotency a field that is left out and its default are the same; `max_wait_s` has none. */
const DEFAULTS: JsonObject = { max_cost_usd: MAX_COST_CREDITS / 100 };
const KEY_AT_MOST = 200;

/** What each field must be, for the message. */
const MUST_BE: Readonly<Record<string, string>> = {
  model: "must be a string, the id of a model",
  input: "must be an object",
  max_cost_usd: "must be a number greater than 0 and at most 100",
  max_wait_s: "must be a whole number from 1 to 86400",
};

/**
 * USD as the caller wrote them, floored to whole credits: 0.29 → 29, 0.004 → 0. The product may be one off either way
 * (0.29 × 100 is 28.999…), the quotient of a whole number is not: it is the double that its decimals mean.
 */
export const floorCredits = (usd: number): Credits => {
  const credits = Math.floor(usd * 100);
  if ((credits + 1) / 100 <= usd) return credits + 1;
  return credits / 100 > usd ? credits - 1 : credits;
};

/** Says which of the envelope's rules is broken. Runs only when one is. */
const explain = (value: Json): never => {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return refuse("invalid_request", "The body must be a JSON object.");
  const unknown = Object.keys(value).filter((field) => !FIELDS.includes(field));
  if (unknown.length > 0) {
    const named = unknown.slice(0, 5).map((field) => JSON.stringify(field.slice(0, 80)));
    return refuse("invalid_request", `${named.join(", ")}: unknown; the fields of a request are ${FIELDS.join(", ")}.`);
  }
  const fault = checker.Errors(value).First();
  const field = fault?.path.split("/")[1] ?? "";
  const isMissing = !Object.hasOwn(value, field);
  return refuse("invalid_request", `${field}: ${isMissing ? "is required; it " : ""}${MUST_BE[field] ?? "is wrong"}.`);
};

/** Longer ones are mostly white space, or rare. */
const KEPT_AS_SENT = 8_192;
/** A request as it is kept to be compared with one of the same key: in one line, and without the white space of a long one. */
const keptBody = (text: string, value: JsonObject): string =>
  text.length > KEPT_AS_SENT || text.includes("\n") ? JSON.stringify(value) : text;

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Header values arrive as bytes; where those are UTF-8 they are counted as the characters they mean. */
const readHeader = (raw: string): string => {
  if (!/[\u0080-\u00ff]/.test(raw)) return raw;
  try {
    return utf8.decode(Uint8Array.from(raw, (unit) => unit.charCodeAt(0)));
  } catch {
    return raw;
  }
};

/** The `Idempotency-Key`, null where none was sent. @throws Refusal `invalid_request` outside 1 to 200 characters. */
export const idempotencyKeyOf = (request: Request): string | null => {
  const raw = request.headers.get("idempotency-key");
  if (raw === null) return null;
  const key = readHeader(raw);
  // Code units bound code points from above, and code points code units within a factor of two.
  const isTooLong = key.length > KEY_AT_MOST && (key.length > 2 * KEY_AT_MOST || [...key].length > KEY_AT_MOST);
  if (key === "" || isTooLong) refuse("invalid_request", "Idempotency-Key: must have 1 to 200 characters.");
  return key;
};

/** What a request asks for, of its body as JSON. @throws Refusal `invalid_request`. */
export const readEnvelope = (value: Json): Pick<SubmitRequest, "model" | "input" | "maxCostCredits" | "maxWaitMs"> => {
  if (!checker.Check(value)) return explain(value);
  if (!value.model.isWellFormed()) refuse("invalid_request", "model: holds half a surrogate pair, which is no text.");
  return {
    model: value.model,
    input: value.input as JsonObject,
    maxCostCredits: value.max_cost_usd === undefined ? MAX_COST_CREDITS : floorCredits(value.max_cost_usd),
    maxWaitMs: value.max_wait_s === undefined ? null : value.max_wait_s * 1000,
  };
};

/** A request as it is kept with its generation. @param body as it was sent */
export const fingerprintedRequest = (
  body: string,
  value: JsonObject,
  idempotencyKey: string | null,
): Pick<SubmitRequest, "idempotencyKey" | "body" | "fingerprint"> => {
  const kept = keptBody(body, value);
  return { idempotencyKey, body: kept, fingerprint: idempotencyKey === null ? null : fingerprintOf(kept, value, DEFAULTS) };
};

/** Reads a submission of its body's bytes. @throws Refusal `invalid_request`. */
export const readOrder = (bytes: Uint8Array, request: Request, requestId: string, caller: Caller): SubmitRequest => {
  const idempotencyKey = idempotencyKeyOf(request);
  const { text, value } = parseJson(bytes);
  return { caller, requestId, ...readEnvelope(value), ...fingerprintedRequest(text, value as JsonObject, idempotencyKey) };
};
