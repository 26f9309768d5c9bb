// Spools result files that providers embed in their responses until they are collected.
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { onDisk, sweepDirectory, writeDurably } from "./durable-write.ts";
import { isSpooled, SPOOLED } from "./port.ts";

/** The body of a generation id, the attempt number and the file number. */
const NAME = /^([0-9a-z]{1,76})-\d{1,4}\.\d{1,2}$/;
/** The attempt reference and file number in an address that `keep` returned; undefined for any other address. */
export const spooledAs = (url: string): { ref: string; n: number } | undefined => {
  const name = isSpooled(url) ? url.slice(SPOOLED.length) : "";
  if (!NAME.test(name)) return undefined;
  const [ref = "", n] = name.split(".");
  return { ref, n: Number(n) };
};

export interface Spool {
  /**
   * Stores a file durably.
   * @param ref the reference of the attempt that produced the file, `n` its number from 1; `mime` its detected type
   * @param pieces the chunks of the file in order; a large file is not processed at once
   * @returns the address for its collection
   * @throws StorageRefused
   */
  keep(ref: string, n: number, pieces: readonly Uint8Array[], mime: string): Promise<string>;
  /**
   * Like `keep`, but on this node's disk while the bucket is unavailable, where other nodes do not find it. Absent if `keep`
   * already uses the disk.
   */
  keepHere?: Spool["keep"];
  /**
   * Moves a file that `keepHere` stored to storage that every node can read. @returns its new address; any other address
   * unchanged. @throws StorageUnavailable
   */
  share?: (url: string, mime: string) => Promise<string>;
  /**
   * Opens the file of an address from `keep`; undefined for any other address and for a deleted file. @throws StorageUnavailable
   */
  open(url: string): Promise<Blob | undefined>;
  /** Deletes old files of generations that have ended. @returns the number of deleted files */
  sweep(olderThanMs: number, hasEnded: (generationId: string) => Promise<boolean>): Promise<number>;
}

/** Creates the spool directory. @throws StorageRefused if it cannot be created */
export const createSpool = async (dir: string, nowMs: () => number): Promise<Spool> => {
  await onDisk(() => mkdir(dir, { recursive: true }));
  return {
    keep: (ref, n, pieces) =>
      onDisk(async () => {
        const name = `${ref}.${n}`;
        if (!NAME.test(name)) throw new Error("that is not the name of a result");
        await writeDurably(dir, name, pieces);
        return `${SPOOLED}${name}`;
      }),
    open: async (url) => {
      const name = isSpooled(url) ? url.slice(SPOOLED.length) : "";
      if (!NAME.test(name)) return undefined;
      const file = Bun.file(join(dir, name));
      return (await file.exists()) ? file : undefined;
    },
    sweep: (olderThanMs, hasEnded) =>
      onDisk(() =>
        sweepDirectory(dir, {
          beforeMs: nowMs() - olderThanMs,
          ownerOf: (name) => {
            const body = NAME.exec(name)?.[1];
            return body === undefined ? undefined : `gen_${body}`;
          },
          hasEnded,
        }),
      ),
  };
};
