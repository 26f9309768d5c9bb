// SQL programs: generator functions that run one statement after another on either database.

/** Value of a parameter such as `?1`. */
export type Value = string | number | null;
/** One statement. `wants`: its rows, or the number of changed rows. */
export type Statement = { wants: "rows" | "changes"; sql: string; values: readonly Value[] };
export type Answer = { rows: readonly unknown[]; changes: number };

/**
 * A program inside a transaction: it yields a statement and receives its result. SQLite runs it synchronously, PostgreSQL over
 * its connection. Rows that are read to be changed are read with `forUpdate` (dialect.ts), or no other writer changes them.
 */
export type SqlProgram<T> = Generator<Statement, T, Answer>;

export const all = function* <Row>(sql: string, ...values: Value[]): SqlProgram<readonly Row[]> {
  const { rows } = yield { wants: "rows", sql, values };
  return rows as readonly Row[];
};
export const first = function* <Row>(sql: string, ...values: Value[]): SqlProgram<Row | undefined> {
  const { rows } = yield { wants: "rows", sql, values };
  return rows[0] as Row | undefined;
};
/** @returns the number of changed rows. */
export const change = function* (sql: string, ...values: Value[]): SqlProgram<number> {
  const { changes } = yield { wants: "changes", sql, values };
  return changes;
};
/** Inserts one row and returns its number; the statement ends with `… RETURNING seq`. */
export const insert = function* (sql: string, ...values: Value[]): SqlProgram<number> {
  const { rows } = yield { wants: "rows", sql, values };
  return (rows[0] as { seq: number }).seq;
};

/** Reads rows outside of a mutation. */
export type Query = <Row>(sql: string, ...values: Value[]) => Promise<Row[]>;
