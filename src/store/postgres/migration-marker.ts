// Marks a database with an incomplete migration from SQLite, so that no node opens it.
import { StoreMigrated } from "../errors.ts";
import type { Connection } from "./connections.ts";

/** Name in `meta` of the progress. */
export const MIGRATING = "moving";

/** The progress in `meta`; undefined without a migration. It also works before the tables exist. */
export const migratingIn = async (line: Connection): Promise<string | undefined> => {
  const there = await line.send<{ n: number }>("SELECT count(*) AS n FROM pg_class WHERE oid = to_regclass('meta')");
  if (there.rows[0]?.n !== 1) return undefined;
  return (await line.send<{ value: string }>("SELECT value FROM meta WHERE name = ?1", MIGRATING)).rows[0]?.value;
};

/** @throws StoreMigrated */
export const requireComplete = async (line: Connection): Promise<void> => {
  if ((await migratingIn(line)) !== undefined)
    throw new StoreMigrated(
      "the database holds an incomplete migration from a data directory: run genrouter migrate-store to resume it; until then start the service on the data directory",
    );
};
