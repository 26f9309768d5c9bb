// Forwards an event to a local address as the signed request of a webhook.
import { randomBytes } from "node:crypto";
import type { AccountEvent } from "../../client/src/client.ts";
import { signatureHeaders } from "../webhooks/signature.ts";
import { CommandError, EXITS } from "./exit-codes.ts";

/** The result of one request. `error`: why no response arrived. */
export type Forwarded = { status: number | null; durationMs: number; error: string | null };

const TIMEOUT_MS = 10_000;
const SECRET = /^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/;
const SECRET_BYTES = 32;

export const newSecret = (): string => `whsec_${randomBytes(SECRET_BYTES).toString("base64")}`;

/** @throws CommandError (usage); the message does not repeat the secret */
export const checkSecret = (secret: string): string => {
  if (SECRET.test(secret)) return secret;
  throw new CommandError(EXITS.usage, "--secret: is not whsec_ and 24 to 64 bytes in base64", {
    fix: "omit --secret, and the command prints a new one",
    code: "bad_flag",
  });
};

/** @throws CommandError (usage) */
export const checkForwardUrl = (url: string): string => {
  if (/^https?:\/\/[^/]/i.test(url) && URL.canParse(url)) return url;
  throw new CommandError(EXITS.usage, `--forward-to: ${JSON.stringify(url)} is not a URL such as http://localhost:3000/hook`, {
    code: "bad_flag",
  });
};

const reasonOf = (fault: unknown): string => {
  if (!(fault instanceof Error)) return String(fault);
  return fault.name === "TimeoutError" ? `no response within ${TIMEOUT_MS / 1000} s` : fault.message;
};

/** Sends the event once. Redirects are not followed, as for a webhook. */
export const forwardEvent = async (
  { id, body }: AccountEvent,
  { url, secret, signal }: { url: string; secret: string; signal: AbortSignal },
): Promise<Forwarded> => {
  const startedMs = performance.now();
  const durationMs = () => Math.round(performance.now() - startedMs);
  const headers = { "content-type": "application/json", ...signatureHeaders(id, Date.now(), body, [secret]) };
  try {
    const until = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
    const response = await fetch(url, { method: "POST", headers, body, redirect: "manual", signal: until });
    await response.body?.cancel();
    return { status: response.status, durationMs: durationMs(), error: null };
  } catch (fault) {
    if (signal.aborted) throw signal.reason;
    return { status: null, durationMs: durationMs(), error: reasonOf(fault) };
  }
};
