// Marks a file whose data was migrated, so that no service opens it by mistake.
import type { Database } from "bun:sqlite";
import { StoreMigrated } from "../errors.ts";
import { schemaVersion } from "./migrate.ts";

/** Names in `meta`: the target without its password, and the time. */
const MOVED_TO = "moved_to";
const MOVED_AT = "moved_at_ms";
/** The names of the marker, which a store migration does not copy. */
export const MIGRATED_MARKER: readonly string[] = [MOVED_TO, MOVED_AT];

/** The target of the migration; undefined if there was none. */
export const migratedTo = (db: Database): string | undefined =>
  schemaVersion(db) === 0
    ? undefined
    : db.query<{ value: string }, [string]>("SELECT value FROM meta WHERE name = ?1").get(MOVED_TO)?.value;

/** @throws StoreMigrated */
export const requireNotMigrated = (db: Database): void => {
  const to = migratedTo(db);
  if (to !== undefined)
    throw new StoreMigrated(
      `the data of this directory was migrated to ${to}: set GENROUTER_STORE__URL to that database; until a service has opened it, genrouter migrate-store --undo reverts the migration`,
    );
};

/** Durable when it returns. */
export const markMigrated = (db: Database, to: string, nowMs: number): void => {
  const put = db.prepare("INSERT INTO meta VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value");
  db.run("BEGIN IMMEDIATE");
  put.run(MOVED_TO, to);
  put.run(MOVED_AT, String(nowMs));
  db.run("COMMIT");
};

export const unmarkMigrated = (db: Database): void => {
  db.run("DELETE FROM meta WHERE name IN (?1, ?2)", [MOVED_TO, MOVED_AT]);
};
