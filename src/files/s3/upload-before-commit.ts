// Uploads result files of nodes that share a bucket before they count as stored.
//
// No node depends on the disk of another node afterwards.
import type { Clock } from "../../domain/clock.ts";
import type { StoredFile } from "../../domain/types.ts";
import { onDisk } from "../durable-write.ts";
import type { LocalFiles } from "../local.ts";
import { type Incoming, StillStoring, StorageRefused, StorageUnavailable } from "../port.ts";
import { dispositionOf, FILE_CACHE_CONTROL, fileName } from "../serve.ts";
import { BucketError } from "./errors.ts";
import type { BucketHealth, ReportHealth } from "./health.ts";
import type { Bucket, ObjectHeaders } from "./s3-client.ts";
import { LocalDamage, uploadFile, uploadHeld } from "./upload.ts";

export type ArrivingOptions = {
  local: Pick<LocalFiles, "receive">;
  bucket: Bucket;
  standing: BucketHealth;
  clock: Clock;
  report: ReportHealth;
  /** Aborted when the service stops; running uploads end. */
  ending: AbortSignal;
};

export interface Arriving {
  /** Number of files that the bucket refused although it accepts others. */
  setAside(): number;
  /**
   * Like `receive` of `Files`, but `keep` resolves when the file is in the bucket. `keep` may be called again after
   * `StorageUnavailable`. A running upload is joined; a failed upload restarts from the same bytes.
   */
  receive(id: string, n: number): Promise<Incoming>;
  /** Uploads bytes from memory, without a time limit. @throws StorageUnavailable, StorageRefused */
  send(id: string, file: StoredFile, bytes: Uint8Array): Promise<void>;
}

/** Maximum number of concurrent uploads; each holds a part in memory. */
const AT_ONCE = 16;
/**
 * Time that a collection waits for an upload before it reports that storage delays it. Until that report, the time for which the
 * provider keeps its result (at least 30 s) continues to run.
 */
const PATIENCE_MS = 10_000;
/** A file that the bucket refuses although it accepts others is retried after these pauses. */
const ASIDE_MS = 60_000;
const MAX_ASIDE_MS = 3_600_000;

/** Length of the hash prefix that distinguishes two results of one file number. */
const HASH_CHARS = 32;

/**
 * The object name of a file. Two writers may upload results of one generation: a node considered dead that runs for a moment
 * longer, and the node that took over; or two attempts. A provider may return different bytes to each, and the record contains
 * the hash of one of them.
 *
 * The name therefore contains the hash: no writer overwrites an object that another's record names, and identical bytes are
 * uploaded once. Objects that no record names are deleted with the files of their generation (`remove`). The record contains the
 * name, because files that a single node uploaded in the background are named by their file number.
 */
export const objectOf = ({ n, sha256 }: Pick<StoredFile, "n" | "sha256">): string => `${n}-${sha256.slice(0, HASH_CHARS)}`;

/** The response headers of the object of a file. */
export const headersOf = (id: string, { n, mime }: Pick<StoredFile, "n" | "mime">): ObjectHeaders => ({
  mime,
  disposition: dispositionOf(mime, fileName(id, n, mime)),
  cacheControl: FILE_CACHE_CONTROL,
});

/** Files that wait for the bucket are held in memory up to this size together; others wait on disk. */
const HELD_BYTES = 64 * 1024 * 1024;
const sizeOf = (chunks: readonly Uint8Array[]): number => chunks.reduce((sum, { length }) => sum + length, 0);

/** The bytes of a file: the path of a local file, or its chunks in memory. */
type Bytes = string | readonly Uint8Array[];

/** Bounds concurrency; further callers wait in order of arrival. */
const openPlaces = (places: number) => {
  let free = places;
  const line: (() => void)[] = [];
  return {
    enter: async (): Promise<void> => {
      if (free === 0) return new Promise((resolve) => line.push(resolve));
      free -= 1;
    },
    leave: () => {
      const next = line.shift();
      if (next) next();
      else free += 1;
    },
  };
};

export const createUploadBeforeCommit = ({ local, bucket, standing, clock, report, ending }: ArrivingOptions): Arriving => {
  const places = openPlaces(AT_ONCE);
  let heldBytes = 0;
  let isRequesting = false;
  let setAside = 0;

  const pause = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve));
  const upload = async (id: string, file: StoredFile, from: Bytes, signal: AbortSignal): Promise<void> => {
    signal.throwIfAborted();
    const { bytes, sha256 } = file;
    const what = { name: bucket.nameOf(id, file.object ?? file.n), bytes, sha256, words: headersOf(id, file) };
    if (typeof from !== "string") return uploadHeld(bucket, what, from, signal);
    // This node does not know whether another node has tried before. Unfinished uploads are aborted, and a complete object is not
    // uploaded again.
    await uploadFile(bucket, { ...what, path: from }, { isAgain: true, signal, pause, mayTidy: () => !ending.aborted });
  };

  /** Maps a failure to a storage error; only a fault of the local disk is reported as one. */
  const judged = (fault: unknown, signal: AbortSignal): Error => {
    if (fault instanceof BucketError) {
      if (fault.kind !== "object") standing.failed(fault);
      return new StorageUnavailable(fault.message);
    }
    if (signal.aborted) return new StorageUnavailable("the upload was called off");
    return fault instanceof LocalDamage
      ? new StorageRefused(fault.message)
      : fault instanceof Error
        ? fault
        : new Error("no fault");
  };

  /** Runs one upload within the concurrency bound. While the bucket is unavailable, a single upload tests it. */
  const bring = async (id: string, file: StoredFile, from: Bytes, signal: AbortSignal): Promise<void> => {
    await places.enter();
    const known = standing.fault();
    const asks = known !== null;
    try {
      if (known !== null && (isRequesting || clock.nowMs() < standing.againAtMs())) throw new StorageUnavailable(known.message);
      isRequesting ||= asks;
      try {
        await onDisk(() => upload(id, file, from, signal).catch((fault: unknown) => Promise.reject(judged(fault, signal))));
        standing.worked();
      } finally {
        if (asks) isRequesting = false;
      }
    } finally {
      places.leave();
    }
  };

  const receive = async (id: string, n: number): Promise<Incoming> => {
    const incoming = await local.receive(id, n);
    const letGo = new AbortController();
    const signal = AbortSignal.any([ending, letGo.signal]);
    /** The file in memory, until its first upload fails. */
    let held: readonly Uint8Array[] | null = null;
    let underWay: Promise<void> | null = null;
    let refusals = 0;
    let notBeforeMs = 0;
    const over = () => {
      if (refusals > 0) setAside -= 1;
      refusals = 0;
    };
    const drop = () => {
      heldBytes -= sizeOf(held ?? []);
      held = null;
    };
    /** The outage of a bucket can last for hours, so the file leaves memory if the disk takes it. */
    const putAside = async (): Promise<void> => {
      if (held === null) return;
      incoming.hold(held);
      await incoming.end().then(drop, () => undefined);
    };
    /** The bucket accepts other files but not this one: an operator has to investigate, and the other files continue. */
    const refuse = ({ message }: StorageUnavailable): void => {
      refusals += 1;
      notBeforeMs = clock.nowMs() + Math.min(MAX_ASIDE_MS, ASIDE_MS * 2 ** (refusals - 1));
      if (refusals > 1) return;
      setAside += 1;
      report("file not uploaded", { generation_id: id, count: n, reason: message });
    };
    const begin = async (file: StoredFile): Promise<void> => {
      try {
        if (held === null) await incoming.end();
        await bring(id, file, held ?? incoming.path, signal);
        drop();
        over();
      } catch (fault) {
        const isAlone = fault instanceof StorageUnavailable && standing.fault() === null && !signal.aborted;
        if (isAlone) refuse(fault);
        if (!signal.aborted) await putAside();
        underWay = null;
        throw isAlone ? new StorageUnavailable(fault.message, notBeforeMs) : fault;
      }
    };
    const keep = async (file: StoredFile): Promise<void> => {
      if (clock.nowMs() < notBeforeMs) throw new StorageUnavailable("the bucket did not take the file", notBeforeMs);
      underWay ??= begin(file);
      let takeBack = () => {};
      const late = new Promise<never>((_, stop) => {
        takeBack = clock.after(PATIENCE_MS, () => stop(new StillStoring("its upload to the bucket is still under way")));
      });
      await Promise.race([underWay, late]).finally(takeBack);
    };
    const discard = async () => {
      letGo.abort();
      drop();
      over();
      await incoming.discard();
    };
    const hold = (chunks: readonly Uint8Array[]) => {
      const bytes = sizeOf(chunks);
      if (heldBytes + bytes > HELD_BYTES) return incoming.hold(chunks);
      heldBytes += bytes;
      held = chunks;
    };
    return { path: incoming.path, write: incoming.write, hold, keep, discard };
  };

  return {
    receive,
    setAside: () => setAside,
    send: async (id, file, bytes) => {
      const incoming = await local.receive(id, file.n);
      try {
        await incoming.write(bytes);
        await incoming.end();
        await bring(id, file, incoming.path, ending);
      } finally {
        await incoming.discard();
      }
    },
  };
};
