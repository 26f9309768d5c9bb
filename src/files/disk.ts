// The two things that every writer of this room does alike: tell faults of the disk, and make names durable.
import { open } from "node:fs/promises";
import { StorageRefused } from "./port.ts";

/** Disk faults become `StorageRefused`; the message has the system's code, never a path. */
export const onDisk = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StorageRefused) throw error;
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown fault";
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
