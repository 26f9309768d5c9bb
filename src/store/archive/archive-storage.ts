// Archive storage: the port for archive files, and its driver for a local directory.
//
// The driver for a bucket is in src/files/s3.
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { syncPath } from "../sqlite/fsync.ts";

export interface ArchiveStorage {
  /** The display name of the storage, or of one file in it. */
  describe(name?: string): string;
  /** The last path segments of the files directly in it. */
  list(): Promise<string[]>;
  /** The whole file; undefined if it does not exist, "larger" if it exceeds `mostBytes`. */
  read(name: string, mostBytes: number): Promise<Uint8Array | "larger" | undefined>;
  /** Stores a file that is named by its content, durably. @returns false if the name has other bytes, which stay unchanged. */
  keep(name: string, bytes: Uint8Array): Promise<boolean>;
  /** Stores the file that completes all earlier ones, if its name is free. @returns false if the name exists. */
  complete(name: string, bytes: Uint8Array): Promise<boolean>;
  /** The reason why the file will be deleted automatically; undefined if none is known. */
  danger(name: string): Promise<string | undefined>;
}

const PART = ".part";

const writeDurably = (path: string, bytes: Uint8Array): void => {
  const file = openSync(path, "w", 0o600);
  try {
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
};

/** A local directory, which is created on the first write. */
export const openDirectory = (dir: string): ArchiveStorage => {
  const tidied = new Set<string>();
  const prepare = (home: string): void => {
    if (tidied.has(home)) return;
    tidied.add(home);
    mkdirSync(home, { recursive: true, mode: 0o700 });
    // Partial files of an interrupted run.
    for (const name of readdirSync(home)) if (name.endsWith(PART)) rmSync(join(home, name), { force: true });
  };
  return {
    describe: (name) => (name === undefined ? dir : join(dir, name)),
    list: async () => (existsSync(dir) ? readdirSync(dir) : []),
    read: async (name, mostBytes) => {
      const path = join(dir, name);
      if (!existsSync(path)) return undefined;
      return statSync(path).size > mostBytes ? "larger" : readFileSync(path);
    },
    // An existing file under the name has the same content or is damaged, so it is replaced.
    keep: async (name, bytes) => {
      const path = join(dir, name);
      prepare(dirname(path));
      writeDurably(`${path}${PART}`, bytes);
      renameSync(`${path}${PART}`, path);
      return true;
    },
    complete: async (name, bytes) => {
      const path = join(dir, name);
      for (const home of tidied) syncPath(home);
      const part = `${path}.${process.pid}${PART}`;
      writeDurably(part, bytes);
      try {
        linkSync(part, path);
      } catch (fault) {
        if (existsSync(path)) return false;
        throw fault;
      } finally {
        rmSync(part, { force: true });
      }
      syncPath(dir);
      return true;
    },
    danger: async () => undefined,
  };
};
