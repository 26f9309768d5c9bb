// When a job is polled next: seldom before the time at which the jobs of its route usually end, often around it.
import type { Clock } from "../domain/clock.ts";

/** The ages, ms, between which most recent jobs of a route had a result. */
export type UsualEnd = { fromMs: number; toMs: number };

/** The shortest and the longest interval, ms. */
export type PollBounds = { leastMs: number; longestMs: number };

/** Polls begin at this share of the earliest usual age. A route that becomes faster is so noticed, and its usual age follows. */
const EARLY = 0.8;
/** Polls between the earliest and the latest usual age. */
const POLLS_AROUND_END = 24;
/** After the latest usual age the interval is this share of the time since then. */
const LATE = 0.3;
/** Polls a second to one provider that come earlier than without knowledge of the route. Documented limits begin at 50 requests. */
const QUICK_PER_S = 40;
/** The bound holds in each window of this length, ms. */
const WINDOW_MS = 250;

/** The pause before the next poll of a job of this age, ms. */
export const pollPauseMs = (ageMs: number, { fromMs, toMs }: UsualEnd, { leastMs, longestMs }: PollBounds): number => {
  const within = (ms: number) => Math.max(leastMs, Math.min(longestMs, ms));
  const beginsMs = fromMs * EARLY;
  if (ageMs < beginsMs) return within(beginsMs - ageMs);
  const aroundMs = within((toMs - beginsMs) / POLLS_AROUND_END);
  return ageMs <= toMs ? aroundMs : Math.max(aroundMs, within((ageMs - toMs) * LATE));
};

/** Spreads the quick polls of each provider, so that their rate is bounded whatever the number of jobs. @param pace of the providers */
export const createQuickPolls = (clock: Pick<Clock, "nowMs">, pace: number) => {
  const windowMs = WINDOW_MS / pace;
  /** Planned polls by provider and window. */
  const planned = new Map<string, Map<number, number>>();
  return {
    /**
     * The pause before a poll that should come after `pauseMs`: until the first window with space, at most `mostMs`.
     * @param nodes that share the limit of the provider
     */
    pauseMs: (provider: string, pauseMs: number, mostMs: number, nodes: number): number => {
      const nowMs = clock.nowMs();
      const capacity = Math.max(1, Math.floor((QUICK_PER_S * WINDOW_MS) / 1000 / nodes));
      const windows = planned.get(provider) ?? new Map<number, number>();
      planned.set(provider, windows);
      for (const window of windows.keys()) if (window * windowMs < nowMs - windowMs) windows.delete(window);
      for (let window = Math.floor((nowMs + pauseMs) / windowMs); window * windowMs < nowMs + mostMs; window += 1) {
        const taken = windows.get(window) ?? 0;
        if (taken >= capacity) continue;
        windows.set(window, taken + 1);
        return Math.max(pauseMs, window * windowMs - nowMs);
      }
      return mostMs;
    },
  };
};
