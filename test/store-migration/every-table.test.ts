// Store migration covers every table and column of a SQLite file, also those of later schema migrations.
import { expect, test } from "bun:test";
import { MIGRATED_TABLES, targetOf } from "../../src/store/migrate-to-postgres/tables.ts";
import { openPostgresStore } from "../../src/store/postgres/client.ts";
import { migrate } from "../../src/store/sqlite/migrate.ts";
import { openWriter } from "../../src/store/sqlite/open.ts";
import { postgresReason } from "../postgres/binaries.ts";
import { makeDatabase } from "./database.ts";

const moving = test.skipIf(postgresReason !== undefined);

moving("every table and column of a SQLite file has a target, and no target column lacks a value", async () => {
  const file = openWriter(":memory:");
  migrate(file, ":memory:", 0);
  const tables = file.query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  const moved = new Set(MIGRATED_TABLES.flatMap(({ name, joined }) => (joined ? [name, joined.table] : [name])));
  expect(tables.map(({ name }) => name).filter((name) => !moved.has(name) && name !== "meta" && name !== "migration")).toEqual(
    [],
  );
  const database = await makeDatabase();
  await (await openPostgresStore({ url: database.url, prepare: true, mode: "test" })).close();
  const columns = await database.ask(
    "SELECT table_name, column_name, is_nullable = 'YES' OR column_default IS NOT NULL AS may_lack FROM information_schema.columns WHERE table_schema = 'public'",
  );
  for (const table of MIGRATED_TABLES) {
    const { name, added, joined } = table;
    const here = file.query<{ name: string }, []>(`PRAGMA table_info(${name})`).all();
    const there = columns.filter(({ table_name }) => table_name === targetOf(table));
    const filled = [...here.map((column) => column.name), ...(joined?.texts ?? []), ...Object.keys(added?.({}, 0) ?? {})];
    expect([name, filled.filter((column) => !there.some(({ column_name }) => column_name === column))]).toEqual([name, []]);
    const lacking = there.filter(({ column_name, may_lack }) => may_lack !== true && !filled.includes(String(column_name)));
    expect([name, lacking]).toEqual([name, []]);
  }
  await database.drop();
});
