// Runs in every page before its scripts: sums layout shifts and records the durations of interactions.
globalThis.vitals = { shift: 0, shifts: [], interactions: [] };
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    if (entry.hadRecentInput) continue;
    vitals.shift += entry.value;
    for (const { node } of entry.sources)
      vitals.shifts.push(`${entry.value.toFixed(4)} ${node?.nodeName ?? "?"}.${node?.className ?? ""}`);
  }
}).observe({ type: "layout-shift", buffered: true });
new PerformanceObserver((list) => {
  for (const { interactionId, duration, name, target } of list.getEntries())
    if (interactionId > 0)
      vitals.interactions.push({
        name: `${name} on ${target?.ariaLabel ?? target?.textContent?.slice(0, 30) ?? "?"}`,
        ms: duration,
      });
}).observe({ type: "event", buffered: true, durationThreshold: 16 });
