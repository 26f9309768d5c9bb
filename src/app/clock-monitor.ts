// Tells of a machine's clock that was moved under the running service: when it was, when it is moved again, and when it is right again.
import type { Log } from "../logging/events.ts";

/** Clocks that NTP keeps are closer than this. */
const APART_MS = 5_000;

const spoken = (ms: number): string => {
  const s = Math.round(Math.abs(ms) / 1000);
  return s < 120 ? `${s} s` : s < 7200 ? `${Math.round(s / 60)} min` : `${Math.round(s / 360) / 10} h`;
};

/** What is called now and then. `aheadMs`: how far the service's clock, which only goes forward, is ahead of the machine's. */
export const createClockMonitor = (log: Log): ((aheadMs: number) => void) => {
  let toldMs = 0;
  return (aheadMs) => {
    // Told is what changed: one that stays apart is a gauge.
    if (Math.abs(aheadMs - toldMs) <= APART_MS) return;
    const isApart = Math.abs(aheadMs) > APART_MS;
    toldMs = isApart ? aheadMs : 0;
    if (!isApart) return log("clock corrected");
    const [way, set] = aheadMs > 0 ? ["ahead of", "back"] : ["behind", "forward"];
    log("clock jumped", { reason: `the service's clock is ${spoken(aheadMs)} ${way} the machine's, which was set ${set}` });
  };
};
