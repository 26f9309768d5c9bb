// Idempotency: whether two requests with one Idempotency-Key are the same.
//
// Requests are equal as JSON values: order of members, white space, escapes and omitted defaults do not matter. They are compared
// only for a key that is known, so that a new key costs nothing.
import canonicalize from "canonicalize";
import type { Json, JsonObject } from "./types.ts";

/** Idempotency treats an absent field like its default; `max_wait_s` has no default. `max_cost_usd`: §2.5. */
const ENVELOPE_DEFAULTS: JsonObject = { max_cost_usd: 100 };

/** A request body with the defaults of the envelope; undefined for a stored body that was damaged and is no JSON. */
const requestOf = (body: string): JsonObject | undefined => {
  try {
    return { ...ENVELOPE_DEFAULTS, ...(JSON.parse(body) as JsonObject) };
  } catch {
    return undefined;
  }
};

const isObject = (value: Json): value is { [key: string]: Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Whether the canonical forms (RFC 8785) are equal. A value without one (an unpaired surrogate, a number out of range) is equal
 * to nothing. The comparison ends at the first difference, so a large body costs no more than the small one that it is compared
 * with.
 */
const isSameValue = (one: Json, other: Json): boolean => {
  if (typeof one === "string") return one === other && one.isWellFormed();
  if (typeof one === "number") return one === other && Number.isFinite(one);
  if (Array.isArray(one))
    return Array.isArray(other) && one.length === other.length && one.every((value, at) => isSameValue(value, other[at] ?? null));
  if (!isObject(one)) return one === other;
  if (!isObject(other)) return false;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every(
      (name) => Object.hasOwn(other, name) && name.isWellFormed() && isSameValue(one[name] ?? null, other[name] ?? null),
    )
  );
};

/** RFC 8785; undefined for a value without a canonical form: an unpaired surrogate or a number out of range. */
const canonicalForm = (value: JsonObject | undefined): string | undefined => {
  try {
    return value && canonicalize(value);
  } catch {
    return undefined;
  }
};

/**
 * Fingerprint of a request: SHA-256 in hex of its canonical form (RFC 8785) with the defaults of the envelope filled in. A
 * request without a canonical form equals only its own bytes. @param body JSON of an object
 */
export const fingerprintOf = (body: string): string => Bun.SHA256.hash(canonicalForm(requestOf(body)) ?? `\n${body}`, "hex");

/** A stored request in one line. `fingerprint`: null while the body is there, except of requests of earlier releases. */
export type StoredRequest = { body: string; fingerprint: string | null };

/** @param sent the body of the later request */
export const isSameRequest = (stored: StoredRequest, sent: string): boolean => {
  if (stored.fingerprint !== null) return stored.fingerprint === fingerprintOf(sent);
  if (stored.body === sent) return true;
  const [before, now] = [requestOf(stored.body), requestOf(sent)];
  return before !== undefined && now !== undefined && isSameValue(before, now);
};
