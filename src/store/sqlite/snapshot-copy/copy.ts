// Copies a database at one moment into a file of its own, while its owner goes on writing or while none runs.
import { chmodSync, closeSync, fsyncSync, openSync, rmSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { DirectoryUnusable, faultCode, withCorruptionErrors } from "../errors.ts";
import { markRestored } from "../mark-restored.ts";
import { checkSchema, schemaVersion } from "../migrate.ts";
import { DATABASE_FILE, openReader, openWriter } from "../open.ts";
import { missLog } from "../wal-sentinel.ts";

/** Bytes that a copy takes at most: the file and what of its log is not folded into it yet. @throws DirectoryUnusable */
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
 * Copies the database of a data directory to `to`, where no file is yet. What was committed before the call is in it, and it is whole: no
 * log belongs to it. The owner's log is not folded meanwhile; it is not kept from writing.
 * @throws DirectoryUnusable, StoreDamaged, WrongSchema, and SQLite's own faults of a full disk.
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
      checkSchema(from);
    });
    // SQLite takes an empty file of this name, so that the copy is nobody else's from its first byte on.
    closeSync(openSync(to, "wx", 0o600));
    // To this pragma a copy is a write, too; the connection cannot write the database for all that.
    from.run("PRAGMA query_only = 0");
    from.run("VACUUM INTO ?", [to]);
  } catch (fault) {
    // A disk that is full is the copy's, damage the original's.
    if (/^SQLITE_(CORRUPT|NOTADB)/.test(faultCode(fault)))
      withCorruptionErrors(path, () => {
        throw fault;
      });
    throw fault;
  } finally {
    from.close();
  }
  // The copy begins with a rollback journal. Set back here, it is as its owner opens it.
  openWriter(to).close();
};

/** Marks a copy that nobody has opened as its owner yet: what happened after `takenAtMs` is unknown to it. */
export const markCopy = (path: string, at: { takenAtMs: number; nowMs: number }): void => {
  const db = openWriter(path);
  try {
    markRestored(db, at);
  } finally {
    db.close();
  }
};

/** A file in a database's place that no start takes for one: as long as it is there, the directory is refused as damaged. */
export const putPlaceholder = (dataDir: string): void => {
  const file = openSync(join(dataDir, DATABASE_FILE), "wx", 0o600);
  writeSync(file, "A restore into this directory has not ended. Remove the directory and restore the backup again.\n".repeat(6));
  fsyncSync(file);
  closeSync(file);
};

/** Takes away what opening a copy by hand leaves beside it. */
export const dropSides = (path: string): void => {
  for (const side of ["-wal", "-shm"]) rmSync(`${path}${side}`, { force: true });
  chmodSync(path, 0o600);
};
