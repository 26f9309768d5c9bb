// The port to providers: pure adapters, and the calls of the service.
import type {
  Attempt,
  Failure,
  FailureClass,
  FileBytes,
  InputFile,
  Job,
  Json,
  JsonObject,
  MediaKind,
  Pin,
  PinnedCopy,
  ResultFile,
} from "../domain/types.ts";
import type { InlineText } from "./request-body.ts";
import type { InputUpload, Uploaded, UploadFile } from "./uploads.ts";

/** A long string in pieces, and its possible encodings; see `large-strings.ts`. */
type LongText = { pieces: readonly string[]; isBase64: boolean; isHex: boolean };

/** A request as data, without credentials. The provider client adds them when it sends the request. */
export type ProviderRequest = {
  method: "GET" | "POST" | "PUT" | "DELETE";
  url: string;
  headers: Record<string, string>;
  /** Sent as JSON. */
  body?: Json;
  /** Sent as `multipart/form-data` instead of a body. */
  form?: Record<string, string>;
  /** A file: one more part of the form, or the whole body if it has no field. It is never part of the stored request. */
  file?: { field: string | null; name: string; mime: string; bytes: FileBytes };
  /** The files at the placeholders of the body or the form. They are never part of the stored request. */
  files?: ReadonlyMap<string, FileBytes>;
};

/** Which files a form is for: their kinds (absent: all), and the largest of them and of all in one request together, in bytes. */
type FormBounds = { kinds?: readonly MediaKind[]; mostBytes: number; totalBytes?: number };
/** A request contains the encoded file instead of a link. */
export type InlineForm = FormBounds & { as: "inline"; text: InlineText };
/** A file is stored at the provider before the submission, which contains its URL or id. */
export type StorageUpload = FormBounds & {
  as: "upload";
  /** When the provider deletes the file, ms after its upload; absent: unknown. */
  keptMs?: number;
  request(upload: UploadFile, baseUrl: string): ProviderRequest;
  /**
   * The URL or id of the stored file, and the request with its bytes if the first one did not carry them. Undefined if the
   * response does not contain them.
   */
  read(r: ProviderResponse, upload: UploadFile): { value: string; send?: ProviderRequest } | undefined;
};
/** The way a provider receives a file that it cannot download from this service. */
export type UploadForm = InlineForm | StorageUpload;
/** How files reach a provider. */
export type FileTraits = {
  takesLinks: boolean;
  /** In order of preference; a file takes the first form that is for it. */
  forms: readonly (FormBounds & Pick<UploadForm, "as">)[];
};
/**
 * A complete response: headers in lower case, `json` undefined if the body is not JSON. A response that is itself a file has
 * `bytes` and an empty `text`.
 */
export type ProviderResponse = {
  /** Strings of the response that are too long to handle at once, by their placeholders. */
  longTexts?: ReadonlyMap<string, LongText>;
  status: number;
  headers: Record<string, string>;
  json: unknown;
  text: string;
  bytes?: Uint8Array;
};

/** An adapter's view of an attempt. Pure data: the same context always produces the same bytes. */
export type AdapterContext = {
  ref: string;
  /** For the log: the HTTP request that created the generation. */
  requestId?: string;
  /** The route's endpoint, e.g. `bytedance/seedance-2.0`. */
  endpoint: string;
  options: JsonObject;
  /** Base URL of the provider, without a trailing slash. */
  baseUrl: string;
  /** For a lookup: the possible error of the submission time in both directions besides the usual tolerance, ms. */
  clockDoubtMs?: number;
  input: { raw: JsonObject; filled: JsonObject };
  /** The callback URL for the provider; absent if the service has no public URL. */
  callbackUrl?: string;
};

/** How a lost submission is found. `none`: it cannot be found. */
export type Recovery = "key" | "client_id" | "list_marker" | "list_match" | "none";

export type SubmitOutcome =
  | { kind: "accepted"; job: Job }
  /** A synchronous provider: the response contains the result. */
  | { kind: "announced"; job: Job; results: ResultFile[] }
  /** Proves that the provider accepted nothing. */
  | { kind: "rejected"; failure: Failure; isOfAccount?: boolean }
  /** The provider may have a job. */
  | { kind: "ambiguous"; detail: string };

export type PollOutcome =
  | { kind: "pending"; seen: string; retryAfterMs?: number }
  | { kind: "announced"; results: ResultFile[] }
  | { kind: "failed"; failure: Failure }
  /** The provider reports that it does not know the job (404). It counts only if repeated for more than a minute. */
  | { kind: "gone" }
  /** Says nothing about the job: unknown status, 5xx, 429, broken connection. The poll is repeated later. */
  | {
      kind: "unclear";
      detail: string;
      retryAfterMs?: number;
      /**
       * The response reports a fault of the operator's credential or balance. The job is kept, and the route is unusable until
       * the operator fixes it.
       */
      fault?: "config_fault" | "balance";
      isOfAccount?: boolean;
    }
  /**
   * The status address reports completion, and the result is at another address, which `result` requests. `error` is the failure
   * that the status reported, for a result response without a reason.
   */
  | { kind: "ask-result"; error?: string };

export type FindOutcome =
  | { kind: "found"; job: Job }
  /** Absent from a complete list or lookup. This is proof only after the settle time. */
  | { kind: "absent" }
  | { kind: "more"; next: string }
  /** Two candidates, or a response without a conclusion. */
  | { kind: "unclear"; detail: string };

/**
 * A job on a provider's list that may be the lost one. `certain`: it carries our reference. `equal`: its input is exactly ours.
 * `possible`: nothing on the list rules it out, for example because its input was erased.
 */
export type Candidate = { job: Job; match: "certain" | "equal" | "possible" };
/** One filtered page of a provider's list; `next` is null on the last page. */
export type FindPage = { kind: "page"; candidates: Candidate[]; next: string | null } | { kind: "unclear"; detail: string };

/** A job on a provider's list, of any client. `marks`: the values in the field that carries our reference. */
export type ListedJob = { jobId: string; madeAtMs: number | null; marks: readonly string[] };
export type ListPage = { kind: "page"; jobs: ListedJob[]; next: string | null } | { kind: "unclear"; detail: string };
/** All jobs since a time. `none`: the provider has no list of jobs. */
export type ListOutcome = { kind: "listed"; jobs: ListedJob[] } | { kind: "none" } | { kind: "unclear"; detail: string };

/**
 * Translates one provider's dialect. An adapter has no sockets, clocks, retries or secrets; `http-call.ts` and the provider
 * client have them.
 */
export interface Adapter {
  readonly id: string;
  readonly recovery: Recovery;
  /** How long a lost submission can be found after its sending, ms. */
  readonly findWindowMs: number;
  /** How long `absent` must persist before it is proof, ms from the end of the wait for the submission's response. */
  readonly findSettleMs: number;
  /** How long a callback of a lost submission is awaited, ms from its sending, if no lookup exists; absent: not at all. */
  readonly callbackWaitMs?: number;
  /** First and longest interval between polls, ms. */
  readonly pollEveryMs: readonly [number, number];
  /** Shortest interval between polls of a job around its usual end, ms. */
  readonly pollLeastMs: number;
  /** The provider calls an address that a submission names when its job ends. */
  readonly sendsCallbacks?: true;
  /** How long a job can be polled after its submission, ms. */
  readonly watchMs: number;
  /** How long results can be downloaded after their announcement, ms. */
  readonly resultTtlMs: number;
  /**
   * The longest wait for a submission's response, ms; absent: the default of the caller. A synchronous provider works during the
   * whole wait.
   */
  readonly submitMs?: number;
  /** The largest valid response, bytes; absent: the default of the caller. */
  readonly largestAnswer?: number;
  /** A submission's response contains the result, so no job can be polled. */
  readonly answersAtOnce?: true;
  /** Files on the provider's own hosts require its credential. */
  readonly filesNeedKey?: boolean;
  /** Absent: the provider accepts files only as links. */
  readonly uploads?: readonly UploadForm[];
  /** The provider downloads no links; it accepts files only in the forms of `uploads`. */
  readonly takesNoLinks?: true;
  /** The provider's states in which a job may be cancelled; absent: in all. The job is polled first. */
  readonly cancelOnlyIn?: readonly string[];
  /** The header that carries the credential. */
  auth(secret: string, nowMs: number): Record<string, string>;
  submit(c: AdapterContext): ProviderRequest;
  readSubmit(r: ProviderResponse, c: AdapterContext): SubmitOutcome;
  /** `page` is null first, then the `next` of the previous page. */
  find?(c: AdapterContext, sentAtMs: number, page: string | null): ProviderRequest;
  /** For a lookup that one response settles (by our key or id). */
  readFind?(r: ProviderResponse, c: AdapterContext, sentAtMs: number): FindOutcome;
  /** For a list: the candidates on the requested page. The caller checks their ownership and combines the pages. */
  readFindPage?(r: ProviderResponse, c: AdapterContext, sentAtMs: number, page: string | null): FindPage;
  /** Lists all jobs on the route's endpoint since a time, of any client, to reconcile the provider's records with ours. */
  list?(c: AdapterContext, sinceMs: number, page: string | null): ProviderRequest;
  readListPage?(r: ProviderResponse, c: AdapterContext, sinceMs: number, page: string | null): ListPage;
  /** The job that a callback names; undefined if it names none. The callback itself proves nothing. */
  readCallback?(body: Json, c: AdapterContext): Job | undefined;
  /** The class of a credential or balance fault that the provider's own code reports where the status does not. */
  classOf?(r: ProviderResponse): FailureClass | undefined;
  /** Whether the provider's own code blames the whole account where the status (401, 402) does not. */
  isOfAccount?(r: ProviderResponse, phase: "submitting" | "asking"): boolean;
  /** Polls, results and cancels concern the job, so their context has an empty input. */
  poll(job: Job, c: AdapterContext): ProviderRequest;
  readPoll(r: ProviderResponse, job: Job, c: AdapterContext): PollOutcome;
  result?(job: Job, c: AdapterContext): ProviderRequest;
  readResult?(r: ProviderResponse, job: Job, c: AdapterContext): PollOutcome;
  cancel?(job: Job, c: AdapterContext): ProviderRequest;
}

/** An attempt and its input. */
export type Work = {
  attempt: Attempt;
  input: { raw: JsonObject; filled: JsonObject };
  /** Its pinned inputs, if it has any. */
  pins?: readonly Pin[];
  /** The stored files of this service that its input names; absent: none. */
  files?: readonly InputFile[];
  /** The replacement that the provider receives for each link, by link. For a composed request it is stored in the request. */
  given?: Readonly<Record<string, string>>;
  /** `sentAtMs` was read from the clock of another node. */
  sentElsewhere?: boolean;
};

/** Whether a provider accepts the credential. `none`: this cannot be checked without a purchase. */
export type CheckOutcome =
  | { kind: "works"; detail: string }
  | { kind: "refused"; failure: Failure }
  | { kind: "unclear"; detail: string }
  | { kind: "none" };

/** The part of a route that a list needs. */
export type ListedRoute = Pick<AdapterContext, "endpoint" | "options">;

/**
 * The calls to a provider about one attempt. Each call has a total deadline and never throws for faults of the provider or the
 * network.
 */
export interface Providers {
  /** Whether the provider has a base URL and a credential. */
  configured(providerId: string): boolean;
  /**
   * Sets or clears the credential of an account from now on, and returns the ids of its providers. @throws Error one line, for a
   * credential that cannot be sent.
   */
  rekey(account: string, key: string | undefined): string[];
  /**
   * Replaces all credentials, and returns the ids of the providers whose credential changed. @throws Error one line, for a
   * credential that cannot be sent; then all stay unchanged.
   */
  rekeyAll(keys: Readonly<Record<string, { key?: string }>>): string[];
  /** The ids of the providers that use the same credential as this one, including it. */
  sharingKey(providerId: string): string[];
  /** The exact request of an attempt as JSON, without credentials. It is stored on disk before it is sent. */
  compose(task: Work): string;
  /** Waits for a slot of the provider's bulkhead; resolves to the function that returns it. */
  slot(providerId: string, signal: AbortSignal): Promise<() => void>;
  /** Takes a slot if one is free now; otherwise null. */
  trySlot(providerId: string): (() => void) | null;
  /** Sends the composed request of the attempt, byte for byte. The caller holds a slot. */
  submit(task: Work, signal: AbortSignal): Promise<SubmitOutcome>;
  /**
   * Looks up once, with the means of the route, whether a submission was accepted. Returns `unclear` if the provider has no such
   * means. @param only `marked`: a job counts as found only if it carries our reference, not if its input is the same.
   */
  find(task: Work, signal: AbortSignal, only?: "marked"): Promise<FindOutcome>;
  /** Polls the job once, by its id alone (the work has no input); also requests the result if it has another address. */
  poll(task: Work, signal: AbortSignal): Promise<PollOutcome>;
  /**
   * The job that a callback names, which may belong to a submission whose response was lost. It must be polled before it counts.
   */
  jobInCallback(task: Work, body: Json): Job | undefined;
  /** Requests the cancellation of a job; true if the provider confirmed it. The service does not rely on it. */
  cancel(task: Work, signal: AbortSignal): Promise<boolean>;
  /** Reads all pages of the provider's lists for these routes since a time. */
  list(providerId: string, routes: readonly ListedRoute[], sinceMs: number, signal: AbortSignal): Promise<ListOutcome>;
  /** Checks without a purchase whether the provider accepts the credential. */
  check(providerId: string, route: ListedRoute, signal: AbortSignal): Promise<CheckOutcome>;
  traits(providerId: string): ProviderTraits;
  /** The provider's base URL. */
  baseUrlOf(providerId: string): string;
  /** How files reach the provider. */
  fileTraits(providerId: string): FileTraits;
  /** Uploads a file in a form of the dialect, by its position. An upload buys nothing and may be repeated. */
  upload(providerId: string, form: number, upload: InputUpload, signal: AbortSignal): Promise<Uploaded>;
  /** The placeholder in a request for a file whose bytes are inserted in a form of the dialect when the request is sent. */
  placeOf(providerId: string, form: number, file: Pick<PinnedCopy, "n" | "sha256" | "mime">): string;
  /**
   * Headers that a download of a result file needs. Empty unless the provider's files need its credential and the address is on
   * its own hosts.
   */
  fileHeaders(providerId: string, address: string): Record<string, string>;
}

/** The traits of a provider that settle an attempt. */
export type ProviderTraits = Pick<
  Adapter,
  "recovery" | "findWindowMs" | "findSettleMs" | "callbackWaitMs" | "pollEveryMs" | "pollLeastMs" | "watchMs" | "resultTtlMs"
>;
