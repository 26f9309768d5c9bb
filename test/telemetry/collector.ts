// Trace collector for tests: receives OTLP as JSON over HTTP and keeps the spans.

export type Got = {
  traceId: string;
  spanId: string;
  parentSpanId: string;
  name: string;
  kind: number;
  startMs: number;
  endMs: number;
  /** 2: an error. */
  status: number;
  attributes: Record<string, string | number>;
  links: { traceId: string; spanId: string }[];
};

type Value = { stringValue?: string; intValue?: number | string; doubleValue?: number };
type Raw = {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  status?: { code?: number };
  attributes?: { key: string; value: Value }[];
  links?: { traceId: string; spanId: string }[];
};
type Body = { resourceSpans: { resource: { attributes: Raw["attributes"] }; scopeSpans: { spans: Raw[] }[] }[] };

const scalarOf = ({ stringValue, intValue, doubleValue }: Value): string | number =>
  stringValue ?? Number(intValue ?? doubleValue);
const read = (attributes: Raw["attributes"] = []) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, scalarOf(value)]));
const msOf = (nano: string): number => Number(BigInt(nano) / 1000n) / 1000;

const gotOf = (raw: Raw): Got => ({
  traceId: raw.traceId,
  spanId: raw.spanId,
  parentSpanId: raw.parentSpanId ?? "",
  name: raw.name,
  kind: raw.kind,
  startMs: msOf(raw.startTimeUnixNano),
  endMs: msOf(raw.endTimeUnixNano),
  status: raw.status?.code ?? 0,
  attributes: read(raw.attributes),
  links: (raw.links ?? []).map(({ traceId, spanId }) => ({ traceId, spanId })),
});

export const openCollector = () => {
  const spans: Got[] = [];
  const resources: Record<string, string | number>[] = [];
  const headers: Record<string, string>[] = [];
  /** All request bodies as they were received. */
  let text = "";
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      if (new URL(request.url).pathname !== "/v1/traces") return new Response(null, { status: 404 });
      headers.push(Object.fromEntries(request.headers));
      const said = await request.text();
      text += said;
      for (const { resource, scopeSpans } of (JSON.parse(said) as Body).resourceSpans) {
        resources.push(read(resource.attributes));
        spans.push(...scopeSpans.flatMap((scope) => scope.spans.map(gotOf)));
      }
      return Response.json({});
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    spans,
    resources,
    headers,
    text: () => text,
    stop: () => server.stop(true),
  };
};
export type Collector = ReturnType<typeof openCollector>;
