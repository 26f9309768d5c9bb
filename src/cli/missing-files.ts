// Finds result files of the store that are neither on disk nor in the bucket.
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Settings } from "../config/schema.ts";
import { systemClock } from "../domain/clock.ts";
import { pathOfFile } from "../files/local.ts";
import type { StoredOutput } from "../store/file-reads.ts";
import type { StoreReads } from "../store/store.ts";

/** `n`: position of the file. `why`: the fault. */
export type MissingFile = { generation_id: string; n: number; why: string };
/** `note`: files that could not be checked, with the reason. */
export type FileSearch = { looked: number; missing: MissingFile[]; note?: string };

export type FileReads = Pick<StoreReads, "keptOutputs" | "generationBySeq">;
type StoredFile = StoredOutput["files"][number];
/** Tests whether the bucket has a file of the expected size. */
type InBucket = (id: string, file: StoredFile) => Promise<boolean>;

/** Generations per read, and concurrent requests to the bucket. */
const PAGE = 500;
const AT_ONCE = 16;
const ANSWER_MS = 10_000;

const bucketOf = async (settings: Settings): Promise<InBucket | null> => {
  if (settings.s3.bucket === "") return null;
  const [{ createS3Client }, { bucketConfigOf: inBucket }] = await Promise.all([
    import("../files/s3/s3-client.ts"),
    import("../files/s3/bucket-config.ts"),
  ]);
  const [bucket, place] = [createS3Client(settings.s3, systemClock()), inBucket(settings.s3)];
  return async (id, { n, object, bytes }) =>
    (await bucket.head(place.nameOf(id, object ?? n), AbortSignal.timeout(ANSWER_MS)))?.bytes === bytes;
};

/** Fault of a file on disk; null if it is correct. */
const faultOnDisk = (dir: string, id: string, { n, bytes }: StoredFile): string | null => {
  const size = statSync(join(dir, pathOfFile(id, n)), { throwIfNoEntry: false })?.size;
  if (size === undefined) return "the stored file is missing";
  return size === bytes ? null : `the stored file has ${size} bytes, not ${bytes}`;
};

/** A file that was deleted by retention during the search is not missing. */
const stillMissing = async (reads: FileReads, seq: number): Promise<boolean> =>
  (await reads.generationBySeq(seq))?.filesExpiredAtMs === null;

/**
 * @param settings of the service @param dir its data directory; its `files` may be absent
 * @param nowMs files whose retention has ended by then are not checked
 * @throws BucketError, or a timeout, if the bucket does not answer
 */
export const findMissingFiles = async (
  reads: FileReads,
  { settings, dir, nowMs }: { settings: Settings; dir: string; nowMs: number },
): Promise<FileSearch> => {
  const files = join(dir, "files");
  const onDisk = existsSync(files);
  const inBucket = await bucketOf(settings);
  const found: FileSearch = { looked: 0, missing: [] };
  if (!onDisk && inBucket === null) return { ...found, note: `result files were not checked: ${files} does not exist` };

  const faultOf = async (id: string, file: StoredFile): Promise<string | null> => {
    const fault = onDisk && file.object === undefined ? faultOnDisk(files, id, file) : "the stored file is missing";
    return fault !== null && (await inBucket?.(id, file)) ? null : fault;
  };
  const look = async ({ seq, id, files: named }: StoredOutput): Promise<void> => {
    for (const file of named) {
      found.looked += 1;
      const why = await faultOf(id, file);
      if (why !== null && (await stillMissing(reads, seq))) found.missing.push({ generation_id: id, n: file.n, why });
    }
  };
  for (let page = await reads.keptOutputs(0, nowMs, PAGE); page.length > 0; ) {
    const waiting = [...page];
    const worker = async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) await look(next);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    found.missing.sort((one, other) => one.generation_id.localeCompare(other.generation_id) || one.n - other.n);
    page = await reads.keptOutputs(page.at(-1)?.seq ?? 0, nowMs, PAGE);
  }
  return found;
};
