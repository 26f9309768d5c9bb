// Writes one result file to a part file that is renamed, or to a stream.
import { createHash } from "node:crypto";
import { constants, createReadStream, write } from "node:fs";
import { type FileHandle, open, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { type Place, partOf, placeAt, unwritable } from "./destinations.ts";
import { endingOf } from "./extensions.ts";

export type Sink = {
  /** Number of bytes that were written. */
  size(): Promise<number>;
  /** Prepares for a response whose bytes start at `from`. */
  open(from: number): Promise<void>;
  write(chunk: Uint8Array, at: number): Promise<void>;
  sync(): Promise<void>;
  /** Called between two responses. */
  pause(): Promise<void>;
  sha256(): Promise<string>;
  /** Discards the bytes that were written. */
  drop(): Promise<void>;
  /** Completes the file. Returns its path. */
  finish(type: string): Promise<string>;
  close(): Promise<void>;
  /** True if written bytes cannot be discarded. */
  readonly isFinal: boolean;
};

/** For `catch`: reports a disk error as such, so that it is not mistaken for a broken connection. */
const orUnwritable =
  (path: string) =>
  (fault: unknown): Promise<never> =>
    Promise.reject(unwritable(path, fault));

const sha256Of = async (path: string): Promise<string> => {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk as Uint8Array);
  return hash.digest("hex");
};

/** `path`: the requested name, and `target` its destination after symbolic links; null for a name by generation and type. */
type Named = { dir: string; path: string | null; target: string | null; of: string; n: number };

/** Writes to a `.part` file beside the destination. */
export const partSink = ({ dir, path, target, of, n }: Named): Sink => {
  const home = target === null ? dir : dirname(target);
  const part = partOf(home, target === null ? null : basename(target), of, n);
  let file: FileHandle | undefined;
  const pause = async () => {
    await file?.close();
    file = undefined;
  };
  return {
    isFinal: false,
    size: async () => (await stat(part).catch(() => undefined))?.size ?? 0,
    open: async (from) => {
      file = await open(part, from > 0 ? "r+" : "w").catch(orUnwritable(part));
    },
    write: async (chunk, at) => {
      for (let done = 0; done < chunk.length; )
        done += (await file?.write(chunk, done, chunk.length - done, at + done).catch(orUnwritable(part)))?.bytesWritten ?? 0;
    },
    sync: async () => file?.sync().catch(orUnwritable(part)),
    pause,
    close: pause,
    sha256: () => sha256Of(part),
    drop: () => rm(part, { force: true }),
    finish: async (type) => {
      const asked = path ?? join(dir, `${n === 1 ? of : `${of}-${n}`}${endingOf(type) ?? ".bin"}`);
      const place = target === null ? await placeAt(asked) : { kind: "file", path: target };
      if (place.kind === "stream") throw unwritable(asked, "it is not a regular file");
      await rename(part, place.path).catch(orUnwritable(asked));
      return asked;
    },
  };
};

/** Settles with the work, or rejects when the signal aborts, because a FIFO without a reader blocks a write without limit. */
const unlessAborted = async <T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> => {
  if (signal === undefined) return work;
  signal.throwIfAborted();
  let stop = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
};

const writeTo = promisify(write);
const RETRY_MS = 5;
const isFull = (fault: unknown): boolean => fault instanceof Error && "code" in fault && fault.code === "EAGAIN";

/** Writes at the current position of the descriptor; waits if a pipe is full. Returns the number of bytes written. */
const someTo = async (fd: number, chunk: Uint8Array, at: number): Promise<number> => {
  try {
    const { bytesWritten } = await writeTo(fd, chunk, at, chunk.length - at, null);
    return bytesWritten;
  } catch (fault) {
    if (!isFull(fault)) throw fault;
    await new Promise((done) => setTimeout(done, RETRY_MS));
    return 0;
  }
};

/**
 * Writes to a FIFO, a device or an open descriptor: bytes in order, none twice. It stays open across interruptions, because its
 * reader would interpret a close as the end of the file.
 */
export const streamSink = ({ path, fd }: Place & { kind: "stream" }, signal: AbortSignal | undefined): Sink => {
  const hash = createHash("sha256");
  let file: FileHandle | undefined;
  let size = 0;
  return {
    isFinal: true,
    size: async () => size,
    open: async () => {
      if (fd !== null || file !== undefined) return;
      const opening = open(path, constants.O_WRONLY);
      file = await unlessAborted(opening.catch(orUnwritable(path)), signal);
    },
    write: async (chunk, at) => {
      const fresh = chunk.subarray(Math.min(chunk.length, Math.max(0, size - at)));
      const into = fd ?? file?.fd ?? -1;
      for (let done = 0; done < fresh.length; )
        done += await unlessAborted(someTo(into, fresh, done).catch(orUnwritable(path)), signal);
      hash.update(fresh);
      size += fresh.length;
    },
    sync: async () => undefined,
    pause: async () => undefined,
    sha256: async () => hash.copy().digest("hex"),
    drop: async () => undefined,
    finish: async () => path,
    close: async () => file?.close(),
  };
};
