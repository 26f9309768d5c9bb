// Check of an invariant: a name and clauses, each a query that selects violating rows.
//
// Each driver runs the clauses in its own way.
import type { JsonObject } from "../../../domain/types.ts";
import type { Dialect } from "../dialect.ts";
import type { Value } from "../sql-program.ts";

/** A violating row with the message that reports it. */
export type Offender = JsonObject & { fault: string };

type Text = string | ((words: Dialect) => string);

/** One condition that must never hold: a query that selects only violating rows, with the columns to find them by. */
export type Clause = {
  /** The messages of the rows. A row without a column `fault` is reported with the first. */
  faults: readonly [string, ...string[]];
  sql: Text;
  /** Checked only while the service runs. `?1` is the current time. */
  whileRunning?: true;
  /** The SQLite schema migration that created its tables, and the query for an older file. */
  since?: { step: number; before?: Text };
  /** Whether a selected row is a violation, for conditions that SQL cannot express. */
  isOffender?: (row: JsonObject) => boolean;
  /** The reported form of a violating row, if it is not the selected row. */
  shown?: (row: JsonObject) => JsonObject;
  /** Its rows are not violations but a note beside the result. */
  isNote?: true;
};

/** `Run`: a clause in the form that the driver runs. */
export type Check<Run> = { invariant: number; name: string; clauses: readonly Run[] };

/** A clause with one query. */
export const clause = (fault: string, sql: Text): Clause => ({ faults: [fault], sql });

/** Several clauses over the same rows as one query, which selects the first message that applies to a row. */
export const clauses = (faults: readonly [string, ...string[]], sql: Text): Clause => ({ faults, sql });

export const whileRunning = (fault: string, sql: Text): Clause => ({ faults: [fault], sql, whileRunning: true });

/**
 * A clause about tables of a later SQLite schema migration, so that an older copy can be verified. `before`: the query for an
 * older copy.
 */
export const clauseSince = (step: number, fault: string, sql: Text, before?: Text): Clause => ({
  faults: [fault],
  sql,
  since: before === undefined ? { step } : { step, before },
});

/**
 * The statement to run; undefined if the clause does not apply to this database.
 * @param nowMs Null: the service is not running, so overdue deadlines are not checked.
 * @param step Schema version of the SQLite file; absent: the newest.
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

/** The violation of a selected row, if it is one. */
export const offenderOf = ({ faults, isOffender, shown }: Clause, row: JsonObject): Offender | undefined =>
  isOffender?.(row) === false ? undefined : { fault: faults[0], ...(shown ? shown(row) : row) };
