// SQL that differs between SQLite and PostgreSQL; all other shared SQL works on both.

export type Dialect = {
  /** The table with one row for each opening by a writer, by `epoch`. */
  writers: "writer_epoch" | "node";
  /** Suffix of a SELECT whose rows are changed next: it locks them until the end of the transaction. */
  forUpdate: string;
  /** A column of JSON text as JSON, for `->` and `->>`. For a parameter use `CAST(?1 AS text)`, otherwise it is quoted. */
  json(column: string): string;
  /** Elements of a JSON array as a table with the column `value`: JSON, for `->>`. */
  elements(json: string, alias: string): string;
  /** Elements of a JSON array of texts or numbers as a table with the column `value`; a number needs a CAST. */
  items(json: string, alias: string): string;
  /** Elements of a JSON array as a table with two columns: `value` as in `elements`, and `key`, the position from 0. */
  numbered(json: string, alias: string): string;
  /** Whether a text is JSON. */
  isJson(column: string): string;
  /** The body of a request, of `generation g`. */
  body: string;
  /** The labels of a request, of `generation g`. */
  labels: string;
  /** The table with `results` and `failure` of attempts. */
  answers: "attempt_answer" | "attempt";
  /** Condition on `webhook_delivery d`: the writer with the epoch `?2` delivers it. */
  delivers: string;
  /** Whether nodes leave events for each other in `callback_inbox`. */
  hasCallbackInbox: boolean;
};
