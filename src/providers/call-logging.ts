// Call logging: logs host, status and duration of each provider call, without its content.
import type { Log } from "../logging/events.ts";
import type { Called, CallProvider } from "./http-call.ts";

/**
 * The reason for a missing response, as one of four error types. Details contain times and codes, which would make each value
 * unique.
 */
const errorTypeOf = ({ kind, detail }: Exclude<Called, { kind: "answered" }>): string => {
  if (detail.includes("no whole answer within")) return "timeout";
  if (detail.includes("given up")) return "cancelled";
  return kind === "not_sent" ? "not_sent" : "broken";
};

/** @returns `call`, with one log event for each call. */
export const logCalls =
  (call: CallProvider, log: Log): CallProvider =>
  async (request, rules) => {
    const startedMs = performance.now();
    const called = await call(request, rules);
    const { ref = "", requestId } = rules.about ?? {};
    const [, body, n] = /^(.+)-(\d+)$/.exec(ref) ?? [];
    log("provider call completed", {
      ...(requestId === undefined ? {} : { request_id: requestId }),
      ...(body === undefined ? {} : { generation_id: `gen_${body}`, attempt: Number(n) }),
      host: new URL(request.url).hostname,
      method: request.method,
      dur_ms: performance.now() - startedMs,
      ...(called.kind === "answered"
        ? { status: called.response.status, error_type: called.response.status >= 400 ? String(called.response.status) : "" }
        : { error_type: errorTypeOf(called) }),
    });
    return called;
  };
