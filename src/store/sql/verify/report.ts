// Report of violating rows: a bounded number per message, and the result of each invariant.
import type { JsonObject } from "../../../domain/types.ts";
import type { CheckResult } from "../../store.ts";
import type { Check, Offender } from "./check.ts";

/** Maximum number of reported rows per invariant. */
export const MAX_ROWS = 20;

const BROKEN_OFF = "the check did not finish";

/** Collects the violating rows of a clause and keeps the first of each message. */
export const createReport = (faults: readonly string[]) => {
  const rows: JsonObject[] = [];
  const reported = new Map(faults.map((fault) => [fault, 0]));
  return {
    rows,
    /** @returns whether every message has enough rows, so that the clause can stop. */
    report: (row: Offender): boolean => {
      const times = reported.get(row.fault) ?? 0;
      if (times >= MAX_ROWS) return false;
      reported.set(row.fault, times + 1);
      rows.push(row);
      return [...reported.values()].every((count) => count >= MAX_ROWS);
    },
    /** A query over a damaged page fails. This is a result, and the other clauses still run. */
    breakOff: (detail: string): void => {
      rows.push({ fault: BROKEN_OFF, detail });
    },
  };
};

type Noting = { isNote?: true };
const noteOf = ({ fault, ...counts }: JsonObject): string => [...Object.values(counts), fault].join(" ");

/** The results of all invariants, from the violating rows of each clause. */
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
    // Alternates between messages, so that a message with many rows does not hide the others.
    const turns = Array.from({ length: MAX_ROWS }, (_, turn) => found.flatMap((rows) => rows.slice(turn, turn + 1)));
    const notes = noted.flatMap((one) => (offenders.get(one) ?? []).map(noteOf));
    return {
      ...{ invariant, name, ok: found.length === 0, offending: turns.flat().slice(0, MAX_ROWS) },
      ...(notes.length === 0 ? {} : { note: notes.join("; ") }),
    };
  });

/** The results of the checks whose clauses have all run. */
export const judgeSoFar = <Run extends Noting>(
  checks: readonly Check<Run>[],
  offenders: ReadonlyMap<Run, JsonObject[]>,
): CheckResult[] =>
  judge(
    checks.filter(({ clauses }) => clauses.every((one) => offenders.has(one))),
    offenders,
  );
