// Copies and verifies the database before a migration; without a durable copy nothing changes.
import type { Database } from "bun:sqlite";
import { closeSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { DirectoryUnusable, faultCode, StoreDamaged } from "./errors.ts";
import { syncPath } from "./fsync.ts";
import { markRestored } from "./mark-restored.ts";
import { openReader, openWriter, pragma } from "./open.ts";

/** Row counts by table. */
const rowCounts = (db: Database): Map<string, number> => {
  const tables = db
    .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
    .all();
  const count = (name: string): number => db.query<{ n: number }, []>(`SELECT count(*) AS n FROM "${name}"`).get()?.n ?? 0;
  return new Map(tables.map(({ name }) => [name, count(name)]));
};

/** The difference of a copy as a sentence; undefined if it equals the database. */
const lackOf = (db: Database, path: string): string | undefined => {
  const copy = openReader(path);
  try {
    const found = pragma(copy, "integrity_check(1)");
    if (found !== "ok") return found.replace(/\s+/g, " ");
    if (pragma(copy, "user_version") !== pragma(db, "user_version")) return "the schema differs";
    const copied = rowCounts(copy);
    for (const [table, rows] of rowCounts(db))
      if (copied.get(table) !== rows) return `the copy has ${copied.get(table) ?? "none"} of ${rows} rows of ${table}`;
    return undefined;
  } finally {
    copy.close();
  }
};

/**
 * A downgrade to the copy continues generations for which the newer release may have bought jobs, so the copy is marked as
 * restored.
 */
const markSince = (path: string, nowMs: number): void => {
  const copy = openWriter(path);
  try {
    markRestored(copy, { takenAtMs: nowMs, nowMs });
  } finally {
    copy.close();
  }
};

/**
 * Copies a database to `path`. A copy that an interrupted upgrade left has the same rows and is replaced.
 * @throws DirectoryUnusable if the disk is full. @throws StoreDamaged if the copy differs. Then nothing has changed.
 */
export const copyBefore = (db: Database, from: string, path: string, nowMs: number): void => {
  const aside = `${path}.new`;
  rmSync(aside, { force: true });
  try {
    // SQLite accepts an empty file as target, so the copy is private from its first byte.
    closeSync(openSync(aside, "wx", 0o600));
    db.run("VACUUM INTO ?", [aside]);
    const lack = lackOf(db, aside);
    if (lack !== undefined)
      throw new StoreDamaged(
        `${from}: the copy made before its upgrade is incomplete (${lack}); nothing was changed; check the disk`,
      );
    markSince(aside, nowMs);
    syncPath(aside);
    renameSync(aside, path);
    syncPath(dirname(path));
  } catch (fault) {
    rmSync(aside, { force: true });
    const code = faultCode(fault);
    if (/^(SQLITE_FULL|ENOSPC|EDQUOT)$/.test(code))
      throw new DirectoryUnusable(
        `${from}: the disk is full (${code}); before its upgrade a copy is made beside it: free ${Math.ceil(statSync(from).size / 1e6)} MB and start again; nothing was changed`,
      );
    throw fault;
  }
};
