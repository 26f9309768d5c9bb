// The HTTP client of the command line: submit with retries, poll, list models, open result files.
import type { JsonObject } from "../terms.ts";
import { CommandFault, EXITS, exitOfStatus } from "./exits.ts";

/** A generation as the API shows it (§2.1); only the members used here. */
export type GenerationResource = {
  id: string;
  model: string;
  status: "queued" | "running" | "succeeded" | "failed";
  message?: string;
  output: { urls: string[]; width?: number; height?: number; duration_s?: number; has_audio?: boolean } | null;
  quoted_usd: number;
  reserved_usd?: number | null;
  cost_usd: number | null;
  attempts: number;
  error: { code: string; message: string } | null;
  created_at: string;
  completed_at: string | null;
};
/** An entry of the model list (§2.4). */
export type ModelResource = {
  id: string;
  name?: string;
  maker?: string | null;
  kind?: string;
  tasks?: string[];
  options?: Record<string, JsonObject>;
  price?: { unit?: string; rates?: { when?: JsonObject; usd: number }[] };
};

/** A no of the service: its code and sentence, and the request id to look for in its log. */
export class ApiFault extends CommandFault {
  readonly status: number;
  readonly retryAfterMs: number | undefined;
  constructor(status: number, code: string, message: string, requestId: string | null, retryAfterMs: number | undefined) {
    super(exitOfStatus(status), `${code}: ${message}`, { code, ...(requestId ? { fix: `request id ${requestId}` } : {}) });
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

export type Client = {
  /** Sends once per try, always with the same Idempotency-Key, so that a try whose answer is lost creates nothing twice. */
  submit(body: JsonObject, idempotencyKey: string): Promise<GenerationResource>;
  generation(id: string): Promise<GenerationResource>;
  models(): Promise<ModelResource[]>;
  /** Opens result file `n`, from 1. */
  file(id: string, n: number): Promise<Response>;
};

const LONGEST_ANSWER_MS = 60_000;
const LONGEST_RETRY_AFTER_MS = 30_000;
const SUBMIT_TRIES = 5;

/** A pause that ends early, with the reason thrown, when the signal fires. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, ms);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });

const faultOf = async (response: Response): Promise<ApiFault> => {
  const text = await response.text();
  let code = `http_${response.status}`;
  let message = text.slice(0, 200) || response.statusText || "no explanation";
  try {
    const { error } = JSON.parse(text) as { error: { code: string; message: string } };
    ({ code, message } = error);
  } catch {
    // Not the service's own error body (a proxy in between): the text says what there is to say.
  }
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
  const waitMs = Number.isFinite(seconds) ? Math.min(Math.max(0, seconds) * 1000, LONGEST_RETRY_AFTER_MS) : undefined;
  return new ApiFault(response.status, code, message, response.headers.get("x-request-id"), waitMs);
};

/** Whether the same request may be sent again in the hope of another answer. */
const isPassing = (fault: ApiFault) => fault.status >= 500 || fault.code === "rate_limited";

/**
 * A client of the service at `url`. Every method ends with the signal; a no is thrown as ApiFault, an address that
 * does not answer as CommandFault.
 */
export const openClient = (where: { url: string; key: string | null; signal: AbortSignal }): Client => {
  const base = where.url.replace(/\/+$/, "");
  const bearer = (): Record<string, string> => {
    if (where.key === null)
      throw new CommandFault(EXITS.unauthorized, "no API key: set GENROUTER_API_KEY or pass --key", { code: "no_key" });
    return { authorization: `Bearer ${where.key}` };
  };
  const ask = async (path: string, init: RequestInit, longestMs = LONGEST_ANSWER_MS): Promise<Response> => {
    const signal = AbortSignal.any([where.signal, AbortSignal.timeout(longestMs)]);
    try {
      return await fetch(path.startsWith("http") ? path : base + path, { redirect: "manual", ...init, signal });
    } catch (fault) {
      if (where.signal.aborted) throw where.signal.reason;
      throw new CommandFault(EXITS.failure, `${base} cannot be reached (${fault instanceof Error ? fault.message : fault})`, {
        fix: "is the service running? genrouter serve starts it; --url or GENROUTER_URL says where it is",
        code: "unreachable",
      });
    }
  };
  const json = async <T>(path: string, init: RequestInit): Promise<T> => {
    const response = await ask(path, init);
    if (!response.ok) throw await faultOf(response);
    return (await response.json()) as T;
  };

  return {
    submit: async (body, idempotencyKey) => {
      const init = {
        method: "POST",
        headers: { ...bearer(), "content-type": "application/json", "idempotency-key": idempotencyKey },
        body: JSON.stringify(body),
      };
      for (let tries = 1; ; tries++)
        try {
          return await json<GenerationResource>("/v1/generations", init);
        } catch (fault) {
          const isLost = fault instanceof CommandFault && fault.code === "unreachable";
          const again = isLost || (fault instanceof ApiFault && isPassing(fault));
          if (!again || tries >= SUBMIT_TRIES || (isLost && tries >= 2)) throw fault;
          await pause((fault instanceof ApiFault ? fault.retryAfterMs : undefined) ?? 500 * tries, where.signal);
        }
    },
    generation: (id) => json(`/v1/generations/${encodeURIComponent(id)}`, { headers: bearer() }),
    models: async () => (await json<{ data: ModelResource[] }>("/v1/models", {})).data,
    file: async (id, n) => {
      const path = `/v1/generations/${encodeURIComponent(id)}/content${n === 1 ? "" : `/${n}`}`;
      const longestMs = 3_600_000;
      const response = await ask(path, { headers: bearer() }, longestMs);
      const location = response.headers.get("location");
      // §4.3: a redirect leads to a signed link, which must not see the key.
      const final = response.status === 302 && location ? await ask(new URL(location, base).href, {}, longestMs) : response;
      if (!final.ok) throw await faultOf(final);
      return final;
    },
  };
};
