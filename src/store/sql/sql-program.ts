// How a mutation that is not on the fast way asks its database, one statement after another, in words that both databases understand.

/** What stands for a `?1` in a statement. */
export type Value = string | number | null;
/** One statement. `wants`: its rows, or how many rows it has changed. */
export type Statement = { wants: "rows" | "changes"; sql: string; values: readonly Value[] };
export type Answer = { rows: readonly unknown[]; changes: number };

/**
 * Work inside a transaction that asks, is answered and goes on. A driver carries it out: SQLite at once, PostgreSQL over its connection.
 * What it reads to change it, it reads with `forUpdate` (dialect.ts), or nobody else changes it.
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
/** @returns how many rows it has changed. */
export const change = function* (sql: string, ...values: Value[]): SqlProgram<number> {
  const { changes } = yield { wants: "changes", sql, values };
  return changes;
};
/** Inserts one row and says its number, which the statement ends with: `… RETURNING seq`. */
export const insert = function* (sql: string, ...values: Value[]): SqlProgram<number> {
  const { rows } = yield { wants: "rows", sql, values };
  return (rows[0] as { seq: number }).seq;
};

/** Reads rows outside of any mutation. */
export type Query = <Row>(sql: string, ...values: Value[]) => Promise<Row[]>;
