// Whether two requests under one Idempotency-Key are the same: equal as JSON values, whatever the order of their members, their white space and
// their escapes, and whether a field of the envelope is left out or has its default.
import canonicalize from "canonicalize";
import type { Json, JsonObject } from "./types.ts";

const isObject = (value: Json): value is { [key: string]: Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Equal where their canonical forms (RFC 8785) are; what has none is equal to nothing: half a surrogate pair, a number beyond all bounds. It ends
 * at the first difference, so that a large body costs no more than the small one that it is compared with. Bodies are not nested deep.
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
/** RFC 8785; undefined for what has no such form: half a surrogate pair, a number beyond all bounds. */
const canonicalForm = (value: Json): string | undefined => {
  try {
    return canonicalize(value);
  } catch {
    return undefined;
  }
};

/**
 * The idempotency fingerprint of a request: the SHA-256, in hex, of its canonical form (RFC 8785) with the defaults of its envelope filled in.
 * A request without one is the same as its own bytes alone.
 */
export const fingerprintOf = (body: string, envelope: JsonObject, defaults: JsonObject): string => {
  const form = canonicalForm({ ...defaults, ...envelope });
  return sha256(form ?? `\n${body}`);
};

/** A request as it is kept: in one line, and its fingerprint; null where it was accepted before fingerprints were kept. */
export type FingerprintedRequest = { body: string; fingerprint: string | null };

const isSameBody = (one: string, other: string): boolean =>
  one === other || isSameValue(JSON.parse(one) as Json, JSON.parse(other) as Json);

export const isSameRequest = (kept: FingerprintedRequest, sent: FingerprintedRequest): boolean =>
  kept.fingerprint === null || sent.fingerprint === null
    ? isSameBody(kept.body, sent.body)
    : kept.fingerprint === sent.fingerprint;
