// Converts the tables of builds before the first release into the present schema, inside the transaction of the migration.
//
// The former tables are moved into a schema of their own, where they remain as the copy of the state before the conversion. The
// present tables are created and filled from them.

import { WrongSchema } from "../errors.ts";
import { markingRestored } from "../sql/mark-restored.ts";
import { copyTable, FORMER_POSTGRES_TABLES } from "../sql/pre-release-schema.ts";
import type { Connection } from "./connections.ts";
import { continueIdentities } from "./identities.ts";
import { PRE_RELEASE_MIGRATIONS } from "./schema/pre-release/migrations.ts";
import { carryOut } from "./sql-program.ts";

/** The schema that keeps the former tables. */
export const COPY_SCHEMA = "genrouter_before_10";

const created = (kind: string): string[] => [
  ...new Set(
    PRE_RELEASE_MIGRATIONS.flatMap(({ sql }) =>
      [...sql.matchAll(new RegExp(`^CREATE ${kind} (\\w+)`, "gm"))].map((found) => found[1] ?? ""),
    ),
  ),
];

const HOLDERS = `SELECT host, pid, ends_at_ms - now_ms() AS left_ms FROM lease l JOIN owner o ON o.epoch = l.epoch
  WHERE l.ends_at_ms >= now_ms() ORDER BY l.ends_at_ms DESC`;

/** @throws WrongSchema while a node of an older build holds a lease: it would continue to write the former tables. */
export const requireNoLease = async (line: Connection): Promise<void> => {
  const { rows } = await line.send<{ host: string; pid: number; left_ms: number }>(HOLDERS);
  const [first] = rows;
  if (!first) return;
  throw new WrongSchema(
    `the database has the tables of an older build, and ${rows.length === 1 ? "a node" : `${rows.length} nodes`} of it still ${rows.length === 1 ? "holds" : "hold"} a lease (${first.host}, pid ${first.pid}, for ${Math.ceil(first.left_ms / 1000)} s): stop every node of the older build, then start this release; nothing was changed`,
  );
};

/** Moves the former objects of the current schema into the schema of the copy. */
const putAside = async (line: Connection): Promise<void> => {
  const tables = [...created("TABLE"), ...created("UNLOGGED TABLE"), "migration"];
  await line.script(`CREATE SCHEMA ${COPY_SCHEMA}`).catch((fault: unknown) => {
    throw new WrongSchema(
      `the copy of the former tables needs the schema ${COPY_SCHEMA}, which cannot be created (${fault instanceof Error ? fault.message : String(fault)}): give the role CREATE on the database, or rename a schema of that name, then start again; nothing was changed`,
    );
  });
  const statements = [
    ...created("VIEW").map((name) => `ALTER VIEW ${name} SET SCHEMA ${COPY_SCHEMA}`),
    ...tables.map((name) => `ALTER TABLE ${name} SET SCHEMA ${COPY_SCHEMA}`),
    ...created("FUNCTION").map((name) => `ALTER FUNCTION ${name} SET SCHEMA ${COPY_SCHEMA}`),
  ];
  await line.script(statements.join(";\n"));
};

/** A return to the copy would continue generations for which jobs may have been bought since, so it is marked as restored. */
const markCopy = async (line: Connection, nowMs: number): Promise<void> => {
  const { rows } = await line.send<{ path: string }>("SELECT current_setting('search_path') AS path");
  await line.script(`SET LOCAL search_path = ${COPY_SCHEMA}`);
  await carryOut(line, markingRestored({ takenAtMs: nowMs, nowMs }));
  await line.send("SELECT set_config('search_path', ?1, true)", rows[0]?.path ?? "public");
};

const COLUMNS = `SELECT c.table_name AS "table", c.column_name AS "column" FROM information_schema.columns c
  JOIN information_schema.tables t ON t.table_schema = c.table_schema AND t.table_name = c.table_name AND t.table_type = 'BASE TABLE'
  WHERE c.table_schema = current_schema() ORDER BY c.table_name, c.ordinal_position`;

/** The tables of the schema in the order of their creation, in which a row follows the rows that it refers to. */
const tablesOf = (schema: string): string[] =>
  [...schema.matchAll(/^CREATE (?:UNLOGGED )?TABLE (\w+)/gm)].map((found) => found[1] ?? "");

const copyRows = async (line: Connection, tables: readonly string[]): Promise<void> => {
  const { rows } = await line.send<{ table: string; column: string }>(COLUMNS);
  // Rows arrive in their last state, which the triggers on changes do not know.
  await line.script(tables.map((table) => `ALTER TABLE ${table} DISABLE TRIGGER USER`).join(";\n"));
  for (const table of tables) {
    const former = FORMER_POSTGRES_TABLES[table];
    const from = `${COPY_SCHEMA}.${former?.name ?? table}`;
    const columns = rows.filter((row) => row.table === table).map(({ column }) => column);
    await line.script(copyTable(table, columns, from, former));
    const { rows: counted } = await line.send<{ missing: number }>(
      `SELECT (SELECT count(*) FROM ${from}) - (SELECT count(*) FROM ${table}) AS missing`,
    );
    if (counted[0]?.missing !== 0) throw new WrongSchema(`the conversion lost rows of ${table}; nothing was changed`);
  }
  await line.script(tables.map((table) => `ALTER TABLE ${table} ENABLE TRIGGER USER`).join(";\n"));
};

/**
 * Runs inside the transaction that holds the opening lock, over a database with the last schema before the first release.
 * @param schema The present schema.
 * @throws WrongSchema if the copy cannot be made.
 */
export const convertPreRelease = async (line: Connection, schema: string, nowMs: number): Promise<void> => {
  await putAside(line);
  await line.script(schema);
  await copyRows(line, tablesOf(schema));
  await continueIdentities(line, tablesOf(schema));
  await markCopy(line, nowMs);
};
