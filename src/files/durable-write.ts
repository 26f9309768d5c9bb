// What every writer of this room does alike: tell faults of the disk, make names durable, and write a file that is whole or not there.
import { open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { StorageRefused } from "./port.ts";

/** Disk faults become `StorageRefused`; the message has the system's code, never a path. */
export const onDisk = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StorageRefused) throw error;
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown fault";
    if (code === "EMFILE" || code === "ENFILE") throw new StorageRefused(`no descriptor is left to open a file: ${code}`);
    throw new StorageRefused(`the disk refused: ${code}`);
  }
};

/** Makes the names in a directory durable. */
export const syncDirectory = async (path: string): Promise<void> => {
  const directory = await open(path, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
};

let made = 0;

/** Writes a file of these bytes that only its owner reads: durable and whole when this resolves, not there under its name when it throws. */
export const writeDurably = async (dir: string, name: string, pieces: readonly Uint8Array[]): Promise<void> => {
  const aside = join(dir, `${name}.${++made}.part`);
  try {
    const file = await open(aside, "wx", 0o600);
    try {
      for (const piece of pieces)
        for (let at = 0; at < piece.length; ) at += (await file.write(piece, at, piece.length - at)).bytesWritten;
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(aside, join(dir, name));
  } catch (fault) {
    await rm(aside, { force: true }).catch(() => {});
    throw fault;
  }
  await syncDirectory(dir);
};

export type Sweep = {
  /** Files that were written before, ms since 1970. */
  beforeMs: number;
  /** The generation that a file of this name belongs to; undefined: to none. */
  ownerOf: (name: string) => string | undefined;
  hasEnded: (generationId: string) => Promise<boolean>;
};

/** Deletes the old files of a directory that belong to generations that have ended, or to none. @returns how many */
export const sweepDirectory = async (dir: string, { beforeMs, ownerOf, hasEnded }: Sweep): Promise<number> => {
  let swept = 0;
  for (const name of await readdir(dir)) {
    const path = join(dir, name);
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }));
    if (mtimeMs > beforeMs) continue;
    const owner = ownerOf(name);
    if (owner !== undefined && !(await hasEnded(owner))) continue;
    await rm(path, { force: true });
    swept += 1;
  }
  return swept;
};
