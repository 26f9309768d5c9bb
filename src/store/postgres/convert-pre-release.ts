// Converts the tables of builds before the first release into the present schema, inside the transaction of the migration.
//
// The former tables are moved into a schema of their own, where they remain as the copy of the state before the conversion. The
// present tables are created and filled from them.

import { WrongSchema } from "../errors.ts";
import { markingRestored } from "../sql/mark-restored.ts";
import { copyTable, FORMER_POSTGRES_TABLES } from "../sql/pre-release-schema.ts";
import type { Connection } from "./connections.ts";
import { stateOf } from "./errors.ts";
import { continueIdentities } from "./identities.ts";
import { dependentObjects, type Grant, grantStatement, grantsOn, occupiedNames, type SchemaNames } from "./operator-objects.ts";
import { PRE_RELEASE_MIGRATIONS } from "./schema/pre-release/migrations.ts";
import { carryOut } from "./sql-program.ts";

/** The schema that keeps the former tables. */
export const COPY_SCHEMA = "genrouter_before_10";

/** Names of the objects that SQL creates: as the first words of a line. */
const createdBy = (sql: readonly string[], kind: string): string[] => [
  ...new Set(sql.flatMap((text) => [...text.matchAll(new RegExp(`^CREATE ${kind} (\\w+)`, "gm"))].map(([, name]) => name ?? ""))),
];
const namesIn = (sql: readonly string[]): SchemaNames => ({
  tables: createdBy(sql, "(?:UNLOGGED )?TABLE"),
  views: createdBy(sql, "VIEW"),
  triggers: createdBy(sql, "(?:CONSTRAINT )?TRIGGER"),
});
/** The names of the former schema, with the record of its migrations. */
const formerNames = (): SchemaNames & { functions: readonly string[] } => {
  const sql = PRE_RELEASE_MIGRATIONS.map((step) => step.sql);
  const { tables, ...names } = namesIn(sql);
  return { ...names, tables: [...tables, "migration"], functions: createdBy(sql, "FUNCTION") };
};

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

/**
 * @throws WrongSchema with the names of the operator's own objects that use the former tables, and of those that have names of the
 * present ones.
 */
const requireNoForeignObjects = async (line: Connection, former: SchemaNames, present: SchemaNames): Promise<void> => {
  const dependents = await dependentObjects(line, former);
  if (dependents.length > 0)
    throw new WrongSchema(
      `objects that are not of genrouter use its former tables, and these are converted: ${dependents.join(", ")}: drop them, start this release, then create them again with the present names of tables and columns; nothing was changed`,
    );
  const occupied = await occupiedNames(line, former, present);
  if (occupied.length > 0)
    throw new WrongSchema(
      `the schema has relations with names that this release needs: ${occupied.join(", ")}: rename them, then start again; nothing was changed`,
    );
};

/** SQLSTATE of a missing privilege. */
const NO_PRIVILEGE = "42501";
/** Creates the schema of the copy; an operator may have created it, empty, for a role without CREATE on the database. */
const createCopySchema = async (line: Connection): Promise<void> => {
  const { rows } = await line.send<{ relations: number }>(
    `SELECT (SELECT count(*) FROM pg_class c WHERE c.relnamespace = n.oid) AS relations FROM pg_namespace n WHERE n.nspname = '${COPY_SCHEMA}'`,
  );
  const [existing] = rows;
  if (existing && existing.relations > 0)
    throw new WrongSchema(
      `the copy of the former tables needs the schema ${COPY_SCHEMA}, which already has relations: rename that schema, then start again; nothing was changed`,
    );
  if (existing) return;
  await line.script(`CREATE SCHEMA ${COPY_SCHEMA}`).catch((fault: unknown) => {
    if (stateOf(fault) !== NO_PRIVILEGE) throw fault;
    throw new WrongSchema(
      `the copy of the former tables needs the schema ${COPY_SCHEMA}, which this role cannot create: give the role CREATE on the database, or run CREATE SCHEMA ${COPY_SCHEMA} AUTHORIZATION <role> as another, then start again; nothing was changed`,
    );
  });
};

/** Moves the former objects of the current schema into the schema of the copy. */
const moveFormerObjects = async (line: Connection, former: ReturnType<typeof formerNames>): Promise<void> => {
  const moved = (kind: string, names: readonly string[]) =>
    names.map((name) => `ALTER ${kind} ${name} SET SCHEMA ${COPY_SCHEMA}`);
  const statements = [...moved("VIEW", former.views), ...moved("TABLE", former.tables), ...moved("FUNCTION", former.functions)];
  await line.script(statements.join(";\n"));
};

/** Gives the roles that could use the former tables the same privileges on the present ones. */
const copyGrants = async (line: Connection, grants: readonly Grant[], tables: readonly string[]): Promise<void> => {
  const statements = tables.flatMap((table) => {
    const former = FORMER_POSTGRES_TABLES[table]?.name ?? table;
    return grants.filter((grant) => grant.table === former).map((grant) => grantStatement(grant, table));
  });
  if (statements.length > 0) await line.script(statements.join(";\n"));
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
 * @param schema The present schema. Its tables are in the order in which a row follows the rows that it refers to.
 * @throws WrongSchema if the copy cannot be made, or if the operator's own objects prevent it.
 */
export const convertPreRelease = async (line: Connection, schema: string, nowMs: number): Promise<void> => {
  const [former, present] = [formerNames(), namesIn([schema])];
  await requireNoForeignObjects(line, former, present);
  const grants = await grantsOn(line, former);
  await createCopySchema(line);
  await moveFormerObjects(line, former);
  await line.script(schema);
  await copyRows(line, present.tables);
  await continueIdentities(line, present.tables);
  await copyGrants(line, grants, present.tables);
  await markCopy(line, nowMs);
};
