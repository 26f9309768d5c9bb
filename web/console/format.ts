// Formats relative times and durations on the key, usage and generation pages.
import { timeText } from "../components/format.ts";
import { words } from "../words/console-words.ts";
import { locale } from "../words/words.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** `just now`, `5 minutes ago`, `in 3 days`; from a month on, the absolute time. */
export const relativeTime = (atMs: number, nowMs: number): string => {
  const ms = atMs - nowMs;
  const [size, unit]: [number, Intl.RelativeTimeFormatUnit] =
    Math.abs(ms) < HOUR_MS ? [MINUTE_MS, "minute"] : Math.abs(ms) < DAY_MS ? [HOUR_MS, "hour"] : [DAY_MS, "day"];
  if (Math.abs(ms) < MINUTE_MS) return words.times.justNow;
  if (Math.abs(ms) > 30 * DAY_MS) return timeText(atMs);
  return new Intl.RelativeTimeFormat(locale, { numeric: "auto" }).format(Math.round(ms / size), unit);
};

/** `850 ms`, `4.2 s`, `3 min 20 s` */
export const waited = (ms: number): string => {
  if (ms === 0) return "0 s";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < MINUTE_MS) return `${(ms / 1000).toFixed(1)} s`;
  const s = Math.round(ms / 1000);
  return `${Math.floor(s / 60)} min ${s % 60} s`;
};
