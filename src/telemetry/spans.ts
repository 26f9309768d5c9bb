// Spans: requests in their callers' traces, and one trace for each generation.
//
// A generation's trace contains its submission, attempts and settlement.
import {
  type Attributes,
  type Context,
  type Link,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import {
  BatchSpanProcessor,
  type IdGenerator,
  RandomIdGenerator,
  SamplingDecision,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { ClockCache } from "../collections/clock-cache.ts";
import type { EventFields, Log } from "../logging/events.ts";
import { createExporter, resourceOf, samplersOf } from "./otlp.ts";
import { parentIn, partOf, traceOf } from "./trace-ids.ts";
import type { Answered } from "./traces.ts";

export type Spans = {
  request: (answered: Answered) => void;
  /** An attempt has ended. */
  attempt: (fields: EventFields) => void;
  /** A generation has ended; writes its span and that of its settlement. */
  generation: (fields: EventFields) => void;
  flush: () => Promise<void>;
};

/** The request of a generation is cached until the generation ends, so that its span can link to it. */
const LINKS_KEPT = 10_000;
const SAMPLED = 1;

/** Generates preset ids, or random ones. */
class Ids implements IdGenerator {
  private readonly random = new RandomIdGenerator();
  traceId: string | undefined;
  spanId: string | undefined;
  generateTraceId = () => this.traceId ?? this.random.generateTraceId();
  generateSpanId = () => this.spanId ?? this.random.generateSpanId();
}

/** Attributes without the undefined and null values. */
const attributes = (all: Record<string, string | number | null | undefined>): Attributes =>
  Object.fromEntries(
    Object.entries(all).flatMap(([name, value]) => (value === undefined || value === null ? [] : [[name, value]])),
  );

type Part = {
  name: string;
  kind?: SpanKind;
  /** Preset ids; random if absent. */
  traceId?: string;
  spanId?: string;
  within: Context;
  startMs: number;
  endMs: number;
  attributes: Attributes;
  links?: Link[];
  /** The error of the span; absent for a success. */
  fault?: string | undefined;
};

export const createSpans = (env: Readonly<Record<string, string | undefined>>, version: string, log: Log): Spans => {
  const ids = new Ids();
  const { sampler, atRoot } = samplersOf(env);
  const processor = new BatchSpanProcessor({ exporter: createExporter(log), ...batchOf(env) });
  const provider = new TracerProvider({
    resource: resourceOf(env, version),
    sampler,
    idGenerator: ids,
    spanProcessors: [processor],
  });
  const tracer = provider.getTracer("genrouter", version);
  const requestOf = new ClockCache<string, SpanContext>(LINKS_KEPT);

  const write = ({ name, kind = SpanKind.INTERNAL, within, startMs, endMs, links = [], fault, ...own }: Part): SpanContext => {
    ids.traceId = own.traceId;
    ids.spanId = own.spanId;
    const span = tracer.startSpan(name, { kind, startTime: startMs, attributes: own.attributes, links }, within);
    ids.traceId = undefined;
    ids.spanId = undefined;
    if (fault !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: fault });
    span.end(Math.max(startMs, endMs));
    return span.spanContext();
  };
  const inside = (traceId: string, spanId: string, isSampled: boolean, isRemote: boolean): Context =>
    trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: isSampled ? SAMPLED : 0, isRemote });
  /** Every process makes the same sampling decision for a generation, because it depends on the trace id. */
  const isWanted = (traceId: string): boolean =>
    atRoot.shouldSample(ROOT_CONTEXT, traceId, "generation", SpanKind.INTERNAL, {}, []).decision ===
    SamplingDecision.RECORD_AND_SAMPLED;

  return {
    request: ({ method, route, status, requestId, endedMs, durMs, traceparent, generationId }) => {
      const parent = parentIn(traceparent);
      const own = generationId === null ? undefined : traceOf(generationId);
      const about = attributes({
        "http.request.method": method,
        "http.route": route,
        "http.response.status_code": status,
        "genrouter.request_id": requestId,
        "genrouter.generation_id": generationId,
      });
      const made = write({
        name: `${method} ${route}`,
        kind: SpanKind.SERVER,
        within: parent ? inside(parent.traceId, parent.spanId, parent.isSampled, true) : ROOT_CONTEXT,
        startMs: endedMs - durMs,
        endMs: endedMs,
        attributes: about,
        links: own ? [{ context: { traceId: own.traceId, spanId: own.rootId, traceFlags: SAMPLED } }] : [],
        ...(status >= 500 ? { fault: String(status) } : {}),
      });
      if (generationId === null || !own || !isWanted(own.traceId)) return;
      requestOf.set(generationId, made);
      write({
        name: "submit",
        spanId: partOf(generationId, "submit"),
        within: inside(own.traceId, own.rootId, true, false),
        startMs: endedMs - durMs,
        endMs: endedMs,
        attributes: about,
        links: [{ context: made }],
      });
    },
    attempt: (fields) => {
      const { generation_id: id = "", outcome = "", started_ms: startMs = 0, dur_ms: durMs = 0 } = fields;
      const { traceId, rootId } = traceOf(id);
      if (!isWanted(traceId)) return;
      write({
        name: `attempt ${fields.attempt}`,
        // An abandoned attempt that delivers later ends twice, so its outcome is part of the id.
        spanId: partOf(id, `attempt ${fields.attempt} ${outcome}`),
        within: inside(traceId, rootId, true, false),
        startMs,
        endMs: startMs + durMs,
        attributes: attributes({
          "genrouter.generation_id": id,
          "genrouter.request_id": fields.request_id,
          "genrouter.model": fields.model,
          "genrouter.route": fields.route_id,
          "genrouter.provider": fields.provider,
          "genrouter.attempt": fields.attempt,
          "genrouter.outcome": outcome,
          "genrouter.credits": fields.credits,
          "genrouter.error_code": fields.error_code,
        }),
        ...(outcome === "delivered" ? {} : { fault: fields.error_code ?? outcome }),
      });
    },
    generation: (fields) => {
      const { generation_id: id = "", started_ms: startMs = 0, dur_ms: durMs = 0, error_code: code } = fields;
      const { traceId, rootId } = traceOf(id);
      if (!isWanted(traceId)) return;
      const request = requestOf.get(id);
      requestOf.delete(id);
      const about = attributes({
        "genrouter.generation_id": id,
        "genrouter.request_id": fields.request_id,
        "genrouter.model": fields.model,
        "genrouter.status": fields.state,
        "genrouter.attempts": fields.count,
        "genrouter.credits": fields.credits,
        "genrouter.released_credits": fields.released_credits,
        "genrouter.error_code": code,
      });
      const endMs = startMs + durMs;
      const within = inside(traceId, rootId, true, false);
      write({ name: "settle", spanId: partOf(id, "settle"), within, startMs: endMs, endMs, attributes: about });
      write({
        name: "generation",
        ...{ traceId, spanId: rootId, within: ROOT_CONTEXT, startMs, endMs, attributes: about, fault: code },
        links: request ? [{ context: request }] : [],
      });
    },
    flush: () => provider.forceFlush(),
  };
};

/** The standard settings of the span queue. Spans beyond its size are dropped; no caller waits for the queue. */
const batchOf = (env: Readonly<Record<string, string | undefined>>) => {
  const whole = (text: string | undefined, otherwise: number) =>
    /^[1-9][0-9]{0,6}$/.test(text ?? "") ? Number(text) : otherwise;
  const maxQueueSize = whole(env.OTEL_BSP_MAX_QUEUE_SIZE, 2_048);
  return {
    maxQueueSize,
    maxExportBatchSize: Math.min(maxQueueSize, whole(env.OTEL_BSP_MAX_EXPORT_BATCH_SIZE, 512)),
    scheduledDelayMillis: whole(env.OTEL_BSP_SCHEDULE_DELAY, 5_000),
    exportTimeoutMillis: whole(env.OTEL_BSP_EXPORT_TIMEOUT, 30_000),
  };
};
