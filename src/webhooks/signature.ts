// Signs webhook requests as Standard Webhooks defines.
import { Webhook } from "standardwebhooks";
import { ClockCache } from "../collections/clock-cache.ts";

/** Minimum number of cached signers; each has a decoded secret. */
const SIGNERS = 1000;
const signers = new ClockCache<string, Webhook>(SIGNERS);
const signerOf = (secret: string): Webhook => {
  const known = signers.get(secret);
  if (known) return known;
  const signer = new Webhook(secret);
  signers.set(secret, signer);
  return signer;
};

/** The headers of a request with this id, time and body. During a rotation it has one signature for each secret. */
export const signatureHeaders = (
  id: string,
  nowMs: number,
  body: string,
  secrets: readonly string[],
): Record<string, string> => ({
  "webhook-id": id,
  "webhook-timestamp": String(Math.floor(nowMs / 1000)),
  "webhook-signature": secrets.map((secret) => signerOf(secret).sign(id, new Date(nowMs), body)).join(" "),
});
