// Errors of the client: rejections, lost responses, failed generations and timeouts.
import type { components } from "./api.ts";

type Schemas = components["schemas"];
/** The generation resource: https://…/docs#tag/generations. */
export type Generation = Schemas["Generation"];
/** Codes of the service (each has an anchor at `/docs/errors#code`), and codes of the client itself. */
export type ErrorCode =
  | Schemas["Error"]["error"]["code"]
  /** The call needs a key, and the client was created without one. */
  | "no_key"
  /** The client was created with an invalid URL. */
  | "bad_url"
  /** No response: the connection was refused or lost, or the response took longer than a minute. */
  | "unreachable"
  /** A response that is not from the service, usually from a proxy. */
  | "unexpected_answer"
  /** A file cannot be saved at its destination. */
  | "unwritable"
  /** A file repeatedly arrived incomplete or with bytes that do not match its SHA-256. */
  | "broken_file";

/** An error of the service, of the connection, or of the destination of files. */
export class GenrouterError extends Error {
  override readonly name = "GenrouterError";
  readonly code: ErrorCode;
  /** HTTP status of the error response; 0 without a response. */
  readonly status: number;
  /** Request id in the service's log; report it to the operator. */
  readonly requestId: string | null;
  /** Seconds after which the same request may succeed; null if the service gave none. */
  readonly retryAfterS: number | null;
  /** Idempotency key of the rejected or lost submission; a retry with it never generates twice. */
  readonly idempotencyKey: string | null;

  constructor(
    code: ErrorCode,
    message: string,
    more: {
      status?: number;
      requestId?: string | null;
      retryAfterS?: number | null;
      idempotencyKey?: string | null;
      cause?: unknown;
    } = {},
  ) {
    super(message, more.cause === undefined ? {} : { cause: more.cause });
    this.code = code;
    this.status = more.status ?? 0;
    this.requestId = more.requestId ?? null;
    this.retryAfterS = more.retryAfterS ?? null;
    this.idempotencyKey = more.idempotencyKey ?? null;
  }
}

/** The generation has the status `failed`; nothing was charged. */
export class GenerationFailed extends Error {
  override readonly name = "GenerationFailed";
  readonly generation: Generation;
  readonly code: NonNullable<Generation["error"]>["code"];

  constructor(generation: Generation) {
    super(generation.error?.message ?? "The generation failed.");
    this.generation = generation;
    this.code = generation.error?.code ?? "provider_failed";
  }
}

/** The wait timed out. The generation continues, and `wait(generation.id)` resumes the wait. */
export class StillRunning extends Error {
  override readonly name = "StillRunning";
  readonly generation: Generation;

  constructor(generation: Generation, waitedS: number) {
    super(`${generation.id} is still ${generation.status} after ${waitedS} s; it continues.`);
    this.generation = generation;
  }
}

/** Seconds of a Retry-After header, which may also be a date. */
const retryAfterOf = (header: string | null, nowMs: number): number | null => {
  if (header === null) return null;
  const seconds = /^\s*\d+\s*$/.test(header) ? Number(header) : (Date.parse(header) - nowMs) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : null;
};

/** Converts an error response to an error. */
export const errorOf = async (response: Response, nowMs: number): Promise<GenrouterError> => {
  const text = await response.text().catch(() => "");
  const more = {
    status: response.status,
    requestId: response.headers.get("x-request-id"),
    retryAfterS: retryAfterOf(response.headers.get("retry-after"), nowMs),
  };
  try {
    const { error } = JSON.parse(text) as Schemas["Error"];
    if (typeof error.code === "string" && typeof error.message === "string")
      return new GenrouterError(error.code, error.message, more);
  } catch {
    // Not an error body of the service; the response itself is reported below.
  }
  const said = text.slice(0, 200) || response.statusText || "an empty body";
  return new GenrouterError("unexpected_answer", `HTTP ${response.status}: ${said}`, more);
};
