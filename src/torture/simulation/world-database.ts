// The database of a world: one in memory serves world after world, each undone as a whole at its end; making it anew costs a third of a world.

import { migrate } from "../../store/sqlite/migrate.ts";
import { openWriter } from "../../store/sqlite/open.ts";
import { MAKE_CLAIMS } from "../../store/sqlite/simulated-ownership.ts";
import { WORLD_BEGINS_MS } from "./timeline.ts";

export type WorldDatabase = ReturnType<typeof openWriter>;

/** Undoes everything that the world wrote. */
type Undo = () => void;

/** The store's transactions inside the world's own: what it says of a transaction, and what is done for it. */
const NESTED: Readonly<Record<string, { depth: number; sql: readonly string[] }>> = {
  BEGIN: { depth: 1, sql: ["SAVEPOINT life"] },
  "BEGIN IMMEDIATE": { depth: 1, sql: ["SAVEPOINT life"] },
  COMMIT: { depth: 0, sql: ["RELEASE life"] },
  ROLLBACK: { depth: 0, sql: ["ROLLBACK TO life", "RELEASE life"] },
};

/**
 * Every life of a node prepares the same statements: what one prepared serves the next. The store begins and ends transactions as it
 * does on disk, only inside the world's.
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
  // Bun keeps few statements of its own, and the clauses of the checker are many.
  database.query = prepareOnce as typeof database.query;
  database.run = runNested as typeof database.run;
  Object.defineProperty(database, "inTransaction", { get: () => depth > 0 });
  // Where several nodes share it; in the same transaction as everything else of the world.
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

/** A database as a first start finds it. `giveBack` when the world is over. */
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
