// Process metrics: those of prom-client's defaults that are correct on Bun.
//
// The `nodejs_*` metrics are zero or wrong on this runtime.
import type { Registry } from "prom-client";
// Not the default metrics of the package, which also monitor the event loop and the garbage collector continuously.
import memory from "prom-client/lib/metrics/osMemoryHeap.js";
import cpu from "prom-client/lib/metrics/processCpuTotal.js";
import mostDescriptors from "prom-client/lib/metrics/processMaxFileDescriptors.js";
import descriptors from "prom-client/lib/metrics/processOpenFileDescriptors.js";
import startTime from "prom-client/lib/metrics/processStartTime.js";

export const addProcessMetrics = (registry: Registry): void => {
  for (const add of [cpu, startTime, memory, descriptors, mostDescriptors]) add(registry);
};
