// The metrics of the process itself, those alone that mean on this runtime what they say: `nodejs_*` are zeros and nonsense here.
import type { Registry } from "prom-client";
// Not all of the package's default metrics, which also watch the event loop and the collector all the time.
import memory from "prom-client/lib/metrics/osMemoryHeap.js";
import cpu from "prom-client/lib/metrics/processCpuTotal.js";
import mostDescriptors from "prom-client/lib/metrics/processMaxFileDescriptors.js";
import descriptors from "prom-client/lib/metrics/processOpenFileDescriptors.js";
import startTime from "prom-client/lib/metrics/processStartTime.js";

export const addProcessMetrics = (registry: Registry): void => {
  for (const add of [cpu, startTime, memory, descriptors, mostDescriptors]) add(registry);
};
