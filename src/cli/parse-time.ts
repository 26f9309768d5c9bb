// Parses times in flags: a span relative to now, or a date.
import { CommandError, EXITS } from "./exit-codes.ts";

const UNIT_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `90s`, `90m`, `24h`, `7d` in ms; undefined for any other text. */
export const spanMs = (text: string): number | undefined => {
  const [, amount, unit = ""] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  return amount === undefined ? undefined : Number(amount) * (UNIT_MS[unit] ?? 0);
};

/** A date with or without a time; undefined for any other text. */
const dateMs = (text: string): number | undefined => {
  const [day] = /^\d{4}-\d{2}-\d{2}/.exec(text) ?? [];
  const atMs = day === undefined ? Number.NaN : Date.parse(text);
  // The runtime would interpret a day that the month does not have as a day of the next month.
  return Number.isNaN(atMs) || new Date(`${day}T00:00:00Z`).toISOString().slice(0, 10) !== day ? undefined : atMs;
};

const badTime = (flag: string, text: string): never => {
  throw new CommandError(EXITS.usage, `${flag}: ${JSON.stringify(text)} is not a time; use 90m, 24h, 7d or 2026-10-19`, {
    code: "bad_flag",
  });
};

/** Parses a time of a flag; a span counts back from now. @throws CommandError (usage) */
export const sinceMs = (text: string | undefined, nowMs: number, flag = "--since"): number => {
  if (text === undefined) return 0;
  const span = spanMs(text);
  return span === undefined ? (dateMs(text) ?? badTime(flag, text)) : nowMs - span;
};

/** Parses a time of a flag; a span counts forward from now. @throws CommandError (usage) */
export const untilMs = (text: string, flag: string, nowMs: number): number => {
  const span = spanMs(text);
  return span === undefined ? (dateMs(text) ?? badTime(flag, text)) : nowMs + span;
};
