// Backup directory: lists backups, serializes work on it and removes old nightly backups.
import { existsSync, readdirSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import { syncPath } from "../store/sqlite/fsync.ts";
import { acquireMutex } from "../store/sqlite/snapshot-copy/directory-mutex.ts";
import { inspectBackup } from "./check.ts";
import { makeDirectory, remove, walk } from "./durable-fs.ts";
import { BackupError, codeOf, textOf } from "./errors.ts";
import { isBackupName, isUnderWayName, MANIFEST_FILE, type Manifest, removedName, TURN_FILE } from "./manifest.ts";

export type ListedBackup = {
  name: string;
  path: string;
  /**
   * `ok`: verified when it was created, and its files have the recorded sizes. `with faults`: the same, but its original had
   * errors.
   */
  state: "ok" | "with faults" | "damaged" | "incomplete";
  /** The errors of the backup; null if it is ok. */
  why: string | null;
  bytes: number;
  manifest: Manifest | null;
};

const namesIn = (dir: string): string[] => {
  try {
    return readdirSync(dir);
  } catch (fault) {
    const code = codeOf(fault);
    if (code === "ENOENT")
      throw new BackupError("not_found", `${dir}: the directory does not exist; genrouter backup create creates it`);
    throw new BackupError(
      "unusable",
      `${dir} cannot be read (${code || textOf(fault)}); grant this user the permission, or name another`,
    );
  }
};

const shelved = (dir: string, name: string): ListedBackup => {
  const path = join(dir, name);
  if (isUnderWayName(name))
    return { name, path, state: "incomplete", why: "it is incomplete or still being created", bytes: 0, manifest: null };
  try {
    const { manifest, bytes, fault } = inspectBackup(path);
    if (fault !== null) return { name, path, state: "damaged", why: fault, bytes, manifest };
    const [first] = manifest.faults;
    if (first === undefined) return { name, path, state: "ok", why: null, bytes, manifest };
    const more = manifest.faults.length > 1 ? ` and ${manifest.faults.length - 1} more` : "";
    return { name, path, state: "with faults", why: `${first.path}: ${first.why}${more}`, bytes, manifest };
  } catch (fault) {
    return { name, path, state: "damaged", why: textOf(fault), bytes: 0, manifest: null };
  }
};

/** The backups of a directory, newest first, including incomplete ones. @throws BackupError if it cannot be read. */
export const listBackups = (dir: string): ListedBackup[] =>
  namesIn(dir)
    .filter((name) => isBackupName(name) || isUnderWayName(name))
    .toSorted()
    .reverse()
    .map((name) => shelved(dir, name));

/** The newest backup that satisfies `isSo`; older ones are not inspected. */
const newestThat = (dir: string, isSo: (one: ListedBackup) => boolean): ListedBackup | undefined => {
  for (const name of namesIn(dir).filter(isBackupName).toSorted().reverse()) {
    const one = shelved(dir, name);
    if (isSo(one)) return one;
  }
  return undefined;
};

/**
 * Time of the newest verified backup of a service in milliseconds; null if there is none or no directory. Services can share a
 * directory.
 * @param lineage The id of the service's database; null: any.
 */
export const newestVerifiedMs = (dir: string, lineage: string | null): number | null => {
  if (!existsSync(dir)) return null;
  const isOurs = ({ manifest, state }: ListedBackup) => state === "ok" && (lineage === null || manifest?.lineage === lineage);
  return newestThat(dir, isOurs)?.manifest?.taken_at_ms ?? null;
};

/** The newest backup of the same service that is not damaged; undefined if there is none. */
export const newestOf = (dir: string, lineage: string): ListedBackup | undefined =>
  newestThat(dir, ({ manifest, state }) => manifest?.lineage === lineage && (state === "ok" || state === "with faults"));

/** Removes the leftovers of a killed process. The caller holds the lock of the directory. */
export const dropLeftovers = (dir: string): void => {
  for (const name of namesIn(dir).filter(isUnderWayName)) remove(join(dir, name));
};

/**
 * Creates a missing directory and locks it until the returned function is called.
 * @throws BackupError `in_use` if another process creates a backup there, `unusable` if it is not writable.
 */
export const takeTurnIn = (dir: string): (() => void) => {
  let giveBack: (() => void) | null;
  try {
    makeDirectory(dir);
    giveBack = acquireMutex(join(dir, TURN_FILE));
  } catch (fault) {
    const code = codeOf(fault);
    if (/^(ENOSPC|EDQUOT|SQLITE_FULL)$/.test(code))
      throw new BackupError("no_room", `${dir}: the disk is full (${code}); free space on it or choose another directory`);
    throw new BackupError(
      "unusable",
      `${dir} cannot be written (${code || textOf(fault)}); grant this user the permission, or choose another directory`,
    );
  }
  if (giveBack === null) throw new BackupError("in_use", `${dir}: another backup is being created there; try again after it`);
  return giveBack;
};

/** Whether the directory contains exactly the files of its manifest; only then genrouter removes it. */
const isOwnForm = ({ path, manifest, state }: ListedBackup): boolean => {
  if (!manifest || (state !== "ok" && state !== "with faults")) return false;
  if (!statSync(path).isDirectory()) return false;
  const { files, strange } = walk(path);
  const own = new Set([MANIFEST_FILE, ...manifest.entries.map((entry) => entry.path)]);
  return strange.length === 0 && files.length === own.size && files.every((file) => own.has(file));
};

/**
 * Removes nightly backups of a service beyond its newest `keep` verified ones, and beyond the newest `keep` with faults. Manual
 * backups, damaged ones, those of other services and the last verified one stay. The caller holds the lock of the directory.
 * @returns the names of the removed backups.
 */
export const prune = (dir: string, lineage: string, keep: number): string[] => {
  const nightly = listBackups(dir).filter(({ manifest }) => manifest?.made_by === "nightly" && manifest.lineage === lineage);
  const verified = nightly.filter(({ state }) => state === "ok");
  const faulty = nightly.filter(({ state }) => state === "with faults");
  const oldestKept = verified[keep - 1]?.name;
  const tooOld = [...verified, ...faulty].filter(({ name }) => oldestKept !== undefined && name < oldestKept);
  const removed: string[] = [];
  for (const one of new Set([...tooOld, ...faulty.slice(keep)])) {
    if (!isOwnForm(one)) continue;
    // Renamed first, so that an interrupted removal leaves nothing that looks like a backup.
    const removedPath = join(dir, removedName(one.name));
    renameSync(one.path, removedPath);
    syncPath(dir);
    remove(removedPath);
    removed.push(one.name);
  }
  return removed;
};
