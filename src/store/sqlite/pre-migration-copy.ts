// The copy that is made before a schema changes: whole, checked and on disk before it has its name, or there is none and no change either.
import type { Database } from "bun:sqlite";
import { closeSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { DirectoryUnusable, faultCode, StoreDamaged } from "./errors.ts";
import { syncPath } from "./fsync.ts";
import { markRestored } from "./mark-restored.ts";
import { openReader, openWriter, pragma } from "./open.ts";

/** How many rows each table has. */
const rowCounts = (db: Database): Map<string, number> => {
  const tables = db
    .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
    .all();
  const count = (name: string): number => db.query<{ n: number }, []>(`SELECT count(*) AS n FROM "${name}"`).get()?.n ?? 0;
  return new Map(tables.map(({ name }) => [name, count(name)]));
};

/** What a copy lacks, as a sentence; undefined when it is the database. */
const lackOf = (db: Database, path: string): string | undefined => {
  const copy = openReader(path);
  try {
    const found = pragma(copy, "integrity_check(1)");
    if (found !== "ok") return found.replace(/\s+/g, " ");
    if (pragma(copy, "user_version") !== pragma(db, "user_version")) return "it has another schema";
    const copied = rowCounts(copy);
    for (const [table, rows] of rowCounts(db))
      if (copied.get(table) !== rows) return `it has ${copied.get(table) ?? "none"} of ${rows} rows of ${table}`;
    return undefined;
  } finally {
    copy.close();
  }
};

/** Whoever goes back to the copy goes on with generations that the newer release may have bought for meanwhile: it has to ask first. */
const markSince = (path: string, nowMs: number): void => {
  const copy = openWriter(path);
  try {
    markRestored(copy, { takenAtMs: nowMs, nowMs });
  } finally {
    copy.close();
  }
};

/**
 * Copies a database to `path`; a copy of that name that an interrupted upgrade left is of the same rows and is made anew.
 * @throws DirectoryUnusable there is no room for it. @throws StoreDamaged the copy is not the database. Nothing has changed then.
 */
export const copyBefore = (db: Database, from: string, path: string, nowMs: number): void => {
  const aside = `${path}.new`;
  rmSync(aside, { force: true });
  try {
    // An empty file is taken; made here, it is nobody else's to read from the beginning.
    closeSync(openSync(aside, "wx", 0o600));
    db.run("VACUUM INTO ?", [aside]);
    const lack = lackOf(db, aside);
    if (lack !== undefined)
      throw new StoreDamaged(
        `${from}: the copy made before its upgrade is not whole (${lack}); nothing was changed; look after the disk`,
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
