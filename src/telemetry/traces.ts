// Traces, where the standard settings of OpenTelemetry name a place for them: told what happens, loaded only then.
import type { EventFields, EventName, Log } from "../logging/events.ts";
import type { Spans } from "./spans.ts";

/** What is known of an answered request once it has left. */
export type Answered = {
  method: string;
  /** The pattern of its path. */
  route: string;
  status: number;
  requestId: string;
  endedMs: number;
  durMs: number;
  traceparent: string | null;
  /** The generation that it made, if it did. */
  generationId: string | null;
};

export type Traces = {
  tell: (event: EventName, fields: EventFields) => void;
  answered: (answered: Answered) => void;
  /** Sends what waits; takes some seconds at most, and never rejects. */
  flush: () => Promise<void>;
};

type Environment = Readonly<Record<string, string | undefined>>;

/** A drain waits so long for the last spans to be taken. */
const FLUSH_MS = 3_000;
/** Spans that may wait until the SDK is loaded, which takes some tens of milliseconds. */
const MOST_WAITING = 2_048;

/** Whether the environment asks for traces. */
export const areTracesWanted = (env: Environment): boolean => {
  const isOff = env.OTEL_SDK_DISABLED?.toLowerCase() === "true" || env.OTEL_TRACES_EXPORTER === "none";
  return !isOff && Boolean(env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || env.OTEL_EXPORTER_OTLP_ENDPOINT);
};

const TOLD: ReadonlySet<EventName> = new Set<EventName>(["attempt ended", "generation completed"]);

/** @param log told once when spans cannot be delivered, and again after they could. */
export const createTraces = (env: Environment, version: string, log: Log): Traces => {
  let spans: Spans | undefined;
  let waiting: ((spans: Spans) => void)[] = [];
  const loading = import("./spans.ts").then(({ createSpans }) => {
    spans = createSpans(env, version, log);
    for (const tell of waiting) tell(spans);
    waiting = [];
    return spans;
  });
  const say = (tell: (spans: Spans) => void): void => {
    if (spans) tell(spans);
    else if (waiting.length < MOST_WAITING) waiting.push(tell);
  };
  return {
    tell: (event, fields) => {
      if (TOLD.has(event)) say((to) => (event === "attempt ended" ? to.attempt(fields) : to.generation(fields)));
    },
    answered: (answered) => say((to) => to.request(answered)),
    flush: async () => {
      const end = new Promise<void>((over) => setTimeout(over, FLUSH_MS).unref());
      await Promise.race([loading.then((to) => to.flush()).catch(() => undefined), end]);
    },
  };
};
