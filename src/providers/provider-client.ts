// One provider, opened: where it is, who may be given its key, its bulkheads, and the one way to call it.

import { type Bulkhead, createBulkhead, type Release } from "./bulkhead.ts";
import { type Called, type CallProvider, type CallRules, callProvider, readJson } from "./http-call.ts";
import { detailOf } from "./parse-response.ts";
import type { Adapter, ProviderRequest, ProviderResponse, ProviderTraits } from "./port.ts";

/** Largest answer read, bytes. */
const LARGEST_ANSWER = 1_048_576;
/** A shorter credential is a test's; hiding it would hide ordinary words. */
const SHORTEST_SECRET = 8;

/**
 * Calls in flight per provider: submissions; questions (poll, cancel), which hung submissions must not stop; and look-ups of lost
 * submissions, of which an outage leaves many and which must not stop the polls of live ones.
 */
export type Slots = { submits: number; questions: number; finds: number };

export type ProviderClientOptions = {
  adapter: Adapter;
  /** Public base URL, used where the settings name none; `origins` are further hosts that belong to it, `https://*.bfl.ai` all below one. */
  publicUrl: string;
  origins: readonly string[];
  nowMs: () => number;
  settings: { base_url?: string; key?: string };
  slots: Slots;
  /** The socket, unless a world has one of its own. */
  call?: CallProvider;
  traits: Partial<ProviderTraits>;
  /** Whether providers can reach the service. */
  isTold: boolean;
};

export interface ProviderClient {
  readonly adapter: Adapter;
  readonly traits: ProviderTraits;
  readonly baseUrl: string;
  isConfigured(): boolean;
  /** Takes another credential, or none, for every call from now on. @throws Error one line, for one that cannot be sent. */
  rekey(text: string | undefined): void;
  readonly submits: Bulkhead;
  /** Why this address cannot be called with the provider's key; undefined when it can. */
  barred(address: string): string | undefined;
  /** The headers that open a file at this address: none, unless the provider keeps its files on its own hosts behind the key. */
  fileHeaders(address: string): Record<string, string>;
  /** One call with the credential; an address that is barred is never connected to. */
  ask(request: ProviderRequest, timeoutMs: number, signal: AbortSignal, about?: CallRules["about"]): Promise<Called>;
  /** One call without the credential, to an address that the provider gave: https, or at home. */
  askPlainly(request: ProviderRequest, timeoutMs: number, signal: AbortSignal): Promise<Called>;
  /** Runs a question or a look-up in its allowance; `late` when no slot came free within `patienceMs`, or it was given up. */
  inTurn<T>(
    what: "questions" | "finds",
    patienceMs: number | undefined,
    signal: AbortSignal,
    late: T,
    question: () => Promise<T>,
  ): Promise<T>;
}

/** What of a credential must not be seen: itself, the halves of a pair, and what was made of it for this call. */
const secretsIn = (key: string, headers: Readonly<Record<string, string>>): string[] =>
  [key, ...key.split(":"), ...Object.values(headers).flatMap((value) => value.split(" "))].filter(
    (word) => word.length >= SHORTEST_SECRET,
  );

/** Providers repeat a credential they do not like; from here on nobody sees it. */
const without = (response: ProviderResponse, secrets: readonly string[]): ProviderResponse => {
  const { json } = response;
  // JSON can write a character in more than one way ("\\/"); written by us it is written in one.
  const isEscaped = json !== undefined && response.text.includes("\\");
  const said = isEscaped ? JSON.stringify(json) : response.text;
  const words = isEscaped ? secrets.map((secret) => JSON.stringify(secret).slice(1, -1)) : secrets;
  if (!words.some((word) => said.includes(word))) return response;
  const text = words.reduce((left, word) => left.replaceAll(word, "[key]"), said);
  return { ...response, text, json: readJson(text) };
};

/** A credential as it is sent; undefined for none. @throws Error one line, for one that cannot be sent. */
export const usableKey = (providerId: string, text: string | undefined): string | undefined => {
  const key = text?.trim() || undefined;
  if (key !== undefined && !/^[\x21-\x7e]+$/.test(key))
    throw new Error(`providers.${providerId}.key: a credential is one word of printable ASCII; this one cannot be sent`);
  return key;
};

/** @throws Error one line, for a credential that cannot be sent. */
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
  const { recovery, findWindowMs, findSettleMs, toldWithinMs, pollEveryMs, watchMs, resultTtlMs } = adapter;

  const barred = (address: string): string | undefined => {
    if (key === undefined) return "no credential";
    const url = URL.parse(address);
    if (url !== null && url.username === "" && url.password === "" && isHome(url)) return undefined;
    return detailOf("not an address of the provider", url?.host.slice(0, 80));
  };

  return {
    adapter,
    traits: {
      ...{ recovery, findWindowMs, findSettleMs, pollEveryMs, watchMs, resultTtlMs },
      ...(plan.isTold && toldWithinMs !== undefined ? { toldWithinMs } : {}),
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

    async ask(request, timeoutMs, signal, about) {
      const bar = barred(request.url);
      if (bar !== undefined || key === undefined) return { kind: "not_sent", detail: bar ?? "no credential" };
      const headers = adapter.auth(key, nowMs());
      const maxBytes = adapter.largestAnswer ?? LARGEST_ANSWER;
      const called = await call(request, { headers, timeoutMs, maxBytes, signal, ...(about ? { about } : {}) });
      return called.kind === "answered"
        ? { kind: "answered", response: without(called.response, secretsIn(key, headers)) }
        : called;
    },

    async askPlainly(request, timeoutMs, signal) {
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
