// Objects that an operator added to the tables of a build before the first release: found before those tables move.
import type { Connection } from "./connections.ts";

/** The names of objects of one schema. */
export type SchemaNames = { tables: readonly string[]; views: readonly string[]; triggers: readonly string[] };

/** Names as a list of SQL literals. They come from our own schema files, so they need no quotes inside. */
const literals = (names: readonly string[]): string => names.map((name) => `'${name}'`).join(", ") || "NULL";

/** A relation by its name in the schema in use, quoted as the server needs it. */
const NAME = "quote_ident(n.nspname) || '.' || quote_ident(c.relname)";

const dependents = ({ tables, views, triggers }: SchemaNames): string => `
  WITH ours AS (SELECT c.oid, c.relname FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace
      AND c.relname IN (${literals([...tables, ...views])}))
  SELECT DISTINCT CASE c.relkind WHEN 'm' THEN 'materialized view ' WHEN 'v' THEN 'view ' ELSE 'rule of ' END || ${NAME} AS object
    FROM pg_depend d JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid JOIN pg_class c ON c.oid = r.ev_class
    JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid IN (SELECT oid FROM ours)
      AND NOT (c.oid IN (SELECT oid FROM ours) AND c.relkind = 'v')
  UNION SELECT 'foreign key ' || quote_ident(k.conname) || ' of ' || ${NAME}
    FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE k.contype = 'f' AND k.confrelid IN (SELECT oid FROM ours) AND k.conrelid NOT IN (SELECT oid FROM ours)
  UNION SELECT 'trigger ' || quote_ident(t.tgname) || ' of ' || ${NAME}
    FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE NOT t.tgisinternal AND t.tgrelid IN (SELECT oid FROM ours) AND t.tgname NOT IN (${literals(triggers)})
  UNION SELECT 'publication ' || quote_ident(p.pubname)
    FROM pg_publication_rel m JOIN pg_publication p ON p.oid = m.prpubid WHERE m.prrelid IN (SELECT oid FROM ours)
  ORDER BY 1`;

/** Objects of other owners over the former tables. They would follow those tables into the copy. */
export const dependentObjects = async (line: Connection, former: SchemaNames): Promise<string[]> =>
  (await line.send<{ object: string }>(dependents(former))).rows.map(({ object }) => object);

/** Relations of the operator in the schema in use whose names the present schema needs. */
export const occupiedNames = async (line: Connection, former: SchemaNames, present: SchemaNames): Promise<string[]> => {
  const known = [...former.tables, ...former.views];
  const needed = [...present.tables, ...present.views].filter((name) => !known.includes(name));
  const { rows } = await line.send<{ name: string }>(
    `SELECT c.relname AS name FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace AND c.relname IN (${literals(needed)})
     ORDER BY 1`,
  );
  return rows.map(({ name }) => name);
};

export type Grant = { table: string; privilege: string; role: string; withGrantOption: boolean };

/** Privileges on the former tables that roles other than their owner have. */
export const grantsOn = async (line: Connection, former: SchemaNames): Promise<Grant[]> =>
  (
    await line.send<Grant>(
      `SELECT c.relname AS "table", a.privilege_type AS privilege, a.is_grantable AS "withGrantOption",
         CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END AS role
       FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a
       WHERE c.relnamespace = current_schema()::regnamespace AND c.relname IN (${literals(former.tables)}) AND a.grantee <> c.relowner
       ORDER BY 1, 2, 4`,
    )
  ).rows;

/** Grants the same privileges on a present table. */
export const grantStatement = ({ privilege, role, withGrantOption }: Grant, table: string): string =>
  `GRANT ${privilege} ON ${table} TO ${role}${withGrantOption ? " WITH GRANT OPTION" : ""}`;
