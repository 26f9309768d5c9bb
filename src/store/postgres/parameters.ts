// SQL parameters with many values: numbers as an array, rows as JSON.

/** SQL expression for the array of whole numbers in a parameter. */
export const integers = (parameter: string): string => `CAST(CAST(${parameter} AS text) AS bigint[])`;
/** The empty array. */
integers.NONE = "{}";
/** The text of an array. */
integers.of = (values: readonly number[]): string => `{${values.join(",")}}`;

export type Columns = Readonly<Record<string, "bigint" | "text" | "boolean">>;

/** SQL expression for the table in a parameter: a JSON array of objects with these members. */
export const rowsOf = (parameter: string, columns: Columns, alias: string): string => {
  const typed = Object.entries(columns).map(([name, type]) => `${name} ${type}`);
  return `json_to_recordset(CAST(CAST(${parameter} AS text) AS json)) AS ${alias} (${typed.join(", ")})`;
};
