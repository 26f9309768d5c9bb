// API errors: the codes of §7 in order of precedence, with status and retry time.
//
// The credit check (402) is in `../store/decide/admission.ts`, inside the transaction that holds the credits;
// `../generations/submit.ts` writes its message.

type ApiErrorRule = { status: number; when: string; retryAfterS?: number };

/**
 * Order = precedence: the first applicable error is returned. One exception: concurrency_limit and insufficient_credits precede
 * all errors that require linked files, because links are opened only for callers who can pay and have capacity.
 */
export const API_ERRORS = {
  not_found: { status: 404, when: "No such path, no generation with this id on the account, or fewer files than n." },
  unauthorized: { status: 401, when: "The API key is missing or invalid." },
  account_disabled: { status: 403, when: "The account is paused." },
  generation_not_enabled: {
    status: 403,
    when: "The key can read prices and generations but cannot generate, or not with this model.",
  },
  rate_limited: { status: 429, when: "Too many requests in the same second from one account.", retryAfterS: 1 },
  body_too_large: { status: 413, when: "The body is over 1 MB (1,048,576 bytes), or a file is over limits.upload_bytes." },
  invalid_request: { status: 400, when: "The body is not a JSON object, or its envelope is wrong." },
  idempotency_conflict: { status: 409, when: "The Idempotency-Key was already used with a different body." },
  restarting: { status: 503, when: "The service is starting or draining.", retryAfterS: 5 },
  busy: {
    status: 503,
    when: "The service is overloaded, its disk is full, or no sandbox process is free.",
    retryAfterS: 2,
  },
  model_not_available: { status: 422, when: "No model with this id can be run here." },
  invalid_input: {
    status: 422,
    when: "A field, value or combination that the model does not take, or media that cannot be read.",
  },
  max_cost_exceeded: { status: 422, when: "Every route costs more than max_cost_usd." },
  model_unavailable: { status: 503, when: "Every route of the model is down at the moment.", retryAfterS: 10 },
  concurrency_limit: {
    status: 429,
    when: "The account has its maximum number of generations, of uploads or of event streams in progress; 423: another request appends to the upload.",
    retryAfterS: 5,
  },
  insufficient_credits: {
    status: 402,
    when: "The available balance, or what the key or the end user may still spend, does not cover the reserve, or a debt is open.",
  },
  already_ended: { status: 409, when: "The generation to cancel has ended otherwise." },
  not_ended: { status: 409, when: "The generation to delete has not ended." },
  upload_quota_exceeded: {
    status: 409,
    when: "The account would store more bytes than limits.upload_quota_bytes, or more files than limits.upload_files.",
  },
  file_in_use: { status: 409, when: "A generation that has not ended needs the file." },
  not_ready: { status: 409, when: "The file was requested before the generation succeeded." },
  server_error: { status: 500, when: "A fault of the service; safe to retry with the same Idempotency-Key." },
} as const satisfies Record<string, ApiErrorRule>;

export type ApiErrorCode = keyof typeof API_ERRORS;

/** An error that the caller can act on. `message` names the field and what is allowed. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly code: ApiErrorCode;
  readonly status: number;
  /** Seconds for `Retry-After`; undefined if a retry does not help. */
  readonly retryAfterS: number | undefined;
  /** Additional response headers, for example `Allow`. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: ApiErrorCode,
    message: string,
    more: { status?: number; retryAfterS?: number; headers?: Record<string, string> } = {},
  ) {
    super(message);
    const rule: ApiErrorRule = API_ERRORS[code];
    this.code = code;
    this.status = more.status ?? rule.status;
    this.retryAfterS = more.retryAfterS ?? rule.retryAfterS;
    this.headers = more.headers ?? {};
  }
}

/** Throws by code: `refuse("invalid_input", "input.duration: 20 is not offered; choose 4 to 15")`. */
export const refuse = (code: ApiErrorCode, message: string, more?: ConstructorParameters<typeof ApiError>[2]): never => {
  throw new ApiError(code, message, more);
};

/** Of an unknown path, and of a callback URL that this service did not create. */
export const NO_SUCH_PATH = "No such path. /docs describes the API, and /openapi.json lists every path for programs.";

/** Returned on authentication, and by the ledger for a key that expired meanwhile. */
export const KEY_EXPIRED = "Authorization: this API key has expired; use another, or one made in its place.";

/** The advice of an error to clients that send `max_cost_usd`, which pages do not. */
export const OR_LOWER_MAX_COST = ", or lower max_cost_usd";
