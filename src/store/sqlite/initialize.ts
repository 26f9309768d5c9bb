// Initializes a database when a writer opens it: schema, mode, secret and epoch.

import type { Database } from "bun:sqlite";
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { WrongMode } from "../errors.ts";
import type { Migrated } from "../migration-report.ts";
import type { Mode } from "../store.ts";
import { migrate } from "./migrate.ts";
import { requireNotMigrated } from "./migrated-marker.ts";

const MODE_TEXT = { test: "for the simulator (--simulate)", live: "for real providers" } as const;

/**
 * Migrates the database, sets or compares its mode, creates its secret and opens an epoch. Without a `mode`, an existing database
 * keeps its own, and a new one is created for real providers.
 * @param onReport Called after a migration.
 * @returns the epoch of this opening.
 * @throws StoreMigrated, WrongMode, WrongSchema.
 */
export const ownDatabase = (
  db: Database,
  path: string,
  mode: Mode | undefined,
  nowMs: number,
  onReport?: (migrated: Migrated) => void,
): number => {
  requireNotMigrated(db);
  const migrated = migrate(db, path, nowMs);
  if (migrated) onReport?.(migrated);
  db.run("BEGIN IMMEDIATE");
  const put = db.prepare("INSERT INTO meta VALUES (?, ?) ON CONFLICT DO NOTHING");
  put.run("mode", mode ?? "live");
  // Every secret is derived from this one by name, so that reading a new one never writes.
  put.run("secret", randomBytes(32).toString("hex"));
  put.run("created_at_ms", String(nowMs));
  put.run("last_seen_ms", "0");
  const made = db.query<{ value: Mode }, []>("SELECT value FROM meta WHERE name = 'mode'").get()?.value;
  if (made && mode && made !== mode) {
    db.run("ROLLBACK");
    throw new WrongMode(
      `the data directory was created ${MODE_TEXT[made]} and cannot be used ${MODE_TEXT[mode]}; use another one`,
    );
  }
  const { lastInsertRowid } = db.run("INSERT INTO writer_epoch (pid, host, opened_at_ms) VALUES (?, ?, ?)", [
    process.pid,
    hostname(),
    nowMs,
  ]);
  db.run("COMMIT");
  return Number(lastInsertRowid);
};

/** The highest row number of a generation; 0 if there is none. */
export const newestGenerationOf = (db: Database): number =>
  db.query<{ seq: number | null }, []>("SELECT max(seq) AS seq FROM generation").get()?.seq ?? 0;
