// Brings the results of a provider home: streamed to disk, hashed, checked to be what was ordered, measured.

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
  /** How result URLs of a provider are opened, but for the signal. */
  fetchFor: (provider: string) => Omit<FetchOptions, "signal" | "headers">;
  /** A server that sends nothing for this long is given up, ms. */
  idleMs: number;
  /** Files of one provider fetched at a time. */
  placesPerProvider: number;
};

/** `output.urls` has places 1 to 99 (§4.4). */
const MOST_FILES = 99;

/** The link says that it is over. */
class Expired extends Unreadable {}

/** Ends a wait that lasts too long; `rest` is called at each sign of life. */
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
    // Of a body with thousands of pieces each is one: no timer is made anew for it.
    rest: () => {
      aliveAtMs = performance.now();
    },
    end: () => clearTimeout(timer),
  };
};

type Received = { incoming: Incoming; stored: StoredFile; hasAudio?: boolean };
/** What came of the files of a result: those that are good, and what is wrong with the others. */
type Brought = { good: readonly Received[]; lost: readonly FileFailure[] };

type What = Parameters<Media["collect"]>[0];

/** A clip is as long as its pictures are, and its sound as long as that is: neither makes up for what is missing of the other. */
const storedOf = (n: number, kind: MediaKind, { bytes, sha256, found }: Ready): StoredFile => {
  const file: StoredFile = { n, sha256, bytes, mime: found.mime };
  if (found.width !== undefined && found.height !== undefined) Object.assign(file, { width: found.width, height: found.height });
  const own = { video: found.pictureMs, audio: found.soundMs, image: undefined }[kind];
  const ms = own ?? found.ms;
  if (ms !== undefined) file.durationMs = ms;
  return file;
};

/** What is told of a generation is measured from its first file. */
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

/** A try that ended without a single file. */
const unread = ({ detail, print, isOurs, isExpired }: FileFailure): CollectOutcome => {
  if (isExpired) return { kind: "expired", detail };
  if (isOurs) return { kind: "unreadable", detail, isOurs };
  return { kind: "unreadable", detail, ...(print === undefined ? {} : { isUnusable: true }) };
};

const discard = async (all: readonly Incoming[]): Promise<void> => {
  for (const incoming of all) await incoming.discard();
};

/** Fetches one result into a file of ours that nobody sees yet. */
const openReceive = (options: CollectOptions) => {
  const { files, spool, fetchFor, resultBytes, idleMs, placesPerProvider } = options;
  const bringIntoKind = createNormalizeResult(options);
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
      const arrived = await receiveBody(response, incoming, { kind, mostBytes: resultBytes, claims, alive: watch.rest });
      watch.end();
      const { generationId, provider } = what;
      const ready = await bringIntoKind({ generationId, n, kind, provider, incoming, arrived }, signal, undo);
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

/** Makes `collect` of the port. */
export const createDownloadResults = (options: CollectOptions): Media["collect"] => {
  const receive = openReceive(options);
  /** By attempt: its job has one result, whatever links lead to it. */
  const holding = createPendingStoreBuffer<Brought>(({ good }) => void discard(good.map(({ incoming }) => incoming)));

  /**
   * One after the other, so that a generation takes one place of its provider at a time. A file that is given up does not lose the others;
   * for one that may still come the first failure decides, and all are tried again.
   */
  const bring = async (what: What, signal: AbortSignal, undo: Incoming[]): Promise<Brought> => {
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
      if (what.results.length === 0 || what.results.length > MOST_FILES)
        return { kind: "unreadable", detail: `${what.results.length} files were announced`, isUnusable: true };
      brought ??= await bring(what, signal, undo);
      if (brought.good.length === 0 && brought.lost[0]) return unread(brought.lost[0]);
      const output = outputOf(what.kind, brought);
      const { mismatch, odd } = judged(what.ordered, output);
      if (mismatch) return { kind: "mismatched", mismatch };
      // Nothing becomes visible before every file is known to be good, nor after the collecting was called off.
      for (const each of brought.good) {
        if (signal.aborted) return { kind: "unreadable", detail: "collecting was called off" };
        await each.incoming.keep(each.stored);
      }
      const lost = brought.lost.map(({ detail }) => detail);
      return { kind: "collected", output, ...(lost.length > 0 ? { lost } : {}), ...(odd ? { odd } : {}) };
    } catch (error) {
      isHeld = error instanceof StorageUnavailable && brought !== undefined;
      if (isHeld && brought) holding.put(key, brought);
      // Without a child nothing is known of the file, and the provider is not to blame: it waits as it does for a disk.
      if (error instanceof StorageUnavailable && error.againAtMs !== undefined)
        return { kind: "storage-refused", detail: error.message, againAtMs: error.againAtMs };
      if (error instanceof Busy) return { kind: "storage-refused", detail: error.message, againAtMs: 0 };
      if (error instanceof StorageRefused) return { kind: "storage-refused", detail: error.message };
      // What did not come in time may be a file all the same.
      if (error instanceof Unreadable)
        return signal.aborted ? { kind: "unreadable", detail: error.message } : unread(failureOf(error));
      throw error;
    } finally {
      const held = new Set(isHeld ? brought?.good.map(({ incoming }) => incoming) : []);
      await discard(undo.filter((incoming) => !held.has(incoming)));
    }
  };

  // Two attempts of one generation may deliver at the same time: they take turns, so that their files never mix.
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
