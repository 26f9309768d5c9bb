// Stores result files on local disk: written aside, synced, then renamed into place.
import { access, mkdir, open, readdir, rename, rm, rmdir, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { onDisk, syncDirectory } from "./durable-write.ts";
import { type Files, type Incoming, StorageRefused } from "./port.ts";

/** Only ids of generations and of stored blobs become part of a path; other client input never reaches this storage. */
const ID = /^(?:gen|blob)_[0-9a-z]{1,76}$/;

/**
 * Number of characters of an id, behind its prefix, that name its directory. Ids begin with the time, so a new directory begins
 * every few minutes (generations) or hours (blobs) and its size is bounded. Files stored at the same time share a directory, so
 * one sync covers all of them.
 */
const HOME_CHARS = 5;
const HOME = /^(?:gen|blob)_[0-9a-z]{1,5}$/;
/** Path of file `n` of a generation or a blob, relative to the directory of its storage. */
export const pathOfFile = (id: string, n: number): string => join(id.slice(0, id.indexOf("_") + 1 + HOME_CHARS), `${id}.${n}`);

/** Directory of files being received. It is on the same file system, so that a rename is atomic. */
const ASIDE = "incoming";

/** Shares one directory sync among all callers that request it while the previous sync is running. */
const openSyncs = () => {
  const underWay = new Map<string, Promise<void>>();
  const next = new Map<string, Promise<void>>();
  const begin = (path: string): Promise<void> => {
    const now = syncDirectory(path).finally(() => {
      if (underWay.get(path) === now) underWay.delete(path);
    });
    underWay.set(path, now);
    return now;
  };
  return (path: string): Promise<void> => {
    const before = underWay.get(path);
    if (!before) return begin(path);
    // The running sync may have started before the new file was written.
    const queued =
      next.get(path) ??
      before
        .catch(() => undefined)
        .then(() => {
          next.delete(path);
          return begin(path);
        });
    next.set(path, queued);
    return queued;
  };
};

/** Only the owner can read the files. */
const MODE = 0o600;

type OpenFile = Awaited<ReturnType<typeof open>>;

/** A file being received on local disk, which may be stored elsewhere. */
export interface LocalIncoming extends Incoming {
  keep(): Promise<void>;
  /** Ends writing. The bytes can be read from `path` until the file is discarded. */
  end(): Promise<void>;
}

/** Access to individual files on local disk, for uploaders. */
export interface LocalFiles extends Files {
  receive(generationId: string, n: number): Promise<LocalIncoming>;
  pathOf(generationId: string, n: number): string;
  /** Deletes one file; succeeds if it does not exist. */
  drop(generationId: string, n: number): Promise<void>;
  /** The directories that contain files, oldest first. */
  homes(): Promise<string[]>;
  /** The files in one directory. */
  keptIn(home: string): Promise<{ id: string; n: number }[]>;
}

/** Operating systems accept at most this many chunks in one call. */
const PIECES_AT_ONCE = 1024;

/** The remaining chunks after `bytes` bytes of them have been written. */
const behind = (chunks: readonly Uint8Array[], bytes: number): Uint8Array[] => {
  let done = bytes;
  return chunks.flatMap((chunk) => {
    const of = Math.min(done, chunk.length);
    done -= of;
    return of < chunk.length ? [of === 0 ? chunk : chunk.subarray(of)] : [];
  });
};

const writeAll = async (file: OpenFile, chunks: readonly Uint8Array[]): Promise<void> => {
  for (let rest = behind(chunks, 0); rest.length > 0; )
    rest = behind(rest, (await file.writev(rest.slice(0, PIECES_AT_ONCE))).bytesWritten);
};

/** A file being received, which is on disk from its first write. */
const createPart = (path: string) => {
  let opening: Promise<OpenFile> | undefined;
  let finishing: Promise<void> | undefined;
  let held: readonly Uint8Array[] = [];
  let isClosed = false;
  const opened = (): Promise<OpenFile> => {
    if (isClosed) throw new StorageRefused("the file is closed");
    opening ??= open(path, "wx", MODE);
    return opening;
  };
  const close = async (): Promise<void> => {
    if (isClosed) return;
    isClosed = true;
    await (await opening)?.close();
  };
  const finish = async (flush: boolean): Promise<void> => {
    const file = await opened();
    try {
      await writeAll(file, held);
      held = [];
      // The runtime's `writeFile` would not report a failed sync.
      if (flush) await file.sync();
    } catch (fault) {
      // What was written is never read. A full disk gets its space back, and the process its descriptor.
      await close().catch(() => {});
      await unlink(path).catch(() => {});
      throw fault;
    }
    await close();
  };
  return {
    path,
    write: async (chunks: readonly Uint8Array[]): Promise<void> => writeAll(await opened(), chunks),
    /** Takes the whole file, which is written at the end. */
    hold: (chunks: readonly Uint8Array[]): void => {
      held = chunks;
    },
    /** Ends writing; with `flush`, the bytes are durable. */
    finish: (flush: boolean): Promise<void> => {
      finishing ??= finish(flush);
      return finishing;
    },
    /** Ends writing and removes what is on disk. */
    remove: async (): Promise<void> => {
      await finishing?.catch(() => {});
      await close().catch(() => {});
      const wasOpened = await opening?.then(
        () => true,
        () => false,
      );
      if (wasOpened) await unlink(path);
    },
  };
};

/** Reports whether an error means that the name does not exist. */
const isMissing = (error: unknown) => error instanceof Error && "code" in error && error.code === "ENOENT";

/**
 * Opens the directory of result files: `<beginning of the generation id>/<generation id>.<n>`. Partial files of an earlier
 * process are deleted.
 * @throws StorageRefused if the directory cannot be created or read
 */
export const createLocalStorage = async (dir: string): Promise<LocalFiles> => {
  const aside = join(dir, ASIDE);
  await onDisk(async () => {
    await mkdir(aside, { recursive: true });
    for (const name of await readdir(aside)) if (name.endsWith(".part")) await rm(join(aside, name), { force: true });
    // A file is only as durable as every directory name on its path. This name may be new, or unsynced after a kill.
    await syncDirectory(dirname(dir));
  });

  const sync = openSyncs();
  const pathOf = (id: string, n: number) => join(dir, pathOfFile(id, n));
  const homeOf = (id: string) => dirname(pathOf(id, 1));
  const isName = (id: string, n: number) => ID.test(id) && Number.isSafeInteger(n) && n >= 1;
  let received = 0;
  /**
   * Directories whose names are durable. The creation of a directory does not imply a completed sync, because another call may
   * still be syncing.
   */
  const durable = new Set<string>();
  const makeHome = async (home: string): Promise<void> => {
    if (durable.has(home)) return;
    await mkdir(home, { recursive: true });
    await sync(dir);
    durable.add(home);
  };
  /**
   * The number of files being moved into each directory, and the directories being removed. Both never happen to one directory at
   * the same time. Otherwise its name could be synced, removed and recreated without a sync, and a power failure would lose a
   * file in it.
   */
  const moving = new Map<string, number>();
  const leaving = new Map<string, Promise<void>>();
  const move = async (from: string, home: string, to: string): Promise<void> => {
    moving.set(home, (moving.get(home) ?? 0) + 1);
    try {
      await leaving.get(home);
      await makeHome(home);
      await rename(from, to).catch(async (error: unknown) => {
        if (!isMissing(error)) throw error;
        // Another caller has removed the directory.
        durable.delete(home);
        await makeHome(home);
        await rename(from, to);
      });
    } finally {
      const others = (moving.get(home) ?? 1) - 1;
      if (others > 0) moving.set(home, others);
      else moving.delete(home);
    }
  };
  /** Removes a directory if it is empty and no file is being moved into it. */
  const leave = async (home: string): Promise<void> => {
    // A running removal may have started before the file was deleted and found the directory not empty.
    for (let before = leaving.get(home); before; before = leaving.get(home)) await before;
    if (moving.has(home)) return;
    durable.delete(home);
    const left = rmdir(home)
      .catch(() => undefined)
      .finally(() => leaving.delete(home));
    leaving.set(home, left);
    await left;
  };

  const receive = (id: string, n: number): Promise<LocalIncoming> =>
    onDisk(async () => {
      if (!isName(id, n)) throw new StorageRefused("that is not the name of a result file");
      const part = createPart(join(aside, `${id}.${n}.${++received}.part`));
      let isKept = false;
      return {
        path: part.path,
        write: (...chunks) => onDisk(() => part.write(chunks)),
        hold: part.hold,
        end: () => onDisk(() => part.finish(false)),
        keep: () =>
          onDisk(async () => {
            // Order: bytes, name, directory. A crash in between leaves either the previous file or the complete new one.
            await part.finish(true);
            await move(part.path, homeOf(id), pathOf(id, n));
            isKept = true;
            await sync(homeOf(id));
          }),
        discard: async () => {
          // Best effort: remaining partial files are deleted at the next start.
          if (!isKept) await part.remove().catch(() => {});
        },
      };
    });

  const isThere = (path: string): Promise<boolean> =>
    access(path).then(
      () => true,
      (error: unknown) => {
        if (isMissing(error)) return false;
        throw error;
      },
    );

  return {
    receive,
    open: async (id, n) => {
      if (!isName(id, n)) return undefined;
      const file = Bun.file(pathOf(id, n));
      return (await file.exists()) ? file : undefined;
    },
    remove: (id) =>
      onDisk(async () => {
        if (!ID.test(id)) return;
        // Files are stored in ascending and deleted in descending order, so that a crash leaves no file after a gap.
        let count = 0;
        while (await isThere(pathOf(id, count + 1))) count += 1;
        for (let n = count; n > 0; n -= 1) await rm(pathOf(id, n), { force: true });
        await leave(homeOf(id));
      }),
    pathOf,
    drop: (id, n) =>
      onDisk(async () => {
        if (!isName(id, n)) return;
        await rm(pathOf(id, n), { force: true });
        await leave(homeOf(id));
      }),
    homes: () => onDisk(async () => (await readdir(dir)).filter((name) => HOME.test(name)).sort()),
    keptIn: (home) =>
      onDisk(async () =>
        (await readdir(join(dir, home)).catch((error: unknown) => (isMissing(error) ? [] : Promise.reject(error)))).flatMap(
          (name) => {
            const [, id = "", n = ""] = /^((?:gen|blob)_[0-9a-z]{1,76})\.([1-9][0-9]?)$/.exec(name) ?? [];
            return id === "" ? [] : [{ id, n: Number(n) }];
          },
        ),
      ),
  };
};
