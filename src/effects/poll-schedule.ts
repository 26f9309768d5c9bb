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
const QUICK_PER_S = 25;

/** The pause before the next poll of a job of this age, ms. */
export const pollPauseMs = (ageMs: number, { fromMs, toMs }: UsualEnd, { leastMs, longestMs }: PollBounds): number => {
  const within = (ms: number) => Math.max(leastMs, Math.min(longestMs, ms));
  const beginsMs = fromMs * EARLY;
  if (ageMs < beginsMs) return within(beginsMs - ageMs);
  const aroundMs = within((toMs - beginsMs) / POLLS_AROUND_END);
  return ageMs <= toMs ? aroundMs : Math.max(aroundMs, within((ageMs - toMs) * LATE));
};

/** Bounds the quick polls of each provider, whatever the number of its jobs. */
export const createQuickPolls = (clock: Pick<Clock, "nowMs">) => {
  const windows = new Map<string, { second: number; taken: number }>();
  return {
    /** Whether one more poll of this second may be quick. @param nodes that share the limit of the provider */
    take: (provider: string, nodes: number): boolean => {
      const second = Math.floor(clock.nowMs() / 1000);
      const current = windows.get(provider);
      const window = current?.second === second ? current : { second, taken: 0 };
      windows.set(provider, window);
      if (window.taken >= Math.max(1, QUICK_PER_S / nodes)) return false;
      window.taken += 1;
      return true;
    },
  };
};
