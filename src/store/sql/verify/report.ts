// What is told of offending rows: so many of each sentence, and the verdict on each invariant.
import type { JsonObject } from "../../../domain/types.ts";
import type { CheckResult } from "../../store.ts";
import type { Check, Offender } from "./check.ts";

/** At most this many offending rows of an invariant are told. */
export const MOST_ROWS = 20;

const BROKEN_OFF = "the check could not be finished";

/** Takes the rows that offend a clause as they are found, and keeps the first of each sentence. */
export const createReport = (faults: readonly string[]) => {
  const rows: JsonObject[] = [];
  const told = new Map(faults.map((fault) => [fault, 0]));
  return {
    rows,
    /** @returns whether there are enough of every sentence, so that no more need be found. */
    tell: (row: Offender): boolean => {
      const times = told.get(row.fault) ?? 0;
      if (times >= MOST_ROWS) return false;
      told.set(row.fault, times + 1);
      rows.push(row);
      return [...told.values()].every((count) => count >= MOST_ROWS);
    },
    /** A damaged page makes a query fail: that is an answer, not a reason to stop looking. */
    breakOff: (detail: string): void => {
      rows.push({ fault: BROKEN_OFF, detail });
    },
  };
};

type Noting = { isNote?: true };
const noteOf = ({ fault, ...counts }: JsonObject): string => [...Object.values(counts), fault].join(" ");

/** The verdicts, from what offends each clause. */
export const judge = <Run extends Noting>(
  checks: readonly Check<Run>[],
  offenders: ReadonlyMap<Run, JsonObject[]>,
): CheckResult[] =>
  checks.map(({ invariant, name, clauses }) => {
    const isNote = (one: Run, rows: JsonObject[]) => one.isNote === true && rows.every(({ fault }) => fault !== BROKEN_OFF);
    const [noted, judged] = [true, false].map((wanted) =>
      clauses.filter((one) => isNote(one, offenders.get(one) ?? []) === wanted),
    ) as [Run[], Run[]];
    const found = judged.flatMap((one) => [...Map.groupBy(offenders.get(one) ?? [], ({ fault }) => fault).values()]);
    // In turn, so that a sentence with many rows does not hide the others.
    const turns = Array.from({ length: MOST_ROWS }, (_, turn) => found.flatMap((rows) => rows.slice(turn, turn + 1)));
    const notes = noted.flatMap((one) => (offenders.get(one) ?? []).map(noteOf));
    return {
      ...{ invariant, name, ok: found.length === 0, offending: turns.flat().slice(0, MOST_ROWS) },
      ...(notes.length === 0 ? {} : { note: notes.join("; ") }),
    };
  });

/** The verdicts on the checks of which every clause has been run. */
export const judgeSoFar = <Run extends Noting>(
  checks: readonly Check<Run>[],
  offenders: ReadonlyMap<Run, JsonObject[]>,
): CheckResult[] =>
  judge(
    checks.filter(({ clauses }) => clauses.every((one) => offenders.has(one))),
    offenders,
  );
