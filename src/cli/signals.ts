// Signals of a service: the first one asks for a drain, a later one ends the process at once.
import { EXITS } from "./exit-codes.ts";

export type StopSignal = "SIGINT" | "SIGTERM";

/**
 * Signals closer together than this are one: a Ctrl-C reaches the whole process group and is forwarded by the parents
 * as well, and a parent that has died makes its watcher repeat SIGTERM every half second.
 */
const ONE_BURST_MS = 700;

/**
 * Waits for the first SIGINT or SIGTERM.
 * @param atOnce is called with 130 or 143 when, after a pause, another one comes.
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
