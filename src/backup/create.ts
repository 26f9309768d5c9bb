// Creates a backup: database, named files and manifest, verified before it gets its name.
import { existsSync, mkdirSync, renameSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { syncPath } from "../store/sqlite/fsync.ts";
import { DATABASE_FILE } from "../store/sqlite/open.ts";
import { bytesToCopy, copyDatabase, dropSides } from "../store/sqlite/snapshot-copy/copy.ts";
import { figuresOf, statsOfSnapshot } from "../store/sqlite/snapshot-copy/stats.ts";
import { dropLeftovers, newestOf, prune, takeTurnIn } from "./backup-directory.ts";
import { type Checked, checkBackup } from "./check.ts";
import { type CopiedFiles, copyFiles, type Placing, repairFile } from "./copy-files.ts";
import { copyFile, hashFile, remove, requireFreeSpace, sizeOf, walk, writeFile } from "./durable-fs.ts";
import { BackupError, type Progress, textOf, withDiskErrors } from "./errors.ts";
import {
  BUCKET_FILE,
  backupName,
  type Entry,
  FORM,
  incompleteName,
  MANIFEST_FILE,
  MASTER_KEY_FILE,
  type Manifest,
  type Noted,
  printManifest,
} from "./manifest.ts";

export type CreateRequest = {
  dataDir: string;
  /** The directory of the backups. */
  dir: string;
  madeBy: Manifest["made_by"];
  version: string;
  filesStore: Manifest["files_store"];
  withMasterKey: boolean;
  /** How far the service's clock is ahead of the machine's, in milliseconds. */
  aheadMs: number;
  /** Number of nightly backups to keep after this one is verified; null removes none. */
  keep: number | null;
};
export type CreatedBackup = {
  path: string;
  takenAtMs: number;
  databaseBytes: number;
  files: number;
  fileBytes: number;
  /** Number of files that are links to the previous backup. */
  linked: number;
  entries: number;
  /** Errors of the originals; empty: the backup is verified. */
  faults: Noted[];
  leftOut: Manifest["left_out"];
  /** The removed nightly backups; `stays` is the reason why some could not be removed. */
  removed: string[];
  stays: string | null;
};

/** Names have a resolution of one second; this is the interval in milliseconds between attempts to find a free one. */
const NEXT_NAME_MS = 50;
/** A file in a data directory that is not part of its data. */
const DEMO_KEY_FILE = "demo-key";

/** Returns a free name and its time. */
const takeName = (dir: string, aheadMs: number, throwIfStopped: () => void): { name: string; takenAtMs: number } => {
  for (;;) {
    throwIfStopped();
    const takenAtMs = Math.floor(Date.now() + aheadMs);
    const name = backupName(takenAtMs);
    if (!existsSync(join(dir, name))) return { name, takenAtMs };
    Bun.sleepSync(NEXT_NAME_MS);
  }
};

const entryOf = (aside: string, path: string, progress: Progress): Entry => ({ path, ...hashFile(join(aside, path), progress) });

/** Files other than result files that are omitted intentionally. */
const leftBehind = ({ dataDir, withMasterKey }: CreateRequest): Manifest["left_out"] => {
  const isThere = (name: string) => existsSync(join(dataDir, name));
  return [
    ...(!withMasterKey && isThere(MASTER_KEY_FILE)
      ? [{ what: MASTER_KEY_FILE, why: "it decrypts the provider credentials of this backup: store it in another place" }]
      : []),
    ...(isThere(DEMO_KEY_FILE) ? [{ what: DEMO_KEY_FILE, why: "the next start with the simulator creates another" }] : []),
  ];
};

/**
 * Verifies the backup, repairs files that failed once, and verifies those again. @returns the resulting manifest. @throws
 * BackupError `failed` if an error is left.
 */
const checkAndRepair = (aside: string, manifest: Manifest, placed: readonly CopiedFiles[], progress: Progress): Manifest => {
  const write = (next: Manifest): Manifest => {
    writeFile(join(aside, MANIFEST_FILE), printManifest(next));
    return next;
  };
  write(manifest);
  const { faults, databaseFaults }: Checked = checkBackup(aside, progress);
  if (faults.length === 0 && databaseFaults.length === 0) return manifest;
  const files = new Map(placed.map((one) => [one.entry.path, one]));
  const entries = new Map(manifest.entries.map((entry) => [entry.path, entry]));
  const noted = [...manifest.faults, ...databaseFaults];
  for (const { path, why } of faults) {
    const file = files.get(path);
    if (!file)
      throw new BackupError("failed", `${join(aside, path)}: ${why}: the disk does not store written data; check the disk`);
    const { entry, fault } = repairFile(file, aside, progress);
    entries.set(path, entry);
    if (fault) noted.push(fault);
  }
  const repaired = write({ ...manifest, entries: [...entries.values()], faults: noted });
  const left = checkBackup(aside, progress, new Set(faults.map(({ path }) => path))).faults[0];
  if (left)
    throw new BackupError(
      "failed",
      `${join(aside, left.path)}: ${left.why}: the disk does not store written data; check the disk`,
    );
  return repaired;
};

const make = (
  ask: CreateRequest,
  aside: string,
  takenAtMs: number,
  progress: Progress,
): { manifest: Manifest; linked: number } => {
  const { dataDir, dir } = ask;
  const databaseBytes = bytesToCopy(dataDir);
  requireFreeSpace(dir, databaseBytes);
  mkdirSync(aside, { mode: 0o700 });
  progress.report(`copying the database (${Math.ceil(databaseBytes / 1e6)} MB)`);
  const database = join(aside, DATABASE_FILE);
  copyDatabase(dataDir, database);
  dropSides(database);
  syncPath(database);
  progress.throwIfStopped();
  const figures = statsOfSnapshot(database, figuresOf);
  const before = newestOf(dir, figures.lineage);
  const nowMs = () => Date.now() + ask.aheadMs;
  // Older files may be in a bucket that is no longer used for new ones.
  const filesStore = sizeOf(join(dataDir, BUCKET_FILE)) === undefined ? ask.filesStore : "s3";
  const placing: Placing = copyFiles({ dataDir, aside, nowMs, filesStore, before }, progress);
  const { placed } = placing;
  const own = [entryOf(aside, DATABASE_FILE, progress)];
  for (const path of [BUCKET_FILE, ...(ask.withMasterKey ? [MASTER_KEY_FILE] : [])]) {
    if (sizeOf(join(dataDir, path)) === undefined) continue;
    mkdirSync(dirname(join(aside, path)), { recursive: true, mode: 0o700 });
    copyFile(join(dataDir, path), join(aside, path));
    own.push(entryOf(aside, path, progress));
  }
  const { createdAtMs: _, ...known } = figures;
  const manifest = checkAndRepair(
    aside,
    {
      form: FORM,
      genrouter: ask.version,
      made_by: ask.madeBy,
      taken_at: new Date(takenAtMs).toISOString(),
      taken_at_ms: takenAtMs,
      ...known,
      files_store: filesStore,
      left_out: [...leftBehind(ask), ...placing.leftOut],
      faults: placing.faults,
      entries: [...own, ...placed.map(({ entry }) => entry)],
    },
    placed,
    progress,
  );
  for (const path of walk(aside).directories) syncPath(join(aside, path));
  syncPath(aside);
  return { manifest, linked: placed.filter(({ isLinked }) => isLinked).length };
};

/** The backup is complete by now, so a failed removal is reported and is no error of the backup. */
const pruned = (dir: string, lineage: string, keep: number | null): Pick<CreatedBackup, "removed" | "stays"> => {
  try {
    return { removed: keep === null ? [] : prune(dir, lineage, keep), stays: null };
  } catch (fault) {
    return { removed: [], stays: textOf(fault) };
  }
};

/**
 * Creates a backup of a data directory, which is only read and may be in use.
 * @throws BackupError; DirectoryUnusable, StoreDamaged, WrongSchema for the data directory. An error leaves nothing that looks
 * like a backup.
 */
export const createBackup = (ask: CreateRequest, progress: Progress): CreatedBackup => {
  const dir = resolve(ask.dir);
  const giveBack = takeTurnIn(dir);
  try {
    return withDiskErrors(dir, () => {
      dropLeftovers(dir);
      const { name, takenAtMs } = takeName(dir, ask.aheadMs, progress.throwIfStopped);
      const [aside, path] = [join(dir, incompleteName(name)), join(dir, name)];
      try {
        const { manifest, linked } = make({ ...ask, dir }, aside, takenAtMs, progress);
        progress.throwIfStopped();
        renameSync(aside, path);
        syncPath(dir);
        const { entries, faults } = manifest;
        const databaseBytes = entries[0]?.bytes ?? 0;
        const bytes = entries.reduce((sum, entry) => sum + entry.bytes, 0);
        return {
          ...{ path, takenAtMs, databaseBytes, linked, faults, leftOut: manifest.left_out },
          ...pruned(dir, manifest.lineage, ask.keep),
          ...{ files: entries.length - 1, fileBytes: bytes - databaseBytes, entries: entries.length },
        };
      } catch (fault) {
        if (existsSync(aside)) remove(aside);
        throw fault;
      }
    });
  } finally {
    giveBack();
  }
};
