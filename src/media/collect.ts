// Brings the results of a provider home: streamed to disk, hashed, checked to be what they claim, measured.
import { type Files, type Incoming, isSpooled, StorageAway, StorageRefused } from "../files/port.ts";
import type { Spool } from "../files/spool.ts";
import type { MediaKind, Output, ResultFile, StoredFile } from "../terms.ts";
import { type ByteReader, rangeOf, Unreadable } from "./bytes.ts";
import { type Clip, measureClip } from "./clip.ts";
import { gathering } from "./gathering.ts";
import { type FetchOptions, guardedFetch } from "./guarded-fetch.ts";
import { openHolding } from "./holding.ts";
import { openPool, type Pool } from "./pool.ts";
import type { CollectOutcome, Media } from "./port.ts";
import { isWhole, pictureSize, sniff } from "./sniff.ts";

export type CollectOptions = {
  files: Pick<Files, "receive" | "objectOf">;
  spool: Pick<Spool, "open">;
  /** How result URLs of a provider are opened, but for the signal. */
  fetchFor: (provider: string) => Omit<FetchOptions, "signal" | "headers">;
  /** Largest result file, bytes. */
  resultBytes: number;
  /** A server that sends nothing for this long is given up, ms. */
  idleMs: number;
  /** Files of one provider fetched at a time. */
  placesPerProvider: number;
};

/** What §4.3 serves, by kind. */
const TAKEN: Record<MediaKind, readonly string[]> = {
  image: ["image/png", "image/jpeg", "image/webp"],
  video: ["video/mp4"],
  audio: ["audio/mpeg", "audio/wav"],
};

/** Enough to tell a film from an error page before the rest is fetched. */
const SNIFF_BYTES = 64;
/** Enough of most pictures to read their size, and of any, its writer's notes included. */
const PICTURE_START_BYTES = 16 * 1024;
const PICTURE_BYTES = 1024 * 1024;
/** `output.urls` has places 1 to 99 (§4.4). */
const MOST_FILES = 99;

/** The link says that it is over. */
class Expired extends Error {}

/** Ends a wait that lasts too long; `rest` is called at each sign of life. */
const watchdog = (signal: AbortSignal, idleMs: number) => {
  const idle = new AbortController();
  let timer = setTimeout(() => idle.abort(), idleMs);
  return {
    signal: AbortSignal.any([signal, idle.signal]),
    rest: () => {
      clearTimeout(timer);
      timer = setTimeout(() => idle.abort(), idleMs);
    },
    end: () => clearTimeout(timer),
  };
};

/** The file as it was received: most are small and still in memory, what is not is read back. */
const readerOf = (incoming: Incoming, sizeBytes: number, whole: readonly Uint8Array[] | undefined): ByteReader => ({
  sizeBytes: async () => sizeBytes,
  read: async (start, end) =>
    whole
      ? rangeOf(whole, start, end)
      : Bun.file(incoming.path)
          .slice(start, end)
          .bytes()
          .catch(() => {
            throw new StorageRefused("the disk refused to read back");
          }),
});

type Received = { incoming: Incoming; stored: StoredFile; size?: { width: number; height: number }; clip?: Clip };

/** Streams a body into `incoming`; returns its length and hash. @throws Unreadable, StorageRefused */
const stream = async (response: Response, incoming: Incoming, kind: MediaKind, most: number, alive: () => void) => {
  const announced = response.headers.get("content-length");
  if (announced !== null && Number(announced) > most) throw new Unreadable(`it is larger than ${most} bytes`);
  const reader = response.body?.getReader();
  const hash = new Bun.CryptoHasher("sha256");
  const kept = gathering(incoming);
  let bytes = 0;
  let start = new Uint8Array(0);
  let mime: string | undefined;
  try {
    while (reader) {
      const { done, value } = await reader.read().catch(() => {
        throw new Unreadable("its connection broke");
      });
      if (!done) {
        alive();
        bytes += value.length;
        if (bytes > most) throw new Unreadable(`it is larger than ${most} bytes`);
        if (start.length < SNIFF_BYTES) start = Uint8Array.from([...start, ...value.subarray(0, SNIFF_BYTES)]);
      }
      if (mime === undefined && (done || start.length >= SNIFF_BYTES)) {
        mime = bytes === 0 ? undefined : sniff(start)?.mime;
        if (bytes === 0) throw new Unreadable("it is empty");
        if (mime === undefined || !TAKEN[kind].includes(mime))
          throw new Unreadable(`it is ${mime ?? "nothing known"}, not ${kind}`);
      }
      if (done) break;
      hash.update(value);
      await kept.write(value);
    }
  } finally {
    await reader?.cancel().catch(() => {});
  }
  if (mime === undefined) throw new Unreadable("it is empty");
  if (announced !== null && Number(announced) !== bytes) throw new Unreadable(`${bytes} of ${announced} bytes came`);
  return { bytes, sha256: hash.digest("hex"), mime, whole: await kept.end() };
};

const measure = async (file: ByteReader, mime: string, kind: MediaKind, bytes: number, signal: AbortSignal) => {
  if (!(await isWhole(file, mime))) throw new Unreadable("it is cut short");
  if (kind === "image") {
    const sizeIn = async (most: number) => pictureSize(await file.read(0, Math.min(bytes, most)));
    return { size: await sizeIn(PICTURE_START_BYTES).catch(() => sizeIn(PICTURE_BYTES)) };
  }
  const clip = await measureClip(file, { container: mime === "video/mp4" ? "movie" : "sound", mime }, signal);
  if (clip.kind !== kind) throw new Unreadable(`it holds ${clip.kind}, not ${kind}`);
  return { clip };
};

/** Makes `collect` of the port. */
export const openCollect = ({
  files,
  spool,
  fetchFor,
  resultBytes,
  idleMs,
  placesPerProvider,
}: CollectOptions): Media["collect"] => {
  const pools = new Map<string, Pool>();
  const poolOf = (provider: string): Pool => {
    const pool = pools.get(provider) ?? openPool(placesPerProvider);
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

  const receive = async (
    what: Parameters<Media["collect"]>[0],
    result: ResultFile,
    n: number,
    signal: AbortSignal,
    undo: Incoming[],
  ): Promise<Received> => {
    const leave = await poolOf(what.provider).take(signal);
    if (!leave) throw new Unreadable("there was no time to fetch it");
    const watch = watchdog(signal, idleMs);
    try {
      const response = await answerFor(what.provider, result.url, watch.signal);
      const { status, headers, body } = response;
      if (status !== 200 || (headers.get("content-encoding") ?? "identity") !== "identity") {
        await body?.cancel().catch(() => {});
        if ([403, 404, 410].includes(status)) throw new Expired(`its server answers ${status}`);
        throw new Unreadable(status === 200 ? "its server sends it compressed" : `its server answers ${status}`);
      }
      const incoming = await files.receive(what.generationId, n);
      undo.push(incoming);
      const { bytes, sha256, mime, whole } = await stream(response, incoming, what.kind, resultBytes, watch.rest);
      const measured = await measure(readerOf(incoming, bytes, whole), mime, what.kind, bytes, watch.signal);
      const object = files.objectOf?.({ n, sha256 });
      return { incoming, stored: { n, sha256, bytes, mime, ...(object === undefined ? {} : { object }) }, ...measured };
    } finally {
      watch.end();
      leave();
    }
  };

  const outputOf = (kind: MediaKind, all: readonly Received[]): Output => {
    const output: Output = { kind, files: all.map((each) => each.stored) };
    const first = all[0];
    if (first?.size) return { ...output, ...first.size };
    const { ms, width, height, hasAudio } = first?.clip ?? {};
    if (kind !== "video" || ms === undefined || width === undefined || height === undefined || hasAudio === undefined)
      return output;
    return { ...output, width, height, durationMs: ms, hasAudio };
  };

  const discard = async (all: readonly Incoming[]): Promise<void> => {
    for (const incoming of all) await incoming.discard();
  };
  /** By attempt: its job has one result, whatever links lead to it. */
  const holding = openHolding<readonly Received[]>((all) => void discard(all.map(({ incoming }) => incoming)));

  const collect: Media["collect"] = async (what, signal) => {
    const key = `${what.generationId} ${what.attempt}`;
    const held = holding.take(key);
    const undo: Incoming[] = held?.map(({ incoming }) => incoming) ?? [];
    const all: Received[] = [...(held ?? [])];
    let isHeld = false;
    let n = 0;
    try {
      if (what.results.length === 0 || what.results.length > MOST_FILES)
        return { kind: "unreadable", detail: `${what.results.length} files were announced` };
      // One after the other: the first that fails decides, and a generation takes one place of its provider at a time.
      if (!held) for (const result of what.results) all.push(await receive(what, result, ++n, signal, undo));
      // Nothing becomes visible before every file is known to be good, nor after the collecting was called off.
      for (const each of all) {
        if (signal.aborted) return { kind: "unreadable", detail: "collecting was called off" };
        await each.incoming.keep(each.stored);
      }
      return { kind: "collected", output: outputOf(what.kind, all) };
    } catch (error) {
      isHeld = error instanceof StorageAway && all.length === what.results.length;
      if (isHeld) holding.put(key, all);
      if (error instanceof StorageRefused) return { kind: "storage-refused", detail: error.message };
      const detail = `file ${n}: ${error instanceof Error ? error.message : ""}`;
      if (error instanceof Expired) return { kind: "expired", detail };
      if (error instanceof Unreadable)
        return { kind: "unreadable", detail: signal.aborted ? `file ${n}: the time was over` : detail };
      throw error;
    } finally {
      if (!isHeld) await discard(undo);
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
