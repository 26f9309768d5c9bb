// Runs SQL programs synchronously over one SQLite connection.
import type { Database } from "bun:sqlite";
import type { Dialect } from "../sql/dialect.ts";
import type { Answer, Query, SqlProgram, Statement, Value } from "../sql/sql-program.ts";

/** One writer needs no locks. */
export const SQLITE: Dialect = {
  writers: "writer_epoch",
  forUpdate: "",
  json: (column) => column,
  elements: (json, alias) => `json_each(${json}) ${alias}`,
  items: (json, alias) => `json_each(${json}) ${alias}`,
  numbered: (json, alias) => `json_each(${json}) ${alias}`,
  isJson: (column) => `json_valid(${column})`,
  body: "(SELECT r.body FROM generation_request r WHERE r.generation_seq = g.seq)",
  labels: "(SELECT r.labels FROM generation_request r WHERE r.generation_seq = g.seq)",
  answers: "attempt_answer",
  // The only writer also delivers what the openings before it have left.
  delivers: "d.epoch <= ?2",
  hasCallbackInbox: false,
};

/** Statements of a connection, prepared on first use. */
const openStatements = (db: Database) => {
  const made = new Map<string, ReturnType<typeof db.prepare<unknown, Value[]>>>();
  return (sql: string) => {
    const known = made.get(sql);
    if (known) return known;
    const statement = db.prepare<unknown, Value[]>(sql);
    made.set(sql, statement);
    return statement;
  };
};

/** Runs a program inside the open transaction. */
export const createSqlProgram = (db: Database): (<T>(asking: SqlProgram<T>) => T) => {
  const statement = openStatements(db);
  const answer = ({ wants, sql, values }: Statement): Answer =>
    wants === "rows"
      ? { rows: statement(sql).all(...values), changes: 0 }
      : { rows: [], changes: statement(sql).run(...values).changes };
  return (asking) => {
    let step = asking.next();
    while (!step.done) step = asking.next(answer(step.value));
    return step.value;
  };
};

/** Reads over a connection; the result is available immediately. */
export const openQuery = (db: Database): Query => {
  const statement = openStatements(db);
  return async <Row>(sql: string, ...values: Value[]) => statement(sql).all(...values) as Row[];
};

/** Cached rows need no statement. */
// biome-ignore lint/correctness/useYield: there is nothing to ask.
export const known = function* <T>(value: T): SqlProgram<T> {
  return value;
};
