// Parses one track of an MP4 index: kind, displayed part and completeness.
import { Unreadable } from "../byte-source.ts";
import { type Box, boxesIn, boxIn, rowsIn, viewOf } from "./mp4-boxes.ts";
import { codeOf, entryOf, type TrackCode } from "./mp4-sample-descriptions.ts";
import { eachSample, type SampleRange, singleSamples, sizesOf } from "./mp4-samples.ts";
import { type Edit, editsOf, type Run, runsOf, type Shown, shownOf } from "./mp4-times.ts";
import { kindOf, type TrackKind } from "./mp4-track-kinds.ts";

export type Track = {
  id: number;
  kind: TrackKind;
  scale: number;
  code: TrackCode;
  /** Whether the track is displayed rotated by 90 degrees. */
  isTurned: boolean;
  runs: Run[];
  edits: Edit[];
  shown: Shown;
  /** Samples that the index declares and the file contains. */
  samples: number;
  isCut: boolean;
  /** Total bytes of all samples; `places` visits the position of each. */
  bytes: number;
  /** Whether the table counts single PCM samples, regardless of the declared size. */
  isSingle: boolean;
  places: (visit: (place: SampleRange, n: number) => boolean) => void;
};

/** @throws Unreadable if the header is shorter than the part that decoders read */
const idAndTurn = (movie: Uint8Array, tkhd: Box | undefined) => {
  const view = viewOf(movie);
  if (!tkhd) return { id: 0, isTurned: false };
  const isLong = tkhd.end > tkhd.start && view.getUint8(tkhd.start) === 1;
  rowsIn(1, tkhd.end - tkhd.start, isLong ? 96 : 84);
  const matrix = tkhd.start + (isLong ? 52 : 40);
  const isTurned = view.getInt32(matrix) === 0 && view.getInt32(matrix + 16) === 0;
  return { id: view.getUint32(tkhd.start + (isLong ? 20 : 12)), isTurned };
};

/** Bytes up to the end of the duration, in a track header or a movie header. */
const bytesOfClock = (movie: Uint8Array, { start }: Box): number => (movie[start] === 1 ? 32 : 20);

/** The track id that fragments refer to. @throws Unreadable as `readTrack` */
export const trackId = (movie: Uint8Array, trak: Box): number => idAndTurn(movie, boxIn(movie, trak, "tkhd")).id;

/** Some decoders read a timescale as a signed number. */
export const MAX_SCALE = 0x7fff_ffff;

/**
 * Parses a track. Undefined for an empty track and for one that decoders do not play; `unread` for samples of an unknown codec.
 * @throws Unreadable
 */
export const readTrack = (
  movie: Uint8Array,
  trak: Box,
  movieScale: number,
  fileBytes: number,
  isFragmented: boolean,
  isWhole = false,
): Track | "unread" | undefined => {
  const view = viewOf(movie);
  const mdia = boxIn(movie, trak, "mdia");
  const hdlr = boxIn(movie, mdia, "hdlr");
  const mdhd = boxIn(movie, mdia, "mdhd");
  const handler = hdlr ? String.fromCharCode(...movie.subarray(hdlr.start + 8, hdlr.start + 12)) : "";
  if (mdhd) rowsIn(1, mdhd.end - mdhd.start, bytesOfClock(movie, mdhd));
  const scale = mdhd ? view.getUint32(mdhd.start + (view.getUint8(mdhd.start) === 1 ? 20 : 12)) : 0;
  if (scale > MAX_SCALE) throw new Unreadable("its index is not one of a real clip");
  const table = boxIn(movie, boxIn(movie, mdia, "minf"), "stbl");
  const inside = table ? boxesIn(movie, table.start, table.end) : [];
  const named = (...names: string[]) => inside.find(({ name }) => names.includes(name));
  const description = named("stsd");
  const entry = entryOf(movie, description);
  const kind = entry && kindOf(handler, entry);
  const code = entry && kind && codeOf(movie, entry, kind, description);
  const chunks = { stsc: named("stsc"), stco: named("stco", "co64") };
  const declared = sizesOf(movie, named("stsz", "stz2"));
  const isPlayed = entry === undefined || kind !== undefined;
  // The index of a fragmented clip does not show which tracks are empty.
  if (!code || scale === 0) return isPlayed && (declared.count > 0 || isFragmented) ? "unread" : undefined;
  const { leastBytes } = code;
  const sizes =
    leastBytes && declared.count > 0 ? singleSamples(movie, { stts: named("stts"), ...chunks }, declared, leastBytes) : declared;
  // The number of uniform samples is limited by the size of the file.
  const same = sizes.count > 0 ? sizes.sizeOf(0) : 0;
  if (sizes.count * 4 > movie.length) sizes.count = Math.min(sizes.count, Math.ceil(fileBytes / same));
  const tables = { ...chunks, sizes };
  const places: Track["places"] = (visit) => eachSample(movie, tables, visit);
  let [bytes, there, furthest] = [0, sizes.count, 0];
  if (sizes.count * 4 > movie.length) bytes = sizes.count * same;
  else
    places((place, n) => {
      bytes += place.bytes;
      furthest = Math.max(furthest, Math.floor(place.at + place.bytes));
      // A sample that begins past the end is missing; a sample that ends past it is played in part.
      if (!isWhole && place.at >= fileBytes && there === sizes.count) there = n;
      return true;
    });
  const runs = runsOf(movie, named("stts"), named("ctts"), there);
  const edits = editsOf(movie, boxIn(movie, boxIn(movie, trak, "edts"), "elst"), movieScale, scale);
  return {
    ...idAndTurn(movie, boxIn(movie, trak, "tkhd")),
    kind,
    scale,
    code,
    runs,
    edits,
    shown: shownOf(runs, edits, scale),
    samples: there,
    isCut: furthest > fileBytes,
    bytes,
    isSingle: sizes.isSingle === true,
    places,
  };
};
