// The gauges of a start that waits: without them a database that is away for long would be told of by nobody once its nodes have started again.
import { METRICS, type MetricName } from "./metrics.ts";

/** @returns the text for Prometheus */
export const startingMetrics = (isStoreAvailable: boolean): string => {
  const gauge = (name: MetricName, value: number) =>
    `# HELP ${name} ${METRICS[name].help}\n# TYPE ${name} gauge\n${name} ${value}\n`;
  return gauge("genrouter_ready", 0) + gauge("genrouter_store_available", Number(isStoreAvailable));
};
