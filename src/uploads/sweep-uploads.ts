// Deletes expired files, reservations that were left, the bytes of retired blobs, and ended resumable uploads.
import { forEachBounded } from "../collections/for-each-bounded.ts";
import type { Clock } from "../domain/clock.ts";
import type { Mutation, ResultOf } from "../domain/mutations.ts";
import type { Files } from "../files/port.ts";
import type { StoreReads } from "../store/store.ts";

export type UploadSweeperDeps = {
  reads: Pick<
    StoreReads,
    | "expiredUploads"
    | "forgettableFiles"
    | "leftBlobs"
    | "retiredBlobs"
    | "expiredResumableUploads"
    | "removableParts"
    | "forgettableUploads"
  >;
  post: <D extends Mutation>(mutation: D) => Promise<ResultOf<D>>;
  clock: Pick<Clock, "nowMs">;
  storage: Pick<Files, "remove">;
  /** The storage of parts of resumable uploads. */
  parts: Pick<Files, "remove">;
};

const BATCH = 100;
/** Age of a reservation whose upload cannot be running any more (`UPLOAD_MS`, with a margin), ms. */
const LEFT_MS = 3_600_000;

/** Deletions from storage at a time: each is several requests to the bucket. */
export const REMOVALS_AT_ONCE = 8;

/** Runs `one` for each row until a page is not full. A row that stays ends the run; the next sweep continues. */
const pages = async <T>(read: () => Promise<T[]>, one: (row: T) => Promise<boolean>, atOnce = 1): Promise<number> => {
  for (let count = 0; ; ) {
    const page = await read();
    let staying = 0;
    await forEachBounded(page, atOnce, async (row) => {
      if (staying > 0) return;
      if (await one(row)) count += 1;
      else staying += 1;
    });
    if (staying > 0 || page.length < BATCH) return count;
  }
};

/** Time for which the row of a resumable upload stays after its expiry, and that of a file after its deletion, ms. */
const FORGET_MS = 86_400_000;

/** Ends expired resumable uploads, deletes the parts of ended ones, and forgets those that ended long ago. */
const sweepResumable = async ({ reads, post, clock, parts }: UploadSweeperDeps): Promise<void> => {
  const atMs = clock.nowMs();
  await pages(
    () => reads.expiredResumableUploads(atMs, BATCH),
    async ({ id: uploadId, accountSeq }) => {
      const end = { mutation: "end-resumable-upload", accountSeq, uploadId, error: null, isExpired: true, atMs } as const;
      return (await post(end)).kind === "ended";
    },
  );
  await pages(
    () => reads.removableParts(atMs - LEFT_MS, BATCH),
    async ({ id: partId }) => {
      await parts.remove(partId);
      // `gone`: the request that ended the upload has deleted it meanwhile.
      return (await post({ mutation: "remove-upload-part", partId })).kind !== "refused";
    },
    REMOVALS_AT_ONCE,
  );
  await pages(
    () => reads.forgettableUploads(atMs - FORGET_MS, BATCH),
    async ({ id: uploadId }) => (await post({ mutation: "forget-resumable-upload", uploadId })).kind === "removed",
  );
};

/**
 * Creates the function that runs one sweep. Bytes are deleted after their blob was retired, when no file can name them any more;
 * after a crash in between they are deleted again.
 * @returns the number of expired files
 */
export const createUploadSweeper = (deps: UploadSweeperDeps) => async (): Promise<number> => {
  const { reads, post, clock, storage } = deps;
  await sweepResumable(deps);
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
    REMOVALS_AT_ONCE,
  );
  await pages(
    () => reads.forgettableFiles(atMs - FORGET_MS, BATCH),
    async ({ id: fileId, accountSeq }) => (await post({ mutation: "forget-file", accountSeq, fileId })).kind === "removed",
  );
  return expired;
};
