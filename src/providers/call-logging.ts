// Calls to providers as they are told: to which host, how it answered and how long it took; never what was said.
import type { Log } from "../logging/events.ts";
import type { Called, CallProvider } from "./http-call.ts";

/** Why there was no answer, as one of few words: details hold times and codes that would make each its own. */
const errorTypeOf = ({ kind, detail }: Exclude<Called, { kind: "answered" }>): string => {
  if (detail.includes("no whole answer within")) return "timeout";
  if (detail.includes("given up")) return "cancelled";
  return kind === "not_sent" ? "not_sent" : "broken";
};

/** @returns the same calls, each of them told. */
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
