// Traces: loads the OpenTelemetry SDK and forwards events to it.
//
// Enabled only if OpenTelemetry's standard variables name an endpoint.
import type { EventFields, EventName, Log } from "../logging/events.ts";
import type { Spans } from "./spans.ts";

/** A request after its response was sent. */
export type Answered = {
  method: string;
  /** The pattern of its path. */
  route: string;
  status: number;
  requestId: string;
  endedMs: number;
  durMs: number;
  traceparent: string | null;
  /** The generation that it created; null if it created none. */
  generationId: string | null;
};

export type Traces = {
  report: (event: EventName, fields: EventFields) => void;
  answered: (answered: Answered) => void;
  /** Sends the pending spans within a few seconds, and never rejects. */
  flush: () => Promise<void>;
};

type Environment = Readonly<Record<string, string | undefined>>;

/** The longest wait of a drain for the last spans. */
const FLUSH_MS = 3_000;
/** The most spans that wait for the SDK, which loads in some tens of milliseconds. */
const MAX_WAITING = 2_048;

/** Whether the environment enables traces. */
export const areTracesWanted = (env: Environment): boolean => {
  const isOff = env.OTEL_SDK_DISABLED?.toLowerCase() === "true" || env.OTEL_TRACES_EXPORTER === "none";
  return !isOff && Boolean(env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || env.OTEL_EXPORTER_OTLP_ENDPOINT);
};

const TRACED_EVENTS: ReadonlySet<EventName> = new Set<EventName>(["attempt ended", "generation completed"]);

/** @param log receives one event if spans cannot be delivered, and another once they are delivered again. */
export const createTraces = (env: Environment, version: string, log: Log): Traces => {
  let spans: Spans | undefined;
  let waiting: ((spans: Spans) => void)[] = [];
  const loading = import("./spans.ts").then(({ createSpans }) => {
    spans = createSpans(env, version, log);
    for (const report of waiting) report(spans);
    waiting = [];
    return spans;
  });
  const print = (report: (spans: Spans) => void): void => {
    if (spans) report(spans);
    else if (waiting.length < MAX_WAITING) waiting.push(report);
  };
  return {
    report: (event, fields) => {
      if (TRACED_EVENTS.has(event)) print((to) => (event === "attempt ended" ? to.attempt(fields) : to.generation(fields)));
    },
    answered: (answered) => print((to) => to.request(answered)),
    flush: async () => {
      const end = new Promise<void>((over) => setTimeout(over, FLUSH_MS).unref());
      await Promise.race([loading.then((to) => to.flush()).catch(() => undefined), end]);
    },
  };
};
