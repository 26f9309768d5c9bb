// Databases of builds before the first release, over PostgreSQL.
import { describe, expect, test } from "bun:test";
import { WrongSchema } from "../../src/store/errors.ts";
import type { Migrated } from "../../src/store/migration-report.ts";
import { openPostgresStore } from "../../src/store/postgres/client.ts";
import { type Connection, connect } from "../../src/store/postgres/connections.ts";
import { COPY_SCHEMA } from "../../src/store/postgres/convert-pre-release.ts";
import { adoptDatabase } from "../../src/store/postgres/mark-restored.ts";
import { MIGRATIONS } from "../../src/store/postgres/migrate.ts";
import { openPostgresReads } from "../../src/store/postgres/read-only-client.ts";
import { onPostgres, ownDatabase } from "../postgres/databases.ts";
import { expectedOf, FORMER, type Former, formerScript, RENAMED, saidBy, saidOf } from "./fixture.ts";

const OTHER_NAMES: Readonly<Record<string, string>> = {
  ...RENAMED,
  ...{
    owner: "node",
    burst: "rate_limit_window",
    hint: "callback_inbox",
    claim: "ownership_change",
    usage_mark: "usage_progress",
  },
};
const formerDatabase = async (former: Former): Promise<string> => {
  const { url } = await ownDatabase();
  await on(url, (line) => line.script(formerScript(former)));
  return url;
};
const on = async <T>(url: string, work: (line: Connection) => Promise<T>): Promise<T> => {
  const line = await connect({ url, prepare: true });
  return work(line).finally(() => line.close());
};
const open = (url: string, migrated?: (one: Migrated) => void) =>
  openPostgresStore({ url, prepare: true, mode: "test", readers: 1, ...(migrated ? { migrated } : {}) });

/** What the start throws; undefined if it succeeds. */
const faultOf = (url: string): Promise<unknown> =>
  open(url).then(
    (store) => store.close(),
    (thrown: unknown) => thrown,
  );

/** Columns, constraints, indexes, triggers and functions of the schema in use. */
const CATALOG = `SELECT 'column' AS kind, table_name || '.' || column_name AS name, concat_ws(' ', ordinal_position, data_type, is_nullable,
      column_default, collation_name, is_identity) AS what FROM information_schema.columns WHERE table_schema = 'public'
  UNION ALL SELECT 'constraint', conrelid::regclass || '.' || conname, pg_get_constraintdef(oid) FROM pg_constraint
    WHERE connamespace = 'public'::regnamespace
  UNION ALL SELECT 'index', indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'
  UNION ALL SELECT 'trigger', tgname, concat(pg_get_triggerdef(t.oid), tgenabled) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    WHERE NOT tgisinternal AND c.relnamespace = 'public'::regnamespace
  UNION ALL SELECT 'function', proname, prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace
  UNION ALL SELECT 'view', viewname, definition FROM pg_views WHERE schemaname = 'public'
  UNION ALL SELECT 'options', relname, concat(array_to_string(reloptions, ','), relpersistence) FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
  ORDER BY 1, 2, 3`;
const catalogOf = (url: string) => on(url, async (line) => (await line.send(CATALOG)).rows);
const countsOf = (url: string, schema: string, tables: readonly string[]) =>
  on(url, async (line) => {
    const counts: [string, number][] = [];
    for (const table of tables)
      counts.push([table, (await line.send<{ n: number }>(`SELECT count(*) AS n FROM ${schema}.${table}`)).rows[0]?.n ?? -1]);
    return new Map(counts);
  });
/** A lease that a node of an older build would hold. */
const LEASE = `INSERT INTO owner (pid, host, opened_at_ms, slot) VALUES (4711, 'older-node', 0, 63);
  INSERT INTO lease (epoch, ends_at_ms) SELECT max(epoch), now_ms() + 20000 FROM owner`;

onPostgres("databases of former releases", () => {
  describe.each(FORMER)("of $release", (former) => {
    test("starts with the schema of a new database, and keeps the former tables beside it", async () => {
      const url = await formerDatabase(former);
      const reported: Migrated[] = [];
      const store = await open(url, (one) => reported.push(one));
      expect(reported).toEqual([{ from: former.postgres, to: MIGRATIONS.at(-1)?.version ?? 0, copy: `schema ${COPY_SCHEMA}` }]);
      const fresh = await ownDatabase();
      await (await open(fresh.url)).close();
      expect(await catalogOf(url)).toEqual(await catalogOf(fresh.url));
      const { rows } = saidBy(former).postgres;
      expect(await countsOf(url, COPY_SCHEMA, Object.keys(rows))).toEqual(
        // The copy has three additional marks: what a return to it must confirm with the providers.
        new Map(Object.entries({ ...rows, meta: (rows.meta ?? 0) + 3 })),
      );
      const kept = Object.entries(rows).filter(([name]) => !["migration", "meta", "owner", "lease", "usage_mark"].includes(name));
      const now = await countsOf(
        url,
        "public",
        kept.map(([name]) => OTHER_NAMES[name] ?? name),
      );
      expect(now).toEqual(new Map(kept.map(([name, count]) => [OTHER_NAMES[name] ?? name, count])));
      await store.close();
    });

    test("has the balances, chains and statuses that the former build printed, and verifies clean", async () => {
      const url = await formerDatabase(former);
      const store = await open(url);
      expect(await saidOf(store)).toEqual(expectedOf(saidBy(former).postgres));
      const checks = await store.verify(null);
      expect(checks.flatMap(({ offending }) => offending).filter(({ fault }) => !String(fault).startsWith("parked:"))).toEqual(
        [],
      );
      expect(checks).toHaveLength(13);
      const account = { mutation: "create-account", id: "acc_later", name: "later", atMs: 1 } as const;
      expect((await store.commit([account]))[0]?.kind).toBe("done");
      await store.close();
    });

    test("is not converted while a node of the older build holds a lease, and nothing changes", async () => {
      const url = await formerDatabase(former);
      await on(url, (line) => line.script(LEASE));
      const before = await catalogOf(url);
      const fault = await faultOf(url);
      expect(fault).toBeInstanceOf(WrongSchema);
      expect(String(fault)).toMatch(
        /a node of it still holds a lease \(older-node, pid 4711, for \d+ s\): stop every node of the older build, then start this release; nothing was changed/,
      );
      expect(await catalogOf(url)).toEqual(before);
      await on(url, (line) => line.script("DELETE FROM lease"));
      await (await open(url)).close();
    });

    test.each([
      ["CREATE VIEW rich AS SELECT * FROM balance WHERE available_credits > 0", "view public.rich"],
      ["CREATE MATERIALIZED VIEW days AS SELECT * FROM usage_day", "materialized view public.days"],
      [
        'CREATE TABLE "My notes" (account bigint REFERENCES account (seq))',
        'foreign key "My notes_account_fkey" of public."My notes"',
      ],
      ["CREATE PUBLICATION books FOR TABLE posting", "publication books"],
      [
        "CREATE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'; CREATE TRIGGER noted AFTER INSERT ON account FOR EACH ROW EXECUTE FUNCTION noted()",
        "trigger noted of public.account",
      ],
      ["CREATE TABLE transfer (seq bigint)", "transfer: rename them"],
      ["CREATE SCHEMA genrouter_before_10; CREATE TABLE genrouter_before_10.kept (seq bigint)", "already has relations"],
    ])("is refused with the name of an object that the operator added: %s", async (sql, name) => {
      const url = await formerDatabase(former);
      await on(url, (line) => line.script(sql));
      const before = await catalogOf(url);
      const fault = await faultOf(url);
      expect(fault).toBeInstanceOf(WrongSchema);
      expect(String(fault)).toContain(name);
      expect(await catalogOf(url)).toEqual(before);
    });

    test("is converted by a role without the right to create schemas, into one that was created for it", async () => {
      const url = await formerDatabase(former);
      const role = `limited_${new URL(url).pathname.slice(1)}`;
      await on(url, (line) =>
        line.script(
          `CREATE ROLE ${role} LOGIN PASSWORD 'limited'; ALTER SCHEMA public OWNER TO ${role}; GRANT CREATE ON SCHEMA public TO ${role};
           DO $$ DECLARE r record; BEGIN
             FOR r IN SELECT relname, relkind FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'v') LOOP
               EXECUTE format('ALTER TABLE %I OWNER TO ${role}', r.relname); END LOOP;
             FOR r IN SELECT oid::regprocedure AS name FROM pg_proc WHERE pronamespace = 'public'::regnamespace LOOP
               EXECUTE format('ALTER FUNCTION %s OWNER TO ${role}', r.name); END LOOP;
           END $$`,
        ),
      );
      const own = new URL(url);
      own.username = role;
      own.password = "limited";
      expect(String(await faultOf(own.href))).toContain("which this role cannot create");
      await on(url, (line) => line.script(`CREATE SCHEMA ${COPY_SCHEMA} AUTHORIZATION ${role}`));
      await (await open(own.href)).close();
    });

    test("keeps the privileges of other roles", async () => {
      const url = await formerDatabase(former);
      const reader = `reader_${new URL(url).pathname.slice(1)}`;
      await on(url, (line) =>
        line.script(`CREATE ROLE ${reader}; GRANT SELECT ON posting, balance TO ${reader}; GRANT SELECT ON generation TO PUBLIC`),
      );
      await (await open(url)).close();
      const may = (table: string, privilege: string) => `has_table_privilege('${reader}', '${table}', '${privilege}')`;
      const { rows } = await on(url, (line) =>
        line.send<{ kept: boolean; more: boolean }>(
          `SELECT ${may("transfer", "SELECT")} AND ${may("balance", "SELECT")} AND ${may("generation", "SELECT")} AS kept,
             ${may("transfer", "INSERT")} OR ${may("api_key", "SELECT")} AS more`,
        ),
      );
      expect(rows).toEqual([{ kept: true, more: false }]);
    });

    test("is read by no command before it is converted", async () => {
      const url = await formerDatabase(former);
      expect(openPostgresReads({ url, prepare: true })).rejects.toThrow(/start this release once, which converts it/);
    });

    test("is converted and marked when it was restored from a dump", async () => {
      const url = await formerDatabase(former);
      expect(await adoptDatabase({ url, prepare: true }, Date.now())).toMatchObject({ kind: "adopted" });
      const store = await open(url);
      expect(await store.restored()).toMatchObject({ isSettled: false });
      await store.close();
    });
  });

  test("two nodes that start at the same time convert once", async () => {
    const [, last] = FORMER;
    const url = await formerDatabase(last);
    const reported: Migrated[] = [];
    const stores = await Promise.all([open(url, (one) => reported.push(one)), open(url, (one) => reported.push(one))]);
    expect(reported).toHaveLength(1);
    for (const store of stores) await store.close();
  });
});
