// Lock of a data directory: one owner, its pid, and checks of the directory.
import { Database } from "bun:sqlite";
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeSync,
} from "node:fs";
import { hostname } from "node:os";
import { dirname, join, resolve } from "node:path";
import { DirectoryInUse, DirectoryUnusable, faultCode, faultText } from "./errors.ts";
import { DATABASE_FILE } from "./open.ts";

/** Network file systems by their statfs type; their locks are not reliable. */
const NETWORK_DISKS = new Map([
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  [0xff534d42, "CIFS"],
  [0xfe534d42, "SMB2"],
  [0x5346414f, "AFS"],
  [0x73757245, "Coda"],
  [0x00c36400, "Ceph"],
  [0x0bd00bd0, "Lustre"],
]);

/** The kind of network file system of a directory; undefined for a local disk. */
export const networkDiskOf = (dir: string): string | undefined => NETWORK_DISKS.get(Number(statfsSync(dir).type) >>> 0);

export type Claim = {
  release(): void;
  /** Why the lock, or the database `file` with this inode, is lost; null while it is held. */
  lostTo(file: string, inode: number): string | null;
};

/** Inode of a file; undefined if it does not exist. */
export const inodeOf = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.ino;

/** A lock is released when its handle is garbage-collected, so handles are kept in a global. */
type Held = typeof globalThis & { genrouterLocks?: Map<string, Database> };
const held = (): Map<string, Database> => {
  const place = globalThis as Held;
  place.genrouterLocks ??= new Map();
  return place.genrouterLocks;
};

const unusable = (dir: string, why: string): never => {
  throw new DirectoryUnusable(`data directory ${dir}: ${why}`);
};

/** Makes the names of newly created parent directories durable. */
const syncAbove = (dir: string, firstMade: string): void => {
  for (let made = resolve(dir); ; made = dirname(made)) {
    try {
      const above = openSync(dirname(made), "r");
      fsyncSync(above);
      closeSync(above);
    } catch {
      // A directory without read permission cannot be synced; its owner is responsible for its contents.
    }
    if (made === resolve(firstMade) || made === dirname(made)) return;
  }
};

/** Creates a missing directory and proves that a file in it can be written and synced. */
const prepare = (dir: string, allows: { networkDisk: boolean; creation: boolean }): void => {
  if (!allows.creation && !existsSync(join(dir, DATABASE_FILE)))
    unusable(dir, "there is no database in it; name the directory the service was started with");
  try {
    const firstMade = mkdirSync(dir, { recursive: true, mode: 0o700 });
    if (firstMade !== undefined) syncAbove(dir, firstMade);
    const probe = join(dir, `.probe-${process.pid}`);
    const file = openSync(probe, "w", 0o600);
    writeSync(file, "probe");
    fsyncSync(file);
    closeSync(file);
    rmSync(probe);
  } catch (fault) {
    const code = faultCode(fault);
    const why =
      code === "ENOTDIR" || code === "EEXIST" ? "it is not a directory" : `it cannot be written (${code || faultText(fault)})`;
    const remedy = code === "ENOSPC" || code === "EDQUOT" ? "free space on its disk" : "give this user the right to write it";
    unusable(dir, `${why}; choose another with --data, or ${remedy}`);
  }
  const disk = networkDiskOf(dir);
  if (disk && !allows.networkDisk)
    unusable(
      dir,
      `it is on a network file system (${disk}), whose locks are not reliable; use a local disk, or set GENROUTER_DATA__NETWORK_DISK=true`,
    );
};

const ownerText = (dir: string): string => {
  try {
    const pid = /^pid (\d+)/.exec(readFileSync(join(dir, "owner"), "utf8"))?.[1];
    return pid ? `already running as pid ${pid}` : "already in use by another process";
  } catch {
    return "already in use by another process";
  }
};

/**
 * Locks a data directory for this process until it ends or releases it. Readers need no lock.
 * @throws DirectoryUnusable if it cannot be written. @throws DirectoryInUse if a process already owns it.
 */
export const claimDirectory = (dir: string, allows: { networkDisk: boolean; creation: boolean }): Claim => {
  prepare(dir, allows);
  const path = join(dir, "lock.db");
  const inUse = () => new DirectoryInUse(`data directory ${dir}: ${ownerText(dir)}; stop it first, or use another directory`);
  if (held().has(path)) throw inUse();
  const lock = new Database(path, { readwrite: true, create: true });
  chmodSync(path, 0o600);
  try {
    lock.run("PRAGMA busy_timeout = 0");
    lock.run("PRAGMA locking_mode = EXCLUSIVE");
    lock.run("BEGIN EXCLUSIVE");
  } catch (fault) {
    lock.close();
    if (faultCode(fault).startsWith("SQLITE_BUSY")) throw inUse();
    return unusable(dir, `its lock cannot be taken (${faultText(fault)})`);
  }
  held().set(path, lock);
  const lockInode = inodeOf(path);
  const file = openSync(join(dir, "owner"), "w", 0o600);
  writeSync(file, `pid ${process.pid}\nhost ${hostname()}\n`);
  closeSync(file);
  return {
    release: () => {
      if (!held().delete(path)) return;
      rmSync(join(dir, "owner"), { force: true });
      lock.close();
    },
    // The lock is on a file, not on a name: a removed or replaced file no longer protects the directory.
    lostTo: (file, inode) => {
      if (held().get(path) !== lock || !lock.inTransaction) return `the lock of ${dir} is gone`;
      if (inodeOf(path) !== lockInode) return `${path} was removed or replaced: the directory may have another owner`;
      return inodeOf(file) === inode ? null : `${file} was removed or replaced: what is written would be lost`;
    },
  };
};
