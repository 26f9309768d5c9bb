// Startup gauges: readiness and store availability while a start waits for the database.
//
// Without them a long database outage has no metric once its nodes have restarted.
import { METRICS, type MetricName } from "./metrics.ts";

/** @returns the metrics in the Prometheus text format */
export const startingMetrics = (isStoreAvailable: boolean): string => {
  const gauge = (name: MetricName, value: number) =>
    `# HELP ${name} ${METRICS[name].help}\n# TYPE ${name} gauge\n${name} ${value}\n`;
  return gauge("genrouter_ready", 0) + gauge("genrouter_database_available", Number(isStoreAvailable));
};
