// The two comparisons of request bodies under one idempotency key.
import { fingerprintOf, isSameRequest } from "../../src/domain/idempotency.ts";
import type { JsonObject } from "../../src/domain/types.ts";
import { storedBody } from "../../src/http/parse-submission.ts";

const bodyOf = (text: string): string => storedBody(text, JSON.parse(text) as JsonObject);

/** Compares a later request with a stored one. */
export const isSameAsStored = (stored: string, sent: string): boolean =>
  isSameRequest({ body: bodyOf(stored), fingerprint: null }, bodyOf(sent));
/** Compares a later request with an erased one, of which the fingerprint is left. */
export const isSameAsErased = (erased: string, sent: string): boolean =>
  isSameRequest({ body: "{}", fingerprint: fingerprintOf(bodyOf(erased)) }, bodyOf(sent));
