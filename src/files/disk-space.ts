// Tracks whether the node's disk is full, from failed writes and periodic trial writes.
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../domain/clock.ts";
import type { Log } from "../logging/events.ts";
import { onDisk, writeDurably } from "./durable-write.ts";
import type { Spool } from "./inline-spool.ts";
import type { OutcomeSpool } from "./outcome-spool.ts";
import { type Files, StorageRefused, StorageUnavailable } from "./port.ts";

/** While the disk is full, a trial file is written at this interval. Its size is that of a typical next write. */
const TRIAL_EVERY_MS = 5_000;
const TRIAL_BYTES = 1024 * 1024;
const TRIAL = "space-trial";

const isFullOf = (fault: unknown): boolean =>
  fault instanceof StorageRefused && !(fault instanceof StorageUnavailable) && /\b(?:ENOSPC|EDQUOT)$/.test(fault.message);

export type DiskSpace = {
  isFull: () => boolean;
  /** Wraps storage so that its refused writes are counted. */
  watched: <T extends { files: Files; uploads: Files; spool: Spool; outcomes: OutcomeSpool }>(places: T) => T;
};

/** @param dir a directory on the watched disk */
export const createDiskSpace = ({ dir, clock, log }: { dir: string; clock: Clock; log: Log }): DiskSpace => {
  let isFull = false;
  const tryAgain = () =>
    clock.after(TRIAL_EVERY_MS, () => {
      onDisk(async () => {
        await writeDurably(dir, TRIAL, [new Uint8Array(TRIAL_BYTES)]);
        await rm(join(dir, TRIAL), { force: true });
      }).then(() => {
        isFull = false;
        log("disk space recovered");
      }, tryAgain);
    });
  const counting = async <T>(write: Promise<T>): Promise<T> => {
    try {
      return await write;
    } catch (fault) {
      if (isFullOf(fault) && !isFull) {
        isFull = true;
        log("disk full", {
          reason: "the disk of this node is full: submissions are rejected, and results wait for free space",
          action: "free space on the disk of data.dir (genrouter doctor prints it); no restart is required",
        });
        tryAgain();
      }
      throw fault;
    }
  };
  const watchedFiles = (files: Files): Files => ({
    ...files,
    receive: async (id, n) => {
      const incoming = await counting(files.receive(id, n));
      return {
        path: incoming.path,
        write: (...chunks) => counting(incoming.write(...chunks)),
        hold: (chunks) => incoming.hold(chunks),
        keep: (file) => counting(incoming.keep(file)),
        discard: () => incoming.discard(),
      };
    },
  });
  return {
    isFull: () => isFull,
    watched: ({ files, uploads, spool, outcomes, ...rest }) => ({
      ...rest,
      spool: { ...spool, keep: (...file) => counting(spool.keep(...file)) },
      outcomes: { ...outcomes, keep: (spooled) => counting(outcomes.keep(spooled)) },
      files: watchedFiles(files),
      uploads: watchedFiles(uploads),
    }),
  } as DiskSpace;
};
