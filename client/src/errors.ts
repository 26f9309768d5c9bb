// The errors of the client: a no of the service, an answer that never came, a generation that failed, a wait that was over.
import type { components } from "./api.ts";

type Schemas = components["schemas"];
/** A generation as the service shows it: https://…/docs#tag/generations. */
export type Generation = Schemas["Generation"];
/** Codes of the service (each has an anchor at `/docs/errors#code`), and those of the client itself. */
export type ErrorCode =
  | Schemas["Error"]["error"]["code"]
  /** The call needs a key and the client was made without one. */
  | "no_key"
  /** What the client was made with is not the address of a service. */
  | "bad_url"
  /** No answer: refused, broken off, or not within a minute. */
  | "unreachable"
  /** An answer that is not the service's own: mostly a proxy in between. */
  | "unexpected_answer"
  /** A file cannot be saved where it was to go. */
  | "unwritable"
  /** A file did not arrive whole, or not with the bytes that its SHA-256 is of, again and again. */
  | "broken_file";

/** A no: of the service, of the way to it, or of the place that files were to go. */
export class GenrouterError extends Error {
  override readonly name = "GenrouterError";
  readonly code: ErrorCode;
  /** HTTP status of the answer that says it; 0 when no answer does. */
  readonly status: number;
  /** What the service's log calls the request; tell it to the operator. */
  readonly requestId: string | null;
  /** Seconds after which the same request may succeed; null when the service did not say. */
  readonly retryAfterS: number | null;
  /** The key of the submission that was refused or lost: submitting with it again never generates twice. */
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

/** The time to wait is over; the generation goes on, and `wait(generation.id)` waits for it again. */
export class StillRunning extends Error {
  override readonly name = "StillRunning";
  readonly generation: Generation;

  constructor(generation: Generation, waitedS: number) {
    super(`${generation.id} is still ${generation.status} after ${waitedS} s; it goes on.`);
    this.generation = generation;
  }
}

/** Seconds of a Retry-After, which may also be a date. */
const retryAfterOf = (header: string | null, nowMs: number): number | null => {
  if (header === null) return null;
  const seconds = /^\s*\d+\s*$/.test(header) ? Number(header) : (Date.parse(header) - nowMs) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : null;
};

/** The error that an answer tells. */
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
    // Not the service's error body: what came instead is told below.
  }
  const said = text.slice(0, 200) || response.statusText || "an empty body";
  return new GenrouterError("unexpected_answer", `HTTP ${response.status}: ${said}`, more);
};
