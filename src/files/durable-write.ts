// Durable writes to local disk, shared by all file storage.
//
// A file is written completely or does not appear. Disk errors become `StorageRefused`.
import { open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { StorageRefused } from "./port.ts";

/** Converts disk errors to `StorageRefused`. The message contains the error code of the system, never a path. */
export const onDisk = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StorageRefused) throw error;
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown fault";
    if (code === "EMFILE" || code === "ENFILE") throw new StorageRefused(`no descriptor is left to open a file: ${code}`);
    throw new StorageRefused(`the disk returned an error: ${code}`);
  }
};

/** Syncs a directory, which makes its file names durable. */
export const syncDirectory = async (path: string): Promise<void> => {
  const directory = await open(path, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
};

let made = 0;

/**
 * Writes a file that only its owner can read. When the promise resolves, the file is complete and durable; when it rejects, the
 * name does not exist.
 */
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
  /** Only files written before this time are deleted, ms since 1970. */
  beforeMs: number;
  /** The generation that a file name belongs to; undefined if it belongs to none. */
  ownerOf: (name: string) => string | undefined;
  hasEnded: (generationId: string) => Promise<boolean>;
};

/** Deletes old files whose generation has ended, or that belong to no generation. @returns the number of deleted files */
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
