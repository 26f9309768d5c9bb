// Creates result storage from the configuration: local disk or an S3 bucket.
//
// With a bucket, a single node stores files on disk first and uploads them in the background. Nodes that share a database upload
// each file before its commit.
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BadSetting, type Settings } from "../config/schema.ts";
import type { Clock } from "../domain/clock.ts";
import { seqOfGenerationId } from "../domain/ids.ts";
import type { StoredBlob } from "../domain/upload-mutations.ts";
import type { Log } from "../logging/events.ts";
import type { StoreReads } from "../store/store.ts";
import { createDiskSpace } from "./disk-space.ts";
import { createSpool, type Spool } from "./inline-spool.ts";
import { type Copies, createInputCopies } from "./input-copies.ts";
import { createLocalStorage } from "./local.ts";
import { createOutcomeSpool, type OutcomeSpool } from "./outcome-spool.ts";
import type { Files } from "./port.ts";
import type { FileOwner } from "./s3/s3-storage.ts";

export type ResultStorage = {
  files: Files;
  /** Files that providers embedded in their responses, until they have been collected. */
  spool: Spool;
  /** Provider responses that the store has not committed yet; undefined if the store is on the same disk. */
  outcomes?: OutcomeSpool | undefined;
  /** Reports whether the node's disk refuses writes. Absent if the store is on the same disk and reports this itself. */
  isDiskFull?: (() => boolean) | undefined;
  /**
   * Reports whether the bucket is unavailable, so that no result can be completed. Absent if files stay on local disk in that
   * case.
   */
  isBucketDown?: (() => boolean) | undefined;
  /** Copies of pinned inputs, until no attempt needs them. */
  copies: Copies;
  /** Uploaded files: blobs, each with one file. */
  uploads: Files;
  /** Parts of resumable uploads, where every node that may receive the next part finds them. */
  uploadParts: Files;
  /** Starts uploading files that an earlier process left; does not block. */
  begin: () => void;
  stop: () => Promise<void>;
  /** Number of files on disk that wait for the bucket, and the reason; null if no bucket is used. */
  waiting: () => { files: number; setAside: number; reason: string | null } | null;
};

type ResultStorageDeps = {
  settings: Settings;
  clock: Clock;
  log: Log;
  store: Pick<StoreReads, "generationBySeq" | "pinsOf" | "blob" | "uploadPart">;
  /** Whether other nodes use the same store and therefore have to find every collected file. */
  shared: boolean;
  chance?: () => number;
};

/** Names the bucket that holds some of the files. Without this marker, a start with another configuration would not find them. */
const MARK = "bucket.json";
type Mark = { endpoint: string; bucket: string; prefix: string };
const filesIn = (settings: Settings): string => join(settings.data.dir, "files");
const markOf = ({ s3: { endpoint, bucket, prefix } }: Settings): Mark => ({ endpoint, bucket, prefix });

/** The state of a blob, as that of a generation with one file decides about its bytes on disk and in the bucket. */
const ownerOf = ({ id, object, life, sha256, bytes, mime }: StoredBlob): FileOwner => {
  const file = { n: 1, sha256, bytes, mime, ...(object === undefined ? {} : { object }) };
  const status = ({ reserved: "running", stored: "succeeded", retired: "failed" } as const)[life];
  return { id, status, filesExpiredAtMs: null, output: { kind: "image", files: [file] } };
};

/** The bucket is used if new files are stored there, or if earlier files are in it. */
const usesBucket = ({ files, s3 }: Settings): boolean => files.store === "s3" || s3.bucket !== "";

const readMark = (path: string): Mark | undefined => {
  if (!existsSync(path)) return undefined;
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Mark;
  } catch {
    throw new BadSetting(
      `${path} cannot be read; it names the bucket that result files are in: restore it, or delete it if none are`,
    );
  }
};

/**
 * Validates the file settings without a request to the bucket.
 * @param shared whether nodes share the store
 * @throws BadSetting if the settings name no bucket, or another one than the bucket that holds files of this directory
 */
export const requireBucket = async (settings: Settings, shared = false): Promise<void> => {
  if (shared && settings.files.store !== "s3")
    throw new BadSetting(
      "nodes that share a database keep result files in a bucket, where each of them finds them: set GENROUTER_FILES__STORE=s3 and the settings GENROUTER_S3__… (deploy/S3.md)",
    );
  const path = join(filesIn(settings), MARK);
  const mark = readMark(path);
  if (usesBucket(settings)) {
    const { BucketConfigError, bucketConfigOf } = await import("./s3/bucket-config.ts");
    try {
      bucketConfigOf(settings.s3);
    } catch (fault) {
      throw fault instanceof BucketConfigError ? new BadSetting(fault.message) : fault;
    }
  }
  if (mark === undefined) return;
  const own = markOf(settings);
  if (usesBucket(settings) && JSON.stringify({ ...own, ...mark }) === JSON.stringify(own)) return;
  const place = `bucket ${JSON.stringify(mark.bucket)}${mark.endpoint ? ` at ${mark.endpoint}` : ""}, prefix ${JSON.stringify(mark.prefix)}`;
  throw new BadSetting(
    `result files of this data directory are in ${place}: keep the settings GENROUTER_S3__… as they were (GENROUTER_FILES__STORE may be local), or delete ${path} once none of them is needed there`,
  );
};

/** @throws BadSetting as `requireBucket`, StorageRefused if the directory cannot be used */
export const createResultStorage = async ({
  settings,
  clock,
  log,
  store,
  shared,
  chance = Math.random,
}: ResultStorageDeps): Promise<ResultStorage> => {
  await requireBucket(settings, shared);
  const dir = filesIn(settings);
  const local = await createLocalStorage(dir);
  const spool = await createSpool(join(settings.data.dir, "spool"), clock.nowMs);
  const pinned = await createLocalStorage(join(settings.data.dir, "pinned"));
  const uploaded = await createLocalStorage(join(settings.data.dir, "uploads"));
  const uploadParts = await createLocalStorage(join(settings.data.dir, "upload-parts"));
  if (!usesBucket(settings)) {
    const copies = createInputCopies(pinned, null, clock.nowMs);
    const places = { files: local, spool, copies, uploads: uploaded, uploadParts };
    return { ...places, begin: () => undefined, stop: () => Promise.resolve(), waiting: () => null };
  }
  const moves = settings.files.store === "s3";
  if (moves) {
    const path = join(dir, MARK);
    writeFileSync(`${path}.part`, `${JSON.stringify(markOf(settings))}\n`, { mode: 0o600, flush: true });
    renameSync(`${path}.part`, path);
  }
  // Loaded on demand, so that no S3 code is loaded if files are on local disk only.
  const { createS3Storage } = await import("./s3/s3-storage.ts");
  const { objectOf } = await import("./s3/upload-before-commit.ts");
  const recordOf = async (id: string) => {
    const seq = seqOfGenerationId(id);
    const record = seq === undefined ? undefined : await store.generationBySeq(seq);
    return record?.id === id ? record : undefined;
  };
  const reports = { report: log, reportedFaults: new Set<symbol>() };
  const bucket = { shared, spool, clock, chance, ...reports, linkS: settings.limits.file_link_ttl_s };
  const kept = createS3Storage({ ...bucket, settings: settings.s3, moves, local, recordOf });
  // With a bucket, an upload is complete when its bytes are in it, whatever the number of nodes.
  const uploads = createS3Storage({
    ...{
      ...bucket,
      shared: moves,
      moves,
      local: uploaded,
      isRecordedFirst: true as const,
      consequence: "uploads of files are rejected for now",
    },
    settings: { ...settings.s3, prefix: `${settings.s3.prefix}uploads/` },
    recordOf: async (id) => {
      const blob = (await store.blob(id)) ?? (await store.uploadPart(id));
      return blob && ownerOf(blob);
    },
  });
  const begin = () => {
    kept.begin();
    uploads.begin();
  };
  if (!shared) {
    const copies = createInputCopies(pinned, null, clock.nowMs);
    const stop = async () => void (await Promise.all([kept.stop(), uploads.stop()]));
    return { ...kept, copies, uploads: uploads.files, uploadParts, begin, stop };
  }
  const outcomes = await createOutcomeSpool(join(settings.data.dir, "outcomes"), clock.nowMs);
  // Any node may continue a generation, so every node has to find each pinned input.
  const inputs = createS3Storage({
    ...{ ...bucket, settings: { ...settings.s3, prefix: `${settings.s3.prefix}pinned/` }, moves: false, local: pinned },
    recordOf: async (id) => {
      const record = await recordOf(id);
      const pins = record ? await store.pinsOf(record.seq) : [];
      const copies = pins.flatMap(({ copy }) => (copy ? [{ ...copy, object: objectOf(copy) }] : []));
      return record && { ...record, output: { kind: "video", files: copies } };
    },
  });
  const copies = createInputCopies(pinned, inputs.files, clock.nowMs);
  const stop = async () => void (await Promise.all([kept.stop(), inputs.stop(), uploads.stop()]));
  const space = createDiskSpace({ dir: settings.data.dir, clock, log });
  const watched = space.watched({ ...kept, outcomes, uploads: uploads.files, uploadParts: uploads.files });
  return { ...watched, copies, begin, stop, isDiskFull: space.isFull, isBucketDown: kept.isDown };
};
