// Result storage in an S3 bucket, combined with local disk.
//
// Files are uploaded before the commit (shared store) or in the background. They are served from either place and deleted in
// both.
import type { Clock } from "../../domain/clock.ts";
import type { GenerationRecord } from "../../domain/types.ts";
import type { Spool } from "../inline-spool.ts";
import type { LocalFiles } from "../local.ts";
import { type Files, StorageUnavailable } from "../port.ts";
import { createBackgroundUploader, type Fate } from "./background-uploader.ts";
import type { BucketSettings } from "./bucket-config.ts";
import { BucketError } from "./errors.ts";
import { createBucketHealth, type ReportHealth } from "./health.ts";
import { createInlineResults } from "./inline-results.ts";
import { createS3Client } from "./s3-client.ts";
import { createUploadBeforeCommit, headersOf, objectOf } from "./upload-before-commit.ts";

export type BucketFilesOptions = {
  settings: BucketSettings;
  /** Whether files on disk are uploaded; otherwise the bucket only serves the files that it already has. */
  moves: boolean;
  /** Whether other nodes serve the same files; in that case a new file is in the bucket before it counts as stored. */
  shared: boolean;
  local: LocalFiles;
  /** Files that providers embedded in their responses, on this node's disk. */
  spool: Spool;
  clock: Clock;
  /** Returns a random number in [0, 1). */
  chance: () => number;
  report: ReportHealth;
  /** Shared by all storages in the same bucket (see `BucketHealthOptions`). */
  reportedFaults: Set<symbol>;
  /** The record of a generation, or of what else owns the files. */
  recordOf: (id: string) => Promise<FileOwner | undefined>;
  /** Whether a record names each object before it is written, so that a removal need not list what else there is. */
  isRecordedFirst?: true;
  /** What operators read if the bucket is unavailable; absent: the consequence for results. */
  consequence?: string;
  /** Maximum validity of a link, seconds. */
  linkS: number;
};

export type BucketFiles = {
  files: Files;
  spool: Spool;
  /** Tests whether the bucket accepts files, and queues files that an earlier process left; does not block. */
  begin(): void;
  stop(): Promise<void>;
  /** Reports whether the bucket is unavailable at the moment. */
  isDown(): boolean;
  /** Number of files on disk that wait for the bucket, as far as they have been counted, and the reason. */
  waiting(): { files: number; setAside: number; reason: string | null };
};

/**
 * Object that is written and deleted at a start, and by nodes whose bucket is unavailable. It verifies both permissions of the
 * access key.
 */
const TRIAL = "genrouter-start";
const MIN_TRIAL_PAUSE_MS = 1_000;
/** A link created shortly before the expiry of another one remains usable for this time. */
const MIN_LINK_S = 60;

/** The part of a record that decides about its files. */
export type FileOwner = Pick<GenerationRecord, "id" | "status" | "filesExpiredAtMs" | "output">;

/** Decides what happens to a local file, by the record of its generation. */
const fateIn = (record: FileOwner | undefined, n: number): Fate => {
  if (record === undefined) return { kind: "leave" };
  if (record.status === "queued" || record.status === "running") return { kind: "wait" };
  if (record.status === "failed" || record.filesExpiredAtMs !== null) return { kind: "remove" };
  const file = record.output?.files.find((one) => one.n === n);
  if (file === undefined) return { kind: "leave" };
  // The file on disk belongs to an earlier try, from before nodes shared the bucket.
  if (file.object !== undefined) return { kind: "remove" };
  return { kind: "move", upload: { bytes: file.bytes, sha256: file.sha256, words: headersOf(record.id, file) } };
};

/** Creates the storage; `begin` sends the first request to the bucket. @throws BucketConfigError */
export const createS3Storage = (options: BucketFilesOptions): BucketFiles => {
  const { local, clock, chance, report, reportedFaults, recordOf, linkS } = options;
  const bucket = createS3Client(options.settings, clock);
  const ending = new AbortController();
  const deleting = createBucketHealth({
    clock,
    chance,
    report,
    reportedFaults,
    consequence: "files past their retention stay in it for now",
  });
  const consequence =
    options.consequence ??
    (options.shared
      ? "results wait for the bucket, and are charged after the upload"
      : "files stay on disk and are served from there");
  const bucketHealth = createBucketHealth({ clock, chance, report, reportedFaults, consequence });
  const trial = `${options.settings.prefix}${TRIAL}`;
  let takeBackTrial: (() => void) | null = null;
  const planTrial = () => {
    const pauseMs = Math.max(MIN_TRIAL_PAUSE_MS, bucketHealth.againAtMs() - clock.nowMs());
    takeBackTrial ??= clock.after(pauseMs, () => {
      takeBackTrial = null;
      void tryIt();
    });
  };
  const failed = (fault: BucketError) => {
    bucketHealth.failed(fault);
    // A node accepts no work while the bucket is unavailable, so only this trial detects its recovery.
    if (options.shared && !ending.signal.aborted) planTrial();
  };
  let isTryingDeletion = false;
  /** A bucket that accepts files again may still refuse deletions, and the next file may expire days later. */
  const worked = () => {
    bucketHealth.worked();
    if (isTryingDeletion || deleting.fault() === null || clock.nowMs() < deleting.againAtMs()) return;
    isTryingDeletion = true;
    void drop(trial)
      .catch(() => undefined)
      .finally(() => {
        isTryingDeletion = false;
      });
  };
  const moving = { ...bucketHealth, failed, worked };
  const mover = options.moves
    ? createBackgroundUploader({
        local,
        bucket,
        standing: moving,
        clock,
        report,
        fateOf: async (id, n) => fateIn(await recordOf(id), n),
      })
    : null;

  const drop = async (name: string): Promise<void> => {
    try {
      await bucket.delete(name, ending.signal);
      deleting.worked();
    } catch (fault) {
      if (fault instanceof BucketError) deleting.failed(fault);
      throw new StorageUnavailable(fault instanceof BucketError ? fault.message : "the service is stopping");
    }
  };
  const arriving = options.shared
    ? createUploadBeforeCommit({ local, bucket, standing: moving, clock, report, ending: ending.signal })
    : null;
  /** Objects that are not recorded: from a node that crashed before recording them, or from an attempt that did not deliver. */
  const notUploaded = async (id: string): Promise<string[]> => {
    try {
      return options.shared ? await bucket.list(id, ending.signal) : [];
    } catch (fault) {
      // Without the permission to list, the bucket's lifecycle rule deletes these objects.
      if (fault instanceof BucketError && fault.kind !== "unavailable") return [];
      if (fault instanceof BucketError) deleting.failed(fault);
      throw new StorageUnavailable(fault instanceof BucketError ? fault.message : "the service is stopping");
    }
  };
  const putTrial = async (): Promise<void> => {
    const bytes = new TextEncoder().encode("written and deleted by genrouter to see whether the bucket takes files\n");
    const words = { mime: "text/plain", disposition: "inline", cacheControl: "no-store" };
    await bucket.put(trial, bytes, new Bun.CryptoHasher("sha256").update(bytes).digest("hex"), words, ending.signal);
  };
  const tryIt = async (): Promise<void> => {
    try {
      await putTrial();
      await bucket.head(trial, ending.signal);
    } catch (fault) {
      if (!(fault instanceof BucketError)) return;
      moving.failed(fault);
      planTrial();
      return;
    }
    moving.worked();
    await drop(trial).catch(() => undefined);
  };

  return {
    files: {
      ...(arriving ? { objectOf, isUnavailable: () => moving.fault() !== null } : {}),
      receive: async (id, n) => {
        if (arriving) return arriving.receive(id, n);
        const incoming = await local.receive(id, n);
        if (mover === null) return incoming;
        const keep = async () => {
          await incoming.keep();
          mover.kept(id, n);
        };
        return { ...incoming, keep };
      },
      open: async (id, n) => (mover?.isMoved(id, n) ? undefined : local.open(id, n)),
      link: (id, n, { method, object, untilMs, ...words }) => {
        const leftS = untilMs === undefined ? linkS : Math.floor((untilMs - clock.nowMs()) / 1000);
        return bucket.link(method, bucket.nameOf(id, object ?? n), words, Math.min(linkS, Math.max(MIN_LINK_S, leftS)));
      },
      remove: async (id) => {
        await mover?.forget(id);
        const record = await recordOf(id);
        const files = record?.output?.files ?? [];
        // Uploaded files leave gaps, at which the plain removal would stop.
        for (const { n } of files) await local.drop(id, n);
        await local.remove(id);
        const reported = files.map(({ n, object }) => object ?? `${n}`);
        const others = options.isRecordedFirst && files.length > 0 ? [] : await notUploaded(id);
        for (const object of new Set([...reported, ...others])) await drop(bucket.nameOf(id, object));
      },
    },
    spool: arriving
      ? createInlineResults({ bucket, standing: moving, arriving, former: options.spool, ending: ending.signal })
      : options.spool,
    begin: () => {
      mover?.begin();
      if (mover) void tryIt();
    },
    stop: async () => {
      ending.abort();
      takeBackTrial?.();
      await mover?.stop();
    },
    isDown: moving.isDown,
    waiting: () => ({
      files: mover?.waiting() ?? 0,
      setAside: (mover?.setAside() ?? 0) + (arriving?.setAside() ?? 0),
      reason: moving.fault()?.message ?? null,
    }),
  };
};
