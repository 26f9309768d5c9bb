// Every no as it leaves: refusals, framework faults and defects become the error body of §2.3.

import { ApiError, REFUSALS, type RefusalCode } from "../domain/api-errors.ts";
import type { Log } from "../logging/events.ts";
import { DatabaseUnavailable } from "../store/errors.ts";
import { answerJson } from "./response.ts";

/** The error body of §2.3 as JSON. */
export const errorJson = (code: RefusalCode, message: string): string =>
  JSON.stringify({ error: { code, message: message.toWellFormed() } });

/** A refusal as an answer, with `Retry-After` where waiting helps and `WWW-Authenticate` on 401. */
export const answerRefusal = (refusal: ApiError, requestId: string): Response => {
  const response = answerJson(refusal.status, errorJson(refusal.code, refusal.message), requestId);
  if (refusal.retryAfterS !== undefined) response.headers.set("retry-after", String(refusal.retryAfterS));
  if (refusal.status === 401) response.headers.set("www-authenticate", 'Bearer realm="genrouter"');
  for (const name in refusal.headers) response.headers.set(name, refusal.headers[name] ?? "");
  return response;
};

const SERVER_ERROR = errorJson(
  "server_error",
  "The service made a mistake; the same request with the same Idempotency-Key may be sent again.",
);

const AWAY = "The service cannot read its books at the moment; send the same request again with the same Idempotency-Key.";

/** Where a defect happened, without its message: messages may quote what the caller sent. At most eight frames. */
const framesOf = (fault: unknown): string =>
  fault instanceof Error
    ? (fault.stack ?? "")
        .split("\n")
        .filter((line) => /^\s+at /.test(line))
        .slice(0, 8)
        .map((line) => line.trim())
        .join(" | ")
    : "";

/** What was thrown, without its message: its class, and its code where it has one. */
const kindOf = (fault: unknown): string => {
  if (!(fault instanceof Error)) return typeof fault;
  const code = "code" in fault && /^[A-Za-z0-9_]{1,40}$/.test(String(fault.code)) ? `: ${fault.code}` : "";
  return `${fault.constructor.name}${code}`;
};

/** Whatever was thrown, as an answer. A defect is logged here and tells the caller nothing but that it happened. */
export const answerFault = (fault: unknown, requestId: string, log: Log, method: string, route: string): Response => {
  if (fault instanceof ApiError) {
    log("request rejected", { request_id: requestId, method, route, status: fault.status, error_code: fault.code });
    return answerRefusal(fault, requestId);
  }
  // Nothing was asked of a provider, and nothing of this request was written.
  if (fault instanceof DatabaseUnavailable) return answerFault(new ApiError("busy", AWAY), requestId, log, method, route);
  log("request failed", {
    request_id: requestId,
    method,
    route,
    status: REFUSALS.server_error.status,
    error_code: "server_error",
    reason: kindOf(fault),
    detail: framesOf(fault),
  });
  return answerJson(REFUSALS.server_error.status, SERVER_ERROR, requestId);
};
