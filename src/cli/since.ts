// `--since`: a time told as how long ago, or as a date.
import { CommandFault, EXITS } from "./exits.ts";

const UNIT_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `90m`, `24h`, `7d`, or a date: the time it names. @throws CommandFault (usage) */
export const sinceMs = (text: string | undefined, nowMs: number): number => {
  if (text === undefined) return 0;
  const [, amount, unit = ""] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (amount !== undefined) return nowMs - Number(amount) * (UNIT_MS[unit] ?? 0);
  const [day] = /^\d{4}-\d{2}-\d{2}/.exec(text) ?? [];
  const atMs = day === undefined ? Number.NaN : Date.parse(text);
  // A day that its month does not have is taken for one of the next month.
  if (Number.isNaN(atMs) || new Date(`${day}T00:00:00Z`).toISOString().slice(0, 10) !== day)
    throw new CommandFault(EXITS.usage, `--since: ${JSON.stringify(text)} is not a time; use 90m, 24h, 7d or 2026-10-19`, {
      code: "bad_flag",
    });
  return atMs;
};
