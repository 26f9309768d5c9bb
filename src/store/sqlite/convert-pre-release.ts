// Converts the tables of builds before the first release into the present schema, inside an open transaction.
//
// Every table is created again and filled from the former one, so a converted file has the schema of a new one, word for word.
import type { Database } from "bun:sqlite";
import { copyTable, FORMER_SQLITE_TABLES } from "../sql/pre-release-schema.ts";
import { StoreDamaged } from "./errors.ts";

const ASIDE = "pre_release_";
const VIEWS = ["command", "movement", "entry"];

/** The tables of the schema. Objects that the operator added to the file are not touched. */
const tablesOf = (schema: string): string[] => [...schema.matchAll(/^CREATE TABLE (\w+)/gm)].map((found) => found[1] ?? "");
const formerNameOf = (table: string): string => FORMER_SQLITE_TABLES[table]?.name ?? table;

const countOf = (db: Database, table: string): number =>
  db.query<{ n: number }, []>(`SELECT count(*) AS n FROM ${table}`).get()?.n ?? 0;

/** Renames the former tables, and drops the objects that depend on them. */
const putAside = (db: Database, former: readonly string[]): void => {
  const parts = db
    .query<{ type: string; name: string; tbl_name: string }, []>(
      "SELECT type, name, tbl_name FROM sqlite_schema WHERE type IN ('trigger', 'index') AND sql IS NOT NULL ORDER BY rowid",
    )
    .all();
  for (const { type, name, tbl_name: table } of parts) if (former.includes(table)) db.run(`DROP ${type} "${name}"`);
  for (const view of VIEWS) db.run(`DROP VIEW ${view}`);
  // References of other objects keep the name, which belongs to the present table afterwards.
  db.run("PRAGMA legacy_alter_table = 1");
  for (const name of former) db.run(`ALTER TABLE ${name} RENAME TO ${ASIDE}${name}`);
  db.run("PRAGMA legacy_alter_table = 0");
};

/** Runs without triggers, because rows arrive in their last state. */
const withoutTriggers = (db: Database, work: () => void): void => {
  const triggers = db
    .query<{ name: string; sql: string }, []>("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY rowid")
    .all();
  for (const { name } of triggers) db.run(`DROP TRIGGER "${name}"`);
  work();
  for (const { sql } of triggers) db.run(sql);
};

/**
 * Foreign keys must be off. @param schema The present schema.
 * @throws StoreDamaged if a row was lost or refers to a missing row; the caller rolls back.
 */
export const convertPreRelease = (db: Database, schema: string): void => {
  const tables = tablesOf(schema);
  putAside(db, tables.map(formerNameOf));
  db.run(schema);
  withoutTriggers(db, () => {
    for (const table of tables) {
      const from = `${ASIDE}${formerNameOf(table)}`;
      const columns = db.query<{ name: string }, [string]>("SELECT name FROM pragma_table_info(?1)").all(table);
      const names = columns.map(({ name }) => name);
      db.run(copyTable(table, names, from, FORMER_SQLITE_TABLES[table]));
      if (countOf(db, table) !== countOf(db, from))
        throw new StoreDamaged(`the conversion lost rows of ${table}; nothing was changed`);
      db.run(`DROP TABLE ${from}`);
    }
  });
  const [stray] = db.query<{ table: string }, []>("PRAGMA foreign_key_check").all();
  if (stray)
    throw new StoreDamaged(
      `a row of ${stray.table} refers to a missing row; restore a backup, or run genrouter verify of the release that wrote it`,
    );
};
