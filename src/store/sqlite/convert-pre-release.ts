// Converts the tables of builds before the first release into the present schema, inside an open transaction.
//
// Every table is created again and filled from the former one, so a converted file has the schema of a new one, word for word.
import type { Database } from "bun:sqlite";
import { copyTable, FORMER_SQLITE_TABLES } from "../sql/pre-release-schema.ts";
import { StoreDamaged } from "./errors.ts";

const ASIDE = "pre_release_";
/** The record of migrations is not part of the schema file. */
const MIGRATION_TABLE = "migration";

const namesOf = (db: Database, type: string): string[] =>
  db
    .query<{ name: string }, [string]>(
      "SELECT name FROM sqlite_schema WHERE type = ?1 AND sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid",
    )
    .all(type)
    .map(({ name }) => name);

const countOf = (db: Database, table: string): number =>
  db.query<{ n: number }, []>(`SELECT count(*) AS n FROM ${table}`).get()?.n ?? 0;

/** Renames the former tables, and drops the objects that depend on them. @returns the former tables. */
const putAside = (db: Database): string[] => {
  for (const type of ["trigger", "view", "index"]) for (const name of namesOf(db, type)) db.run(`DROP ${type} ${name}`);
  const tables = namesOf(db, "table").filter((name) => name !== MIGRATION_TABLE && !name.startsWith("_litestream"));
  for (const name of tables) db.run(`ALTER TABLE ${name} RENAME TO ${ASIDE}${name}`);
  return tables;
};

/** Runs without triggers, because rows arrive in their last state. */
const withoutTriggers = (db: Database, work: () => void): void => {
  const triggers = db
    .query<{ name: string; sql: string }, []>("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY rowid")
    .all();
  for (const { name } of triggers) db.run(`DROP TRIGGER ${name}`);
  work();
  for (const { sql } of triggers) db.run(sql);
};

/**
 * Foreign keys must be off. @param schema The present schema.
 * @throws StoreDamaged if a row was lost or refers to a missing row; the caller rolls back.
 */
export const convertPreRelease = (db: Database, schema: string): void => {
  const former = putAside(db);
  db.run(schema);
  withoutTriggers(db, () => {
    for (const table of namesOf(db, "table").filter((name) => name !== MIGRATION_TABLE && !name.startsWith(ASIDE))) {
      const known = FORMER_SQLITE_TABLES[table];
      const from = `${ASIDE}${known?.name ?? table}`;
      if (!former.includes(known?.name ?? table)) continue;
      const columns = db.query<{ name: string }, [string]>("SELECT name FROM pragma_table_info(?1)").all(table);
      db.run(
        copyTable(
          table,
          columns.map(({ name }) => name),
          from,
          known,
        ),
      );
      if (countOf(db, table) !== countOf(db, from))
        throw new StoreDamaged(`the conversion lost rows of ${table}; nothing was changed`);
    }
  });
  for (const name of former) db.run(`DROP TABLE ${ASIDE}${name}`);
  const [stray] = db.query<{ table: string }, []>("PRAGMA foreign_key_check").all();
  if (stray)
    throw new StoreDamaged(
      `a row of ${stray.table} refers to a missing row; restore a backup, or run genrouter verify of the release that wrote it`,
    );
};
