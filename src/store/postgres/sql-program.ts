// PostgreSQL dialect of shared SQL, and the asynchronous runner of SQL programs.

import type { Dialect } from "../sql/dialect.ts";
import type { Answer, SqlProgram } from "../sql/sql-program.ts";
import type { Connection } from "./connections.ts";

export const POSTGRES: Dialect = {
  writers: "node",
  forUpdate: "FOR NO KEY UPDATE",
  json: (column) => `CAST(${column} AS json)`,
  elements: (json, alias) => `json_array_elements(CAST(${json} AS json)) AS ${alias} (value)`,
  items: (json, alias) => `json_array_elements_text(CAST(${json} AS json)) AS ${alias} (value)`,
  numbered: (json, alias) =>
    `LATERAL (SELECT value, place - 1 AS key FROM json_array_elements(CAST(${json} AS json)) WITH ORDINALITY AS each (value, place)) ${alias}`,
  isJson: (column) => `(${column} IS JSON)`,
  body: "g.body",
  labels: "g.labels",
  answers: "attempt",
  delivers: "d.epoch = ?2",
  hasCallbackInbox: true,
};

/** Runs a program inside the open transaction of a connection. */
export const carryOut = async <T>(connection: Connection, asking: SqlProgram<T>): Promise<T> => {
  let step = asking.next();
  while (!step.done) {
    const { sql, values } = step.value;
    const { rows, changes } = await connection.send(sql, ...values);
    const answer: Answer = { rows, changes };
    step = asking.next(answer);
  }
  return step.value;
};
