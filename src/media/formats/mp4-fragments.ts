// Sums the samples of MP4 fragments for each track.
import { Unreadable } from "../byte-source.ts";
import { type Box, boxesIn, boxIn, rowsIn, viewOf } from "./mp4-boxes.ts";
import type { SampleRange } from "./mp4-samples.ts";

/** Totals of a track over its fragments, in the track's timescale. */
export type Fragmented = {
  next: number;
  start: number;
  end: number;
  samples: number;
  sound: number;
  shortest: number;
  /** Total bytes of all samples. */
  bytes: number;
  /** Position of each sample, for a track whose packets are parsed. */
  places: SampleRange[] | undefined;
};
export type Defaults = { duration: number; size: number };

/** Maximum number of parsed packets of one track: six hours of 20 ms each. */
const MAX_PLACES = 1_080_000;

/** @param next start of a first fragment that declares none: the end of the samples in the index */
export const noFragments = (next = 0, hasPlaces = false): Fragmented => ({
  next,
  start: Number.POSITIVE_INFINITY,
  end: Number.NEGATIVE_INFINITY,
  samples: 0,
  sound: 0,
  shortest: Number.POSITIVE_INFINITY,
  bytes: 0,
  places: hasPlaces ? [] : undefined,
});

/** Defaults of the tracks, as the index declares them for its fragments. */
export const defaultsOf = (movie: Uint8Array, mvex: Box): Map<number, Defaults> => {
  const view = viewOf(movie);
  const found = new Map<number, Defaults>();
  for (const { name, start, end } of boxesIn(movie, mvex.start, mvex.end))
    if (name === "trex") {
      rowsIn(1, end - start, 24);
      // Decoders differ in which of two entries they use.
      if (found.has(view.getUint32(start + 4))) throw new Unreadable("its index is not one of a real clip");
      found.set(view.getUint32(start + 4), { duration: view.getUint32(start + 12), size: view.getUint32(start + 16) });
    }
  return found;
};

/** `base`: origin of the run offsets; `next`: start of a run without its own offset. */
type Head = { track: number; duration: number; size: number; base: number; next: number };

const headOf = (
  view: DataView,
  tfhd: Box,
  defaults: ReadonlyMap<number, Defaults>,
  moofAt: number,
  next: number,
): Head | undefined => {
  rowsIn(1, tfhd.end - tfhd.start, 8);
  const flags = view.getUint32(tfhd.start) & 0xffffff;
  const fields = [2, 8, 16, 32].filter((flag) => flags & flag).length;
  rowsIn(1, tfhd.end - tfhd.start, 8 + (flags & 1 ? 8 : 0) + 4 * fields);
  const track = view.getUint32(tfhd.start + 4);
  const trex = defaults.get(track);
  if (!trex) return undefined;
  let at = tfhd.start + 8 + (flags & 1 ? 8 : 0) + (flags & 2 ? 4 : 0);
  const take = (flag: number, otherwise: number): number => {
    if (!(flags & flag)) return otherwise;
    at += 4;
    return view.getUint32(at - 4);
  };
  const base = flags & 1 ? Number(view.getBigUint64(tfhd.start + 8)) : flags & 0x20000 ? moofAt : next;
  return { track, duration: take(8, trex.duration), size: take(16, trex.size), base, next: base };
};

/** Adds the samples of one run; uniform samples are added at once. */
const addRun = (view: DataView, run: Box, head: Head, to: Fragmented, fileBytes: number): void => {
  rowsIn(1, run.end - run.start, 8);
  const flags = view.getUint32(run.start) & 0xffffff;
  const [duration, size, word, offset] = [flags & 0x100, flags & 0x200, flags & 0x400, flags & 0x800].map((flag) =>
    flag ? 4 : 0,
  ) as [number, number, number, number];
  const row = duration + size + word + offset;
  const from = run.start + 8 + (flags & 1 ? 4 : 0) + (flags & 4 ? 4 : 0);
  rowsIn(1, run.end - run.start, from - run.start);
  const declared = view.getUint32(run.start + 4);
  const space = row > 0 ? Math.floor((run.end - from) / row) : Math.ceil(fileBytes / Math.max(1, head.size));
  if (declared > space) throw new Unreadable("its index is not one of a real clip");
  if (row === 0 || (duration === 0 && offset === 0)) {
    to.start = declared > 0 ? Math.min(to.start, to.next) : to.start;
    to.next += declared * head.duration;
    to.end = declared > 0 ? Math.max(to.end, to.next) : to.end;
    to.sound += declared * head.duration;
  } else
    for (let n = 0; n < declared; n++) {
      const at = from + n * row;
      const delta = duration ? view.getUint32(at) : head.duration;
      const shiftAt = at + duration + size + word;
      const shift = offset ? view.getInt32(shiftAt) : 0;
      to.start = Math.min(to.start, to.next + shift);
      // As in an index, the last of reordered pictures is shown for the shortest duration.
      to.shortest = delta > 0 ? Math.min(to.shortest, delta) : to.shortest;
      to.end = Math.max(to.end, to.next + shift + (offset ? Math.min(delta, to.shortest) : delta));
      to.next += delta;
      to.sound += delta;
    }
  to.samples += declared;
  const sizeOf = (n: number) => (size === 0 ? head.size : view.getUint32(from + n * row + duration));
  let at = flags & 1 ? head.base + view.getInt32(run.start + 8) : head.next;
  const firstAt = at;
  if (to.places && to.places.length + declared > MAX_PLACES) throw new Unreadable("its index is not one of a real clip");
  if (size === 0 && !to.places) at += declared * head.size;
  else
    for (let n = 0; n < declared; n++) {
      to.places?.push({ at, bytes: sizeOf(n) });
      at += sizeOf(n);
    }
  to.bytes += at - firstAt;
  head.next = at;
};

const beginningOf = (view: DataView, { start, end }: Box): number => {
  rowsIn(1, end - start, 8);
  if (view.getUint8(start) !== 1) return view.getUint32(start + 4);
  rowsIn(1, end - start, 12);
  return Number(view.getBigUint64(start + 4));
};

/** `ids`: all tracks; `fragmented`: only tracks that are played. */
export type FragmentedIndex = {
  defaults: ReadonlyMap<number, Defaults>;
  fragmented: ReadonlyMap<number, Fragmented>;
  ids: ReadonlySet<number>;
};

/** Adds the samples of one fragment to its tracks. @throws Unreadable */
export const addFragment = (
  bytes: Uint8Array,
  moof: Box,
  { defaults, fragmented, ids }: FragmentedIndex,
  fileBytes: number,
  moofAt: number,
): void => {
  const view = viewOf(bytes);
  let next = moofAt;
  for (const traf of boxesIn(bytes, moof.start, moof.end).filter(({ name }) => name === "traf")) {
    const tfhd = boxIn(bytes, traf, "tfhd");
    const head = tfhd && headOf(view, tfhd, defaults, moofAt, next);
    // Decoders differ in how they treat samples of a track that is missing from the index.
    if (!head || !ids.has(head.track)) throw new Unreadable("its index is not one of a real clip");
    const to = fragmented.get(head.track);
    if (!to) continue;
    const inside = boxesIn(bytes, traf.start, traf.end);
    const tfdt = inside.find(({ name }) => name === "tfdt");
    if (tfdt) to.next = beginningOf(view, tfdt);
    for (const run of inside) if (run.name === "trun") addRun(view, run, head, to, fileBytes);
    next = head.next;
    if (inside.some(({ name }) => name === "senc" || name === "saiz")) throw new Unreadable("it is encrypted");
  }
};
