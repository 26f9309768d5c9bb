// Downloads the results of a job, checks them against the order and stores them.

import { judged } from "../domain/delivery-check.ts";
import type { MediaKind, Output, ResultFile, StoredFile } from "../domain/types.ts";
import type { Spool } from "../files/inline-spool.ts";
import { type Files, type Incoming, isSpooled, StorageRefused, StorageUnavailable } from "../files/port.ts";
import { Unreadable } from "./byte-source.ts";
import { type FetchOptions, guardedFetch } from "./guarded-fetch.ts";
import { createNormalizeResult, type KindOptions, type Ready } from "./normalize-result.ts";
import { createPendingStoreBuffer } from "./pending-store-buffer.ts";
import type { CollectOutcome, FileFailure, Media } from "./port.ts";
import { receiveBody, UnreadableResult } from "./receive-file.ts";
import { Busy } from "./sandbox/sandbox.ts";
import { createSemaphore, type Pool } from "./semaphore.ts";

export type CollectOptions = KindOptions & {
  files: Pick<Files, "receive" | "objectOf">;
  spool: Pick<Spool, "open">;
  /** Fetch options for the result URLs of a provider, without the signal. */
  fetchFor: (provider: string) => Omit<FetchOptions, "signal" | "headers">;
  /** A download is aborted after the server has sent nothing for this time, ms. */
  idleMs: number;
  /** Maximum number of concurrent downloads for each provider. */
  placesPerProvider: number;
};

/** `output.urls` numbers files from 1 to 99 (§4.4). */
const MAX_FILES = 99;

/** The server reports that the link has expired. */
class Expired extends Unreadable {}

/** Aborts a download that stalls; `rest` is called for each received chunk. */
const watchdog = (signal: AbortSignal, idleMs: number) => {
  const idle = new AbortController();
  let aliveAtMs = performance.now();
  const look = () => {
    const quietMs = performance.now() - aliveAtMs;
    if (quietMs >= idleMs) idle.abort();
    else timer = setTimeout(look, Math.ceil(idleMs - quietMs));
  };
  let timer = setTimeout(look, idleMs);
  return {
    signal: AbortSignal.any([signal, idle.signal]),
    // A body has thousands of chunks, so the timer is not recreated for each of them.
    rest: () => {
      aliveAtMs = performance.now();
    },
    end: () => clearTimeout(timer),
  };
};

type Received = { incoming: Incoming; stored: StoredFile; hasAudio?: boolean };
/** The outcome of the files of a result: the accepted files, and the failures of the others. */
type Brought = { good: readonly Received[]; lost: readonly FileFailure[] };

type What = Parameters<Media["collect"]>[0];

/**
 * The duration of a video is that of its pictures, the duration of audio that of its sound. One track does not compensate for a
 * shorter other.
 */
const storedOf = (n: number, kind: MediaKind, { bytes, sha256, found }: Ready): StoredFile => {
  const file: StoredFile = { n, sha256, bytes, mime: found.mime };
  if (found.width !== undefined && found.height !== undefined) Object.assign(file, { width: found.width, height: found.height });
  const own = { video: found.pictureMs, audio: found.soundMs, image: undefined }[kind];
  const ms = own ?? found.ms;
  if (ms !== undefined) file.durationMs = ms;
  return file;
};

/** The properties of the output are measured from its first file. */
const outputOf = (kind: MediaKind, { good, lost }: Brought): Output => {
  const output: Output = { kind, files: good.map((each) => each.stored) };
  if (lost.length > 0) output.announced = good.length + lost.length;
  const [first] = good;
  const { width, height, durationMs } = first?.stored ?? {};
  if (kind !== "audio" && width !== undefined && height !== undefined) Object.assign(output, { width, height });
  if (kind === "video" && durationMs !== undefined) output.durationMs = durationMs;
  if (kind === "video" && first?.hasAudio !== undefined) output.hasAudio = first.hasAudio;
  return output;
};

const failureOf = (error: Unreadable): FileFailure => ({
  detail: error.message,
  ...(error instanceof UnreadableResult ? { print: error.print, ...(error.isOurs ? { isOurs: true } : {}) } : {}),
  ...(error instanceof Expired ? { isExpired: true } : {}),
});

/** The outcome of a collection in which no file was accepted. */
const unread = ({ detail, print, isOurs, isExpired }: FileFailure): CollectOutcome => {
  if (isExpired) return { kind: "expired", detail };
  if (isOurs) return { kind: "unreadable", detail, isOurs };
  return { kind: "unreadable", detail, ...(print === undefined ? {} : { isUnusable: true }) };
};

const discard = async (all: readonly Incoming[]): Promise<void> => {
  for (const incoming of all) await incoming.discard();
};

/** Downloads one result into a received file that is not visible yet. */
const openReceive = (options: CollectOptions) => {
  const { files, spool, fetchFor, resultBytes, idleMs, placesPerProvider } = options;
  const normalize = createNormalizeResult(options);
  const pools = new Map<string, Pool>();
  const poolOf = (provider: string): Pool => {
    const pool = pools.get(provider) ?? createSemaphore(placesPerProvider);
    pools.set(provider, pool);
    return pool;
  };

  const answerFor = async (provider: string, url: string, signal: AbortSignal): Promise<Response> => {
    if (isSpooled(url)) {
      const file = await spool.open(url);
      if (!file) throw new Unreadable("what was in the answer is not kept any more");
      return new Response(file, { headers: { "content-length": String(file.size) } });
    }
    const fetched = await guardedFetch(url, { ...fetchFor(provider), signal });
    if (fetched.kind !== "answered") throw new Unreadable(fetched.why);
    return fetched.response;
  };

  return async (what: What, result: ResultFile, n: number, signal: AbortSignal, undo: Incoming[]): Promise<Received> => {
    const leave = await poolOf(what.provider).take(signal);
    if (!leave) throw new Unreadable("there was no time to fetch it");
    const watch = watchdog(signal, idleMs);
    const { kind } = what;
    try {
      const response = await answerFor(what.provider, result.url, watch.signal);
      const { status, headers, body } = response;
      if (status !== 200) {
        await body?.cancel().catch(() => {});
        const why = `its server answers ${status}`;
        throw [403, 404, 410].includes(status) ? new Expired(why) : new Unreadable(why);
      }
      const incoming = await files.receive(what.generationId, n);
      undo.push(incoming);
      const claims = [headers.get("content-type"), result.mime];
      // A result inside a response may be in the bucket already, under the name that it gets here.
      const isAlone = what.results.length === 1 && !isSpooled(result.url);
      const arrived = await receiveBody(response, incoming, { kind, mostBytes: resultBytes, claims, alive: watch.rest, isAlone });
      watch.end();
      const { generationId, provider } = what;
      const ready = await normalize({ generationId, n, kind, provider, incoming, arrived }, signal, undo);
      const stored = storedOf(n, kind, ready);
      const object = files.objectOf?.(stored);
      if (object !== undefined) stored.object = object;
      const { hasAudio } = ready.found;
      return { incoming: ready.incoming, stored, ...(hasAudio === undefined ? {} : { hasAudio }) };
    } finally {
      watch.end();
      leave();
    }
  };
};

/** Implements `collect` of the port. */
export const createDownloadResults = (options: CollectOptions): Media["collect"] => {
  const receive = openReceive(options);
  /** Keyed by attempt, because a job has one result, regardless of the links that lead to it. */
  const holding = createPendingStoreBuffer<Brought>(({ good }) => void discard(good.map(({ incoming }) => incoming)));

  /**
   * Downloads the files sequentially, so that a generation occupies one place of its provider at a time. A file that is given up
   * does not fail the other files. If a failed file may still be retried, the first failure ends the collection and all files are
   * retried.
   */
  const downloadResult = async (what: What, signal: AbortSignal, undo: Incoming[]): Promise<Brought> => {
    const good: Received[] = [];
    const lost: FileFailure[] = [];
    for (const [at, result] of what.results.entries()) {
      const former = what.tries?.lostAt(at);
      if (former !== undefined) {
        lost.push(former);
        continue;
      }
      try {
        good.push(await receive(what, result, good.length + 1, signal, undo));
      } catch (error) {
        if (!(error instanceof Unreadable)) throw error;
        error.message = `file ${at + 1}: ${signal.aborted ? "the time was over" : error.message}`;
        const failure = failureOf(error);
        if (signal.aborted || !what.tries?.failed(at, failure)) throw error;
        lost.push(failure);
      }
    }
    return { good, lost };
  };

  const collect: Media["collect"] = async (what, signal) => {
    const key = `${what.generationId} ${what.attempt}`;
    const former = holding.take(key);
    const undo: Incoming[] = former?.good.map(({ incoming }) => incoming) ?? [];
    let brought = former;
    let isHeld = false;
    try {
      if (what.results.length === 0 || what.results.length > MAX_FILES)
        return { kind: "unreadable", detail: `${what.results.length} files were announced`, isUnusable: true };
      brought ??= await downloadResult(what, signal, undo);
      if (brought.good.length === 0 && brought.lost[0]) return unread(brought.lost[0]);
      const output = outputOf(what.kind, brought);
      const { mismatch, odd } = judged(what.ordered, output);
      if (mismatch) return { kind: "mismatched", mismatch };
      // A file becomes visible only after all files are accepted, and only while collection has not been cancelled.
      for (const each of brought.good) {
        if (signal.aborted) return { kind: "unreadable", detail: "collecting was called off" };
        await each.incoming.keep(each.stored);
      }
      const lost = brought.lost.map(({ detail }) => detail);
      return { kind: "collected", output, ...(lost.length > 0 ? { lost } : {}), ...(odd ? { odd } : {}) };
    } catch (error) {
      isHeld = error instanceof StorageUnavailable && brought !== undefined;
      if (isHeld && brought) holding.put(key, brought);
      // Without a sandbox child, the file cannot be inspected and the provider is not at fault. The collection waits as it does
      // for a disk.
      if (error instanceof StorageUnavailable && error.againAtMs !== undefined)
        return { kind: "storage-refused", detail: error.message, againAtMs: error.againAtMs };
      if (error instanceof Busy) return { kind: "storage-refused", detail: error.message, againAtMs: 0 };
      if (error instanceof StorageRefused) return { kind: "storage-refused", detail: error.message };
      // A file that did not arrive in time may still be valid.
      if (error instanceof Unreadable)
        return signal.aborted ? { kind: "unreadable", detail: error.message } : unread(failureOf(error));
      throw error;
    } finally {
      const held = new Set(isHeld ? brought?.good.map(({ incoming }) => incoming) : []);
      await discard(undo.filter((incoming) => !held.has(incoming)));
    }
  };

  // Two attempts of one generation may deliver at the same time. They are collected sequentially, so that their files are never
  // mixed.
  const underWay = new Map<string, Promise<CollectOutcome>>();
  return async (what, signal) => {
    const before = underWay.get(what.generationId);
    const mine = before ? before.then(() => collect(what, signal)) : collect(what, signal);
    underWay.set(what.generationId, mine);
    try {
      return await mine;
    } finally {
      if (underWay.get(what.generationId) === mine) underWay.delete(what.generationId);
    }
  };
};
