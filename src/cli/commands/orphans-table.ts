// How orphans are shown to a person: a row for each, as wide as the terminal allows, and below them once for each kind what to do.
import type { OrphanRow } from "../../store/store.ts";
import { table } from "../terminal.ts";
import { showUsd } from "../usd.ts";

/** `toDo` is about this one, `general` about all of its kind, `where` this one's part of it. */
export type Advice = { known: string; toDo: string; general: string; where: string };

const iso = (ms: number): string => new Date(ms).toISOString();

/** Where the provider knows it: by its own id, else by the reference or the input it was sent. */
const whereOf = ({ provider, jobId, ref }: OrphanRow): string =>
  jobId === null ? `a job of ${ref} in the list of ${provider}` : `job ${jobId} at ${provider}`;

/** What is known of an orphan, and what is to be done about it. */
export const adviceOf = (row: OrphanRow): Advice => {
  const where = `${row.jobId === null ? `reference ${row.ref}` : `job ${row.jobId}`} at ${row.provider}`;
  const paid = (known: string): Advice => ({
    known,
    toDo: `it was paid: ask ${row.provider} for it back, or book it as a loss`,
    general: "it was paid: ask the provider for it back, or book it as a loss",
    where,
  });
  if (row.fate === "late") return paid("it delivered when its result was no longer wanted");
  if (row.fate === "unusable") return paid("it delivered a result that could not be had or read");
  const known =
    row.failure?.class === "gone"
      ? "the provider no longer knows its job"
      : row.jobId === null
        ? "its request was sent and its answer lost; no job was found"
        : "its job was not seen to end";
  if (row.isWatched && row.watchUntilMs !== null) {
    const outcome =
      row.status === "running" ? "if it delivers in time it is used and charged" : "if it delivers it is marked late";
    const until = iso(row.watchUntilMs);
    return {
      known,
      toDo: `nothing yet: it is asked about until ${until}; ${outcome}`,
      general: `nothing yet, it is asked about: ${outcome}`,
      where: `until ${until}`,
    };
  }
  const then = "if it is there, cancel it or ask for it back";
  return { known, toDo: `look for ${whereOf(row)}: ${then}`, general: `look for it at the provider: ${then}`, where };
};

/** `45 s`, `12 min`, `3 h`, `9 d`. */
const showAge = (ms: number): string => {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 120) return `${s} s`;
  if (s < 7200) return `${Math.floor(s / 60)} min`;
  return s < 172_800 ? `${Math.floor(s / 3600)} h` : `${Math.floor(s / 86_400)} d`;
};

const HEAD = ["GENERATION", "N", "FATE", "USD", "AGE", "PROVIDER"] as const;

/** The widest rows that fit: with route and job, with the job alone, with neither. */
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

/** So many of a kind are named below the table; all of them are above it. */
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
    ...(alike.length > NAMED ? [`  and ${alike.length - NAMED} more: --json says it of each`] : []),
  ]);
};

/** @param columns of the terminal. */
export const linesOf = (rows: readonly OrphanRow[], nowMs: number, columns: number): string[] => [
  ...rowsWithin(rows, nowMs, columns),
  ...kindsOf(rows),
  "",
];
