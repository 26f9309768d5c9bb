// Prometheus registry with every metric, loaded at the first count or scrape.
import { Counter, Gauge, Histogram, type MetricObjectWithValues, type MetricValueWithName, Registry } from "prom-client";
import { METRICS, type Metric, type MetricName, REQUEST_BUCKETS } from "./metrics.ts";
import { addProcessMetrics } from "./process.ts";
import type { Requests, Tally } from "./requests.ts";

type Labels = Readonly<Record<string, string>>;

export type Registered = {
  /** Adds to a counter. */
  count(name: MetricName, labels: Labels, by?: number): void;
  observe(name: MetricName, labels: Labels, seconds: number): void;
  /** Sets a gauge to exactly these values; other label sets are removed. */
  set(name: MetricName, values: readonly (readonly [Labels, number])[]): void;
  /** The metrics in the Prometheus text format. */
  print(): Promise<string>;
};

type Line = MetricValueWithName<string>;

/** Converts a tally to the lines of a histogram with cumulative buckets. */
const linesOf = (name: string, { method, route, status, buckets, sumS, count }: Tally): Line[] => {
  const labels = { http_request_method: method, http_route: route, http_response_status_code: String(status) };
  let within = 0;
  const bounded = REQUEST_BUCKETS.map((le, at): Line => {
    within += buckets[at] ?? 0;
    return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: within };
  });
  return [
    ...bounded,
    { metricName: `${name}_bucket`, labels: { ...labels, le: "+Inf" }, value: count },
    { metricName: `${name}_sum`, labels, value: sumS },
    { metricName: `${name}_count`, labels, value: count },
  ];
};

/** A histogram that is filled outside the registry. The registry reads its lines like those of its own metrics. */
class RequestHistogram extends Histogram {
  private readonly requests: Requests;

  constructor(name: string, help: string, requests: Requests) {
    super({ name, help, buckets: [...REQUEST_BUCKETS], registers: [] });
    this.requests = requests;
  }

  private lines(): MetricObjectWithValues<Line> {
    const { name, help } = this as unknown as { name: string; help: string };
    const values = this.requests.tallies().flatMap((tally) => linesOf(name, tally));
    return { name, help, type: "histogram", aggregator: "sum", collect: () => undefined, values } as never;
  }
  override async get() {
    return this.lines() as never;
  }
  async getForPromString() {
    return this.lines();
  }
}

const REQUESTS: MetricName = "http_server_request_duration_seconds";

export const createRegistry = (requests: Requests): Registered => {
  const registry = new Registry();
  const counters = new Map<string, Counter>();
  const gauges = new Map<string, Gauge>();
  const histograms = new Map<string, Histogram>();
  for (const [name, metric] of Object.entries<Metric>(METRICS)) {
    const { type, help, labels, buckets = [] } = metric;
    const shape = { name, help, labelNames: [...labels], registers: [registry] };
    if (name === REQUESTS) registry.registerMetric(new RequestHistogram(name, help, requests));
    else if (type === "counter") counters.set(name, new Counter(shape));
    else if (type === "gauge") gauges.set(name, new Gauge(shape));
    else histograms.set(name, new Histogram({ ...shape, buckets: [...buckets] }));
  }
  addProcessMetrics(registry);
  return {
    count: (name, labels, by = 1) => counters.get(name)?.inc(labels, by),
    observe: (name, labels, seconds) => histograms.get(name)?.observe(labels, seconds),
    set: (name, values) => {
      const gauge = gauges.get(name);
      gauge?.reset();
      // A gauge without labels is reset to 0, so it is removed if it has no value.
      if (values.length === 0 && METRICS[name].labels.length === 0) gauge?.remove({});
      for (const [labels, value] of values) gauge?.set(labels, value);
    },
    print: () => registry.metrics(),
  };
};
