// Pool of in-memory databases that serve one simulated world after another.
//
// Each world is rolled back at its end; creating a database costs a third of a world.

import { migrate } from "../../store/sqlite/migrate.ts";
import { openWriter } from "../../store/sqlite/open.ts";
import { MAKE_CLAIMS } from "../../store/sqlite/simulated-ownership.ts";
import { WORLD_BEGINS_MS } from "./timeline.ts";

export type WorldDatabase = ReturnType<typeof openWriter>;

/** Rolls back all writes of the world. */
type Undo = () => void;

/** The store's transactions as savepoints inside the transaction of the world. */
const NESTED: Readonly<Record<string, { depth: number; sql: readonly string[] }>> = {
  BEGIN: { depth: 1, sql: ["SAVEPOINT life"] },
  "BEGIN IMMEDIATE": { depth: 1, sql: ["SAVEPOINT life"] },
  COMMIT: { depth: 0, sql: ["RELEASE life"] },
  ROLLBACK: { depth: 0, sql: ["ROLLBACK TO life", "RELEASE life"] },
};

/**
 * All lives of nodes prepare the same statements, so prepared statements are shared. The store begins and ends transactions as it
 * does on disk, but inside the transaction of the world.
 */
const make = (): { database: WorldDatabase; undo: Undo } => {
  const database = openWriter(":memory:");
  migrate(database, ":memory:", WORLD_BEGINS_MS);
  const prepare = database.prepare.bind(database) as (sql: string) => { run(...words: unknown[]): unknown };
  const run = database.run.bind(database) as (sql: string, ...words: unknown[]) => unknown;
  const known = new Map<string, unknown>();
  let depth = 0;

  const nested = (sql: string) => {
    const step = NESTED[sql];
    if (!step) return undefined;
    const statements = step.sql.map(prepare);
    return {
      run: () => {
        for (const statement of statements) statement.run();
        depth = step.depth;
      },
    };
  };
  const prepareOnce = (sql: string): unknown => {
    const statement = known.get(sql) ?? nested(sql) ?? prepare(sql);
    known.set(sql, statement);
    return statement;
  };
  const runNested = (sql: string, ...words: unknown[]): unknown =>
    sql in NESTED ? (prepareOnce(sql) as { run(): void }).run() : run(sql, ...words);
  database.prepare = prepareOnce as typeof database.prepare;
  // Bun caches few statements, and the integrity checker has many.
  database.query = prepareOnce as typeof database.query;
  database.run = runNested as typeof database.run;
  Object.defineProperty(database, "inTransaction", { get: () => depth > 0 });
  // For shared databases; in the same transaction as all other writes of the world.
  run(MAKE_CLAIMS);
  run("BEGIN");
  return {
    database,
    undo: () => {
      run("ROLLBACK");
      run("BEGIN");
      depth = 0;
    },
  };
};

const idle: ReturnType<typeof make>[] = [];

/** Borrows a database in the state of a first start. Call `giveBack` at the end of the world. */
export const borrowDatabase = (): { database: WorldDatabase; giveBack: () => void } => {
  const { database, undo } = idle.pop() ?? make();
  return {
    database,
    giveBack: () => {
      undo();
      idle.push({ database, undo });
    },
  };
};
