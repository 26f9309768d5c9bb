// What providers give inside their answers instead of by an address: kept on disk from the answer on, until it has been collected.
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { onDisk, sweepDirectory, writeDurably } from "./durable-write.ts";
import { isSpooled, SPOOLED } from "./port.ts";

/** The body of a generation's id, the number of the attempt, and the place of the file. */
const NAME = /^([0-9a-z]{1,76})-\d{1,4}\.\d{1,2}$/;
/** The attempt's reference and the place of the file that an address of `keep` names; undefined for any other address. */
export const spooledAs = (url: string): { ref: string; n: number } | undefined => {
  const name = isSpooled(url) ? url.slice(SPOOLED.length) : "";
  if (!NAME.test(name)) return undefined;
  const [ref = "", n] = name.split(".");
  return { ref, n: Number(n) };
};

export interface Spool {
  /**
   * Keeps a file, durably.
   * @param ref the reference of the attempt that it is a result of, `n` its place among them, from 1; `mime` what it seems to be
   * @param pieces of the file, in their order: a large one is not handled in one go
   * @returns the address by which it is collected
   * @throws StorageRefused
   */
  keep(ref: string, n: number, pieces: readonly Uint8Array[], mime: string): Promise<string>;
  /** As `keep`, on this node's own disk while the bucket takes nothing; absent where `keep` does so. No other node finds it there. */
  keepHere?: Spool["keep"];
  /** Brings what `keepHere` has kept to where every node finds it. @returns its address then; any other address as it is. @throws StorageUnavailable */
  share?: (url: string, mime: string) => Promise<string>;
  /** What an address of `keep` leads to; undefined for any other address, and for a file that is gone. @throws StorageUnavailable */
  open(url: string): Promise<Blob | undefined>;
  /** Deletes what was kept so long ago and belongs to generations that have ended. @returns how many */
  sweep(olderThanMs: number, hasEnded: (generationId: string) => Promise<boolean>): Promise<number>;
}

/** Opens the directory. @throws StorageRefused when it cannot be made */
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
