// Opens and measures the media that a request links to, before anything is priced (§2.5: media that cannot be read is refused).
import { type Files, StorageRefused } from "../files/port.ts";
import { refuse } from "../refusal.ts";
import type { Measured, MediaKind, MediaLink } from "../terms.ts";
import { Unreadable } from "./bytes.ts";
import { measureClip } from "./clip.ts";
import type { FetchOptions } from "./guarded-fetch.ts";
import { guardedFetch } from "./guarded-fetch.ts";
import { openPool } from "./pool.ts";
import { openRemote, type ReadBudget, type Remote } from "./remote.ts";
import { pictureSize, sniff } from "./sniff.ts";

export type ProbeOptions = {
  /** How links are opened, but for the signal, which is made per request. */
  fetch: Omit<FetchOptions, "signal" | "headers">;
  /** Where a file without ranges is put while it is looked at. */
  files: Pick<Files, "receive">;
  budget: ReadBudget;
  /** All links of a request together, ms. */
  timeoutMs: number;
  /** Links opened at a time, over all requests. */
  places: number;
};

/** What a link was found to be, without its field: the same link in two fields is opened once. */
type Found = Omit<Measured, "field">;

/** Never the id of a generation: those are made from a row number. */
const SPOOL_ID = "gen_0measuring";

const WANTED: Record<MediaKind, string> = { image: "a picture (PNG, JPEG, WebP or GIF)", video: "a clip", audio: "sound" };

/** A picture says its size early, unless its writer put much before it: then more is read, step by step. */
const PICTURE_STEPS_BYTES = [128 * 1024, 224 * 1024];

const measurePicture = async (remote: Remote): Promise<{ width: number; height: number }> => {
  const first = await pictureSize(remote.prefix).catch(() => undefined);
  if (first) return first;
  const size = await remote.sizeBytes();
  for (const step of PICTURE_STEPS_BYTES) {
    const end = Math.min(size, step);
    if (end <= remote.prefix.length) break;
    const found = await pictureSize(await remote.read(0, end)).catch(() => undefined);
    if (found) return found;
  }
  throw new Unreadable("it is not a picture that opens");
};

const measureRemote = async (remote: Remote, link: MediaLink, signal: AbortSignal): Promise<Found> => {
  const sniffed = sniff(remote.prefix);
  const wrong = new Unreadable(`it is not ${WANTED[link.kind]}`);
  if (!sniffed || (sniffed.container === "picture") !== (link.kind === "image")) throw wrong;
  if (link.kind === "image") return { url: link.url, kind: "image", ...(await measurePicture(remote)) };
  const { kind, ms, width, height } = await measureClip(remote, sniffed, signal);
  if (kind !== link.kind) throw wrong;
  return kind === "audio" || width === undefined || height === undefined
    ? { url: link.url, kind, ms }
    : { url: link.url, kind, ms, width, height };
};

/** Makes `measure` of the port. */
export const openProbe = (options: ProbeOptions) => {
  const pool = openPool(options.places);
  let spooled = 0;

  const find = async (link: MediaLink, signal: AbortSignal): Promise<Found> => {
    const leave = await pool.take(signal);
    if (!leave) return refuse("busy", "too many media links are being read at the moment");
    try {
      const remote = await openRemote(
        (headers) => guardedFetch(link.url, { ...options.fetch, headers, signal }),
        () => options.files.receive(SPOOL_ID, ++spooled),
        options.budget,
      );
      try {
        return await measureRemote(remote, link, signal);
      } finally {
        await remote.close();
      }
    } finally {
      leave();
    }
  };

  /**
   * Opens every link, all in parallel, and measures it.
   * @throws Refusal `invalid_input` naming the first field, in the order given, whose link cannot be read as what the field
   * means; `busy` when there is no room or no place to read it.
   */
  return async (links: readonly MediaLink[]): Promise<Measured[]> => {
    const end = new AbortController();
    const timer = setTimeout(() => end.abort(), options.timeoutMs);
    const finds = new Map<string, Promise<Found>>();
    for (const link of links) {
      const key = `${link.kind} ${link.url}`;
      if (finds.has(key)) continue;
      const found = find(link, end.signal);
      found.catch(() => {});
      finds.set(key, found);
    }
    try {
      const measured: Measured[] = [];
      for (const link of links) {
        const found = await finds.get(`${link.kind} ${link.url}`)?.catch((error: unknown) => {
          if (error instanceof StorageRefused) return refuse("busy", "there is no room to read media at the moment");
          if (!(error instanceof Unreadable)) throw error;
          const why = end.signal.aborted ? `it was not read within ${options.timeoutMs / 1000} s` : error.message;
          return refuse("invalid_input", `${link.field}: the media cannot be read: ${why}`);
        });
        if (found) measured.push({ field: link.field, ...found });
      }
      return measured;
    } finally {
      clearTimeout(timer);
      end.abort();
    }
  };
};
