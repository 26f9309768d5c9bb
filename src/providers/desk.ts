// One provider, opened: where it is, who may be given its key, its bulkheads, and the one way to call it.

import { detailOf } from "./answer.ts";
import { type Called, type CallProvider, callProvider, readJson } from "./call.ts";
import { openPool, type Pool, type Release } from "./pool.ts";
import type { Adapter, ProviderRequest, ProviderResponse, ProviderTraits } from "./provider.ts";

/** Largest answer read, bytes. */
const LARGEST_ANSWER = 1_048_576;
/** A shorter credential is a test's; hiding it would hide ordinary words. */
const SHORTEST_SECRET = 8;

/**
 * Calls in flight per provider: submissions; questions (poll, cancel), which hung submissions must not stop; and look-ups of lost
 * submissions, of which an outage leaves many and which must not stop the polls of live ones.
 */
export type Slots = { submits: number; questions: number; finds: number };

export type DeskPlan = {
  adapter: Adapter;
  /** Public base URL, used where the settings name none; `origins` are further hosts that belong to it. */
  publicUrl: string;
  origins: readonly string[];
  settings: { base_url?: string; key?: string };
  slots: Slots;
  /** The socket, unless a world has one of its own. */
  call?: CallProvider;
  traits: Partial<ProviderTraits>;
};

export interface Desk {
  readonly adapter: Adapter;
  readonly traits: ProviderTraits;
  readonly baseUrl: string;
  readonly configured: boolean;
  readonly submits: Pool;
  /** Why this address cannot be called with the provider's key; undefined when it can. */
  barred(address: string): string | undefined;
  /** One call with the credential; an address that is barred is never connected to. */
  ask(request: ProviderRequest, timeoutMs: number, signal: AbortSignal): Promise<Called>;
  /** Runs a question or a look-up in its allowance; `late` when no slot came free within `patienceMs`, or it was given up. */
  inTurn<T>(
    what: "questions" | "finds",
    patienceMs: number | undefined,
    signal: AbortSignal,
    late: T,
    question: () => Promise<T>,
  ): Promise<T>;
}

/** Providers repeat a credential they do not like; from here on nobody sees it. */
const withoutKey = (response: ProviderResponse, key: string): ProviderResponse => {
  if (key.length < SHORTEST_SECRET || !response.text.includes(key)) return response;
  const text = response.text.replaceAll(key, "[key]");
  return { ...response, text, json: readJson(text) };
};

/** @throws Error one line, for a credential that cannot be sent. */
export const openDesk = ({ adapter, publicUrl, origins, settings, slots, traits, call = callProvider }: DeskPlan): Desk => {
  const key = settings.key?.trim() || undefined;
  if (key !== undefined && !/^[\x21-\x7e]+$/.test(key))
    throw new Error(`providers.${adapter.id}.key: a credential is one word of printable ASCII; this one cannot be sent`);
  const baseUrl = (settings.base_url ?? publicUrl).replace(/\/+$/, "");
  const home = new Set([baseUrl, ...(settings.base_url === undefined ? origins : [])].map((url) => new URL(url).origin));
  const submits = openPool(slots.submits);
  const pools = { questions: openPool(slots.questions), finds: openPool(slots.finds) };
  const { recovery, findWindowMs, findSettleMs, pollEveryMs, watchMs, resultTtlMs } = adapter;

  const barred = (address: string): string | undefined => {
    if (key === undefined) return "no credential";
    const url = URL.parse(address);
    if (url !== null && url.username === "" && url.password === "" && home.has(url.origin)) return undefined;
    return detailOf("not an address of the provider", url?.host.slice(0, 80));
  };

  return {
    adapter,
    traits: { recovery, findWindowMs, findSettleMs, pollEveryMs, watchMs, resultTtlMs, ...traits },
    baseUrl,
    configured: key !== undefined,
    submits,
    barred,

    async ask(request, timeoutMs, signal) {
      const bar = barred(request.url);
      if (bar !== undefined || key === undefined) return { kind: "not_sent", detail: bar ?? "no credential" };
      const headers = adapter.auth(key);
      const called = await call(request, { headers, timeoutMs, maxBytes: LARGEST_ANSWER, signal });
      return called.kind === "answered" ? { kind: "answered", response: withoutKey(called.response, key) } : called;
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
