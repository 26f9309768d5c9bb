// UTC days, weeks and months for key limits and usage, and buckets of waiting times.
import type { KeyWindow } from "./types.ts";

export const DAY_MS = 86_400_000;

/** Day number since 1970-01-01 UTC. */
export const dayOf = (ms: number): number => Math.floor(ms / DAY_MS);

const monthDay = (ms: number, monthsLater: number): number => {
  const date = new Date(ms);
  return dayOf(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + monthsLater, 1));
};

/** First day of the window that contains a time: a day, a week from Monday, or a month. */
export const windowFrom = (window: KeyWindow, ms: number): number => {
  const day = dayOf(ms);
  if (window === "day") return day;
  // Day 0 was a Thursday.
  return window === "week" ? day - ((day + 3) % 7) : monthDay(ms, 0);
};

/** End of the window that contains a time, in milliseconds. */
export const windowEndsAtMs = (window: KeyWindow, ms: number): number => {
  if (window === "month") return monthDay(ms, 1) * DAY_MS;
  return (windowFrom(window, ms) + (window === "day" ? 1 : 7)) * DAY_MS;
};

/** The first bucket ends at one second, each further bucket is half an octave wide, and the last has no end. */
const FIRST_WAIT_MS = 1000;
const WAITS_PER_OCTAVE = 2;
const LAST_WAIT = 40;

/** Bucket of a waiting time, from 0. */
export const waitBucket = (ms: number): number =>
  ms < FIRST_WAIT_MS ? 0 : Math.min(LAST_WAIT, 1 + Math.floor(WAITS_PER_OCTAVE * Math.log2(ms / FIRST_WAIT_MS)));

/** Start of a bucket in milliseconds. */
export const waitFromMs = (bucket: number): number => (bucket === 0 ? 0 : FIRST_WAIT_MS * 2 ** ((bucket - 1) / WAITS_PER_OCTAVE));

/**
 * Median waiting time in milliseconds from the counts of the buckets, interpolated evenly within a bucket. Null without counts.
 */
export const medianWaitMs = (counts: ReadonlyMap<number, number>): number | null => {
  const buckets = [...counts].filter(([, count]) => count > 0).sort(([a], [b]) => a - b);
  const half = buckets.reduce((sum, [, count]) => sum + count, 0) / 2;
  let before = 0;
  for (const [bucket, count] of buckets) {
    if (before + count >= half) {
      const from = waitFromMs(bucket);
      return Math.round(from + ((half - before) / count) * (waitFromMs(bucket + 1) - from));
    }
    before += count;
  }
  return null;
};
