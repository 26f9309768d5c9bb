// Telemetry: counts and traces log events, and measures HTTP requests.
//
// The components log events and have no reference to metrics or traces.
import type { Log } from "../logging/events.ts";
import type { GaugeReadings } from "./gauge-readings.ts";
import type { About } from "./gauges.ts";
import { createMeter } from "./meter.ts";
import { traceOf } from "./trace-ids.ts";
import { areTracesWanted, createTraces } from "./traces.ts";

/** Receives each response of one endpoint. @param durMs until the response was created */
type SeeAnswer = (request: Request, requestId: string, response: Response, durMs: number) => void;

export type Telemetry = {
  /** Counts and traces the event, and forwards it to the given log. */
  log: Log;
  /** Called once for each endpoint. */
  observe: (route: string) => SeeAnswer;
  /** The metrics in the Prometheus text format. */
  metrics: (standing: GaugeReadings) => Promise<string>;
  /** Sends the pending spans, within a few seconds. */
  flush: () => Promise<void>;
};

/** Endpoints that monitoring requests every few seconds; their spans would outnumber those of clients. */
const UNTRACED: ReadonlySet<string> = new Set(["/metrics", "/healthz", "/readyz"]);

/** The response to a submission names the new generation in its `location` header. */
const LOCATION = "/v1/generations/";
const ACCEPTED = 202;
const madeBy = (response: Response): string | null => {
  const location = response.status === ACCEPTED ? response.headers.get("location") : null;
  return location?.startsWith(LOCATION) ? location.slice(LOCATION.length) : null;
};

/** @param env of the process; OpenTelemetry's standard variables enable traces. */
export const createTelemetry = (log: Log, env: Readonly<Record<string, string | undefined>>, about: About): Telemetry => {
  const meter = createMeter(about);
  const isTraced = areTracesWanted(env);
  const counting: Log = (event, fields = {}) => {
    meter.count(event, fields);
    const { generation_id } = fields;
    // The trace id in a log line leads to the spans of its generation.
    if (isTraced && generation_id !== undefined) log(event, { ...fields, trace_id: traceOf(generation_id).traceId });
    else log(event, fields);
  };
  const traces = isTraced ? createTraces(env, about.version, counting) : undefined;
  return {
    log: traces
      ? (event, fields = {}) => {
          counting(event, fields);
          traces.report(event, fields);
        }
      : counting,
    observe: (route) => {
      const count = meter.requests(route);
      if (!traces || UNTRACED.has(route))
        return (request, _requestId, response, durMs) => count(request.method, response.status, durMs);
      return (request, requestId, response, durMs) => {
        const { method } = request;
        const { status } = response;
        count(method, status, durMs);
        const traceparent = request.headers.get("traceparent");
        traces.answered({
          method,
          route,
          status,
          requestId,
          endedMs: Date.now(),
          durMs,
          traceparent,
          generationId: madeBy(response),
        });
      };
    },
    metrics: meter.print,
    flush: async () => traces?.flush(),
  };
};
