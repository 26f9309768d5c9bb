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
 * The statement to run; undefined if the clause does not apply to this database.
 * @param nowMs Null: the service is not running, so overdue deadlines are not checked.
 */
export const statementOf = (
  { sql, whileRunning: isOfRunning }: Clause,
  words: Dialect,
  nowMs: number | null,
): { sql: string; values: Value[] } | undefined => {
  if (isOfRunning && nowMs === null) return undefined;
  return { sql: typeof sql === "string" ? sql : sql(words), values: isOfRunning ? [nowMs] : [] };
};

/** The violation of a selected row, if it is one. */
export const offenderOf = ({ faults, isOffender, shown }: Clause, row: JsonObject): Offender | undefined =>
  isOffender?.(row) === false ? undefined : { fault: faults[0], ...(shown ? shown(row) : row) };
