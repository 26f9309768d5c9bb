// Measures the linked media of a request before it is priced (§2.5).
//
// Media that cannot be read is rejected.

import { type Claimant, createFairQueue } from "../collections/fair-queue.ts";
import { refuse } from "../domain/api-errors.ts";
import type { Measured, MediaLink } from "../domain/types.ts";
import { type Files, StorageRefused } from "../files/port.ts";
import { Unreadable } from "./byte-source.ts";
import type { Inspection } from "./formats/inspect.ts";
import { createPictureHeaderParser, type PictureSize, readPictureHeader } from "./formats/picture-header.ts";
import type { FetchOptions } from "./guarded-fetch.ts";
import { type Fetched, guardedFetch } from "./guarded-fetch.ts";
import type { OpenStored } from "./port.ts";
import { createRangeReader, Missing, type ReadBudget, type Remote } from "./range-reader.ts";
import { createReadDeadline, type ReadingClock } from "./read-deadline.ts";
import { kindOfHeader } from "./result-kinds.ts";
import { Busy, type Sandbox } from "./sandbox/sandbox.ts";
import { sniff } from "./sniff.ts";
import { wrongKind } from "./wanted-kinds.ts";

export type ProbeOptions = {
  /** Fetch options for links, without the signal, which is created for each request. */
  fetch: Omit<FetchOptions, "signal" | "headers">;
  /** Stores the part of a file that exceeds the memory limit while it is measured. */
  files: Pick<Files, "receive">;
  sandbox: Pick<Sandbox, "run">;
  budget: ReadBudget;
  /** Time for all links of a request together, ms; waiting in the queue is not included. */
  timeoutMs: number;
  waitMs: number;
  /** Maximum number of links opened concurrently, over all requests and for each account. */
  places: number;
  placesPerAccount: number;
};

/** The measurement of a link, without its field. A link that appears in two fields is opened once. */
type Found = Omit<Measured, "field">;

/** Never equal to a generation id, because those are derived from a row number. */
const SPOOL_ID = "gen_0measuring";

/** 2^28, 16,384 by 16,384. Providers do not accept larger pictures. */
const MAX_PIXELS = 268_435_456;

/** @throws Unreadable for a picture of more pixels than providers accept */
export const ofSoManyPixels = (size: PictureSize): PictureSize => {
  const { width, height } = size;
  if (width * height <= MAX_PIXELS) return size;
  throw new Unreadable(
    `it has ${width} x ${height} pixels; a picture of at most ${MAX_PIXELS} (as 16384 x 16384 has) is taken, whatever its shape`,
  );
};
/** Describes content that is not of the expected kind: its type, or the sort of text that it is. */
export const instead = (prefix: Uint8Array): string => {
  const look = kindOfHeader(prefix);
  return look.sort === "file" ? look.mime : look.sort === "words" ? look.what : "nothing known";
};

/** Audio may begin with unrecognized bytes, so those are inspected. Bytes of another kind and text are not inspected. */
export const isOpen = (prefix: Uint8Array): boolean => kindOfHeader(prefix).sort === "unknown";

const BUSY = "Too many media links are being read at the moment; send the same request again with the same Idempotency-Key.";

/**
 * One link being measured, with its account and the deadline of its request. `stored`: opens a file of this service, which is
 * read from storage.
 */
type Trip = { link: MediaLink; who: Claimant; clock: ReadingClock; stored: OpenStored | undefined };

const fromStorage = async (opened: ReturnType<OpenStored>): Promise<Fetched> => {
  const response = await opened;
  return response ? { kind: "answered", response } : { kind: "unreachable", why: "the stored file is missing" };
};

const foundOf = (
  { url, kind }: MediaLink,
  {
    pictureMs,
    width,
    height,
    frameMs,
    ...found
  }: Pick<Inspection, "ms" | "pictureMs" | "width" | "height" | "frameMs" | "isUncounted">,
  bytes?: number,
): Found => {
  // An uncounted duration has not been compared with the sound, so no price is based on it.
  const ms = found.isUncounted ? undefined : found.ms;
  const size = width === undefined || height === undefined ? {} : { width, height };
  if (kind === "image") return { url, kind, ...size };
  const measured: Found = { url, kind, ...(ms === undefined ? {} : { ms }), ...(kind === "video" ? size : {}) };
  if (kind === "video" && pictureMs !== undefined) measured.pictureMs = pictureMs;
  return { ...measured, ...(bytes === undefined ? {} : { bytes }), ...(frameMs === undefined ? {} : { frameMs }) };
};

/** Implements `measure` of the port. */
export const createProbe = (options: ProbeOptions) => {
  const line = createFairQueue({ places: options.places, perAccount: options.placesPerAccount, cost: 1 });
  let spooled = 0;

  /**
   * Inspects the file until no bytes are missing. A sandbox child never waits for a server: missing bytes are fetched, and the
   * file is inspected again. The reading time covers only the server; the sandbox bounds its children separately.
   */
  const inspect = async (remote: Remote, { who, clock }: Trip): Promise<Inspection> => {
    const meter = { cpuMs: 0 };
    for (;;) {
      const source = await clock.during(() => remote.source());
      try {
        const requested = { source, who, meter, signal: clock.signal };
        return await options.sandbox.run("inspect", { depth: "shallow" }, requested);
      } catch (fault) {
        if (!(fault instanceof Missing)) throw fault;
        await clock.during(() => remote.fetch(fault.start, fault.end));
      }
    }
  };

  /** The size of a picture is in its header, which is parsed in this process within a bounded number of steps. */
  const header = async (remote: Remote, { clock }: Trip): Promise<PictureSize> => {
    const step = createPictureHeaderParser().feed(remote.prefix, 0);
    if (step.kind === "size") return step;
    return clock.during(() => readPictureHeader(remote));
  };

  const look = async (trip: Trip): Promise<Found> => {
    const { link, clock, stored } = trip;
    const fetchLink = (headers: Record<string, string>): Promise<Fetched> =>
      stored ? fromStorage(stored(headers)) : guardedFetch(link.url, { ...options.fetch, headers, signal: clock.signal });
    const spool = () => options.files.receive(SPOOL_ID, ++spooled);
    const remote = await clock.during(() => createRangeReader(fetchLink, spool, options.budget));
    try {
      const wrong = (what: string) => new Unreadable(wrongKind(what, link.kind));
      const sniffed = sniff(remote.prefix);
      const isWrong = sniffed
        ? (sniffed.container === "picture") !== (link.kind === "image")
        : link.kind !== "audio" || !isOpen(remote.prefix);
      if (isWrong) throw wrong(instead(remote.prefix));
      if (link.kind === "image") return foundOf(link, ofSoManyPixels(await header(remote, trip)));
      const found = await inspect(remote, trip).catch((fault: unknown) => {
        throw !sniffed && fault instanceof Unreadable ? wrong(instead(remote.prefix)) : fault;
      });
      if (found.mime === "video/ogg") throw wrong(found.mime);
      if (found.kind !== link.kind) throw wrong(found.kind === "audio" ? "sound without pictures" : "a clip with pictures");
      return foundOf(link, found, remote.declaredBytes);
    } finally {
      await remote.close();
    }
  };

  const find = async (trip: Trip): Promise<Found> => {
    const leave = await line.take(trip.who, trip.clock.signal);
    if (!leave) throw new Busy("no place was free in time");
    try {
      return await look(trip);
    } finally {
      leave();
    }
  };

  const throwUnreadable = (fault: unknown, { field }: MediaLink, clock: ReadingClock): never => {
    if (fault instanceof StorageRefused) return refuse("busy", "No sandbox process is free to read media.");
    if (fault instanceof Busy || clock.over() === "waiting") return refuse("busy", BUSY);
    if (!(fault instanceof Unreadable)) throw fault;
    const why = clock.over() === "reading" ? `it was not read within ${options.timeoutMs / 1000} s` : fault.message;
    return refuse("invalid_input", `${field}: the media cannot be read: ${why}`);
  };

  /**
   * Opens and measures every link, in parallel up to the account's places.
   * @param stored opens the links that name files of this service
   * @throws ApiError `invalid_input` with the first field, in the given order, whose link cannot be read as the kind of the
   * field; `busy` if no disk space, place or sandbox child is available
   */
  return async (
    links: readonly MediaLink[],
    account: string,
    stored: ReadonlyMap<string, OpenStored> = new Map(),
  ): Promise<Measured[]> => {
    const clock = createReadDeadline(options.timeoutMs, options.waitMs);
    const finds = new Map<string, Promise<Found>>();
    for (const link of links) {
      const key = `${link.kind} ${link.url}`;
      if (finds.has(key)) continue;
      const found = find({ link, who: { share: "input", account }, clock, stored: stored.get(link.url) });
      found.catch(() => {});
      finds.set(key, found);
    }
    try {
      const measured: Measured[] = [];
      for (const link of links) {
        const found = await finds.get(`${link.kind} ${link.url}`)?.catch((fault: unknown) => throwUnreadable(fault, link, clock));
        if (found) measured.push({ field: link.field, ...found });
      }
      return measured;
    } finally {
      clock.stop();
    }
  };
};
