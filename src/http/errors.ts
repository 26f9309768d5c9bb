// Converts API errors, framework errors and defects to the error body of §2.3.

import { API_ERRORS, ApiError, type ApiErrorCode } from "../domain/api-errors.ts";
import type { Log } from "../logging/events.ts";
import { DatabaseUnavailable } from "../store/errors.ts";
import { answerJson } from "./response.ts";

/** The error body of §2.3 as JSON. */
export const errorJson = (code: ApiErrorCode, message: string): string =>
  JSON.stringify({ error: { code, message: message.toWellFormed() } });

/** Converts an API error to a response, with `Retry-After` if a retry helps and `WWW-Authenticate` for 401. */
export const errorResponse = (error: ApiError, requestId: string): Response => {
  const response = answerJson(error.status, errorJson(error.code, error.message), requestId);
  if (error.retryAfterS !== undefined) response.headers.set("retry-after", String(error.retryAfterS));
  if (error.status === 401) response.headers.set("www-authenticate", 'Bearer realm="genrouter"');
  for (const name in error.headers) response.headers.set(name, error.headers[name] ?? "");
  return response;
};

const SERVER_ERROR = errorJson(
  "server_error",
  "The service had an internal error; repeat the request with the same Idempotency-Key.",
);

const DATABASE_UNAVAILABLE = "The service cannot read its database at present; repeat the request with the same Idempotency-Key.";

/** Stack frames of a defect without its message, because messages may quote request data. At most eight frames. */
const framesOf = (fault: unknown): string =>
  fault instanceof Error
    ? (fault.stack ?? "")
        .split("\n")
        .filter((line) => /^\s+at /.test(line))
        .slice(0, 8)
        .map((line) => line.trim())
        .join(" | ")
    : "";

/** Class and, if present, code of a thrown value, without its message. */
const kindOf = (fault: unknown): string => {
  if (!(fault instanceof Error)) return typeof fault;
  const code = "code" in fault && /^[A-Za-z0-9_]{1,40}$/.test(String(fault.code)) ? `: ${fault.code}` : "";
  return `${fault.constructor.name}${code}`;
};

/** Converts any thrown value to a response. A defect is logged here, and the client gets a generic message. */
export const answerFault = (fault: unknown, requestId: string, log: Log, method: string, route: string): Response => {
  if (fault instanceof ApiError) {
    log("request rejected", { request_id: requestId, method, route, status: fault.status, error_code: fault.code });
    return errorResponse(fault, requestId);
  }
  // No provider was called, and nothing of this request was written.
  if (fault instanceof DatabaseUnavailable)
    return answerFault(new ApiError("busy", DATABASE_UNAVAILABLE), requestId, log, method, route);
  log("request failed", {
    request_id: requestId,
    method,
    route,
    status: API_ERRORS.server_error.status,
    error_code: "server_error",
    reason: kindOf(fault),
    detail: framesOf(fault),
  });
  return answerJson(API_ERRORS.server_error.status, SERVER_ERROR, requestId);
};
