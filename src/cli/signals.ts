// Signals of a service: the first one starts a drain, a later one ends the process.
import { EXITS } from "./exit-codes.ts";

export type StopSignal = "SIGINT" | "SIGTERM";

/**
 * Signals within this interval count as one. Ctrl-C reaches the whole process group and is also forwarded by the parents, and
 * after the death of a parent its watcher repeats SIGTERM every half second.
 */
const ONE_BURST_MS = 700;

/**
 * Waits for the first SIGINT or SIGTERM.
 * @param atOnce called with 130 or 143 if another signal arrives after the interval.
 */
export const firstSignal = (
  atOnce: (exit: 130 | 143) => void,
  from: { on(signal: StopSignal, seen: () => void): unknown } = process,
  nowMs: () => number = () => performance.now(),
): Promise<StopSignal> =>
  new Promise((resolve) => {
    let lastMs = Number.NEGATIVE_INFINITY;
    const seen = (signal: StopSignal) => {
      const atMs = nowMs();
      const isFirst = lastMs === Number.NEGATIVE_INFINITY;
      const isAnother = !isFirst && atMs - lastMs > ONE_BURST_MS;
      lastMs = atMs;
      if (isFirst) resolve(signal);
      else if (isAnother) atOnce(signal === "SIGINT" ? EXITS.interrupted : EXITS.terminated);
    };
    from.on("SIGINT", () => seen("SIGINT"));
    from.on("SIGTERM", () => seen("SIGTERM"));
  });
