// Client of a genrouter service: submits exactly once, waits, and saves the files.
//
// The documentation is served by the service at /docs.
import type { components } from "./api.ts";
import { type Generation, GenerationFailed, GenrouterError, StillRunning } from "./errors.ts";
import { createEvents, type Events } from "./events.ts";
import type { OpenFile, SavedFile } from "./files.ts";
import { createReading, type Quote, type Reading } from "./reading.ts";
import { asJson, type CallOptions, type ClientEnvironment, sendRequest, sleep } from "./request.ts";
import {
  type DeletedFile,
  deleteFile,
  type FilePage,
  type ListOptions,
  listFiles,
  readFile,
  type UploadedFile,
  type UploadOptions,
  uploadFile,
} from "./uploads.ts";

export type { EndUser, EndUserFilter, EndUserLimit, EndUsers } from "./end-users.ts";
export { type ErrorCode, type Generation, GenerationFailed, GenrouterError, StillRunning } from "./errors.ts";
export type { AccountEvent, EventsOptions, GenerationEvent, ListenOptions, WebhookEvent } from "./events.ts";
export type { SavedFile } from "./files.ts";
export type { Balance, GenerationFilter, LedgerEntry, LedgerFilter, Quote, Usage, UsageQuery } from "./reading.ts";
export type { CallOptions, ClientEnvironment } from "./request.ts";
export type { DeletedFile, FilePage, ListOptions, UploadedFile, UploadOptions } from "./uploads.ts";

type Schemas = components["schemas"];
export type Model = Schemas["ModelEntry"];
/** A generation after a cancel request; `cancel_requested_at` is present while its provider may still deliver. */
export type CancelledGeneration = Schemas["CancelledGeneration"];
/** The response to a deletion, with the older backups and the day on which each is deleted. */
export type DeletedGeneration = Schemas["DeletedGeneration"];
/** Fields of a model's input. The model's `options` list its fields and allowed values. */
export type Input = Schemas["Input"];
/** A succeeded generation, whose files are available. */
export type Succeeded = Generation & { status: "succeeded"; output: NonNullable<Generation["output"]>; cost_usd: number };

/** A generation to submit. */
export type Order = {
  /** A model id of `models()`. */
  model: string;
  input: Input;
  /** Skips routes with a higher price: above 0, at most 100. */
  maxCostUsd?: number;
  /** Skips routes that are expected to take longer; after this many seconds no new attempt begins. 1 to 86400. */
  maxWaitS?: number;
};
export type SubmitOptions = CallOptions & {
  /** Default: a new random key. With the same key, another process may repeat the call without a second generation. */
  idempotencyKey?: string | undefined;
  /** The end user for whom the generation is made, 1 to 120 characters. Its limit applies. */
  endUser?: string | undefined;
};
export type WaitOptions = CallOptions & {
  /** Called for every change, including the first and the last state. */
  onUpdate?: ((generation: Generation) => void) | undefined;
  /** Stops waiting after this many seconds; the generation continues. */
  timeoutS?: number | undefined;
  /** Interval between two polls, ms, growing from the first value to the second; default 2000 and 10000. */
  pollMs?: readonly [first: number, most: number] | undefined;
};
export type SaveOptions = CallOptions & {
  /**
   * A file name (further files get -2, -3, …) or a directory; default: the current directory. Symbolic links are followed. A
   * FIFO, a device, or a descriptor such as `/dev/stdout` receives only the first file.
   */
  to?: string | undefined;
  /** Called with the number of bytes of file `n` that are on disk. */
  onBytes?: ((n: number, bytes: number) => void) | undefined;
};

type Reads = Reading & Events;
export type Client = Reads & {
  /** Returns the price, the hold and the expected time of an order, which is not submitted. */
  quote(order: Order, options?: CallOptions): Promise<Quote>;
  /** Submits a generation and returns it as accepted. Retries use the same idempotency key. */
  submit(order: Order, options?: SubmitOptions): Promise<Generation>;
  /** Returns the current state of a generation. */
  poll(id: string, options?: CallOptions): Promise<Generation>;
  /** Cancels a generation. It may still succeed, and is charged then, while `cancel_requested_at` is present. */
  cancel(id: string, options?: CallOptions): Promise<CancelledGeneration>;
  /**
   * Deletes an ended generation: prompt, input, metadata, end user and files are erased. The backups that may still contain them
   * are in the response.
   */
  delete(id: string, options?: CallOptions): Promise<DeletedGeneration>;
  /** Polls until the generation has succeeded. @throws GenerationFailed, StillRunning after `timeoutS` */
  wait(of: string | Generation, options?: WaitOptions): Promise<Succeeded>;
  /** Lists the models that are available now. Needs no key. */
  models(options?: CallOptions): Promise<Model[]>;
  /** Uploads a picture, a clip or sound. Any media field of an input then takes the `id` of the file. */
  upload(file: Blob, options?: UploadOptions): Promise<UploadedFile>;
  /** Lists the uploaded files of the account, newest first. */
  files(options?: ListOptions): Promise<FilePage>;
  /** Returns an uploaded file with a new link. */
  file(id: string, options?: CallOptions): Promise<UploadedFile>;
  /** Deletes an uploaded file. @throws GenrouterError `file_in_use` while a generation that has not ended needs it */
  deleteFile(id: string, options?: CallOptions): Promise<DeletedFile>;
  /** Saves every file of a succeeded generation. A repeated call resumes an interrupted download. */
  download(of: string | Generation, options?: SaveOptions): Promise<SavedFile[]>;
  /** Submits, waits and saves. */
  generate(
    order: Order,
    options?: SubmitOptions & WaitOptions & SaveOptions,
  ): Promise<{ generation: Succeeded; files: SavedFile[] }>;
};

export type ClientOptions = Partial<ClientEnvironment> & {
  /** URL of the service, e.g. `https://api.example.org`. */
  url: string;
  /** API key, `gr_live_…` or `gr_test_…`. Keep it on a server; `models()` needs none. */
  key?: string;
};

const POLL_MS = [2_000, 10_000] as const;
const POLL_GROWTH = 1.3;
/** The duration of a download is practically unlimited; the writer detects stalled connections. */
const MAX_DOWNLOAD_MS = 24 * 3_600_000;

/** The bytes of a text as the characters of a header value, which cannot have others. */
const headerText = (text: string): string => String.fromCharCode(...new TextEncoder().encode(text));

const isOver = ({ status }: Generation): boolean => status === "succeeded" || status === "failed";
const wireOf = ({ model, input, maxCostUsd, maxWaitS }: Order): Schemas["GenerationRequest"] => ({
  model,
  input,
  ...(maxCostUsd === undefined ? {} : { max_cost_usd: maxCostUsd }),
  ...(maxWaitS === undefined ? {} : { max_wait_s: maxWaitS }),
});

/** @throws GenrouterError `bad_url`; untyped callers and unset variables may pass any value. */
const baseOf = (url: unknown): string => {
  if (typeof url === "string" && /^https?:\/\/[^/]/i.test(url) && URL.canParse(url)) return url.replace(/\/+$/, "");
  const shown = JSON.stringify(url) ?? String(url);
  throw new GenrouterError(
    "bad_url",
    `url: ${shown} is not an address; it begins with http:// or https://, like https://api.example.org`,
  );
};

/**
 * Creates a client of the service at `url`. Every method throws GenrouterError if the service rejects the call, and the signal's
 * reason if it is aborted.
 * @throws GenrouterError `bad_url` if `url` is not a valid URL.
 */
export const createClient = ({ url, key, ...given }: ClientOptions): Client => {
  const base = baseOf(url);
  const world: ClientEnvironment = {
    fetch: given.fetch ?? ((at, init) => fetch(at, init)),
    sleep: given.sleep ?? sleep,
    nowMs: given.nowMs ?? Date.now,
    random: given.random ?? Math.random,
  };
  const bearer = (): Record<string, string> => {
    if (!key) throw new GenrouterError("no_key", "this needs an API key: createClient({ url, key })");
    return { authorization: `Bearer ${key}` };
  };
  const pathOf = (id: string) => `${base}/v1/generations/${encodeURIComponent(id)}`;
  const fileAt = (id: string) => `${base}/v1/files/${encodeURIComponent(id)}`;

  const submit: Client["submit"] = async (
    order,
    { idempotencyKey = crypto.randomUUID(), endUser, signal, tries, onRetry } = {},
  ) => {
    const headers = {
      ...{ ...bearer(), "content-type": "application/json", "idempotency-key": idempotencyKey },
      ...(endUser === undefined ? {} : { "genrouter-end-user": headerText(endUser) }),
    };
    const init = { method: "POST", headers, body: JSON.stringify(wireOf(order)) };
    try {
      return await sendRequest(world, { url: `${base}/v1/generations`, init, signal, tries, onRetry }, asJson<Generation>);
    } catch (fault) {
      if (!(fault instanceof GenrouterError)) throw fault;
      const { code, message, status, requestId, retryAfterS, cause } = fault;
      throw new GenrouterError(code, message, { status, requestId, retryAfterS, idempotencyKey, cause });
    }
  };

  const quote: Client["quote"] = async (order, { signal, tries, onRetry } = {}) => {
    const headers = { ...bearer(), "content-type": "application/json" };
    const init = { method: "POST", headers, body: JSON.stringify(wireOf(order)) };
    return sendRequest(world, { url: `${base}/v1/quotes`, init, signal, tries, onRetry }, asJson<Quote>);
  };

  const poll: Client["poll"] = async (id, { signal, tries, onRetry } = {}) =>
    sendRequest(world, { url: pathOf(id), init: { headers: bearer() }, signal, tries, onRetry }, asJson<Generation>);

  const cancel: Client["cancel"] = async (id, { signal, tries, onRetry } = {}) => {
    const init = { method: "POST", headers: bearer() };
    return sendRequest(world, { url: `${pathOf(id)}/cancel`, init, signal, tries, onRetry }, asJson<CancelledGeneration>);
  };

  const remove: Client["delete"] = async (id, { signal, tries, onRetry } = {}) => {
    const init = { method: "DELETE", headers: bearer() };
    return sendRequest(world, { url: pathOf(id), init, signal, tries, onRetry }, asJson<DeletedGeneration>);
  };

  const wait: Client["wait"] = async (of, { onUpdate, timeoutS, pollMs: [first, most] = POLL_MS, ...options } = {}) => {
    const startMs = world.nowMs();
    let shown = "";
    const see = (generation: Generation): Generation => {
      // Links change with every poll and are ignored.
      const text = JSON.stringify({ ...generation, output: null });
      if (text !== shown) onUpdate?.(generation);
      shown = text;
      return generation;
    };
    let current = see(typeof of === "string" ? await poll(of, options) : of);
    for (let pause = first; !isOver(current); pause = Math.min(most, pause * POLL_GROWTH)) {
      const leftMs = timeoutS === undefined ? Number.POSITIVE_INFINITY : startMs + timeoutS * 1000 - world.nowMs();
      if (leftMs <= 0) throw new StillRunning(current, timeoutS ?? 0);
      // Jitter spreads the polls of clients that were started at the same time.
      await world.sleep(Math.min(leftMs, pause * (0.8 + 0.4 * world.random())), options.signal);
      current = see(await poll(current.id, options));
    }
    if (current.status === "failed") throw new GenerationFailed(current);
    return current as Succeeded;
  };

  const openFileOf =
    (id: string, { tries, onRetry }: CallOptions): OpenFile =>
    async (n, from, signal) => {
      const range: Record<string, string> = from > 0 ? { range: `bytes=${from}-` } : {};
      const open = (at: string, headers: Record<string, string>) => {
        const init = { headers: { ...headers, ...range } };
        return sendRequest(world, { url: at, init, signal, tries, onRetry, longestMs: MAX_DOWNLOAD_MS }, (response) =>
          Promise.resolve(response),
        );
      };
      const response = await open(`${pathOf(id)}/content${n === 1 ? "" : `/${n}`}`, bearer());
      const location = response.headers.get("location");
      // A redirect leads to a signed link of another host, which must not receive the key.
      return response.status >= 300 && location ? open(new URL(location, `${base}/`).href, {}) : response;
    };

  const download: Client["download"] = async (of, options = {}) => {
    const generation = typeof of === "string" ? await poll(of, options) : of;
    if (generation.status === "failed") throw new GenerationFailed(generation);
    if (generation.output === null) throw new StillRunning(generation, 0);
    // Imported on demand, because everything else works without a file system.
    const { saveAll } = await import("./files.ts");
    return saveAll(world, openFileOf(generation.id, options), generation, options);
  };

  return {
    ...createReading(world, base, bearer),
    ...createEvents(world, base, bearer),
    quote,
    submit,
    poll,
    cancel,
    delete: remove,
    wait,
    download,
    upload: async (file, options = {}) => uploadFile(world, { url: `${base}/v1/files`, headers: bearer() }, file, options),
    files: async (options = {}) => listFiles(world, { url: `${base}/v1/files`, headers: bearer() }, options),
    file: async (id, options = {}) => readFile(world, { url: fileAt(id), headers: bearer() }, options),
    deleteFile: async (id, options = {}) => deleteFile(world, { url: fileAt(id), headers: bearer() }, options),
    models: async ({ signal, tries, onRetry } = {}) =>
      (await sendRequest(world, { url: `${base}/v1/models`, init: {}, signal, tries, onRetry }, asJson<Schemas["ModelList"]>))
        .data,
    generate: async (order, options = {}) => {
      const { checkPlace } = await import("./destinations.ts");
      // Rejects an unusable destination before the generation is submitted and charged.
      await checkPlace(options.to);
      const generation = await wait(await submit(order, options), options);
      return { generation, files: await download(generation, options) };
    },
  };
};
