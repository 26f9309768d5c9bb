// Identity columns: continues their numbers after the rows that a copy brought.
import type { Connection } from "./connections.ts";

const IDENTITIES = `SELECT c.relname AS "table", a.attname AS "column" FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
  WHERE a.attidentity <> '' AND c.oid = to_regclass(quote_ident(c.relname))`;

/** @param tables The tables that were filled; identities of other tables are not touched. */
export const continueIdentities = async (line: Connection, tables: readonly string[]): Promise<void> => {
  const { rows } = await line.send<{ table: string; column: string }>(IDENTITIES);
  for (const { table, column } of rows.filter((row) => tables.includes(row.table)))
    await line.send(
      `SELECT setval(pg_get_serial_sequence('${table}', '${column}'), m.newest) FROM (SELECT max(${column}) AS newest FROM ${table}) m
       WHERE m.newest IS NOT NULL`,
    );
};
