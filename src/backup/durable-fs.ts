// Durable file operations for backups: copy, link, hash, walk and directory sync.
import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { syncPath } from "../store/sqlite/fsync.ts";
import { BackupError, codeOf, type Progress } from "./errors.ts";

/** Free space that a backup leaves, because a full disk also rejects submissions. */
const RESERVE_BYTES = 64 * 1024 * 1024;
const PIECE_BYTES = 1024 * 1024;

/** @throws BackupError if `bytes` more would not leave the reserve on the disk of `dir`, which the message calls `name`. */
export const requireFreeSpace = (dir: string, bytes: number, name = dir): void => {
  const { bavail, bsize } = statfsSync(dir);
  const free = bavail * bsize;
  if (free >= bytes + RESERVE_BYTES) return;
  const mb = (n: number) => `${Math.ceil(n / 1e6)} MB`;
  throw new BackupError(
    "no_room",
    `${name}: ${mb(bytes)} are needed there, and ${mb(RESERVE_BYTES)} have to stay free, but only ${mb(free)} are; free space or choose another directory`,
  );
};

/** Creates a directory with mode 0700 and makes the names of new parent directories durable. */
export const makeDirectory = (path: string): void => {
  const first = mkdirSync(path, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let made = resolve(path); ; made = dirname(made)) {
    try {
      syncPath(dirname(made));
    } catch {
      // A directory without read permission cannot be synced; its owner is responsible for its contents.
    }
    if (made === resolve(first) || made === dirname(made)) return;
  }
};

/** SHA-256 of a file in hex, and the size that was read. */
export const hashFile = (
  path: string,
  { throwIfStopped }: Pick<Progress, "throwIfStopped">,
): { sha256: string; bytes: number } => {
  const hasher = new Bun.CryptoHasher("sha256");
  const piece = new Uint8Array(PIECE_BYTES);
  const file = openSync(path, "r");
  let bytes = 0;
  try {
    for (;;) {
      throwIfStopped();
      const read = readSync(file, piece, 0, piece.length, null);
      if (read === 0) break;
      hasher.update(piece.subarray(0, read));
      bytes += read;
    }
  } finally {
    closeSync(file);
  }
  return { sha256: hasher.digest("hex"), bytes };
};

/** Copies a file to a new name durably, as a clone if the file system supports it. */
export const copyFile = (from: string, to: string): void => {
  copyFileSync(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  chmodSync(to, 0o600);
  syncPath(to);
};

/**
 * Creates a hard link to a file that never changes. @returns false if the file system does not support it, or if there are two
 * file systems.
 */
export const linkFile = (from: string, to: string): boolean => {
  try {
    linkSync(from, to);
    return true;
  } catch (fault) {
    if (/^(EXDEV|EPERM|EMLINK|ENOTSUP|EOPNOTSUPP|ENOSYS|ENOENT)$/.test(codeOf(fault))) return false;
    throw fault;
  }
};

export const writeFile = (path: string, text: string): void => {
  writeFileSync(path, text, { mode: 0o600 });
  syncPath(path);
};

/** The paths in a directory, with slashes. `strange` lists links and everything else that is neither file nor directory. */
export const walk = (dir: string, below = ""): { files: string[]; directories: string[]; strange: string[] } => {
  const found = { files: [] as string[], directories: [] as string[], strange: [] as string[] };
  for (const entry of readdirSync(join(dir, below), { withFileTypes: true })) {
    const path = below === "" ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) {
      const inner = walk(dir, path);
      found.directories.push(path, ...inner.directories);
      found.files.push(...inner.files);
      found.strange.push(...inner.strange);
    } else (entry.isFile() ? found.files : found.strange).push(path);
  }
  return found;
};

/** Size of a file; undefined if it does not exist or is not a regular file. */
export const sizeOf = (path: string): number | undefined => {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found?.isFile() ? found.size : undefined;
};

/** Removes a path recursively and durably. */
export const remove = (path: string): void => {
  rmSync(path, { recursive: true, force: true });
  syncPath(dirname(path));
};
