// The port to providers: what an adapter translates (pure, no sockets) and what the rest of the service may ask for.
import type { Attempt, Failure, Job, JsonObject, ResultFile } from "../terms.ts";

/** A request as data. Credentials are not part of it; the caller adds them when the socket opens. */
export type ProviderRequest = {
  method: "GET" | "POST" | "PUT" | "DELETE";
  url: string;
  headers: Record<string, string>;
  body?: JsonObject;
};
/** An answer read whole: headers in lower case, `json` undefined when the body is not JSON. */
export type ProviderResponse = { status: number; headers: Record<string, string>; json: unknown; text: string };

/** What an adapter sees of an attempt. Pure data: the same context always makes the same bytes. */
export type AdapterContext = {
  ref: string;
  /** The route's endpoint, e.g. `bytedance/seedance-2.0`. */
  endpoint: string;
  options: JsonObject;
  /** Base URL of the provider, without a slash at its end. */
  baseUrl: string;
  /** For a look-up: how far the time of the sending may be off in both directions, beside the usual slack, ms. */
  clockDoubtMs?: number;
  input: { raw: JsonObject; filled: JsonObject };
};

/** How a lost submission is found again. See shared facts: `none` means it never can be. */
export type Recovery = "key" | "client_id" | "list_marker" | "list_match" | "none";

export type SubmitOutcome =
  | { kind: "accepted"; job: Job }
  /** A synchronous provider: the result is in the answer. */
  | { kind: "announced"; job: Job; results: ResultFile[] }
  /** Proves that nothing was accepted. */
  | { kind: "rejected"; failure: Failure }
  /** A job may exist upstream. */
  | { kind: "ambiguous"; detail: string };

export type PollOutcome =
  | { kind: "pending"; seen: string; retryAfterMs?: number }
  | { kind: "announced"; results: ResultFile[] }
  | { kind: "failed"; failure: Failure }
  /** The provider says that it knows no such job (404). Only repeated, over a minute, is it believed. */
  | { kind: "gone" }
  /** Not an answer about the job: unknown status, 5xx, 429, broken connection. Ask again later. */
  | { kind: "unclear"; detail: string; retryAfterMs?: number }
  /**
   * COMPLETED at the status address, but the result is at another: ask `result`. `error` is what the status said went
   * wrong, for the case that the result's answer does not say it.
   */
  | { kind: "ask-result"; error?: string };

export type FindOutcome =
  | { kind: "found"; job: Job }
  /** Not there, and the list or look-up was complete. Proof only after the settle time. */
  | { kind: "absent" }
  | { kind: "more"; next: string }
  /** Two candidates, or an answer that says nothing. */
  | { kind: "unclear"; detail: string };

/**
 * A job on a provider's list that may be the one looked for. `certain`: it carries our reference. `equal`: its input is
 * exactly ours. `possible`: nothing on the list rules it out, for example because its input was erased.
 */
export type Candidate = { job: Job; match: "certain" | "equal" | "possible" };
/** One page of a provider's list, sifted; `next` is null on the last. */
export type FindPage = { kind: "page"; candidates: Candidate[]; next: string | null } | { kind: "unclear"; detail: string };

/** Translates one provider's dialect. No sockets, clocks, retries or secrets: those belong to `providers/call.ts`. */
export interface Adapter {
  readonly id: string;
  readonly recovery: Recovery;
  /** How long a lost submission can still be found, ms from its sending. */
  readonly findWindowMs: number;
  /** How long "absent" must hold, counted from the sending, before it is proof. */
  readonly findSettleMs: number;
  /** First and longest pause between polls, ms. */
  readonly pollEveryMs: readonly [number, number];
  /** How long a job can be asked about after its submission, ms. */
  readonly watchMs: number;
  /** How long results can be fetched once announced, ms. */
  readonly resultTtlMs: number;
  /** The header that carries the credential. */
  auth(secret: string): Record<string, string>;
  submit(c: AdapterContext): ProviderRequest;
  readSubmit(r: ProviderResponse, c: AdapterContext): SubmitOutcome;
  /** `page` is null first, then the `next` of the page before. */
  find?(c: AdapterContext, sentAtMs: number, page: string | null): ProviderRequest;
  /** For a look-up that one answer settles (by our key or id). */
  readFind?(r: ProviderResponse, c: AdapterContext, sentAtMs: number): FindOutcome;
  /** For a list: what of this page could be ours. Who owns what, and the pages together, are judged by the caller. */
  readFindPage?(r: ProviderResponse, c: AdapterContext, sentAtMs: number): FindPage;
  /** Polls, results and cancels are about the job: their context has an empty input. */
  poll(job: Job, c: AdapterContext): ProviderRequest;
  readPoll(r: ProviderResponse, job: Job, c: AdapterContext): PollOutcome;
  result?(job: Job, c: AdapterContext): ProviderRequest;
  readResult?(r: ProviderResponse, job: Job, c: AdapterContext): PollOutcome;
  cancel?(job: Job, c: AdapterContext): ProviderRequest;
}

/** An attempt together with the input it runs on. */
export type Work = { attempt: Attempt; input: { raw: JsonObject; filled: JsonObject } };

/** What the service asks of a provider about one attempt. Every call has a total deadline and never throws for the outside's faults. */
export interface Providers {
  /** Provider ids that have a base URL and a credential. */
  configured(providerId: string): boolean;
  /** The exact request of an attempt as JSON, without credentials: goes to disk before it is sent. */
  compose(errand: Work): string;
  /** Waits for a free connection of the provider's pool; resolves to the function that gives it back. */
  slot(providerId: string, signal: AbortSignal): Promise<() => void>;
  /** Sends the composed request of the attempt, byte for byte. The caller holds a slot. */
  submit(errand: Work, signal: AbortSignal): Promise<SubmitOutcome>;
  /**
   * Asks once, by the route's own means, whether a submission was accepted. `unclear` for means that do not exist.
   * @param only `marked`: a job counts as found when it carries our reference, not when its input is the same.
   */
  find(errand: Work, signal: AbortSignal, only?: "marked"): Promise<FindOutcome>;
  /** Asks once how the job is doing, by its id alone (the work has no input); follows to the result when that is at another address. */
  poll(errand: Work, signal: AbortSignal): Promise<PollOutcome>;
  /** Asks the provider to stop; true when it said yes. Never more than a courtesy. */
  cancel(errand: Work, signal: AbortSignal): Promise<boolean>;
  traits(providerId: string): ProviderTraits;
}

/** What the core must know of a provider to settle what happened. */
export type ProviderTraits = Pick<
  Adapter,
  "recovery" | "findWindowMs" | "findSettleMs" | "pollEveryMs" | "watchMs" | "resultTtlMs"
>;
