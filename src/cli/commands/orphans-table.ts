// Formats orphans as a table that fits the terminal, with one action per kind.
import { adviceOf } from "../../admin/orphan-advice.ts";
import type { OrphanRow } from "../../store/store.ts";
import { table } from "../terminal.ts";
import { showUsd } from "../usd.ts";

/** `45 s`, `12 min`, `3 h`, `9 d`. */
const showAge = (ms: number): string => {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 120) return `${s} s`;
  if (s < 7200) return `${Math.floor(s / 60)} min`;
  return s < 172_800 ? `${Math.floor(s / 3600)} h` : `${Math.floor(s / 86_400)} d`;
};

const HEAD = ["GENERATION", "N", "FATE", "USD", "AGE", "PROVIDER"] as const;

/** The widest rows that fit: with route and job, with the job alone, or with neither. */
const rowsWithin = (rows: readonly OrphanRow[], nowMs: number, columns: number): string[] => {
  const short = (row: OrphanRow) => [
    ...[row.generationId, String(row.n), row.fate, showUsd(row.priceCredits)],
    ...[showAge(nowMs - row.sentAtMs), row.provider],
  ];
  const job = (row: OrphanRow) => row.jobId ?? row.ref;
  const right = [1, 3, 4];
  const shapes = [
    () =>
      table(
        [...HEAD, "ROUTE", "JOB OR REFERENCE"],
        rows.map((row) => [...short(row), row.routeId, job(row)]),
        right,
      ),
    () =>
      table(
        [...HEAD, "JOB OR REFERENCE"],
        rows.map((row) => [...short(row), job(row)]),
        right,
      ),
  ];
  for (const shape of shapes) {
    const lines = shape();
    if (lines.every((line) => line.length <= columns)) return lines;
  }
  return table(HEAD, rows.map(short), right);
};

/** Number of orphans of a kind that are named below the table; the table lists all of them. */
const NAMED = 3;

const kindsOf = (rows: readonly OrphanRow[]): string[] => {
  const kinds = Map.groupBy(rows, (row) => {
    const { known, general } = adviceOf(row);
    return `${row.fate}: ${known}\n  ${general}`;
  });
  return [...kinds].flatMap(([kind, alike]) => [
    "",
    ...kind.split("\n"),
    ...alike.slice(0, NAMED).map((row) => `  ${row.generationId} ${row.n}: ${adviceOf(row).where}`),
    ...(alike.length > NAMED ? [`  and ${alike.length - NAMED} more; --json lists all`] : []),
  ]);
};

/** @param columns width of the terminal. */
export const linesOf = (rows: readonly OrphanRow[], nowMs: number, columns: number): string[] => [
  ...rowsWithin(rows, nowMs, columns),
  ...kindsOf(rows),
  "",
];
