// Sends one request and retries transient errors with Retry-After or exponential backoff.
//
// The number of tries is bounded.
import { errorOf, GenrouterError } from "./errors.ts";

/** Dependencies of the client on its environment. Tests replace them to avoid waiting. */
export type ClientEnvironment = {
  fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** Resolves after `ms` milliseconds; rejects with the signal's reason as soon as it aborts. */
  sleep: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
  nowMs: () => number;
  /** A number from 0 to below 1. */
  random: () => number;
};

/** Duration and retries of one call. */
export type CallOptions = {
  /** Aborts the call with its reason. A submitted generation continues. */
  signal?: AbortSignal | undefined;
  /** Maximum number of tries of one request; default 10, which takes about a minute. */
  tries?: number | undefined;
  /** Called for every transient error, before the pause that follows it. */
  onRetry?: ((error: GenrouterError, pauseMs: number) => void) | undefined;
};

/** `init`: a function creates it again for each try, for a body that can be read once. */
type RequestPlan = CallOptions & { url: string; init: RequestInit | (() => RequestInit); longestMs?: number };

const TRIES = 10;
const MAX_ANSWER_MS = 60_000;
const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 10_000;
/** If Retry-After is longer, the error is thrown and the caller decides when to retry. */
const MAX_RETRY_AFTER_S = 60;

export const sleep: ClientEnvironment["sleep"] = (ms, signal) =>
  new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });

/** True if the same request may succeed later. */
const mayPass = (error: GenrouterError): boolean =>
  error.code === "unreachable" || error.status === 429 || (error.status >= 500 && error.status !== 501);

/** Pause before try `sent` + 1. Jitter spreads the retries of clients that were rejected at the same time. */
export const pauseMs = (sent: number, retryAfterS: number | null, random: () => number): number => {
  if (retryAfterS !== null) return retryAfterS * 1000 * (1 + 0.1 * random());
  return Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (sent - 1)) * (0.5 + 0.5 * random());
};

/** One try. @throws GenrouterError, or the reason of the caller's signal if it aborted. */
const once = async <T>(world: ClientEnvironment, plan: RequestPlan, read: (response: Response) => Promise<T>): Promise<T> => {
  const { url, init, signal, longestMs = MAX_ANSWER_MS } = plan;
  const late = AbortSignal.timeout(longestMs);
  try {
    const response = await world.fetch(url, {
      redirect: "manual",
      ...(typeof init === "function" ? init() : init),
      signal: signal ? AbortSignal.any([signal, late]) : late,
    });
    if (response.status >= 400) throw await errorOf(response, world.nowMs());
    return await read(response);
  } catch (fault) {
    if (signal?.aborted) throw signal.reason;
    if (fault instanceof GenrouterError) throw fault;
    const { origin } = new URL(url);
    const why = late.aborted ? `no answer within ${longestMs / 1000} s` : fault instanceof Error ? fault.message : String(fault);
    throw new GenrouterError("unreachable", `${origin} cannot be reached (${why})`, { cause: fault });
  }
};

/**
 * Sends a request until it succeeds or fails permanently: 429, 5xx except 501, and lost connections are retried.
 * @param read reads a response with a status below 400; every error except GenrouterError counts as a lost connection.
 */
export const sendRequest = async <T>(
  world: ClientEnvironment,
  plan: RequestPlan,
  read: (response: Response) => Promise<T>,
): Promise<T> => {
  for (let sent = 1; ; sent++)
    try {
      return await once(world, plan, read);
    } catch (fault) {
      if (!(fault instanceof GenrouterError) || !mayPass(fault) || sent >= (plan.tries ?? TRIES)) throw fault;
      if ((fault.retryAfterS ?? 0) > MAX_RETRY_AFTER_S) throw fault;
      const ms = pauseMs(sent, fault.retryAfterS, world.random);
      plan.onRetry?.(fault, ms);
      await world.sleep(ms, plan.signal);
    }
};

/** Reads a response as JSON. */
export const asJson = async <T>(response: Response): Promise<T> => {
  const text = await response.text();
  try {
    return JSON.parse(text) as T;
  } catch {
    throw new GenrouterError("unexpected_answer", `HTTP ${response.status}: ${text.slice(0, 200) || "an empty body"}`, {
      status: response.status,
      requestId: response.headers.get("x-request-id"),
    });
  }
};
