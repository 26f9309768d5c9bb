// Measures MP4 and MOV by their index and fragments: what is shown of each track, wherever the index lies.
import { Unreadable } from "../bytes.ts";
import { type Box, boxesIn, boxIn, nameAt, type TopBox, viewOf, walkBoxes } from "./boxes.ts";
import { type Cursor, MOST_WINDOW_BYTES } from "./cursor.ts";
import type { Inspection } from "./inspection.ts";
import { insistOnNone, insistOnOneFragment, insistOnOneIndex, mayHideIndex } from "./mp4-doubles.ts";
import { addFragment, type Defaults, defaultsOf, type Fragmented, noFragments } from "./mp4-fragments.ts";
import type { Place } from "./mp4-samples.ts";
import { readTrack, type Track } from "./mp4-track.ts";
import { PACKET_BYTES } from "./packet-time.ts";
import { clipOf, type Heard, type Seen } from "./tracks.ts";

/** Tracks of a clip: pictures, sounds in several languages, text. */
const MOST_TRACKS = 64;
/** Sound whose packets have to be looked at is this large at most. */
const MOST_SOUND_BYTES = 32 * 1024 * 1024;
/** A table that is this far from what the code says is not believed. */
const DIFFERENCE = 0.02;

type Index = { tracks: Track[]; fragmented: Map<number, Fragmented>; defaults: Map<number, Defaults> | undefined };

const readIndex = (movie: Uint8Array, fileBytes: number, isWhole = false): Index => {
  const root: Box = { name: "moov", start: 0, end: movie.length };
  const mvhd = boxIn(movie, root, "mvhd");
  const view = viewOf(movie);
  const movieScale = mvhd ? view.getUint32(mvhd.start + (view.getUint8(mvhd.start) === 1 ? 20 : 12)) : 0;
  // Decoders do not agree on what lasts a part of no second.
  if (mvhd && movieScale === 0) throw new Unreadable("its index is not one of a real clip");
  const traks = boxesIn(movie, 0, movie.length).filter(({ name }) => name === "trak");
  if (traks.length > MOST_TRACKS) throw new Unreadable(`it has more than ${MOST_TRACKS} tracks`);
  insistOnOneIndex(movie, traks);
  const tracks = traks.flatMap((trak) => readTrack(movie, trak, movieScale || 1000, fileBytes, isWhole) ?? []);
  const mvex = boxIn(movie, root, "mvex");
  return {
    tracks,
    fragmented: new Map(tracks.map(({ id, code }) => [id, noFragments(code.packetTime !== undefined)])),
    defaults: mvex && defaultsOf(movie, mvex),
  };
};

/** Sound by the first bytes of each of its packets, where an index alone could say anything. */
const heardByPackets = async (cursor: Cursor, track: Track, inFragments: Fragmented): Promise<number | undefined> => {
  const { packetTime } = track.code;
  if (!packetTime || track.bytes + inFragments.bytes > MOST_SOUND_BYTES) return undefined;
  const places: Place[] = [];
  track.places((place) => places.push(place) > 0 && place.at < cursor.sizeBytes);
  let samples = 0;
  for (const { at, bytes } of [...places, ...(inFragments.places ?? [])]) {
    const length = Math.min(bytes, packetTime.isWhole ? bytes : PACKET_BYTES, cursor.sizeBytes - at);
    if (length > 0 && (cursor.has(at, length) || (await cursor.load(at, length))))
      samples += packetTime.time(cursor.part(at, length)) ?? 0;
  }
  // What is not found beside its fragments lies elsewhere; the index has no such places.
  return samples === 0 && inFragments.samples > 0 ? undefined : samples / packetTime.rate;
};

const heard = async (cursor: Cursor, track: Track, inFragments: Fragmented): Promise<Heard> => {
  const samples = track.shown.samples + inFragments.samples;
  const byTableS = track.shown.soundS + inFragments.sound / track.scale;
  const frameS = track.code.sampleS ?? (samples > 0 ? byTableS / samples : 0);
  if (track.code.sampleS !== undefined) {
    const byCodeS = samples * track.code.sampleS;
    // The edges of an edit cut a frame or two; a table that says other times than the code is not how a decoder plays.
    const isFar = Math.abs(byCodeS - byTableS) > byCodeS * DIFFERENCE + 4 * track.code.sampleS;
    return { seconds: isFar ? byCodeS : byTableS, frameS };
  }
  const inIndex = track.runs.reduce((sum, { samples: count, delta }) => sum + count * delta, 0);
  const allS = (inIndex + inFragments.sound) / track.scale;
  const byPacketsS = await heardByPackets(cursor, track, inFragments);
  const isFar = byPacketsS !== undefined && Math.abs(byPacketsS - allS) > byPacketsS * DIFFERENCE + 4 * frameS;
  return { seconds: isFar ? byPacketsS : byTableS, frameS };
};

const seen = (track: Track, inFragments: Fragmented): Seen => {
  const start = Math.min(track.shown.start, inFragments.start / track.scale);
  const end = Math.max(track.shown.end, inFragments.end / track.scale);
  const samples = track.shown.samples + inFragments.samples;
  const { width = 0, height = 0 } = track.code;
  const size = track.isTurned ? { width: height, height: width } : { width, height };
  return { seconds: samples > 0 ? end - start : 0, frameS: samples > 0 ? (end - start) / samples : 0, ...size };
};

const mimeOf = (brand: string, hasPicture: boolean): string => {
  if (brand === "qt  " || brand === "") return hasPicture ? "video/quicktime" : "audio/mp4";
  return hasPicture ? "video/mp4" : "audio/mp4";
};

/** @throws Unreadable */
export const readMp4 = async (cursor: Cursor): Promise<Inspection> => {
  const size = cursor.sizeBytes;
  let index: Index | undefined;
  let movie: Uint8Array | undefined;
  let brand = "";
  let mediaBytes = 0;
  const end = await walkBoxes(cursor, async ({ name, at, start, end: stop }: TopBox) => {
    const length = stop - start;
    if (name === "mdat") mediaBytes += length;
    if (name === "ftyp" && (await cursor.load(start, 4))) brand = nameAt(cursor.bytes, start - cursor.start);
    if (name !== "moov" && name !== "moof" && !mayHideIndex(name)) return true;
    if (length > MOST_WINDOW_BYTES) throw new Unreadable(`its index is larger than ${MOST_WINDOW_BYTES / 1024 / 1024} MiB`);
    if (!(await cursor.load(start, length))) return true;
    const bytes = cursor.part(start, length);
    if (mayHideIndex(name)) insistOnNone(bytes);
    if (name === "moof") insistOnOneFragment(bytes);
    if (name === "moov") {
      movie ??= bytes.slice();
      index ??= readIndex(movie, size);
    } else if (name === "moof" && index?.defaults)
      addFragment(bytes, { name, start: 0, end: length }, index.defaults, index.fragmented, size, at);
    return true;
  });
  if (!index) throw new Unreadable("it has no index of its contents");
  // Of a file that was not cut nothing is missing: a decoder finds what one false place hides.
  if (movie && end <= size && index.tracks.some(({ isCut }) => isCut)) index.tracks = readIndex(movie, size, true).tracks;
  const { tracks, fragmented } = index;
  const inFragments = (track: Track) => fragmented.get(track.id) ?? noFragments();
  const pictures = tracks.filter(({ kind }) => kind === "vide").map((track) => seen(track, inFragments(track)));
  const sounds: Heard[] = [];
  for (const track of tracks) if (track.kind === "soun") sounds.push(await heard(cursor, track, inFragments(track)));
  // Fragments lie beside their bytes; what an index names may lie anywhere.
  const fragmentBytes = tracks.reduce((sum, track) => sum + inFragments(track).bytes, 0);
  const isEmpty = tracks.some(
    (track) => track.samples + inFragments(track).samples > 0 && track.bytes + inFragments(track).bytes === 0,
  );
  const isComplete = end <= size && !isEmpty && fragmentBytes <= mediaBytes && !tracks.some(({ isCut }) => isCut);
  const shown = pictures.some(({ seconds }) => seconds > 0);
  return { ...clipOf(pictures, sounds), mime: mimeOf(brand, shown), isComplete };
};
