// Checks that an unresponsive provider is asked for confirmation only within `confirm_s`.

import type { CoverageCounters } from "./coverage-counters.ts";
import type { NodeLife } from "./node-life.ts";

/** `confirm_s` of a route without its own value, and the longest pause between two lookups including their duration. */
const CONFIRM_MS = 120_000;
const MAX_GAP_MS = 70_000;

export type Questions = {
  /**
   * A lookup for an attempt that is not abandoned. `by`: the signal of the lookup's task; an operator's retry starts a new one.
   */
  requested(ref: string, isUnclear: boolean, by: AbortSignal): void;
};

/** The bound of one process life; the next life starts a new count. */
export const createConfirmBound = (of: {
  life: NodeLife;
  fault: (text: string) => void;
  situations: CoverageCounters;
}): Questions => {
  const { life, situations } = of;
  const silent = new Map<string, { by: AbortSignal; sinceMs: number; lastMs: number; isOver: boolean }>();
  return {
    requested: (ref, isUnclear, by) => {
      const nowMs = life.world.nowMs();
      const known = silent.get(ref);
      const isNewSeries = known?.by !== by || nowMs - known.lastMs > MAX_GAP_MS || life.frozenUntilMs() > known.sinceMs;
      if (!isUnclear) silent.delete(ref);
      else if (isNewSeries) silent.set(ref, { by, sinceMs: nowMs, lastMs: nowMs, isOver: false });
      else {
        known.lastMs = nowMs;
        const silentMs = nowMs - known.sinceMs;
        if (silentMs > CONFIRM_MS + MAX_GAP_MS)
          of.fault(`${ref}: asked about for ${silentMs} ms, and its provider answers nothing`);
        if (silentMs < CONFIRM_MS || known.isOver) return;
        known.isOver = true;
        situations.count("confirmBounded");
      }
    },
  };
};
