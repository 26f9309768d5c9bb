// Deletes expired files, reservations that were left, and the bytes of retired blobs.
import type { Clock } from "../domain/clock.ts";
import type { Mutation, ResultOf } from "../domain/mutations.ts";
import type { Files } from "../files/port.ts";
import type { StoreReads } from "../store/store.ts";

export type UploadSweeperDeps = {
  reads: Pick<StoreReads, "expiredUploads" | "leftBlobs" | "retiredBlobs">;
  post: <D extends Mutation>(mutation: D) => Promise<ResultOf<D>>;
  clock: Pick<Clock, "nowMs">;
  storage: Pick<Files, "remove">;
};

const BATCH = 100;
/** Age of a reservation whose upload cannot be running any more, ms. */
const LEFT_MS = 3_600_000;

/** Runs `one` for each row until a page is not full. A row that stays ends the run; the next sweep continues. */
const pages = async <T>(read: () => Promise<T[]>, one: (row: T) => Promise<boolean>): Promise<number> => {
  for (let count = 0; ; ) {
    const page = await read();
    for (const row of page) {
      if (!(await one(row))) return count;
      count += 1;
    }
    if (page.length < BATCH) return count;
  }
};

/**
 * Creates the function that runs one sweep. Bytes are deleted after their blob was retired, when no file can name them any more;
 * after a crash in between they are deleted again.
 * @returns the number of expired files
 */
export const createUploadSweeper =
  ({ reads, post, clock, storage }: UploadSweeperDeps) =>
  async (): Promise<number> => {
    const atMs = clock.nowMs();
    const expired = await pages(
      () => reads.expiredUploads(atMs, BATCH),
      async ({ id: fileId, accountSeq }) =>
        (await post({ mutation: "delete-file", accountSeq, fileId, isExpired: true, atMs })).kind === "deleted",
    );
    await pages(
      () => reads.leftBlobs(atMs - LEFT_MS, BATCH),
      async ({ id: blobId, accountSeq }) =>
        (await post({ mutation: "abandon-upload", accountSeq, blobId, atMs })).kind === "abandoned",
    );
    await pages(
      () => reads.retiredBlobs(BATCH),
      async ({ id: blobId }) => {
        await storage.remove(blobId);
        return (await post({ mutation: "remove-blob", blobId, atMs: clock.nowMs() })).kind === "removed";
      },
    );
    return expired;
  };
