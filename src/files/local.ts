// Result files on local disk: written aside, made durable, then moved into place in one step.
import { mkdir, open, readdir, rename, rm, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Files, type Incoming, StorageRefused } from "./port.ts";

/** The only names that become part of a path; §4.2 lets a caller ask for any word, which never reaches this room. */
const ID = /^gen_[0-9a-z]{1,76}$/;

/** Files being received, on the same file system as the rest so that moving them is one step. */
const ASIDE = "incoming";

/** Disk faults become `StorageRefused`; the message has the system's code, never a path. */
const onDisk = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StorageRefused) throw error;
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown fault";
    throw new StorageRefused(`the disk refused: ${code}`);
  }
};

/** Makes the names in a directory durable. */
const syncDirectory = async (path: string): Promise<void> => {
  const directory = await open(path, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
};

type OpenFile = Awaited<ReturnType<typeof open>>;

const writeAll = async (file: OpenFile, chunk: Uint8Array): Promise<void> => {
  for (let done = 0; done < chunk.length; ) {
    const { bytesWritten } = await file.write(chunk, done, chunk.length - done);
    done += bytesWritten;
  }
};

/**
 * Opens the directory of result files: `<two characters of a hash>/<generation id>/<n>`. What a former process was still
 * receiving is removed.
 * @throws StorageRefused when the directory cannot be made or read.
 */
export const openLocalFiles = async (dir: string): Promise<Files> => {
  const aside = join(dir, ASIDE);
  await onDisk(async () => {
    await mkdir(aside, { recursive: true });
    for (const name of await readdir(aside)) if (name.endsWith(".part")) await rm(join(aside, name), { force: true });
    // A file is as durable as every name on the way to it, and this one may be new, or left unsynced by a kill.
    await syncDirectory(dirname(dir));
  });

  // Ids are made in order; their hash spreads them, so that no directory grows without bound.
  const shardOf = (id: string) => join(dir, new Bun.CryptoHasher("sha256").update(id).digest("hex").slice(0, 2));
  const homeOf = (id: string) => join(shardOf(id), id);
  const isName = (id: string, n: number) => ID.test(id) && Number.isSafeInteger(n) && n >= 1;
  let received = 0;
  /** Shards whose names are known to be durable. Who made a directory does not say that it was synced: another may still be at it. */
  const durable = new Set<string>();
  const syncShard = async (shard: string): Promise<void> => {
    if (durable.has(shard)) return;
    await syncDirectory(dir);
    durable.add(shard);
  };

  const receive = (id: string, n: number): Promise<Incoming> =>
    onDisk(async () => {
      if (!isName(id, n)) throw new StorageRefused("that is not the name of a result file");
      const path = join(aside, `${id}.${n}.${++received}.part`);
      const part = await open(path, "wx", 0o600);
      let isOpen = true;
      const close = async () => {
        if (!isOpen) return;
        isOpen = false;
        await part.close();
      };
      return {
        path,
        write: (chunk) => onDisk(() => writeAll(part, chunk)),
        keep: () =>
          onDisk(async () => {
            await part.sync();
            await close();
            // In this order: bytes, then the name, then the directories the name hangs from. A crash in between leaves
            // either the former file or the whole new one.
            const home = homeOf(id);
            await mkdir(home, { recursive: true });
            await rename(path, join(home, String(n)));
            await syncDirectory(home);
            await syncDirectory(shardOf(id));
            await syncShard(shardOf(id));
          }),
        discard: async () => {
          // Best effort: what stays behind is removed at the next start.
          await close().catch(() => {});
          await unlink(path).catch(() => {});
        },
      };
    });

  return {
    receive,
    open: async (id, n) => {
      if (!isName(id, n)) return undefined;
      const file = Bun.file(join(homeOf(id), String(n)));
      return (await file.exists()) ? file : undefined;
    },
    remove: (id) =>
      onDisk(async () => {
        if (ID.test(id)) await rm(homeOf(id), { recursive: true, force: true });
      }),
  };
};
