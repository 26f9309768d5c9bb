// OTLP setup: the exporter, samplers and resource from OpenTelemetry's standard variables.
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { defaultResource, detectResources, envDetector, type Resource, resourceFromAttributes } from "@opentelemetry/resources";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
} from "@opentelemetry/sdk-trace";
import type { Log } from "../logging/events.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The SDK's result code for a successful export. */
const SUCCESS = 0;

/** The code of an error, never its message, which can contain a URL with a credential. */
const codeOf = (fault: unknown): string => {
  if (!(fault instanceof Error)) return "unknown fault";
  return "code" in fault && fault.code !== undefined ? String(fault.code) : fault.name;
};

/**
 * The exporter of the SDK, which reads its URL, headers and timeout from the environment. An unavailable endpoint is logged once,
 * and again only after it was available. Meanwhile spans are dropped, and nothing else is affected.
 */
export const createExporter = (log: Log): SpanExporter => {
  const inner = new OTLPTraceExporter();
  let isReported = false;
  return {
    export: (spans: ReadableSpan[], done) =>
      inner.export(spans, (result) => {
        if (result.code !== SUCCESS && !isReported)
          log("trace export failed", {
            reason: `${codeOf(result.error)}; spans are dropped until the OTLP endpoint takes them again`,
            count: spans.length,
          });
        if (result.code === SUCCESS && isReported) log("trace export recovered", {});
        isReported = result.code !== SUCCESS;
        done(result);
      }),
    forceFlush: () => inner.forceFlush?.() ?? Promise.resolve(),
    shutdown: () => inner.shutdown(),
  };
};

const ratioOf = (text: string | undefined): number => {
  const ratio = Number(text);
  return text !== undefined && ratio >= 0 && ratio <= 1 ? ratio : 1;
};

/** `sampler` decides for requests, which may have a parent; `atRoot` for generations, which have none. */
export const samplersOf = (env: Environment): { sampler: Sampler; atRoot: Sampler } => {
  const name = env.OTEL_TRACES_SAMPLER ?? "parentbased_always_on";
  const kind = name.replace(/^parentbased_/, "");
  const byKind = (): Sampler => {
    if (kind === "always_off") return new AlwaysOffSampler();
    if (kind === "traceidratio") return new TraceIdRatioBasedSampler(ratioOf(env.OTEL_TRACES_SAMPLER_ARG));
    return new AlwaysOnSampler();
  };
  const atRoot = byKind();
  return { sampler: name.startsWith("parentbased_") ? new ParentBasedSampler({ root: atRoot }) : atRoot, atRoot };
};

/** `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` override the defaults. */
export const resourceOf = (env: Environment, version: string): Resource =>
  defaultResource()
    .merge(resourceFromAttributes({ "service.name": env.OTEL_SERVICE_NAME ?? "genrouter", "service.version": version }))
    .merge(detectResources({ detectors: [envDetector] }));
