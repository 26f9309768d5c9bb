// How many values go into one statement: numbers as an array, rows as JSON, both as one text whose meaning the statement says.

/** The SQL of an array of whole numbers that a parameter holds as text. */
export const integers = (parameter: string): string => `CAST(CAST(${parameter} AS text) AS bigint[])`;
/** No number at all. */
integers.NONE = "{}";
/** The text of an array. */
integers.of = (values: readonly number[]): string => `{${values.join(",")}}`;

export type Columns = Readonly<Record<string, "bigint" | "text" | "boolean">>;

/** The SQL of a table whose rows a parameter holds as JSON: an array of objects with these members. */
export const rowsOf = (parameter: string, columns: Columns, alias: string): string => {
  const typed = Object.entries(columns).map(([name, type]) => `${name} ${type}`);
  return `json_to_recordset(CAST(CAST(${parameter} AS text) AS json)) AS ${alias} (${typed.join(", ")})`;
};
