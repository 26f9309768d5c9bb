// What a check of an invariant is: a name and its clauses, each a query whose rows offend. A driver runs the clauses its own way.
import type { JsonObject } from "../../../domain/types.ts";
import type { Dialect } from "../dialect.ts";
import type { Value } from "../sql-program.ts";

/** A row that may not be, and the sentence it is told with. */
export type Offender = JsonObject & { fault: string };

type Text = string | ((words: Dialect) => string);

/** One thing that may not be: a query that selects offenders only, and names enough to find them by. */
export type Clause = {
  /** The sentences its rows are told with. A row that does not select which one as `fault` is told with the first. */
  faults: readonly [string, ...string[]];
  sql: Text;
  /** It means something only while a service runs that should have seen to it. `?1` in it is the time. */
  whileRunning?: true;
  /** The step of SQLite's schema that brought its tables, and what is asked of a file of before it. */
  since?: { step: number; before?: Text };
  /** Whether a selected row offends, where SQL cannot say. */
  isOffender?: (row: JsonObject) => boolean;
  /** What is told of a row that offends, where it is not the row as it was selected. */
  shown?: (row: JsonObject) => JsonObject;
  /** Its rows are no faults: what was left out, worth a line beside the verdict. */
  isNote?: true;
};

/** `Run`: a clause as the driver runs it. */
export type Check<Run> = { invariant: number; name: string; clauses: readonly Run[] };

/** A clause that is one query. */
export const clause = (fault: string, sql: Text): Clause => ({ faults: [fault], sql });

/** Clauses that read the same rows, as one query: it selects which of the sentences is true of a row, the first where several are. */
export const clauses = (faults: readonly [string, ...string[]], sql: Text): Clause => ({ faults, sql });

export const whileRunning = (fault: string, sql: Text): Clause => ({ faults: [fault], sql, whileRunning: true });

/** A clause of tables that a step of SQLite's schema brought: a copy of before it is checked as well. `before`: what is checked of that. */
export const clauseSince = (step: number, fault: string, sql: Text, before?: Text): Clause => ({
  faults: [fault],
  sql,
  since: before === undefined ? { step } : { step, before },
});

/**
 * What is to be asked now; undefined: nothing, it says nothing of this database.
 * @param nowMs null: the service is not running, so what is overdue does not count. @param step of SQLite's schema; absent: all are done.
 */
export const statementOf = (
  { sql, whileRunning: isOfRunning, since }: Clause,
  words: Dialect,
  nowMs: number | null,
  step = Number.POSITIVE_INFINITY,
): { sql: string; values: Value[] } | undefined => {
  const fitting = since && step < since.step ? since.before : sql;
  if (fitting === undefined || (isOfRunning && nowMs === null)) return undefined;
  return { sql: typeof fitting === "string" ? fitting : fitting(words), values: isOfRunning ? [nowMs] : [] };
};

/** What a selected row comes to. */
export const offenderOf = ({ faults, isOffender, shown }: Clause, row: JsonObject): Offender | undefined =>
  isOffender?.(row) === false ? undefined : { fault: faults[0], ...(shown ? shown(row) : row) };
