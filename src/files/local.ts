// Result files on local disk: written aside, made durable, then moved into place in one step.
import { access, mkdir, open, readdir, rename, rm, rmdir, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { onDisk, syncDirectory } from "./durable-write.ts";
import { type Files, type Incoming, StorageRefused } from "./port.ts";

/** The only names that become part of a path; §4.2 lets a caller ask for any word, which never reaches this room. */
const ID = /^gen_[0-9a-z]{1,76}$/;

/**
 * So many characters of an id name its directory. Ids begin with the time, so a new directory begins every 4 minutes and none grows
 * without bound, and what is kept at the same time is in the same one: a sync of it is then one for all.
 */
const HOME_CHARS = "gen_".length + 5;
const HOME = /^gen_[0-9a-z]{1,5}$/;
/** Where file `n` of a generation stands below the directory of result files. */
export const pathOfFile = (id: string, n: number): string => join(id.slice(0, HOME_CHARS), `${id}.${n}`);

/** Files being received, on the same file system as the rest so that moving them is one step. */
const ASIDE = "incoming";

/** One sync of a directory for all who ask for it while the one before is under way. */
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
    // The one under way may have begun before what is to be synced was there.
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

type OpenFile = Awaited<ReturnType<typeof open>>;

/** A file being received on local disk, which may be kept elsewhere. */
export interface LocalIncoming extends Incoming {
  keep(): Promise<void>;
  /** Nothing more is written: the bytes are read from `path`, where they stay until they are discarded. */
  end(): Promise<void>;
}

/** Result files on local disk, one by one: for what moves them elsewhere. */
export interface LocalFiles extends Files {
  receive(generationId: string, n: number): Promise<LocalIncoming>;
  pathOf(generationId: string, n: number): string;
  /** Deletes one file; fine when it is not there. */
  drop(generationId: string, n: number): Promise<void>;
  /** The directories that files stand in, oldest first. */
  homes(): Promise<string[]>;
  /** The files in one of them. */
  keptIn(home: string): Promise<{ id: string; n: number }[]>;
}

/** Systems take no more pieces in one call. */
const PIECES_AT_ONCE = 1024;

/** What is left of chunks when so many bytes of them have been written. */
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

/** Whether a fault says that there is no such name. */
const isMissing = (error: unknown) => error instanceof Error && "code" in error && error.code === "ENOENT";

/**
 * Opens the directory of result files: `<beginning of the generation's id>/<generation id>.<n>`. What a former process was still
 * receiving is removed.
 * @throws StorageRefused when the directory cannot be made or read.
 */
export const createLocalStorage = async (dir: string): Promise<LocalFiles> => {
  const aside = join(dir, ASIDE);
  await onDisk(async () => {
    await mkdir(aside, { recursive: true });
    for (const name of await readdir(aside)) if (name.endsWith(".part")) await rm(join(aside, name), { force: true });
    // A file is as durable as every name on the way to it, and this one may be new, or left unsynced by a kill.
    await syncDirectory(dirname(dir));
  });

  const sync = openSyncs();
  const pathOf = (id: string, n: number) => join(dir, pathOfFile(id, n));
  const homeOf = (id: string) => dirname(pathOf(id, 1));
  const isName = (id: string, n: number) => ID.test(id) && Number.isSafeInteger(n) && n >= 1;
  let received = 0;
  /** Directories whose names are known to be durable. Who made one does not say that it was synced: another may still be at it. */
  const durable = new Set<string>();
  const makeHome = async (home: string): Promise<void> => {
    if (durable.has(home)) return;
    await mkdir(home, { recursive: true });
    await sync(dir);
    durable.add(home);
  };
  /**
   * How many files are on their way into a directory, and the directories that are being removed. The two never happen to one at the same
   * time: its name could be synced, removed and made anew unsynced, and a file kept in it would be lost with the power.
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
        // Somebody else removed it.
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
  /** Removes a directory if nothing is in it nor on its way there. */
  const leave = async (home: string): Promise<void> => {
    // One under way may have begun before what was just removed was gone: it found the directory not empty.
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
      const path = join(aside, `${id}.${n}.${++received}.part`);
      const part = await open(path, "wx", 0o600);
      let isOpen = true;
      let isKept = false;
      const close = async () => {
        if (!isOpen) return;
        isOpen = false;
        await part.close();
      };
      return {
        path,
        write: (...chunks) => onDisk(() => writeAll(part, chunks)),
        end: () => onDisk(close),
        keep: () =>
          onDisk(async () => {
            await part.sync();
            await close();
            // In this order: bytes, then the name, then the directory that it stands in. A crash in between leaves either the
            // former file or the whole new one.
            await move(path, homeOf(id), pathOf(id, n));
            isKept = true;
            await sync(homeOf(id));
          }),
        discard: async () => {
          // Best effort: what stays behind is removed at the next start.
          await close().catch(() => {});
          if (!isKept) await unlink(path).catch(() => {});
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
        // Files are kept from the first on and removed from the last on, so that a crash leaves none behind a gap.
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
            const [, id = "", n = ""] = /^(gen_[0-9a-z]{1,76})\.([1-9][0-9]?)$/.exec(name) ?? [];
            return id === "" ? [] : [{ id, n: Number(n) }];
          },
        ),
      ),
  };
};
