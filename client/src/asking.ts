// One request until it is answered: again after Retry-After or a growing pause when the no may pass, never for ever.
import { errorOf, GenrouterError } from "./errors.ts";

/** What the client needs of the world. Tests give their own, so that no test waits. */
export type Surroundings = {
  fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** Resolves after so many milliseconds; rejects with the signal's reason as soon as it aborts. */
  sleep: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
  nowMs: () => number;
  /** From 0 to below 1. */
  random: () => number;
};

/** How long and how often one call may go on. */
export type CallOptions = {
  /** Ends the call; its reason is thrown. What was submitted goes on. */
  signal?: AbortSignal | undefined;
  /** How often one request is sent at most, 10 unless told otherwise: about a minute. */
  tries?: number | undefined;
  /** Told of every answer that passes, before the pause after it. */
  onRetry?: ((error: GenrouterError, pauseMs: number) => void) | undefined;
};

type Wish = CallOptions & { url: string; init: RequestInit; longestMs?: number };

const TRIES = 10;
const LONGEST_ANSWER_MS = 60_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;
/** A service that wants to be left alone for longer is the caller's to wait for. */
const LONGEST_RETRY_AFTER_S = 60;

export const sleep: Surroundings["sleep"] = (ms, signal) =>
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

/** Whether the same request may be answered otherwise a little later. */
const mayPass = (error: GenrouterError): boolean =>
  error.code === "unreachable" || error.status === 429 || (error.status >= 500 && error.status !== 501);

/** The pause before try `sent` + 1. Jitter, so that clients that were refused together do not come back together. */
export const pauseMs = (sent: number, retryAfterS: number | null, random: () => number): number => {
  if (retryAfterS !== null) return retryAfterS * 1000 * (1 + 0.1 * random());
  return Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (sent - 1)) * (0.5 + 0.5 * random());
};

/** One try. @throws GenrouterError; the caller's reason when the caller's signal has ended it. */
const once = async <T>(world: Surroundings, wish: Wish, read: (response: Response) => Promise<T>): Promise<T> => {
  const { url, init, signal, longestMs = LONGEST_ANSWER_MS } = wish;
  const late = AbortSignal.timeout(longestMs);
  try {
    const response = await world.fetch(url, {
      redirect: "manual",
      ...init,
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
 * Sends a request until it is answered with something that does not pass: 429, 5xx and lost connections are tried again.
 * @param read takes the answer, whose status is below 400; what it throws as anything but GenrouterError is a lost connection.
 */
export const ask = async <T>(world: Surroundings, wish: Wish, read: (response: Response) => Promise<T>): Promise<T> => {
  for (let sent = 1; ; sent++)
    try {
      return await once(world, wish, read);
    } catch (fault) {
      if (!(fault instanceof GenrouterError) || !mayPass(fault) || sent >= (wish.tries ?? TRIES)) throw fault;
      if ((fault.retryAfterS ?? 0) > LONGEST_RETRY_AFTER_S) throw fault;
      const ms = pauseMs(sent, fault.retryAfterS, world.random);
      wish.onRetry?.(fault, ms);
      await world.sleep(ms, wish.signal);
    }
};

/** Reads an answer as JSON. */
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
