// A file on somebody else's server, read by ranges, or whole through a spool where the server has no ranges.
import type { Incoming } from "../files/port.ts";
import { type ByteReader, inTurn, joined, readAtMost, Unreadable } from "./bytes.ts";
import type { Fetched } from "./guarded-fetch.ts";

/** How much of one link is read, and by how many requests. */
export type ReadBudget = { rangeBytes: number; wholeBytes: number; requests: number };
export const READ_BUDGET: ReadBudget = { rangeBytes: 256 * 1024, wholeBytes: 64 * 1024 * 1024, requests: 32 };

export type Remote = ByteReader & {
  /** The first bytes: enough to see what the file is, fewer when it is shorter. */
  readonly prefix: Uint8Array;
  close(): Promise<void>;
};

/** Fetches the link once, with the headers given. */
export type FetchLink = (headers: Record<string, string>) => Promise<Fetched>;

const FIRST_BYTES = 32 * 1024;
/** A request costs a connection, so none asks for less than this. */
const LEAST_RANGE_BYTES = 8 * 1024;

const answerTo = async (fetchLink: FetchLink, headers: Record<string, string>): Promise<Response> => {
  const fetched = await fetchLink(headers);
  if (fetched.kind !== "answered") throw new Unreadable(fetched.why);
  const encoding = fetched.response.headers.get("content-encoding") ?? "identity";
  if ([200, 206].includes(fetched.response.status) && encoding === "identity") return fetched.response;
  await fetched.response.body?.cancel().catch(() => {});
  if (![200, 206].includes(fetched.response.status)) throw new Unreadable(`its server answers ${fetched.response.status}`);
  throw new Unreadable("its server sends it compressed");
};

/** `bytes 0-99/1234`, as far as it can be believed: it begins where it was asked to and says how large the file is. */
const rangeOf = (response: Response, start: number): { end: number; sizeBytes: number } => {
  const match = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})$/.exec(response.headers.get("content-range") ?? "");
  const [from, last, sizeBytes] = (match ?? []).slice(1).map(Number);
  if (from !== start || last === undefined || sizeBytes === undefined || last < start || last >= sizeBytes)
    throw new Unreadable("its server answers ranges wrongly");
  return { end: last + 1, sizeBytes };
};

/** What is known of a file so far: pieces as they came. Bounded by the budget, so a list is enough. */
const openPieces = () => {
  const pieces: { start: number; bytes: Uint8Array }[] = [];
  return {
    add: (start: number, bytes: Uint8Array) => pieces.push({ start, bytes }),
    /** The known bytes from `start` on, at most up to `end`; empty when the first is not known. */
    from: (start: number, end: number): Uint8Array => {
      const piece = pieces.find((each) => each.start <= start && start < each.start + each.bytes.length);
      return piece ? piece.bytes.subarray(start - piece.start, end - piece.start) : new Uint8Array(0);
    },
  };
};

const openRanged = async (fetchLink: FetchLink, first: Response, budget: ReadBudget): Promise<Remote> => {
  const { end: firstEnd, sizeBytes } = rangeOf(first, 0);
  const pieces = openPieces();
  let leftBytes = budget.rangeBytes;
  let leftRequests = budget.requests - 1;
  const take = async (response: Response, start: number, end: number) => {
    const bytes = await readAtMost(response, Math.min(end - start, leftBytes));
    if (bytes.length === 0) throw new Unreadable("its server sends less than it promises");
    leftBytes -= bytes.length;
    pieces.add(start, bytes);
    return bytes;
  };
  const prefix = await take(first, 0, Math.min(firstEnd, FIRST_BYTES));
  const read = async (start: number, end: number): Promise<Uint8Array> => {
    const parts: Uint8Array[] = [];
    for (let at = start; at < end; ) {
      const known = pieces.from(at, end);
      if (known.length > 0) {
        parts.push(known);
        at += known.length;
        continue;
      }
      if (leftRequests <= 0 || leftBytes < end - at)
        throw new Unreadable(`it cannot be measured within ${budget.rangeBytes / 1024} KiB`);
      leftRequests--;
      const wantedEnd = Math.min(sizeBytes, at + Math.min(leftBytes, Math.max(end - at, LEAST_RANGE_BYTES)));
      const response = await answerTo(fetchLink, { Range: `bytes=${at}-${wantedEnd - 1}` });
      if (response.status !== 206) {
        await response.body?.cancel().catch(() => {});
        throw new Unreadable("its server changes its answers");
      }
      const range = rangeOf(response, at);
      if (range.sizeBytes !== sizeBytes) throw new Unreadable("its server changes its answers");
      await take(response, at, Math.min(range.end, wantedEnd));
    }
    return parts.length === 1 && parts[0] ? parts[0] : joined(parts);
  };
  const turn = inTurn();
  return {
    prefix,
    sizeBytes: async () => sizeBytes,
    read: (start, end) => turn(() => read(start, end)),
    close: async () => {},
  };
};

/** Reads a body that comes in one piece, only as far as somebody looks; past the first bytes it goes to disk, not to memory. */
const openWhole = async (response: Response, budget: ReadBudget, spool: () => Promise<Incoming>): Promise<Remote> => {
  const announced = Number(response.headers.get("content-length") ?? Number.NaN);
  const reader = response.body?.getReader();
  const head: Uint8Array[] = [];
  let seenBytes = 0;
  let isOver = reader === undefined;
  let incoming: Incoming | undefined;
  const pull = async (): Promise<void> => {
    const { done, value } = (await reader?.read().catch(() => {
      throw new Unreadable("its connection broke");
    })) ?? { done: true, value: undefined };
    if (done || !value) {
      isOver = true;
      return;
    }
    if (seenBytes + value.length > budget.wholeBytes)
      throw new Unreadable(`its server has no ranges and it is larger than ${budget.wholeBytes / 1024 / 1024} MiB`);
    if (seenBytes + value.length <= budget.rangeBytes) head.push(value);
    else {
      if (!incoming) {
        incoming = await spool();
        await incoming.write(joined(head));
      }
      await incoming.write(value);
    }
    seenBytes += value.length;
  };
  const pullTo = async (end: number) => {
    while (!isOver && seenBytes < end) await pull();
  };
  const seen = async (start: number, end: number): Promise<Uint8Array> =>
    incoming ? Bun.file(incoming.path).slice(start, end).bytes() : joined(head).slice(start, end);
  const turn = inTurn();
  const close = async () => {
    await reader?.cancel().catch(() => {});
    // After whatever is still being read: a spool that is only now opened is thrown away too.
    await turn(async () => incoming?.discard());
  };
  try {
    await pullTo(FIRST_BYTES);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    prefix: await seen(0, Math.min(seenBytes, FIRST_BYTES)),
    sizeBytes: () =>
      turn(async () => {
        if (Number.isSafeInteger(announced)) return announced;
        await pullTo(Number.POSITIVE_INFINITY);
        return seenBytes;
      }),
    read: (start, end) =>
      turn(async () => {
        await pullTo(end);
        if (seenBytes < end) throw new Unreadable("its server sends less than it promises");
        return seen(start, end);
      }),
    close,
  };
};

/**
 * Opens a link for measuring.
 * @param spool where a file without ranges is put while it is looked at; it is never kept.
 * @throws Unreadable
 */
export const openRemote = async (fetchLink: FetchLink, spool: () => Promise<Incoming>, budget: ReadBudget): Promise<Remote> => {
  const first = await answerTo(fetchLink, { Range: `bytes=0-${FIRST_BYTES - 1}` });
  return first.status === 206 ? openRanged(fetchLink, first, budget) : openWhole(first, budget, spool);
};
