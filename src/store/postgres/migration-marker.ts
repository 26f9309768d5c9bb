// Marks a database into which a move is under way: what it holds so far is a part of a store, and no node may open it.
import { StoreMigrated } from "../errors.ts";
import type { Connection } from "./connections.ts";

/** Name in `meta`: how far it is. */
export const MIGRATING = "moving";

/** What `meta` says of a move that has not ended; undefined where none is under way. Made before the tables are, it finds nothing. */
export const migratingIn = async (line: Connection): Promise<string | undefined> => {
  const there = await line.send<{ n: number }>("SELECT count(*) AS n FROM pg_class WHERE oid = to_regclass('meta')");
  if (there.rows[0]?.n !== 1) return undefined;
  return (await line.send<{ value: string }>("SELECT value FROM meta WHERE name = ?1", MIGRATING)).rows[0]?.value;
};

/** @throws Moved */
export const requireComplete = async (line: Connection): Promise<void> => {
  if ((await migratingIn(line)) !== undefined)
    throw new StoreMigrated(
      "the database holds an incomplete migration from a data directory: run genrouter migrate-store to resume it; until then start the service on the data directory",
    );
};
