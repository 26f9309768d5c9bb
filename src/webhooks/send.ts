// Sends one try of a webhook delivery: a signed POST to an address that the SSRF guard has checked.
import type { SendOutcome } from "../../actors/webhooks/lane.ts";
import type { Clock } from "../domain/clock.ts";
import type { GenerationRecord } from "../domain/types.ts";
import type { PendingDelivery, WebhookTry } from "../domain/webhooks.ts";
import { KEEPS_CONNECTIONS } from "../http-client/keep-alive.ts";
import { type Fetched, type FetchOptions, guardedFetch } from "../media/guarded-fetch.ts";
import type { AllowsHost } from "../media/host-allowlist.ts";
import { bodyOf, eventId, isOutdated, recordAt } from "./payload.ts";
import { signatureHeaders } from "./signature.ts";

/** The receiver of a delivery. `events`: those that it gets. */
export type Target = { url: string; events: string; allows: AllowsHost; secrets: readonly string[] };

/** How a request is sent and timed. The simulation replaces it. */
export type Exchange = {
  fetch: (url: string, options: FetchOptions) => Promise<Fetched>;
  /** A signal that aborts after this time. */
  timeout: (ms: number) => AbortSignal;
  /** Monotonic time in milliseconds. */
  monoMs: () => number;
};

const NETWORK: Exchange = {
  fetch: guardedFetch,
  timeout: (ms) => AbortSignal.timeout(ms),
  monoMs: () => performance.now(),
};

export type SendDeps = {
  clock: Pick<Clock, "nowMs">;
  /** `deleted` and `disabled`: the endpoint gets nothing. */
  targetOf: (delivery: PendingDelivery) => Promise<Target | "deleted" | "disabled">;
  /** The record of the event's generation, at or after the event; undefined if there is none. */
  recordOf: (delivery: PendingDelivery) => Promise<GenerationRecord | undefined>;
  /** The JSON of a generation, as a poll shows it. */
  resourceOf: (record: GenerationRecord) => string;
  /** Maximum time of a try in milliseconds, its response included. */
  timeoutMs: number;
  /** Replaced by tests: name lookup and certificate authority. */
  fetch?: Pick<FetchOptions, "resolve" | "ca">;
  exchange?: Exchange;
};

/** Stored and read bytes of a response. */
const ANSWER_BYTES = 1024;

const utf8 = new TextDecoder();
/** PostgreSQL cannot store NUL. */
const readable = (bytes: Uint8Array): string => utf8.decode(bytes).replaceAll("\0", "\ufffd");

/** Reads at most the first `ANSWER_BYTES` bytes, and closes a longer response. A broken response ends where it breaks. */
const readAnswer = async ({ body }: Response): Promise<string> => {
  const reader = body?.getReader();
  const bytes = new Uint8Array(ANSWER_BYTES);
  let length = 0;
  while (reader && length < ANSWER_BYTES) {
    const next = await reader.read().catch(() => ({ done: true, value: undefined }) as const);
    if (next.done) break;
    const part = next.value.subarray(0, ANSWER_BYTES - length);
    bytes.set(part, length);
    length += part.length;
  }
  await reader?.cancel().catch(() => {});
  return readable(bytes.subarray(0, length));
};

export const createSend = (deps: SendDeps) => {
  const { clock, timeoutMs, exchange = NETWORK } = deps;

  const post = async (target: Target, body: string, signed: Record<string, string>, signal: AbortSignal) => {
    const { url, allows } = target;
    const fetched = await exchange.fetch(url, {
      ...{ body, allows, signal, followsRedirects: false, keepsConnection: KEEPS_CONNECTIONS, ...deps.fetch },
      headers: { "Content-Type": "application/json", ...signed },
    });
    if (fetched.kind !== "answered") return { status: null, answer: null, error: fetched.why };
    const answer = await readAnswer(fetched.response);
    // A response of a private host could reveal what only this machine reaches.
    return { status: fetched.response.status, answer: allows(new URL(url).host) ? null : answer, error: null };
  };

  const tryOnce = async (delivery: PendingDelivery, target: Target, record: GenerationRecord | undefined, stop: AbortSignal) => {
    const data = record ? deps.resourceOf(recordAt(delivery, record)) : (delivery.data ?? "{}");
    const body = bodyOf(delivery, data);
    const atMs = clock.nowMs();
    const startedMono = exchange.monoMs();
    const signed = signatureHeaders(eventId(delivery, record), atMs, body, target.secrets);
    const response = await post(target, body, signed, AbortSignal.any([stop, exchange.timeout(timeoutMs)]));
    const made: WebhookTry = { atMs, ...response, durationMs: Math.round(exchange.monoMs() - startedMono) };
    return made;
  };

  return async (delivery: PendingDelivery, stop: AbortSignal): Promise<SendOutcome> => {
    const target = await deps.targetOf(delivery);
    if (target === "deleted") return { kind: "dropped" };
    if (target === "disabled") return { kind: "held" };
    const { generationSeq } = delivery;
    const record = await deps.recordOf(delivery);
    if (generationSeq !== null && record === undefined) throw new Error(`there is no generation ${generationSeq}`);
    if (record && isOutdated(delivery, record, target.events)) return { kind: "dropped" };
    const made = await tryOnce(delivery, target, record, stop);
    return stop.aborted ? { kind: "called-off" } : { kind: "made", made };
  };
};
