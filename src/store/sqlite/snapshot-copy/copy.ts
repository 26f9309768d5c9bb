// Copies a database at one moment into a file, with or without a running owner.
import { chmodSync, closeSync, fsyncSync, openSync, rmSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { DirectoryUnusable, faultCode, withCorruptionErrors } from "../errors.ts";
import { markRestored } from "../mark-restored.ts";
import { migrateCopy, requireReadable, schemaVersion } from "../migrate.ts";
import { DATABASE_FILE, openReader, openWriter } from "../open.ts";
import { missLog } from "../wal-sentinel.ts";

/** Maximum size of a copy in bytes: the file and the part of the WAL that is not checkpointed. @throws DirectoryUnusable */
export const bytesToCopy = (dataDir: string): number => {
  const path = join(dataDir, DATABASE_FILE);
  const file = statSync(path, { throwIfNoEntry: false });
  if (!file)
    throw new DirectoryUnusable(
      `data directory ${dataDir}: there is no database in it; name the directory the service was started with`,
    );
  return file.size + (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0);
};

/**
 * Copies the database of a data directory to the new file `to`. The copy contains every commit before the call and needs no WAL.
 * The owner can write meanwhile, but its WAL is not checkpointed.
 * @throws DirectoryUnusable, StoreDamaged, WrongSchema, and SQLite errors for a full disk.
 */
export const copyDatabase = (dataDir: string, to: string): void => {
  bytesToCopy(dataDir);
  missLog(dataDir);
  const path = join(dataDir, DATABASE_FILE);
  const from = withCorruptionErrors(path, () => openReader(path));
  try {
    withCorruptionErrors(path, () => {
      if (schemaVersion(from) === 0)
        throw new DirectoryUnusable(`data directory ${dataDir}: its database is still empty; start the service once`);
      requireReadable(from, `data directory ${dataDir}`);
    });
    // SQLite accepts an empty file as target, so the copy is private from its first byte.
    closeSync(openSync(to, "wx", 0o600));
    // This pragma counts a copy as a write; the connection still cannot write the database.
    from.run("PRAGMA query_only = 0");
    from.run("VACUUM INTO ?", [to]);
  } catch (fault) {
    // A full disk concerns the copy, corruption the original.
    if (/^SQLITE_(CORRUPT|NOTADB)/.test(faultCode(fault)))
      withCorruptionErrors(path, () => {
        throw fault;
      });
    throw fault;
  } finally {
    from.close();
  }
  // The copy starts with a rollback journal; this switches it to WAL mode for its owner.
  openWriter(to).close();
};

/** Migrates a copy that no writer has opened yet, and marks it: changes after `takenAtMs` are missing. */
export const markCopy = (path: string, at: { takenAtMs: number; nowMs: number }): void => {
  const db = openWriter(path);
  try {
    migrateCopy(db, at.nowMs);
    markRestored(db, at);
  } finally {
    db.close();
  }
};

/** A file in place of a database that no start accepts; while it exists, the directory is refused as damaged. */
export const putPlaceholder = (dataDir: string): void => {
  const file = openSync(join(dataDir, DATABASE_FILE), "wx", 0o600);
  writeSync(file, "A restore into this directory has not ended. Remove the directory and restore the backup again.\n".repeat(6));
  fsyncSync(file);
  closeSync(file);
};

/** Deletes the files that opening a copy manually leaves beside it. */
export const dropSides = (path: string): void => {
  for (const side of ["-wal", "-shm"]) rmSync(`${path}${side}`, { force: true });
  chmodSync(path, 0o600);
};
