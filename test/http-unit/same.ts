// Whether two bodies under one Idempotency-Key are the same request, as both ways of comparing say it.

import { isSameRequest } from "../../src/domain/idempotency.ts";
import type { JsonObject } from "../../src/domain/types.ts";
import { fingerprintedRequest } from "../../src/http/parse-submission.ts";

/** As since fingerprints are kept. */
export const isSame = (one: string, other: string): boolean => {
  const kept = (text: string) => fingerprintedRequest(text, JSON.parse(text) as JsonObject, "key");
  return isSameRequest(kept(one), kept(other));
};
/** As with a request that was accepted before, and the other way round. */
export const isSameAsEarlier = (one: string, other: string): boolean => {
  const earlier = (body: string) => ({ body, fingerprint: null });
  return isSameRequest(earlier(one), earlier(other));
};
