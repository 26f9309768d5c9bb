// Logs when the machine's clock is moved under the running service and when it is corrected.
import type { Log } from "../logging/events.ts";

/** Skew in milliseconds that is logged; NTP keeps clocks closer. */
const SKEW_MS = 5_000;

const spoken = (ms: number): string => {
  const s = Math.round(Math.abs(ms) / 1000);
  return s < 120 ? `${s} s` : s < 7200 ? `${Math.round(s / 60)} min` : `${Math.round(s / 360) / 10} h`;
};

/** Called periodically. `aheadMs`: how far the service's monotonic clock is ahead of the machine's. */
export const createClockMonitor = (log: Log): ((aheadMs: number) => void) => {
  let reportedMs = 0;
  return (aheadMs) => {
    // Only a change is logged; a persistent skew is a gauge.
    if (Math.abs(aheadMs - reportedMs) <= SKEW_MS) return;
    const isSkewed = Math.abs(aheadMs) > SKEW_MS;
    reportedMs = isSkewed ? aheadMs : 0;
    if (!isSkewed) return log("clock corrected");
    const [way, set] = aheadMs > 0 ? ["ahead of", "back"] : ["behind", "forward"];
    log("clock jumped", { reason: `the service's clock is ${spoken(aheadMs)} ${way} the machine's, which was set ${set}` });
  };
};
