// Result files of nodes that share a bucket: each counts as kept once it is there whole, and no node's disk is asked for it again.
import type { Clock } from "../../domain/clock.ts";
import type { StoredFile } from "../../domain/types.ts";
import { onDisk } from "../durable-write.ts";
import type { LocalFiles } from "../local.ts";
import { type Incoming, StorageRefused, StorageUnavailable } from "../port.ts";
import { dispositionOf, FILE_CACHE_CONTROL, fileName } from "../serve.ts";
import { BucketFault } from "./errors.ts";
import type { BucketHealth, ReportHealth } from "./health.ts";
import type { Bucket, ObjectHeaders } from "./s3-client.ts";
import { LocalDamage, uploadFile } from "./upload.ts";

export type ArrivingOptions = {
  local: Pick<LocalFiles, "receive">;
  bucket: Bucket;
  standing: BucketHealth;
  clock: Clock;
  tell: ReportHealth;
  /** The service stops: what is under way ends. */
  ending: AbortSignal;
};

export interface Arriving {
  /** Files that the bucket did not take although it takes others. */
  setAside(): number;
  /**
   * As of `Files`, but `keep` resolves when the file is in the bucket. It may be called again after `StorageUnavailable`: an upload that is under
   * way is joined, one that failed is begun anew from the same bytes.
   */
  receive(id: string, n: number): Promise<Incoming>;
  /** Brings bytes that are in memory there, however long it takes. @throws StorageUnavailable, StorageRefused */
  send(id: string, file: StoredFile, bytes: Uint8Array): Promise<void>;
}

/** Uploads at a time: each holds a part in memory. */
const AT_ONCE = 16;
/**
 * How long a collecting waits for an upload before it says that our storage makes it wait. The time that a provider keeps its result
 * for, half a minute at least, runs meanwhile; once it is said it does not.
 */
const PATIENCE_MS = 10_000;
/** A file that the bucket does not take, though it takes others, comes again after these pauses. */
const ASIDE_MS = 60_000;
const LONGEST_ASIDE_MS = 3_600_000;

/** Enough of a hash that two results of one place never have one name. */
const HASH_CHARS = 32;

/**
 * What the object of a file is called. Two may bring the result of one generation: a node that has been taken for dead, and goes on for
 * a moment, and the one that took over; or two attempts. A provider need not give both the same bytes, and the record has the hash of one of
 * them. So the hash is in the name: neither writes over what the other's record names, and the same bytes are the same object, which is not
 * sent twice. What no record names goes with its generation's files (`remove`). The name stands in the record, because files that one
 * node alone moved to the bucket are there by their place.
 */
export const objectOf = ({ n, sha256 }: Pick<StoredFile, "n" | "sha256">): string => `${n}-${sha256.slice(0, HASH_CHARS)}`;

/** How the bucket is to answer a file. */
export const headersOf = (id: string, { n, mime }: Pick<StoredFile, "n" | "mime">): ObjectHeaders => ({
  mime,
  disposition: dispositionOf(mime, fileName(id, n, mime)),
  cacheControl: FILE_CACHE_CONTROL,
});

/** So many at a time; who comes when all places are taken waits in line. */
const openPlaces = (places: number) => {
  let free = places;
  const line: (() => void)[] = [];
  return {
    enter: async (): Promise<void> => {
      if (free === 0) return new Promise((goOn) => line.push(goOn));
      free -= 1;
    },
    leave: () => {
      const next = line.shift();
      if (next) next();
      else free += 1;
    },
  };
};

export const createUploadBeforeCommit = ({ local, bucket, standing, clock, tell, ending }: ArrivingOptions): Arriving => {
  const places = openPlaces(AT_ONCE);
  let isAsking = false;
  let setAside = 0;

  const pause = (ms: number) => new Promise<void>((goOn) => void clock.after(ms, goOn));
  const upload = async (id: string, file: StoredFile, path: string, signal: AbortSignal): Promise<void> => {
    signal.throwIfAborted();
    const { bytes, sha256 } = file;
    const what = { name: bucket.nameOf(id, file.object ?? file.n), path, bytes, sha256, words: headersOf(id, file) };
    // Whether another node has tried before is not known here: what it has left is given up, and what it has brought is not sent again.
    await uploadFile(bucket, what, { isAgain: true, signal, pause, mayTidy: () => !ending.aborted });
  };

  /** As it must be told: only a fault of the disk is one of the disk. */
  const judged = (fault: unknown, signal: AbortSignal): Error => {
    if (fault instanceof BucketFault) {
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

  /** One upload, in turn; while the bucket is away one asks for all. */
  const bring = async (id: string, file: StoredFile, path: string, signal: AbortSignal): Promise<void> => {
    await places.enter();
    const known = standing.fault();
    const asks = known !== null;
    try {
      if (known !== null && (isAsking || clock.nowMs() < standing.againAtMs())) throw new StorageUnavailable(known.message);
      isAsking ||= asks;
      try {
        await onDisk(() => upload(id, file, path, signal).catch((fault: unknown) => Promise.reject(judged(fault, signal))));
        standing.worked();
      } finally {
        if (asks) isAsking = false;
      }
    } finally {
      places.leave();
    }
  };

  const receive = async (id: string, n: number): Promise<Incoming> => {
    const incoming = await local.receive(id, n);
    const letGo = new AbortController();
    const signal = AbortSignal.any([ending, letGo.signal]);
    let underWay: Promise<void> | null = null;
    let refusals = 0;
    let notBeforeMs = 0;
    const over = () => {
      if (refusals > 0) setAside -= 1;
      refusals = 0;
    };
    const begin = async (file: StoredFile): Promise<void> => {
      try {
        await incoming.end();
        await bring(id, file, incoming.path, signal);
        over();
      } catch (fault) {
        underWay = null;
        // The bucket works and does not take this one: a person has to look, the others go on.
        if (fault instanceof StorageUnavailable && standing.fault() === null && !signal.aborted) {
          refusals += 1;
          notBeforeMs = clock.nowMs() + Math.min(LONGEST_ASIDE_MS, ASIDE_MS * 2 ** (refusals - 1));
          if (refusals === 1) setAside += 1;
          if (refusals === 1) tell("file not uploaded", { generation_id: id, count: n, reason: fault.message });
          throw new StorageUnavailable(fault.message, notBeforeMs);
        }
        throw fault;
      }
    };
    const keep = async (file: StoredFile): Promise<void> => {
      if (clock.nowMs() < notBeforeMs) throw new StorageUnavailable("the bucket did not take the file", notBeforeMs);
      underWay ??= begin(file);
      let takeBack = () => {};
      const late = new Promise<never>((_, stop) => {
        takeBack = clock.after(PATIENCE_MS, () => stop(new StorageUnavailable("its upload to the bucket is still under way")));
      });
      await Promise.race([underWay, late]).finally(takeBack);
    };
    const discard = async () => {
      letGo.abort();
      over();
      await incoming.discard();
    };
    return { path: incoming.path, write: incoming.write, keep, discard };
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
