// Idempotency fingerprints: whether two requests with one Idempotency-Key are the same.
//
// Requests are equal as JSON values: order of members, white space, escapes and omitted defaults do not matter.
import canonicalize from "canonicalize";
import type { Json, JsonObject } from "./types.ts";

/** Idempotency treats an absent field like its default; `max_wait_s` has no default. `max_cost_usd`: §2.5. */
export const ENVELOPE_DEFAULTS: JsonObject = { max_cost_usd: 100 };

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

const sha256 = (text: string): string => Bun.SHA256.hash(text, "hex");

/** Names that an object does not keep where they are inserted: numbers come first, and `__proto__` is a setter. */
const isUnordered = (name: string): boolean => (name >= "0" && name < ":") || name === "__proto__";
const isAscending = (names: readonly string[]): boolean => names.every((name, at) => at === 0 || (names[at - 1] ?? "") < name);

/** A copy whose members are in the order of RFC 8785. @throws RangeError for a value that has no such copy or no canonical form. */
const sorted = (value: Json): Json => {
  if (typeof value !== "object" || value === null) {
    if (typeof value === "number" && !Number.isFinite(value)) throw new RangeError("a number out of range");
    return value;
  }
  if (Array.isArray(value)) return value.map(sorted);
  const names = Object.keys(value);
  if (!isAscending(names)) names.sort();
  const copy: JsonObject = {};
  for (const name of names) {
    if (isUnordered(name)) throw new RangeError("a name without a place");
    copy[name] = sorted(value[name] ?? null);
  }
  return copy;
};

/**
 * The canonical form by the runtime's own JSON, which prints numbers and strings as RFC 8785 does. It takes less than half of the
 * time of the library. Undefined for the rare values that the runtime prints otherwise; an escaped surrogate may be an unpaired one.
 */
const printedInOrder = (value: JsonObject): string | undefined => {
  try {
    const form = JSON.stringify(sorted(value));
    return form.includes("\\ud") ? undefined : form;
  } catch {
    return undefined;
  }
};

/** RFC 8785; undefined for a value without a canonical form: an unpaired surrogate or a number out of range. */
const canonicalForm = (value: JsonObject): string | undefined => {
  const form = printedInOrder(value);
  if (form !== undefined) return form;
  try {
    return canonicalize(value);
  } catch {
    return undefined;
  }
};

/**
 * Fingerprint of a request: SHA-256 in hex of its canonical form (RFC 8785) with the defaults of the envelope filled in. A
 * request without a canonical form equals only its own bytes.
 */
export const fingerprintOf = (body: string, envelope: JsonObject, defaults: JsonObject): string => {
  const form = canonicalForm({ ...defaults, ...envelope });
  return sha256(form ?? `\n${body}`);
};

/** A stored request in one line and its fingerprint; null if it was accepted before fingerprints were stored. */
export type FingerprintedRequest = { body: string; fingerprint: string | null };

const isSameBody = (one: string, other: string): boolean =>
  one === other || isSameValue(JSON.parse(one) as Json, JSON.parse(other) as Json);

export const isSameRequest = (kept: FingerprintedRequest, sent: FingerprintedRequest): boolean =>
  kept.fingerprint === null || sent.fingerprint === null
    ? isSameBody(kept.body, sent.body)
    : kept.fingerprint === sent.fingerprint;
