// Reads a remote file by byte ranges, within a budget of bytes and requests.
//
// If the server does not support ranges, the file is read from its beginning.
import type { Incoming } from "../files/port.ts";
import { type ByteCache, createByteCache } from "./byte-cache.ts";
import { type ByteReader, giveBack, inTurn, Unreadable } from "./byte-source.ts";
import type { Fetched } from "./guarded-fetch.ts";
import type { Source } from "./sandbox/child-process.ts";
import { sniff } from "./sniff.ts";

/** Maximum number of bytes and requests for one link. */
export type ReadBudget = { bytes: number; requests: number };
export const READ_BUDGET: ReadBudget = { bytes: 64 * 1024 * 1024, requests: 64 };

/** A range that has to be fetched before the parser can continue. A source throws it instead of waiting for a server. */
export class Missing extends Error {
  readonly start: number;
  readonly end: number;
  constructor(start: number, end: number) {
    super(`bytes ${start} to ${end} are not there yet`);
    this.start = start;
    this.end = end;
  }
}

export type Remote = ByteReader & {
  /** The first bytes, sufficient to detect the kind of the file; fewer if the file is shorter. */
  readonly prefix: Uint8Array;
  /** Size of the file, if the server sent it. */
  readonly declaredBytes: number | undefined;
  /** The bytes fetched so far (all bytes of a small file), for readers that must not wait. @throws Missing from its reads */
  source(): Promise<Source>;
  /** Fetches a range. @throws Unreadable */
  fetch(start: number, end: number): Promise<void>;
  close(): Promise<void>;
};

/** Fetches the link once with the given headers. */
export type FetchLink = (headers: Record<string, string>) => Promise<Fetched>;

const FIRST_BYTES = 32 * 1024;
/**
 * A request costs a connection. The second request therefore asks for at least this much, and each sequential request for twice
 * as much as the one before.
 */
const MIN_RANGE_BYTES = 64 * 1024;
const MAX_RANGE_BYTES = 16 * 1024 * 1024;
/** A file up to this size is fetched whole by its second request. */
const SMALL_BYTES = 256 * 1024;
/** After this number of requests, the rest of the file is fetched at once, if the budget permits. */
const MAX_LOOKS = 8;

/** Content codings that change the bytes. Other values are set by storage services for uncompressed files. */
const COMPRESSED = /^(x-)?(gzip|deflate|br|zstd|compress)$/;

const isCompressed = (response: Response): boolean =>
  (response.headers.get("content-encoding") ?? "").split(",").some((coding) => COMPRESSED.test(coding.trim().toLowerCase()));

const answerTo = async (fetchLink: FetchLink, headers: Record<string, string>): Promise<Response> => {
  const fetched = await fetchLink(headers);
  if (fetched.kind !== "answered") throw new Unreadable(fetched.why);
  if ([200, 206].includes(fetched.response.status)) return fetched.response;
  await fetched.response.body?.cancel().catch(() => {});
  throw new Unreadable(`its server answers ${fetched.response.status}`);
};

/** Parses `bytes 0-99/1234` and checks it: the range must begin at the requested offset and include the total size. */
const rangeOf = (response: Response, start: number): { end: number; sizeBytes: number } => {
  const match = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})$/.exec(response.headers.get("content-range") ?? "");
  const [from, last, sizeBytes] = (match ?? []).slice(1).map(Number);
  if (from !== start || last === undefined || sizeBytes === undefined || last < start || last >= sizeBytes)
    throw new Unreadable("its server answers ranges wrongly");
  return { end: last + 1, sizeBytes };
};

/** Reads a body chunk by chunk into the cache, and never further than requested. */
const openBody = (response: Response, kept: ByteCache, start: number) => {
  const reader = response.body?.getReader();
  let at = start;
  let isOver = reader === undefined;
  let rest: Uint8Array | undefined;
  const next = async (): Promise<Uint8Array | undefined> => {
    if (rest) return rest;
    const { done, value } = (await reader?.read().catch(() => {
      throw new Unreadable("its connection broke");
    })) ?? { done: true, value: undefined };
    return done ? undefined : value;
  };
  return {
    /** Reads until `end` or the end of the body. @returns the offset that was reached */
    readTo: async (end: number): Promise<number> => {
      while (!isOver && at < end) {
        const piece = await next();
        rest = undefined;
        isOver = piece === undefined;
        if (!piece) break;
        const wanted = piece.subarray(0, end - at);
        if (wanted.length < piece.length) rest = piece.subarray(wanted.length);
        await kept.add(at, wanted);
        at += wanted.length;
        if (!rest) giveBack(piece);
      }
      return at;
    },
    isOver: () => isOver && !rest,
    close: async () => reader?.cancel().catch(() => {}),
  };
};

const tooLarge = (budget: ReadBudget): never => {
  const most = budget.bytes < 1024 * 1024 ? `${budget.bytes / 1024} KiB` : `${Math.floor(budget.bytes / 1024 / 1024)} MiB`;
  throw new Unreadable(`it cannot be measured within ${most}`);
};

type Reading = {
  declaredBytes: number | undefined;
  sizeBytes(): Promise<number>;
  fetchTo(start: number, end: number): Promise<void>;
  close(): Promise<void>;
};

const openRanged = (fetchLink: FetchLink, first: Response, budget: ReadBudget, kept: ByteCache) => {
  const { end: firstEnd, sizeBytes } = rangeOf(first, 0);
  const tag = first.headers.get("etag");
  let leftBytes = budget.bytes;
  let leftRequests = budget.requests - 1;
  let reachedTo = 0;
  let stepBytes = MIN_RANGE_BYTES / 2;
  const take = async (response: Response, start: number, end: number): Promise<number> => {
    const body = openBody(response, kept, start);
    try {
      const reached = await body.readTo(Math.min(end, start + leftBytes));
      if (reached === start) throw new Unreadable("its server sends less than it promises");
      leftBytes -= reached - start;
      return reached;
    } finally {
      await body.close();
    }
  };
  /** The end of the next range request, which must cover at least `end`. */
  const endOf = (start: number, end: number): number => {
    if (sizeBytes <= SMALL_BYTES && sizeBytes - start <= leftBytes) return sizeBytes;
    const isOften = budget.requests - leftRequests > MAX_LOOKS;
    if (isOften && sizeBytes - start <= leftBytes) return sizeBytes;
    stepBytes = start === reachedTo ? Math.min(stepBytes * 2, MAX_RANGE_BYTES) : MIN_RANGE_BYTES;
    return Math.min(sizeBytes, start + Math.min(leftBytes, Math.max(end - start, stepBytes)));
  };
  const ask = async (start: number, end: number): Promise<void> => {
    if (leftBytes < end - start) tooLarge(budget);
    if (leftRequests <= 0) throw new Unreadable("its server gives too little with each answer");
    leftRequests--;
    const wantedEnd = endOf(start, end);
    const response = await answerTo(fetchLink, { Range: `bytes=${start}-${wantedEnd - 1}` });
    const range = response.status === 206 ? rangeOf(response, start) : undefined;
    const isOther = range?.sizeBytes !== sizeBytes || (tag !== null && response.headers.get("etag") !== tag);
    if (!range || isOther) {
      await response.body?.cancel().catch(() => {});
      throw new Unreadable("its server changes its answers");
    }
    reachedTo = await take(response, start, Math.min(range.end, wantedEnd));
  };
  const reading: Reading = {
    declaredBytes: sizeBytes,
    sizeBytes: async () => sizeBytes,
    fetchTo: async (start, end) => {
      for (let at = kept.knownTo(start); at < end; at = kept.knownTo(at)) await ask(at, end);
    },
    close: async () => {},
  };
  const begin = async () => {
    reachedTo = await take(first, 0, Math.min(firstEnd, FIRST_BYTES));
  };
  return { reading, begin };
};

/** Reads a body without range support, only as far as requested. */
const openWhole = (response: Response, budget: ReadBudget, kept: ByteCache) => {
  const announced = Number(response.headers.get("content-length") ?? Number.NaN);
  const body = openBody(response, kept, 0);
  const readTo = async (end: number): Promise<number> => {
    const reached = await body.readTo(Math.min(end, budget.bytes + 1));
    return reached > budget.bytes ? tooLarge(budget) : reached;
  };
  const reading: Reading = {
    declaredBytes: Number.isSafeInteger(announced) ? announced : undefined,
    sizeBytes: async () => (Number.isSafeInteger(announced) ? announced : readTo(Number.POSITIVE_INFINITY)),
    fetchTo: async (_, end) => {
      if (end > budget.bytes) tooLarge(budget);
      // Reads as much again as is already cached, so that small sequential reads do not each wait for the server.
      const most = Math.min(await reading.sizeBytes(), budget.bytes);
      const reached = await readTo(Math.min(most, Math.max(end, 2 * kept.knownTo(0))));
      if (reached < end) throw new Unreadable("its server sends less than it promises");
    },
    close: body.close,
  };
  const begin = async () => {
    await readTo(FIRST_BYTES);
  };
  return { reading, begin };
};

/**
 * A streaming server may send ranges of a file whose total size it does not know. In that case the whole file is requested
 * instead.
 */
const openFirst = async (fetchLink: FetchLink): Promise<Response> => {
  const first = await answerTo(fetchLink, { Range: `bytes=0-${FIRST_BYTES - 1}` });
  if (first.status !== 206 || !/^bytes \d{1,15}-\d{1,15}\/\*$/.test(first.headers.get("content-range") ?? "")) return first;
  await first.body?.cancel().catch(() => {});
  return answerTo(fetchLink, {});
};

/**
 * Opens a link for measuring.
 * @param spool opens temporary storage for bytes that exceed the memory limit; it is always discarded
 * @throws Unreadable
 */
export const createRangeReader = async (
  fetchLink: FetchLink,
  spool: () => Promise<Incoming>,
  budget: ReadBudget,
): Promise<Remote> => {
  const first = await openFirst(fetchLink);
  const kept = createByteCache(spool);
  const { reading, begin } = first.status === 206 ? openRanged(fetchLink, first, budget, kept) : openWhole(first, budget, kept);
  const turn = inTurn();
  const close = async () => {
    await reading.close();
    // Waits for reads in progress, so that a spool that is opened late is discarded too.
    await turn(() => kept.discard());
  };
  try {
    await begin();
    if (isCompressed(first) && !sniff(kept.beginning())) throw new Unreadable("its server sends it compressed");
  } catch (error) {
    await close();
    throw error;
  }
  const fetchTo = (start: number, end: number) => turn(() => reading.fetchTo(start, end));
  return {
    prefix: kept.beginning(),
    declaredBytes: reading.declaredBytes,
    sizeBytes: () => turn(reading.sizeBytes),
    fetch: fetchTo,
    read: async (start, end) => {
      await fetchTo(start, end);
      return kept.read(start, end);
    },
    source: async () => ({
      sizeBytes: await turn(async () => {
        const size = await reading.sizeBytes();
        if (size <= Math.min(SMALL_BYTES, budget.bytes)) await reading.fetchTo(0, size);
        return size;
      }),
      first: kept.beginning(),
      read: async (start, least, most) => {
        const known = Math.min(most, kept.knownTo(start));
        if (known < least) throw new Missing(start, least);
        return kept.read(start, known);
      },
    }),
    close,
  };
};
