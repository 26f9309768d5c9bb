// The client of a genrouter service: submit once whatever happens, wait, save the files. https://…/docs of the service has the rest.
import type { components } from "./api.ts";
import { asJson, ask, type CallOptions, type Surroundings, sleep } from "./asking.ts";
import { type Generation, GenerationFailed, GenrouterError, StillRunning } from "./errors.ts";
import type { OpenFile, SavedFile } from "./files.ts";

export type { CallOptions, Surroundings } from "./asking.ts";
export { type ErrorCode, type Generation, GenerationFailed, GenrouterError, StillRunning } from "./errors.ts";
export type { SavedFile } from "./files.ts";

type Schemas = components["schemas"];
export type Model = Schemas["ModelEntry"];
/** Fields of a model's input; which of them a model takes, and with which values, is in its `options`. */
export type Input = Schemas["CommonInput"] | Schemas["ExtendedInput"];
/** A generation that has succeeded: its files are there. */
export type Succeeded = Generation & { status: "succeeded"; output: NonNullable<Generation["output"]>; cost_usd: number };

/** What to generate. */
export type Order = {
  /** A model id of `models()`. */
  model: string;
  input: Input;
  /** Skips routes priced above it: above 0, at most 100. */
  maxCostUsd?: number;
  /** Skips routes expected to take longer; after so many seconds no new one begins. 1 to 86400. */
  maxWaitS?: number;
};
export type SubmitOptions = CallOptions & {
  /** Made anew when absent. With your own, the same call may be repeated by another process: one generation is made. */
  idempotencyKey?: string | undefined;
};
export type WaitOptions = CallOptions & {
  /** Told of every change, the first and the last state included. */
  onUpdate?: ((generation: Generation) => void) | undefined;
  /** Stops waiting after so many seconds; the generation goes on. */
  timeoutS?: number | undefined;
  /** Milliseconds between two polls, growing from the first figure to the second; 2000 and 10000 unless told otherwise. */
  pollMs?: readonly [first: number, most: number] | undefined;
};
export type SaveOptions = CallOptions & {
  /**
   * A file name (further files get -2, -3, …) or a directory; the current directory unless told otherwise. Links are followed; a FIFO, a
   * device, or a descriptor such as `/dev/stdout` is written into, and takes the first file alone.
   */
  to?: string | undefined;
  /** Told how many bytes of file `n` are on disk. */
  onBytes?: ((n: number, bytes: number) => void) | undefined;
};

export type Client = {
  /** Submits and returns the generation as accepted. Sent again with the same key until there is an answer. */
  submit(order: Order, options?: SubmitOptions): Promise<Generation>;
  /** The generation as it is now. */
  poll(id: string, options?: CallOptions): Promise<Generation>;
  /** Polls until it has succeeded. @throws GenerationFailed, StillRunning after `timeoutS` */
  wait(of: string | Generation, options?: WaitOptions): Promise<Succeeded>;
  /** The models that can be generated with at this moment. Needs no key. */
  models(options?: CallOptions): Promise<Model[]>;
  /** Saves every file of a generation that has succeeded. Called again after a break, it goes on where that was. */
  download(of: string | Generation, options?: SaveOptions): Promise<SavedFile[]>;
  /** All of it: submits, waits, saves. */
  generate(
    order: Order,
    options?: SubmitOptions & WaitOptions & SaveOptions,
  ): Promise<{ generation: Succeeded; files: SavedFile[] }>;
};

export type ClientOptions = Partial<Surroundings> & {
  /** Address of the service, e.g. `https://api.example.org`. */
  url: string;
  /** API key, `gr_live_…` or `gr_test_…`. Keep it on a server; `models()` needs none. */
  key?: string;
};

const POLL_MS = [2_000, 10_000] as const;
const POLL_GROWTH = 1.3;
/** A download may take as long as it likes once it has begun; its silence is watched where it is written. */
const LONGEST_DOWNLOAD_MS = 24 * 3_600_000;

const isOver = ({ status }: Generation): boolean => status === "succeeded" || status === "failed";
const wireOf = ({ model, input, maxCostUsd, maxWaitS }: Order): Schemas["GenerationRequest"] => ({
  model,
  input,
  ...(maxCostUsd === undefined ? {} : { max_cost_usd: maxCostUsd }),
  ...(maxWaitS === undefined ? {} : { max_wait_s: maxWaitS }),
});

/** @throws GenrouterError `bad_url`; programs without types and unset variables come here with anything. */
const baseOf = (url: unknown): string => {
  if (typeof url === "string" && /^https?:\/\/[^/]/i.test(url) && URL.canParse(url)) return url.replace(/\/+$/, "");
  const shown = JSON.stringify(url) ?? String(url);
  throw new GenrouterError(
    "bad_url",
    `url: ${shown} is not an address; it begins with http:// or https://, like https://api.example.org`,
  );
};

/**
 * A client of the service at `url`. Every method throws GenrouterError for a no, and the signal's reason when it is aborted.
 * @throws GenrouterError `bad_url` at once, when that is no address.
 */
export const createClient = ({ url, key, ...given }: ClientOptions): Client => {
  const base = baseOf(url);
  const world: Surroundings = {
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

  const submit: Client["submit"] = async (order, { idempotencyKey = crypto.randomUUID(), signal, tries, onRetry } = {}) => {
    const headers = { ...bearer(), "content-type": "application/json", "idempotency-key": idempotencyKey };
    const init = { method: "POST", headers, body: JSON.stringify(wireOf(order)) };
    try {
      return await ask(world, { url: `${base}/v1/generations`, init, signal, tries, onRetry }, asJson<Generation>);
    } catch (fault) {
      if (!(fault instanceof GenrouterError)) throw fault;
      const { code, message, status, requestId, retryAfterS, cause } = fault;
      throw new GenrouterError(code, message, { status, requestId, retryAfterS, idempotencyKey, cause });
    }
  };

  const poll: Client["poll"] = async (id, { signal, tries, onRetry } = {}) =>
    ask(world, { url: pathOf(id), init: { headers: bearer() }, signal, tries, onRetry }, asJson<Generation>);

  const wait: Client["wait"] = async (of, { onUpdate, timeoutS, pollMs: [first, most] = POLL_MS, ...options } = {}) => {
    const startMs = world.nowMs();
    let shown = "";
    const see = (generation: Generation): Generation => {
      // Links are new with every poll; they alone are no change.
      const text = JSON.stringify({ ...generation, output: null });
      if (text !== shown) onUpdate?.(generation);
      shown = text;
      return generation;
    };
    let current = see(typeof of === "string" ? await poll(of, options) : of);
    for (let pause = first; !isOver(current); pause = Math.min(most, pause * POLL_GROWTH)) {
      const leftMs = timeoutS === undefined ? Number.POSITIVE_INFINITY : startMs + timeoutS * 1000 - world.nowMs();
      if (leftMs <= 0) throw new StillRunning(current, timeoutS ?? 0);
      // Jitter, so that many clients that were started together do not poll together.
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
        return ask(world, { url: at, init, signal, tries, onRetry, longestMs: LONGEST_DOWNLOAD_MS }, (response) =>
          Promise.resolve(response),
        );
      };
      const response = await open(`${pathOf(id)}/content${n === 1 ? "" : `/${n}`}`, bearer());
      const location = response.headers.get("location");
      // A redirect leads to a signed link of some other host, which must not see the key.
      return response.status >= 300 && location ? open(new URL(location, `${base}/`).href, {}) : response;
    };

  const download: Client["download"] = async (of, options = {}) => {
    const generation = typeof of === "string" ? await poll(of, options) : of;
    if (generation.status === "failed") throw new GenerationFailed(generation);
    if (generation.output === null) throw new StillRunning(generation, 0);
    // Loaded only now: everything else works where there is no file system.
    const { saveAll } = await import("./files.ts");
    return saveAll(world, openFileOf(generation.id, options), generation, options);
  };

  return {
    submit,
    poll,
    wait,
    download,
    models: async ({ signal, tries, onRetry } = {}) =>
      (await ask(world, { url: `${base}/v1/models`, init: {}, signal, tries, onRetry }, asJson<Schemas["ModelList"]>)).data,
    generate: async (order, options = {}) => {
      const { checkPlace } = await import("./places.ts");
      // A place that cannot work is told before anything is generated and charged.
      await checkPlace(options.to);
      const generation = await wait(await submit(order, options), options);
      return { generation, files: await download(generation, options) };
    },
  };
};
