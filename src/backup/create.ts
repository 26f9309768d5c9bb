// Makes a backup: the database at one moment, the files that it names, a manifest; checked completely before it has its name.
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
import { BackupFault, type Going, textOf, withDiskErrors } from "./errors.ts";
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
  /** Where the backup is to stand. */
  dir: string;
  madeBy: Manifest["made_by"];
  version: string;
  filesStore: Manifest["files_store"];
  withMasterKey: boolean;
  /** How far the service's clock is ahead of the machine's, ms. */
  aheadMs: number;
  /** Nightly backups to keep once this one is verified; null removes none. */
  keep: number | null;
};
export type Made = {
  path: string;
  takenAtMs: number;
  databaseBytes: number;
  files: number;
  fileBytes: number;
  /** Of the files, those that the backup before had already. */
  linked: number;
  entries: number;
  /** What is wrong with the originals; none: it is verified. */
  faults: Noted[];
  leftOut: Manifest["left_out"];
  /** Nightly backups that were old enough to go; and why some could not. */
  removed: string[];
  stays: string | null;
};

/** A name of its own is as old as a second; so long is a free one looked for at intervals. */
const NEXT_NAME_MS = 50;
/** Files that lie in a data directory and are no part of what it holds. */
const DEMO_KEY_FILE = "demo-key";

/** Takes a free name, and the moment that it says. */
const takeName = (dir: string, aheadMs: number, goOn: () => void): { name: string; takenAtMs: number } => {
  for (;;) {
    goOn();
    const takenAtMs = Math.floor(Date.now() + aheadMs);
    const name = backupName(takenAtMs);
    if (!existsSync(join(dir, name))) return { name, takenAtMs };
    Bun.sleepSync(NEXT_NAME_MS);
  }
};

const entryOf = (aside: string, path: string, going: Going): Entry => ({ path, ...hashFile(join(aside, path), going) });

/** Everything that is not a result file and was left behind on purpose. */
const leftBehind = ({ dataDir, withMasterKey }: CreateRequest): Manifest["left_out"] => {
  const isThere = (name: string) => existsSync(join(dataDir, name));
  return [
    ...(!withMasterKey && isThere(MASTER_KEY_FILE)
      ? [{ what: MASTER_KEY_FILE, why: "it decrypts the provider credentials of this backup: store it in another place" }]
      : []),
    ...(isThere(DEMO_KEY_FILE) ? [{ what: DEMO_KEY_FILE, why: "the next start with the simulator makes another" }] : []),
  ];
};

/** Checks what was made and puts right what can be, until a check finds nothing. @returns the manifest as it stands then. */
const checkAndMend = (aside: string, manifest: Manifest, placed: readonly CopiedFiles[], going: Going): Manifest => {
  const write = (next: Manifest): Manifest => {
    writeFile(join(aside, MANIFEST_FILE), printManifest(next));
    return next;
  };
  write(manifest);
  const { faults, books }: Checked = checkBackup(aside, going);
  if (faults.length === 0 && books.length === 0) return manifest;
  const files = new Map(placed.map((one) => [one.entry.path, one]));
  const entries = new Map(manifest.entries.map((entry) => [entry.path, entry]));
  const noted = [...manifest.faults, ...books];
  for (const { path, why } of faults) {
    const file = files.get(path);
    if (!file)
      throw new BackupFault("failed", `${join(aside, path)}: ${why}: the disk does not keep what is written; look after it`);
    const { entry, fault } = repairFile(file, aside, going);
    entries.set(path, entry);
    if (fault) noted.push(fault);
  }
  const mended = write({ ...manifest, entries: [...entries.values()], faults: noted });
  const left = checkBackup(aside, going, new Set(faults.map(({ path }) => path))).faults[0];
  if (left)
    throw new BackupFault(
      "failed",
      `${join(aside, left.path)}: ${left.why}: the disk does not keep what is written; look after it`,
    );
  return mended;
};

const make = (ask: CreateRequest, aside: string, takenAtMs: number, going: Going): { manifest: Manifest; linked: number } => {
  const { dataDir, dir } = ask;
  const databaseBytes = bytesToCopy(dataDir);
  requireFreeSpace(dir, databaseBytes);
  mkdirSync(aside, { mode: 0o700 });
  going.tell(`copying the database (${Math.ceil(databaseBytes / 1e6)} MB)`);
  const database = join(aside, DATABASE_FILE);
  copyDatabase(dataDir, database);
  dropSides(database);
  syncPath(database);
  going.goOn();
  const figures = statsOfSnapshot(database, figuresOf);
  const before = newestOf(dir, figures.lineage);
  const nowMs = () => Date.now() + ask.aheadMs;
  // Files of before may be in a bucket that is not used for new ones any more.
  const filesStore = sizeOf(join(dataDir, BUCKET_FILE)) === undefined ? ask.filesStore : "s3";
  const placing: Placing = copyFiles({ dataDir, aside, nowMs, filesStore, before }, going);
  const { placed } = placing;
  const own = [entryOf(aside, DATABASE_FILE, going)];
  for (const path of [BUCKET_FILE, ...(ask.withMasterKey ? [MASTER_KEY_FILE] : [])]) {
    if (sizeOf(join(dataDir, path)) === undefined) continue;
    mkdirSync(dirname(join(aside, path)), { recursive: true, mode: 0o700 });
    copyFile(join(dataDir, path), join(aside, path));
    own.push(entryOf(aside, path, going));
  }
  const { createdAtMs: _, ...known } = figures;
  const manifest = checkAndMend(
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
    going,
  );
  for (const path of walk(aside).directories) syncPath(join(aside, path));
  syncPath(aside);
  return { manifest, linked: placed.filter(({ isLinked }) => isLinked).length };
};

/** The backup is made by now: what cannot be removed is told, and is no fault of it. */
const pruned = (dir: string, lineage: string, keep: number | null): Pick<Made, "removed" | "stays"> => {
  try {
    return { removed: keep === null ? [] : prune(dir, lineage, keep), stays: null };
  } catch (fault) {
    return { removed: [], stays: textOf(fault) };
  }
};

/**
 * Makes a backup of a data directory, whether a service runs on it or not: it is only read.
 * @throws BackupFault; DirectoryUnusable, StoreDamaged, WrongSchema for the data directory. Nothing that looks like a backup is left then.
 */
export const createBackup = (ask: CreateRequest, going: Going): Made => {
  const dir = resolve(ask.dir);
  const giveBack = takeTurnIn(dir);
  try {
    return withDiskErrors(dir, () => {
      dropLeftovers(dir);
      const { name, takenAtMs } = takeName(dir, ask.aheadMs, going.goOn);
      const [aside, path] = [join(dir, incompleteName(name)), join(dir, name)];
      try {
        const { manifest, linked } = make({ ...ask, dir }, aside, takenAtMs, going);
        going.goOn();
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
