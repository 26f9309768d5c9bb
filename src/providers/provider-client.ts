// Provider client: the only way to call one provider.
//
// It holds the base URL, the hosts that may receive the credential, and the bulkheads.

import { type Bulkhead, createBulkhead, type Release } from "./bulkhead.ts";
import { type Called, type CallProvider, type CallRules, callProvider, readJson } from "./http-call.ts";
import { detailOf } from "./parse-response.ts";
import type { Adapter, ProviderRequest, ProviderResponse, ProviderTraits } from "./port.ts";

/** Largest response read by default, bytes. */
const LARGEST_ANSWER = 1_048_576;
/** A shorter credential occurs only in tests; redacting it would also redact ordinary words. */
const SHORTEST_SECRET = 8;

/**
 * Concurrent calls to each provider. `submits`: submissions. `questions`: polls and cancels, which hung submissions must not
 * block. `finds`: lookups of lost submissions, which are many after an outage and must not block polls.
 */
export type Slots = { submits: number; questions: number; finds: number };

export type ProviderClientOptions = {
  adapter: Adapter;
  /**
   * Public base URL, used if the configuration sets none. `origins` are further hosts of the provider; `https://*.bfl.ai`
   * includes all hosts below that domain.
   */
  publicUrl: string;
  origins: readonly string[];
  nowMs: () => number;
  settings: { base_url?: string; key?: string };
  slots: Slots;
  /** Makes the HTTP calls; `callProvider` by default. A simulated world passes its own. */
  call?: CallProvider;
  traits: Partial<ProviderTraits>;
  /** Whether providers can reach the service with callbacks. */
  isReported: boolean;
};

export interface ProviderClient {
  readonly adapter: Adapter;
  readonly traits: ProviderTraits;
  readonly baseUrl: string;
  isConfigured(): boolean;
  /** Sets or clears the credential for every later call. @throws Error one line, for a credential that cannot be sent. */
  rekey(text: string | undefined): void;
  readonly submits: Bulkhead;
  /** The reason why this URL must not receive the credential; undefined if it may. */
  barred(address: string): string | undefined;
  /**
   * The headers that a download from this URL needs. Empty unless the provider's files need its credential and the URL is on its
   * own hosts.
   */
  fileHeaders(address: string): Record<string, string>;
  /** Makes one call with the credential. A barred URL is never contacted. */
  request(request: ProviderRequest, timeoutMs: number, signal: AbortSignal, about?: CallRules["about"]): Promise<Called>;
  /** Makes one call without the credential, to a URL from the provider: https, or one of its own origins. */
  requestPlain(request: ProviderRequest, timeoutMs: number, signal: AbortSignal): Promise<Called>;
  /**
   * Runs a poll or a lookup with a slot of its bulkhead. Returns `late` if no slot became free within `patienceMs`, or if the
   * signal was aborted.
   */
  inTurn<T>(
    what: "questions" | "finds",
    patienceMs: number | undefined,
    signal: AbortSignal,
    late: T,
    question: () => Promise<T>,
  ): Promise<T>;
}

/** The secret parts of a credential: the whole, the halves of a pair, and the header values of this call. */
const secretsIn = (key: string, headers: Readonly<Record<string, string>>): string[] =>
  [key, ...key.split(":"), ...Object.values(headers).flatMap((value) => value.split(" "))].filter(
    (word) => word.length >= SHORTEST_SECRET,
  );

/** Providers repeat a rejected credential in their response, so it is redacted here. */
const without = (response: ProviderResponse, secrets: readonly string[]): ProviderResponse => {
  const { json } = response;
  // JSON can write a character in more than one way ("\\/"); JSON.stringify writes it in one.
  const isEscaped = json !== undefined && response.text.includes("\\");
  const message = isEscaped ? JSON.stringify(json) : response.text;
  const words = isEscaped ? secrets.map((secret) => JSON.stringify(secret).slice(1, -1)) : secrets;
  if (!words.some((word) => message.includes(word))) return response;
  const text = words.reduce((left, word) => left.replaceAll(word, "[key]"), message);
  return { ...response, text, json: readJson(text) };
};

/** The credential as it is sent; undefined for none. @throws Error one line, for a credential that cannot be sent. */
export const usableKey = (providerId: string, text: string | undefined): string | undefined => {
  const key = text?.trim() || undefined;
  if (key !== undefined && !/^[\x21-\x7e]+$/.test(key))
    throw new Error(`providers.${providerId}.key: the credential is invalid; expected printable ASCII without spaces`);
  return key;
};

/** Creates the client of one provider. @throws Error one line, for a credential that cannot be sent. */
export const createProviderClient = (plan: ProviderClientOptions): ProviderClient => {
  const { adapter, publicUrl, origins, settings, slots, traits, nowMs, call = callProvider } = plan;
  let key = usableKey(adapter.id, settings.key);
  const baseUrl = (settings.base_url ?? publicUrl).replace(/\/+$/, "");
  const others = settings.base_url === undefined ? origins : [];
  const home = new Set([baseUrl, ...others.filter((origin) => !origin.includes("*"))].map((url) => new URL(url).origin));
  const domains = others.flatMap((origin) => /^https:\/\/\*(\..+)$/.exec(origin)?.[1] ?? []);
  const isHome = ({ protocol, host, origin }: URL) =>
    home.has(origin) || (protocol === "https:" && domains.some((domain) => host.endsWith(domain)));
  const submits = createBulkhead(slots.submits);
  const pools = { questions: createBulkhead(slots.questions), finds: createBulkhead(slots.finds) };
  const { recovery, findWindowMs, findSettleMs, callbackWaitMs, pollEveryMs, pollLeastMs, watchMs, resultTtlMs } = adapter;

  const barred = (address: string): string | undefined => {
    if (key === undefined) return "no credential";
    const url = URL.parse(address);
    if (url !== null && url.username === "" && url.password === "" && isHome(url)) return undefined;
    return detailOf("not an address of the provider", url?.host.slice(0, 80));
  };

  return {
    adapter,
    traits: {
      ...{ recovery, findWindowMs, findSettleMs, pollEveryMs, pollLeastMs, watchMs, resultTtlMs },
      ...(plan.isReported && callbackWaitMs !== undefined ? { callbackWaitMs } : {}),
      // A callback reports the end at once. Polls only replace one that does not arrive.
      ...(plan.isReported && adapter.sendsCallbacks ? { pollLeastMs: Math.max(pollLeastMs, pollEveryMs[0]) } : {}),
      ...traits,
    },
    baseUrl,
    isConfigured: () => key !== undefined,
    rekey: (text) => {
      key = usableKey(adapter.id, text);
    },
    submits,
    barred,
    fileHeaders: (address) =>
      adapter.filesNeedKey === true && key !== undefined && barred(address) === undefined ? adapter.auth(key, nowMs()) : {},

    async request(request, timeoutMs, signal, about) {
      const bar = barred(request.url);
      if (bar !== undefined || key === undefined) return { kind: "not_sent", detail: bar ?? "no credential" };
      const headers = adapter.auth(key, nowMs());
      const maxBytes = adapter.largestAnswer ?? LARGEST_ANSWER;
      const called = await call(request, { headers, timeoutMs, maxBytes, signal, ...(about ? { about } : {}) });
      return called.kind === "answered"
        ? { kind: "answered", response: without(called.response, secretsIn(key, headers)) }
        : called;
    },

    async requestPlain(request, timeoutMs, signal) {
      const url = URL.parse(request.url);
      if (url === null || url.username !== "" || !(url.protocol === "https:" || isHome(url)))
        return { kind: "not_sent", detail: "not an address that a file is put at" };
      return call(request, { headers: {}, timeoutMs, maxBytes: LARGEST_ANSWER, signal });
    },

    async inTurn(what, patienceMs, signal, late, question) {
      let release: Release;
      try {
        release = await pools[what].take(signal, patienceMs);
      } catch {
        return late;
      }
      try {
        return await question();
      } finally {
        release();
      }
    },
  };
};
