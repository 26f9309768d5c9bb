// The two comparisons of request bodies under one idempotency key.

import { isSameRequest } from "../../src/domain/idempotency.ts";
import type { JsonObject } from "../../src/domain/types.ts";
import { fingerprintedRequest } from "../../src/http/parse-submission.ts";

/** Compares two requests that are stored with fingerprints. */
export const isSame = (one: string, other: string): boolean => {
  const kept = (text: string) => fingerprintedRequest(text, JSON.parse(text) as JsonObject, "key");
  return isSameRequest(kept(one), kept(other));
};
/** Compares two requests that are stored without fingerprints, by their bodies. */
export const isSameAsEarlier = (one: string, other: string): boolean => {
  const earlier = (body: string) => ({ body, fingerprint: null });
  return isSameRequest(earlier(one), earlier(other));
};
