// The port to providers: what an adapter translates (pure, no sockets) and what the rest of the service may ask for.
import type { Attempt, Failure, FailureClass, Job, Json, JsonObject, Pin, PinnedCopy, ResultFile } from "../domain/types.ts";
import type { Uploaded, UploadFile } from "./uploads.ts";

/** A text of many pieces, and what it may be: see `long-texts.ts`. */
type LongText = { pieces: readonly string[]; isBase64: boolean; isHex: boolean };

/** A request as data. Credentials are not part of it; the caller adds them when the socket opens. */
export type ProviderRequest = {
  method: "GET" | "POST" | "PUT" | "DELETE";
  url: string;
  headers: Record<string, string>;
  /** Sent as JSON. */
  body?: Json;
  /** Instead of a body: sent as `multipart/form-data`. */
  form?: Record<string, string>;
  /** A file: one more part of the form, or the whole body where it has no field. Never part of what is written down. */
  file?: { field: string | null; name: string; mime: string; bytes: Blob };
};
/** How a provider gets a file that it cannot fetch from us, and the largest that it takes so, bytes. */
export type Upload = { mostBytes: number } & (
  | { as: "inline"; text: "data_uri" | "base64" }
  | {
      as: "upload";
      request(upload: UploadFile, baseUrl: string): ProviderRequest;
      /** Where the file will be, and where it is to be put where the request did not carry it; undefined when the answer says neither. */
      read(r: ProviderResponse): { url: string; putAt?: string } | undefined;
    }
);
export type UploadTraits = Pick<Upload, "as" | "mostBytes">;
/**
 * An answer read whole: headers in lower case, `json` undefined when the body is not JSON. An answer that is a file itself has `bytes`
 * and an empty `text`.
 */
export type ProviderResponse = {
  /** Texts of the answer that are too long to be handled in one go, by the words that stand in their places. */
  longTexts?: ReadonlyMap<string, LongText>;
  status: number;
  headers: Record<string, string>;
  json: unknown;
  text: string;
  bytes?: Uint8Array;
};

/** What an adapter sees of an attempt. Pure data: the same context always makes the same bytes. */
export type AdapterContext = {
  ref: string;
  /** The request that made its generation: for the log. */
  requestId?: string;
  /** The route's endpoint, e.g. `bytedance/seedance-2.0`. */
  endpoint: string;
  options: JsonObject;
  /** Base URL of the provider, without a slash at its end. */
  baseUrl: string;
  /** For a look-up: how far the time of the sending may be off in both directions, beside the usual slack, ms. */
  clockDoubtMs?: number;
  input: { raw: JsonObject; filled: JsonObject };
  /** Where the provider may tell that something has happened, if the service can be reached from outside. */
  callbackUrl?: string;
};

/** How a lost submission is found again. See shared facts: `none` means it never can be. */
export type Recovery = "key" | "client_id" | "list_marker" | "list_match" | "none";

export type SubmitOutcome =
  | { kind: "accepted"; job: Job }
  /** A synchronous provider: the result is in the answer. */
  | { kind: "announced"; job: Job; results: ResultFile[] }
  /** Proves that nothing was accepted. */
  | { kind: "rejected"; failure: Failure; isOfAccount?: boolean }
  /** A job may exist upstream. */
  | { kind: "ambiguous"; detail: string };

export type PollOutcome =
  | { kind: "pending"; seen: string; retryAfterMs?: number }
  | { kind: "announced"; results: ResultFile[] }
  | { kind: "failed"; failure: Failure }
  /** The provider says that it knows no such job (404). Only repeated, over a minute, is it believed. */
  | { kind: "gone" }
  /** Not an answer about the job: unknown status, 5xx, 429, broken connection. Ask again later. */
  | {
      kind: "unclear";
      detail: string;
      retryAfterMs?: number;
      /** It speaks of the operator's key or balance: the job is kept, and the route is of no use until somebody acts. */
      fault?: "config_fault" | "balance";
      isOfAccount?: boolean;
    }
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

/** A job on a provider's list, whoever made it. `marks`: what it carries in the place of our reference. */
export type ListedJob = { jobId: string; madeAtMs: number | null; marks: readonly string[] };
export type ListPage = { kind: "page"; jobs: ListedJob[]; next: string | null } | { kind: "unclear"; detail: string };
/** All jobs since a time. `none`: the provider has no list that can be asked for without naming one job. */
export type ListOutcome = { kind: "listed"; jobs: ListedJob[] } | { kind: "none" } | { kind: "unclear"; detail: string };

/** Translates one provider's dialect. No sockets, clocks, retries or secrets: those belong to `providers/call.ts`. */
export interface Adapter {
  readonly id: string;
  readonly recovery: Recovery;
  /** How long a lost submission can still be found, ms from its sending. */
  readonly findWindowMs: number;
  /** How long "absent" must hold, counted from when the answer to the submission was given up, before it is proof. */
  readonly findSettleMs: number;
  /** How long a callback of a lost submission is waited for, ms from its sending, where there is no other means; absent: not at all. */
  readonly toldWithinMs?: number;
  /** First and longest pause between polls, ms. */
  readonly pollEveryMs: readonly [number, number];
  /** How long a job can be asked about after its submission, ms. */
  readonly watchMs: number;
  /** How long results can be fetched once announced, ms. */
  readonly resultTtlMs: number;
  /** The longest wait for the answer to a submission, ms; absent: the caller's usual. A synchronous provider works all the time. */
  readonly submitMs?: number;
  /** The largest answer that makes sense, bytes; absent: the caller's usual. */
  readonly largestAnswer?: number;
  /** It answers a submission with what it made: there is no job that could be asked about. */
  readonly answersAtOnce?: true;
  /** Files on the provider's own hosts are given out to who has the key. */
  readonly filesNeedKey?: boolean;
  /** Absent: it takes files by links alone. */
  readonly upload?: Upload;
  /** The provider's words for the states in which a job may be cancelled; absent: in all. Asked about first. */
  readonly cancelOnlyIn?: readonly string[];
  /** The header that carries the credential. */
  auth(secret: string, nowMs: number): Record<string, string>;
  submit(c: AdapterContext): ProviderRequest;
  readSubmit(r: ProviderResponse, c: AdapterContext): SubmitOutcome;
  /** `page` is null first, then the `next` of the page before. */
  find?(c: AdapterContext, sentAtMs: number, page: string | null): ProviderRequest;
  /** For a look-up that one answer settles (by our key or id). */
  readFind?(r: ProviderResponse, c: AdapterContext, sentAtMs: number): FindOutcome;
  /** For a list: what of the page that was asked for could be ours. Who owns what, and the pages together, are judged by the caller. */
  readFindPage?(r: ProviderResponse, c: AdapterContext, sentAtMs: number, page: string | null): FindPage;
  /** Everything that was made on the route's endpoint since a time, whoever made it: to hold the provider's books against ours. */
  list?(c: AdapterContext, sinceMs: number, page: string | null): ProviderRequest;
  readListPage?(r: ProviderResponse, c: AdapterContext, sinceMs: number, page: string | null): ListPage;
  /** The job that a callback names, if it does; the callback itself proves nothing. */
  readCallback?(body: Json, c: AdapterContext): Job | undefined;
  /** What an answer says about the key or the balance in the provider's own codes, where its status does not. */
  classOf?(r: ProviderResponse): FailureClass | undefined;
  /** Whether an answer blames the whole account in the provider's own codes, where its status (401, 402) does not. */
  isOfAccount?(r: ProviderResponse, phase: "submitting" | "asking"): boolean;
  /** Polls, results and cancels are about the job: their context has an empty input. */
  poll(job: Job, c: AdapterContext): ProviderRequest;
  readPoll(r: ProviderResponse, job: Job, c: AdapterContext): PollOutcome;
  result?(job: Job, c: AdapterContext): ProviderRequest;
  readResult?(r: ProviderResponse, job: Job, c: AdapterContext): PollOutcome;
  cancel?(job: Job, c: AdapterContext): ProviderRequest;
}

/** An attempt together with the input it runs on. */
export type Work = {
  attempt: Attempt;
  input: { raw: JsonObject; filled: JsonObject };
  /** Its pinned inputs, where there are any. */
  pins?: readonly Pin[];
  /** What its provider is given in the places of their links, by link; of one that was composed it stands in the request. */
  given?: Readonly<Record<string, string>>;
  /** When it was sent was written down by the clock of another node. */
  sentElsewhere?: boolean;
};

/** Whether a provider takes our key; `none`: that cannot be found out without buying something. */
export type CheckOutcome =
  | { kind: "works"; detail: string }
  | { kind: "refused"; failure: Failure }
  | { kind: "unclear"; detail: string }
  | { kind: "none" };

/** A route as far as a list needs to know it. */
export type ListedRoute = Pick<AdapterContext, "endpoint" | "options">;

/** What the service asks of a provider about one attempt. Every call has a total deadline and never throws for the outside's faults. */
export interface Providers {
  /** Provider ids that have a base URL and a credential. */
  configured(providerId: string): boolean;
  /** Takes another credential of an account, or none, from now on, and says whose it is. @throws Error one line, for one that cannot be sent. */
  rekey(account: string, key: string | undefined): string[];
  /** Takes all credentials anew, and says whose are others now. @throws Error one line, for one that cannot be sent; then all stay. */
  rekeyAll(keys: Readonly<Record<string, { key?: string }>>): string[];
  /** The ids of the providers that go with the same key as this one, itself among them. */
  sharingKey(providerId: string): string[];
  /** The exact request of an attempt as JSON, without credentials: goes to disk before it is sent. */
  compose(task: Work): string;
  /** Waits for a free connection of the provider's pool; resolves to the function that gives it back. */
  slot(providerId: string, signal: AbortSignal): Promise<() => void>;
  /** Sends the composed request of the attempt, byte for byte. The caller holds a slot. */
  submit(task: Work, signal: AbortSignal): Promise<SubmitOutcome>;
  /**
   * Asks once, by the route's own means, whether a submission was accepted. `unclear` for means that do not exist.
   * @param only `marked`: a job counts as found when it carries our reference, not when its input is the same.
   */
  find(task: Work, signal: AbortSignal, only?: "marked"): Promise<FindOutcome>;
  /** Asks once how the job is doing, by its id alone (the work has no input); follows to the result when that is at another address. */
  poll(task: Work, signal: AbortSignal): Promise<PollOutcome>;
  /** The job that a callback names, which may be that of a submission whose answer was lost: to be asked about before it is believed. */
  told(task: Work, body: Json): Job | undefined;
  /** Asks the provider to stop; true when it said yes. Never more than a courtesy. */
  cancel(task: Work, signal: AbortSignal): Promise<boolean>;
  /** Reads the provider's lists for these routes from a time on, whole. */
  list(providerId: string, routes: readonly ListedRoute[], sinceMs: number, signal: AbortSignal): Promise<ListOutcome>;
  /** Finds out without buying anything whether the provider takes our key. */
  check(providerId: string, route: ListedRoute, signal: AbortSignal): Promise<CheckOutcome>;
  traits(providerId: string): ProviderTraits;
  /** Where the provider is. */
  baseUrlOf(providerId: string): string;
  /** How it gets files that it cannot fetch from us; null: not at all. */
  uploadOf(providerId: string): UploadTraits | null;
  /** Brings a file to the provider's own storage, which buys nothing and may be repeated. */
  upload(providerId: string, upload: UploadFile, signal: AbortSignal): Promise<Uploaded>;
  /** What stands in a request in the place of a file whose bytes are put in when it is sent. */
  placeOf(providerId: string, copy: PinnedCopy): string;
  /** Headers that open a result file at an address; none unless the provider's files need its key and are on its own hosts. */
  fileHeaders(providerId: string, address: string): Record<string, string>;
}

/** What the core must know of a provider to settle what happened. */
export type ProviderTraits = Pick<
  Adapter,
  "recovery" | "findWindowMs" | "findSettleMs" | "toldWithinMs" | "pollEveryMs" | "watchMs" | "resultTtlMs"
>;
