// Uploads the result files of a directory to the bucket while no service runs.
//
// Objects that are already complete are verified, not uploaded again.
import { join } from "node:path";
import type { Clock } from "../../domain/clock.ts";
import { pathOfFile as placeOnDisk } from "../local.ts";
import type { BucketSettings } from "./bucket-config.ts";
import { BucketError } from "./errors.ts";
import { patiently } from "./retry.ts";
import { createS3Client } from "./s3-client.ts";
import { LocalDamage, uploadFile } from "./upload.ts";
import { headersOf } from "./upload-before-commit.ts";

/** A file as recorded in the store. */
export type WrittenFile = { id: string; n: number; sha256: string; bytes: number; mime: string };
/** Outcome of the upload; `missing` files are neither on disk nor in the bucket as recorded. */
export type BulkUploadResult = { files: number; missing: { id: string; n: number; why: string }[] };

export type BulkUploadOptions = {
  settings: BucketSettings;
  /** The directory of result files. */
  dir: string;
  clock: Clock;
  signal: AbortSignal;
  /** The next files, of at most this number of generations; empty at the end. */
  next: (generations: number) => readonly WrittenFile[];
  /** Called when all files returned so far have been processed. */
  brought: (files: number) => Promise<void>;
  report: (files: number, bytes: number) => void;
};

const AT_ONCE = 4;
const GENERATIONS = 50;

/**
 * @throws BucketError if the bucket stays unavailable or refuses; BucketConfigError; the reason of the signal. Progress remains
 * recorded.
 */
export const bulkUpload = async (options: BulkUploadOptions): Promise<BulkUploadResult> => {
  const { settings, dir, clock, signal, next, brought, report } = options;
  const bucket = createS3Client(settings, clock);
  const pause = (ms: number) =>
    new Promise<void>((resolve, stop) => {
      const takeBack = clock.after(ms, resolve);
      const end = () => {
        takeBack();
        stop(signal.reason);
      };
      signal.addEventListener("abort", end, { once: true });
    });
  const all: BulkUploadResult = { files: 0, missing: [] };
  let bytes = 0;

  const bring = async ({ id, n, ...file }: WrittenFile): Promise<void> => {
    const upload = {
      ...file,
      name: bucket.nameOf(id, n),
      path: join(dir, placeOnDisk(id, n)),
      words: headersOf(id, { n, mime: file.mime }),
    };
    try {
      await patiently(() => uploadFile(bucket, upload, { isAgain: true, signal, pause, mayTidy: () => true }), pause);
    } catch (fault) {
      if (signal.aborted) throw signal.reason;
      const why = reasonOf(fault);
      if (why === undefined) throw fault;
      all.missing.push({ id, n, why });
      return;
    }
    all.files += 1;
    bytes += file.bytes;
    report(all.files, bytes);
  };

  for (;;) {
    signal.throwIfAborted();
    const waiting = [...next(GENERATIONS)];
    if (waiting.length === 0) return all;
    const count = waiting.length;
    const work = async (): Promise<void> => {
      for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) await bring(file);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    await brought(count);
  }
};

/** The reason why a single file cannot be uploaded; undefined for faults that affect all files. */
const reasonOf = (fault: unknown): string | undefined => {
  if (fault instanceof LocalDamage) return fault.message;
  if (fault instanceof BucketError) return fault.kind === "object" ? fault.message : undefined;
  const code = fault instanceof Error && "code" in fault ? String(fault.code) : undefined;
  if (code === "ENOENT") return "it is not on disk";
  return code === undefined ? undefined : `it cannot be read (${code})`;
};
