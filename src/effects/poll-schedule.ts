// When a job is polled next: seldom before the time at which the jobs of its route usually end, often around it.

/** The ages, ms, between which most recent jobs of a route were delivered. */
export type UsualEnd = { fromMs: number; toMs: number };

export type PollTimes = {
  /** First and longest interval without knowledge of the route, ms. */
  everyMs: readonly [number, number];
  /** Shortest interval, ms. */
  leastMs: number;
};

/** Polls begin at this share of the earliest usual age. A route that becomes faster is so noticed, and its usual age follows. */
const EARLY = 0.8;
/** Polls between the earliest and the latest usual age. */
const POLLS_AROUND_END = 24;
/** After the latest usual age the interval is this share of the time since then. */
const LATE = 0.3;
/** Interval that each polled job adds, ms: all of them together are polled about 100 times a second. */
const MS_FOR_EACH_JOB = 10;

/**
 * The pause before the next poll of a job, ms.
 * @param ageMs of the job. @param usual of its route. @param jobs that are polled now: with many, each is polled less often, but not
 * less often than every `everyMs[0]`
 */
export const pollPauseMs = (
  ageMs: number,
  { fromMs, toMs }: UsualEnd,
  { everyMs: [firstMs, longestMs], leastMs }: PollTimes,
  jobs: number,
): number => {
  const shortestMs = Math.max(leastMs, Math.min(firstMs, jobs * MS_FOR_EACH_JOB));
  const within = (ms: number) => Math.min(longestMs, Math.max(shortestMs, ms));
  const beginsMs = fromMs * EARLY;
  if (ageMs < beginsMs) return within(beginsMs - ageMs);
  const aroundMs = within((toMs - beginsMs) / POLLS_AROUND_END);
  return ageMs <= toMs ? aroundMs : Math.max(aroundMs, within((ageMs - toMs) * LATE));
};
