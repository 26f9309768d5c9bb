// Parses a submission (§2.5): body and headers become a submit request or a 400.

import { refuse } from "../domain/api-errors.ts";
import { schemaCheck } from "../domain/compiled-schema.ts";
import type { Caller, Credits, Json, JsonObject } from "../domain/types.ts";
import type { SubmitRequest } from "../generations/submit.ts";
import { parseJson } from "./body.ts";
import { readHeader } from "./header-text.ts";
import { labelsOf } from "./labels.ts";
import { GenerationRequest } from "./schema.ts";

const checker = schemaCheck(GenerationRequest);
const FIELDS = Object.keys(GenerationRequest.properties);

/** §2.5: the default of `max_cost_usd`, as in src/domain/idempotency.ts. */
const MAX_COST_CREDITS: Credits = 10_000;
const KEY_AT_MOST = 200;

/** Constraint of each field, for the error message. */
const MUST_BE: Readonly<Record<string, string>> = {
  model: "must be a string, the id of a model",
  input: "must be an object",
  max_cost_usd: "must be a number greater than 0 and at most 100",
  max_wait_s: "must be a whole number from 1 to 86400",
};

/**
 * Floors USD as the client wrote them to whole credits: 0.29 → 29, 0.004 → 0. The product may be off by one in either direction
 * (0.29 × 100 is 28.999…). The quotient of a whole number is exact, because it is the double of its decimal notation.
 */
export const floorCredits = (usd: number): Credits => {
  const credits = Math.floor(usd * 100);
  if ((credits + 1) / 100 <= usd) return credits + 1;
  return credits / 100 > usd ? credits - 1 : credits;
};

/** Reports the violated rule of the envelope. Runs only for an invalid envelope. */
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

/** Longer bodies are rare or consist mostly of white space. */
const KEPT_AS_SENT = 8_192;
/**
 * A body as it is stored for comparison with later requests of the same idempotency key. Long or multi-line bodies are stored as
 * compact JSON.
 */
export const storedBody = (text: string, value: JsonObject): string =>
  text.length > KEPT_AS_SENT || text.includes("\n") ? JSON.stringify(value) : text;

/** The `Idempotency-Key`, null if absent. @throws ApiError `invalid_request` outside 1 to 200 characters. */
export const idempotencyKeyOf = (request: Request): string | null => {
  const raw = request.headers.get("idempotency-key");
  if (raw === null) return null;
  const key = readHeader(raw);
  // The number of code points is between half the number of code units and that number, so the exact count is rarely needed.
  const isTooLong = key.length > KEY_AT_MOST && (key.length > 2 * KEY_AT_MOST || [...key].length > KEY_AT_MOST);
  if (key === "" || isTooLong) refuse("invalid_request", "Idempotency-Key: must have 1 to 200 characters.");
  return key;
};

/** Reads the fields of the envelope from parsed JSON. @throws ApiError `invalid_request`. */
export const readEnvelope = (value: Json): Pick<SubmitRequest, "model" | "input" | "maxCostCredits" | "maxWaitMs"> => {
  if (!checker.Check(value)) return explain(value);
  if (!value.model.isWellFormed()) refuse("invalid_request", "model: contains an unpaired surrogate.");
  return {
    model: value.model,
    input: value.input as JsonObject,
    maxCostCredits: value.max_cost_usd === undefined ? MAX_COST_CREDITS : floorCredits(value.max_cost_usd),
    maxWaitMs: value.max_wait_s === undefined ? null : value.max_wait_s * 1000,
  };
};

/** Parses a submission from the bytes of its body. @throws ApiError `invalid_request`. */
export const parseSubmission = (bytes: Uint8Array, request: Request, requestId: string, caller: Caller): SubmitRequest => {
  const idempotencyKey = idempotencyKeyOf(request);
  const labels = labelsOf(request);
  const { text, value } = parseJson(bytes);
  const body = storedBody(text, value as JsonObject);
  const order = { caller, requestId, ...readEnvelope(value), idempotencyKey, body };
  return labels ? { ...order, labels } : order;
};
