// Where the two databases want different words for one thing; all other SQL that drivers share is the part that both understand.

export type Dialect = {
  /** Ends a SELECT whose rows are about to be changed: nobody else changes them before this transaction is over. */
  forUpdate: string;
  /** A column of JSON text as JSON, so that `->` and `->>` can be asked of it. Of a parameter: `CAST(?1 AS text)`, or it would be quoted. */
  json(column: string): string;
  /** The elements of a JSON array as a table with one column, `value`: JSON, of which `->>` can be asked. */
  elements(json: string, alias: string): string;
  /** The elements of a JSON array of texts or numbers as a table with one column, `value`; a number still needs a CAST. */
  items(json: string, alias: string): string;
  /** The elements of a JSON array as a table with two columns: `value` as in `elements`, and `key`, its place from 0. */
  numbered(json: string, alias: string): string;
  /** Whether a text is JSON. */
  isJson(column: string): string;
};
