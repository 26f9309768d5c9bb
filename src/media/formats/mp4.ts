// Measures MP4 and MOV by their index and fragments.
//
// The duration is that of the displayed part of each track. The index may be anywhere in the file.
import { Unreadable } from "../byte-source.ts";
import { type Cursor, MAX_WINDOW_BYTES } from "./cursor.ts";
import type { Inspection } from "./inspection.ts";
import { type Box, boxesIn, boxIn, nameAt, type TopBox, viewOf, walkBoxes } from "./mp4-boxes.ts";
import {
  isUnusedIndex,
  mayHideIndex,
  requireNone,
  requireOneFragment,
  requireOneIndex,
  requirePosition,
} from "./mp4-duplicate-check.ts";
import { addFragment, type Defaults, defaultsOf, type Fragmented, noFragments } from "./mp4-fragments.ts";
import type { SampleRange } from "./mp4-samples.ts";
import { lengthOf } from "./mp4-times.ts";
import { MAX_SCALE, readTrack, type Track, trackId } from "./mp4-track.ts";
import { PACKET_BYTES, type PacketSound } from "./packet-duration.ts";
import { isMuch } from "./stray-bytes.ts";
import { clipOf, type Seen, type SoundTrack } from "./tracks.ts";

/** Maximum number of tracks of a clip: pictures, sound in several languages, text. */
const MAX_TRACKS = 64;
/** Maximum size of sound whose packets are parsed. */
const MAX_SOUND_BYTES = 32 * 1024 * 1024;
/** Tracks of unknown kind may end this much after pictures and sound. A longer track may be one that some decoders play. */
const MAX_OVERHANG_MS = 100;
/**
 * Maximum difference between the time table and the codec: a share of the duration, plus frames for the unknown length of the
 * last one.
 */
const DIFFERENCE = 0.001;
const DIFFERENCE_FRAMES = 1.5;

/** `hasUnread`: some tracks could not be parsed. */
type Index = {
  tracks: Track[];
  hasUnread: boolean;
  ids: ReadonlySet<number>;
  fragmented: Map<number, Fragmented>;
  defaults: Map<number, Defaults> | undefined;
};

const readIndex = (movie: Uint8Array, fileBytes: number, isCounted: boolean, isWhole = false): Index => {
  const root: Box = { name: "moov", start: 0, end: movie.length };
  const mvhd = boxIn(movie, root, "mvhd");
  const view = viewOf(movie);
  const movieScale = mvhd ? view.getUint32(mvhd.start + (view.getUint8(mvhd.start) === 1 ? 20 : 12)) : 0;
  // Decoders differ in how they treat a timescale of 0.
  if (mvhd && (movieScale === 0 || movieScale > MAX_SCALE)) throw new Unreadable("its index is not one of a real clip");
  const traks = boxesIn(movie, 0, movie.length).filter(({ name }) => name === "trak");
  if (traks.length > MAX_TRACKS) throw new Unreadable(`it has more than ${MAX_TRACKS} tracks`);
  requireOneIndex(movie, traks);
  const mvex = boxIn(movie, root, "mvex");
  const all = traks.map((trak) => readTrack(movie, trak, movieScale || 1000, fileBytes, mvex !== undefined, isWhole));
  const tracks = all.filter((track) => typeof track === "object");
  return {
    tracks,
    hasUnread: all.includes("unread"),
    ids: new Set(traks.map((trak) => trackId(movie, trak))),
    fragmented: new Map(
      tracks.map(({ id, code, runs }) => [
        id,
        noFragments(lengthOf(runs), code.packetTime !== undefined || (isCounted && code.aac !== undefined)),
      ]),
    ),
    defaults: mvex && defaultsOf(movie, mvex),
  };
};

/** Measures sound by its packets, for codecs whose index could declare any duration. */
const soundByPackets = async (
  cursor: Cursor,
  track: Track,
  inFragments: Fragmented,
  packetTime: PacketSound | undefined,
): Promise<number | undefined> => {
  if (!packetTime || track.bytes + inFragments.bytes > MAX_SOUND_BYTES) return undefined;
  const places: SampleRange[] = [];
  track.places((place) => places.push(place) > 0 && place.at < cursor.sizeBytes);
  let [samples, all, unheard] = [0, 0, 0];
  for (const { at, bytes } of [...places, ...(inFragments.places ?? [])]) {
    const length = Math.min(bytes, packetTime.isWhole ? bytes : PACKET_BYTES, cursor.sizeBytes - at);
    if (!(length > 0 && (cursor.has(at, length) || (await cursor.load(at, length))))) continue;
    const time = packetTime.time(cursor.part(at, length));
    samples += time ?? 0;
    all += bytes;
    if (time === undefined) unheard += bytes;
  }
  if (isMuch(unheard, all)) return undefined;
  // Samples that are not beside their fragments are elsewhere, and the index does not contain their positions.
  return samples === 0 && inFragments.samples > 0 ? undefined : samples / packetTime.rate;
};

type Counted = SoundTrack & { isUncounted: boolean };
/** Measures PCM samples by their bytes, regardless of how the table groups them. */
const plainSeconds = (track: Track, inFragments: Fragmented, sampleBytes: number): number => {
  const inIndex = track.isSingle ? track.samples : track.bytes / sampleBytes;
  return (inIndex + inFragments.bytes / sampleBytes) * (track.code.sampleS ?? 0);
};

const heard = async (cursor: Cursor, track: Track, inFragments: Fragmented, isCounted: boolean): Promise<Counted> => {
  const found = await soundOf(cursor, track, inFragments, isCounted);
  return track.code.isUnclear ? { ...found, isUncounted: true } : found;
};

const soundOf = async (cursor: Cursor, track: Track, inFragments: Fragmented, isCounted: boolean): Promise<Counted> => {
  const shown = track.shown.samples + inFragments.samples;
  const byTableS = track.shown.soundS + inFragments.sound / track.scale;
  const { aac, sampleS, packetTime, leastBytes } = track.code;
  const tableS = lengthOf(track.runs) / track.scale + inFragments.sound / track.scale;
  const frameS = sampleS ?? (shown > 0 ? byTableS / shown : 0);
  /** A table that contradicts the codec is ignored, because decoders do not play by it. */
  const believed = (codeS: number, shownS = codeS): number =>
    Math.abs(codeS - tableS) > codeS * DIFFERENCE + DIFFERENCE_FRAMES * frameS ? shownS : byTableS;
  if (sampleS === undefined) {
    const byPacketsS = await soundByPackets(cursor, track, inFragments, packetTime);
    return {
      seconds: byPacketsS === undefined ? byTableS : believed(byPacketsS),
      frameS,
      isUncounted: shown > 0 && byPacketsS === undefined,
    };
  }
  if (leastBytes !== undefined)
    return { seconds: believed(plainSeconds(track, inFragments, leastBytes)), frameS, isUncounted: false };
  const oneEachS = (track.samples + inFragments.samples) * sampleS;
  const isLarge = aac !== undefined && (aac === "unread" || track.bytes + inFragments.bytes > MAX_SOUND_BYTES);
  if (!isCounted || aac === undefined || isLarge)
    return { seconds: believed(oneEachS, shown * sampleS), frameS, isUncounted: isLarge };
  const framesS = await soundByPackets(cursor, track, inFragments, aac);
  // A decoder plays every frame of a sample with several frames.
  const isSeveral = framesS !== undefined && framesS > oneEachS * (1 + DIFFERENCE) + DIFFERENCE_FRAMES * sampleS;
  const seconds = isSeveral ? framesS : believed(oneEachS, shown * sampleS);
  return { seconds, frameS, isUncounted: shown > 0 && framesS === undefined };
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

/**
 * @param isCounted whether all bytes of the sound are parsed as well
 * @throws Unreadable
 */
export const readMp4 = async (cursor: Cursor, isCounted: boolean): Promise<Inspection> => {
  const size = cursor.sizeBytes;
  let index: Index | undefined;
  let movie: Uint8Array | undefined;
  let brand = "";
  let mediaBytes = 0;
  const end = await walkBoxes(cursor, async ({ name, at, start, end: stop }: TopBox) => {
    const length = stop - start;
    if (name === "mdat") mediaBytes += length;
    requirePosition(name);
    if (length >= 8 && (await cursor.load(start, 8)) && isUnusedIndex(name, cursor.part(start, 8)))
      throw new Unreadable("its index is not one of a real clip");
    if (name === "ftyp" && (await cursor.load(start, 4))) brand = nameAt(cursor.bytes, start - cursor.start);
    if (name !== "moov" && name !== "moof" && !mayHideIndex(name)) return true;
    if (length > MAX_WINDOW_BYTES) throw new Unreadable(`its index is larger than ${MAX_WINDOW_BYTES / 1024 / 1024} MiB`);
    if (!(await cursor.load(start, length))) return true;
    const bytes = cursor.part(start, length);
    if (mayHideIndex(name)) requireNone(bytes);
    if (name === "moov") {
      movie ??= bytes.slice();
      index ??= readIndex(movie, size, isCounted);
    } else if (name === "moof") {
      requireOneFragment(bytes);
      if (!index?.defaults) throw new Unreadable("its index is not one of a real clip");
      const { defaults, fragmented, ids } = index;
      addFragment(bytes, { name, start: 0, end: length }, { defaults, fragmented, ids }, size, at);
    }
    return true;
  });
  if (!index) throw new Unreadable("it has no index of its contents");
  // If the file is not truncated, no sample is missing; a decoder finds samples despite one wrong position.
  if (movie && end <= size && index.tracks.some(({ isCut }) => isCut))
    index.tracks = readIndex(movie, size, isCounted, true).tracks;
  const { tracks, fragmented } = index;
  const inFragments = (track: Track) => fragmented.get(track.id) ?? noFragments();
  const pictures = tracks.filter(({ kind }) => kind === "vide").map((track) => seen(track, inFragments(track)));
  const sounds: Counted[] = [];
  for (const track of tracks) if (track.kind === "soun") sounds.push(await heard(cursor, track, inFragments(track), isCounted));
  // Other tracks do not affect whether a clip is complete.
  const played = tracks.filter(({ kind }) => kind !== "othr");
  // Fragments are beside their bytes; samples of an index may be anywhere.
  const fragmentBytes = played.reduce((sum, track) => sum + inFragments(track).bytes, 0);
  const isEmpty = played.some(
    (track) => track.samples + inFragments(track).samples > 0 && track.bytes + inFragments(track).bytes === 0,
  );
  const isComplete = end <= size && !isEmpty && fragmentBytes <= mediaBytes && !played.some(({ isCut }) => isCut);
  const shown = pictures.some(({ seconds }) => seconds > 0);
  const clip = clipOf(pictures, sounds);
  const others = tracks.filter(({ kind }) => kind === "othr").map((track) => seen(track, inFragments(track)));
  const isLonger = others.some(({ seconds }) => seconds * 1000 > (clip.ms ?? 0) + MAX_OVERHANG_MS);
  const found: Inspection = { ...clip, mime: mimeOf(brand, shown), isComplete };
  const isUncounted = index.hasUnread || isLonger || sounds.some((sound) => sound.isUncounted);
  return isUncounted ? { ...found, isUncounted } : found;
};
