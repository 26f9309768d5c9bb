// Where an archive is kept, as those see it who write and read one: a few questions, answered here by a directory and elsewhere by a bucket.
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
  /** How a person is told of it, or of what has a name in it. */
  told(name?: string): string;
  /** The last parts of the names that lie directly in it. */
  list(): Promise<string[]>;
  /** All of what has a name; undefined where nothing has, "larger" where it is more than the most that it can rightly be. */
  read(name: string, mostBytes: number): Promise<Uint8Array | "larger" | undefined>;
  /** Keeps what is named by its content, durably. @returns false where the name is of other bytes, which are left as they are. */
  keep(name: string, bytes: Uint8Array): Promise<boolean>;
  /** Keeps what completes all that was kept before it, and only if nobody had its name. @returns false where somebody had. */
  complete(name: string, bytes: Uint8Array): Promise<boolean>;
  /** What is going to take it away though nobody asked for that; undefined: nothing that is known. */
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

/** A directory of this machine; it is made when something is kept. */
export const openDirectory = (dir: string): ArchiveStorage => {
  const tidied = new Set<string>();
  const prepare = (home: string): void => {
    if (tidied.has(home)) return;
    tidied.add(home);
    mkdirSync(home, { recursive: true, mode: 0o700 });
    // What an interrupted run was writing.
    for (const name of readdirSync(home)) if (name.endsWith(PART)) rmSync(join(home, name), { force: true });
  };
  return {
    told: (name) => (name === undefined ? dir : join(dir, name)),
    list: async () => (existsSync(dir) ? readdirSync(dir) : []),
    read: async (name, mostBytes) => {
      const path = join(dir, name);
      if (!existsSync(path)) return undefined;
      return statSync(path).size > mostBytes ? "larger" : readFileSync(path);
    },
    // What is there under the name is what it says, or was damaged and is mended.
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
