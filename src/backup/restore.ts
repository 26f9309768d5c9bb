// Restores a backup into an empty data directory and marks its database as restored.
//
// The backup is verified before, and the copied files after.
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { claimDirectory } from "../store/sqlite/directory-lock.ts";
import { syncPath } from "../store/sqlite/fsync.ts";
import { DATABASE_FILE } from "../store/sqlite/open.ts";
import { presentRowCounts } from "../store/sqlite/snapshot-copy/converted.ts";
import { dropSides, markCopy, putPlaceholder } from "../store/sqlite/snapshot-copy/copy.ts";
import { type Loss, lossOf } from "../store/sqlite/snapshot-copy/diff.ts";
import { acquireMutex } from "../store/sqlite/snapshot-copy/directory-mutex.ts";
import {
  figuresOf,
  overLive,
  type SnapshotStats,
  statsOfSnapshot,
  type UnfinishedRow,
  unfinishedRows,
} from "../store/sqlite/snapshot-copy/stats.ts";
import { checkBackup, withPresentDatabase } from "./check.ts";
import { copyFile, hashFile, makeDirectory, requireFreeSpace, walk } from "./durable-fs.ts";
import { BackupError, codeOf, type Progress, textOf, withDiskErrors } from "./errors.ts";
import { type Entry, MASTER_KEY_FILE, type Manifest } from "./manifest.ts";

export type RestoreRequest = { path: string; to: string; dryRun: boolean; networkDisk: boolean };
export type Restored = {
  manifest: Manifest;
  bytes: number;
  unfinished: UnfinishedRow[];
  /** Number of provider credentials without the master key. */
  sealedKeys: number;
  /** The current contents of the directory, and the loss by a restore; null if there is no database. */
  against: { now: SnapshotStats; loss: Loss | null } | null;
};

/** Directories of the file system, which do not belong to genrouter. */
const FILE_SYSTEM_DIRECTORIES = new Set(["lost+found"]);

/** @throws BackupError if the path is not a directory, or if it is not empty. */
const requireEmptyDirectory = (dir: string): void => {
  const found = statSync(dir, { throwIfNoEntry: false });
  if (!found) return;
  if (!found.isDirectory()) throw new BackupError("unusable", `${dir} is not a directory; name another with --to`);
  const names = readdirSync(dir).filter((name) => !FILE_SYSTEM_DIRECTORIES.has(name));
  if (names.length === 0) return;
  // An existing lock file is only tested, because nothing is created in a foreign directory.
  const giveBack = names.includes("lock.db") ? acquireMutex(join(dir, "lock.db")) : () => undefined;
  if (giveBack === null)
    throw new BackupError(
      "in_use",
      `${dir}: a service is running on it; stop it first, then move the directory aside: mv ${dir} ${dir}.old`,
    );
  giveBack();
  throw new BackupError(
    "unusable",
    `${dir} is not empty, and a restore overwrites no files; move it aside first: mv ${dir} ${dir}.old (or remove it if it is from an incomplete restore)`,
  );
};

/** @throws BackupError `failed` if the copied bytes differ from the entry. */
const restoreEntry = (from: string, to: string, entry: Entry, progress: Progress): void => {
  mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
  copyFile(from, to);
  if (hashFile(to, progress).sha256 !== entry.sha256)
    throw new BackupError("failed", `${to}: the content differs from the written data; check the disk`);
};

const restoreDatabase = (path: string, dir: string, manifest: Manifest, entry: Entry, progress: Progress): void => {
  const aside = join(dir, `${DATABASE_FILE}.restored`);
  restoreEntry(join(path, DATABASE_FILE), aside, entry, progress);
  markCopy(aside, { takenAtMs: manifest.taken_at_ms, nowMs: Date.now() });
  dropSides(aside);
  const { rows, ledger, schema } = statsOfSnapshot(aside, figuresOf);
  const { meta: _, ...was } = presentRowCounts(manifest.rows, manifest.schema);
  const { meta: __, ...is } = presentRowCounts(rows, schema);
  if (!Bun.deepEquals({ rows: is, ledger }, { rows: was, ledger: manifest.ledger }))
    throw new BackupError("failed", `${aside}: the rows differ from the backup; nothing was restored`);
  syncPath(aside);
  // Replaces the placeholder, which no start accepts as a database. The directory is complete from here on.
  renameSync(aside, join(dir, DATABASE_FILE));
  syncPath(dir);
};

const fill = (path: string, dir: string, manifest: Manifest, progress: Progress): void => {
  putPlaceholder(dir);
  requireFreeSpace(
    dir,
    manifest.entries.reduce((sum, { bytes }) => sum + bytes, 0),
  );
  let database: Entry | undefined;
  for (const [at, entry] of manifest.entries.entries()) {
    progress.throwIfStopped();
    progress.report(`restoring ${at + 1} of ${manifest.entries.length} files`);
    if (entry.path === DATABASE_FILE) database = entry;
    else restoreEntry(join(path, entry.path), join(dir, entry.path), entry, progress);
  }
  for (const below of walk(dir).directories.filter((name) => !FILE_SYSTEM_DIRECTORIES.has(name))) syncPath(join(dir, below));
  if (database) restoreDatabase(path, dir, manifest, database, progress);
};

/** Removes everything that an unfinished restore wrote into an empty directory. */
const undo = (dir: string, wasThere: boolean): void => {
  if (!wasThere) rmSync(dir, { recursive: true, force: true });
  for (const name of wasThere ? readdirSync(dir) : [])
    if (!FILE_SYSTEM_DIRECTORIES.has(name)) rmSync(join(dir, name), { recursive: true, force: true });
};

const inDirectory = (path: string, { to, networkDisk }: RestoreRequest, manifest: Manifest, progress: Progress): void => {
  const dir = resolve(to);
  const wasThere = existsSync(dir);
  withDiskErrors(dir, () => {
    try {
      makeDirectory(dir);
      // Prevents a start on the directory before it is complete.
      const claim = claimDirectory(dir, { networkDisk, creation: true });
      try {
        fill(path, dir, manifest, progress);
      } finally {
        claim.release();
      }
    } catch (fault) {
      undo(dir, wasThere);
      if (/^(EACCES|EPERM|EROFS)$/.test(codeOf(fault)))
        throw new BackupError(
          "unusable",
          `${dir} cannot be written (${codeOf(fault)}); grant this user the permission, or name another with --to`,
        );
      throw fault;
    }
  });
};

/** Compares the current contents of the directory with the backup; null if there is no database. */
const compare = (path: string, to: string, manifest: Manifest): Restored["against"] => {
  const live = join(to, DATABASE_FILE);
  if (!existsSync(live)) return null;
  try {
    const now = overLive(live, figuresOf);
    return {
      now,
      loss: now.lineage === manifest.lineage ? withPresentDatabase(path, manifest, (readable) => lossOf(live, readable)) : null,
    };
  } catch (fault) {
    if (fault instanceof BackupError) throw fault;
    throw new BackupError("damaged", `${live} cannot be read, so it cannot be compared with the backup (${textOf(fault)})`);
  }
};

/**
 * Restores a backup into a new or empty directory. With `dryRun` it only reports the consequences.
 * @throws BackupError `damaged` for a damaged backup, in which case nothing is restored, and the other kinds.
 */
export const restoreBackup = (query: RestoreRequest, progress: Progress): Restored => {
  const path = resolve(query.path);
  if (!query.dryRun) requireEmptyDirectory(resolve(query.to));
  const { manifest, faults, databaseFaults } = checkBackup(path, progress);
  const [first] = [...faults, ...databaseFaults];
  if (first)
    throw new BackupError(
      "damaged",
      `${join(path, first.path)}: ${first.why}; use another backup (genrouter backup verify ${path} lists every error of this one)`,
    );
  const unfinished = withPresentDatabase(path, manifest, (readable) => statsOfSnapshot(readable, unfinishedRows));
  const hasKey = manifest.entries.some((entry) => entry.path === MASTER_KEY_FILE);
  const against = query.dryRun ? compare(path, resolve(query.to), manifest) : null;
  if (!query.dryRun) inDirectory(path, query, manifest, progress);
  return {
    ...{ manifest, unfinished, against },
    bytes: manifest.entries.reduce((sum, { bytes }) => sum + bytes, 0),
    sealedKeys: hasKey ? 0 : (presentRowCounts(manifest.rows, manifest.schema).provider_credential ?? 0),
  };
};
