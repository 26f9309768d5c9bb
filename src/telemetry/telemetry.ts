// Telemetry: what passes through the log is counted and traced, and what the door answers is timed; rooms know of neither.
import type { Log } from "../logging/events.ts";
import type { GaugeReadings } from "./gauge-readings.ts";
import type { About } from "./gauges.ts";
import { createMeter } from "./meter.ts";
import { traceOf } from "./trace-ids.ts";
import { areTracesWanted, createTraces } from "./traces.ts";

/** Told of each answer of one path. @param durMs until the answer was made */
type SeeAnswer = (request: Request, requestId: string, response: Response, durMs: number) => void;

export type Telemetry = {
  /** Counts, traces, and hands on to the log it was opened with. */
  log: Log;
  /** Asked once for each path of the table. */
  observe: (route: string) => SeeAnswer;
  /** The text for Prometheus. */
  metrics: (standing: GaugeReadings) => Promise<string>;
  /** Sends the last spans, for some seconds at most. */
  flush: () => Promise<void>;
};

/** Asked every few seconds by who watches over the service: a span of each would bury those of callers. */
const UNTRACED: ReadonlySet<string> = new Set(["/metrics", "/healthz", "/readyz"]);

/** The answer to a submission names the generation that it made. */
const LOCATION = "/v1/generations/";
const ACCEPTED = 202;
const madeBy = (response: Response): string | null => {
  const location = response.status === ACCEPTED ? response.headers.get("location") : null;
  return location?.startsWith(LOCATION) ? location.slice(LOCATION.length) : null;
};

/** @param env of the process: the standard variables of OpenTelemetry turn traces on. */
export const createTelemetry = (log: Log, env: Readonly<Record<string, string | undefined>>, about: About): Telemetry => {
  const meter = createMeter(about);
  const isTraced = areTracesWanted(env);
  const counting: Log = (event, fields = {}) => {
    meter.count(event, fields);
    const { generation_id } = fields;
    // A person who reads a line finds the spans of its generation.
    if (isTraced && generation_id !== undefined) log(event, { ...fields, trace_id: traceOf(generation_id).traceId });
    else log(event, fields);
  };
  const traces = isTraced ? createTraces(env, about.version, counting) : undefined;
  return {
    log: traces
      ? (event, fields = {}) => {
          counting(event, fields);
          traces.tell(event, fields);
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
