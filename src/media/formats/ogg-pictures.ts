// Measures Theora video in Ogg, and detects other video codecs in Ogg.
import { latin1 } from "../byte-source.ts";
import type { Inspection } from "./inspection.ts";
import { viewOf } from "./mp4-boxes.ts";
import { clipOf, type SoundTrack } from "./tracks.ts";

/** The picture number at the end of a page, and the number of packets so far. */
export type PageEnd = { granule: bigint; packets: number };
/** The first packet of a stream, its number of packets, and the first and last page that ends a picture. */
type Stream = { head: Uint8Array; packets: number; firstEnd?: PageEnd; lastEnd?: PageEnd };

const THEORA = "\x80theora";
/** First bytes of a video stream: Theora, Daala, Dirac, VP8, and codecs defined for AVI. */
export const OGG_PICTURES: readonly string[] = [THEORA, "\x80daala", "BBCD\0", "OVP80\x01", "\x01video\0"];

const THEORA_BYTES = 42;
/** Header packets before the first picture. */
export const THEORA_HEADERS = 3;

const startsWith = ({ head }: Stream, code: string) => latin1(head.subarray(0, code.length)) === code;

const sizeOf = (head: Uint8Array): { width: number; height: number } => {
  const view = viewOf(head);
  const triple = (at: number) => view.getUint32(at - 1) & 0xffffff;
  const shape = triple(30) / triple(33);
  return { width: Math.round(triple(14) * (shape > 0 && shape < 100 ? shape : 1)), height: triple(17) };
};

/** The number of the picture at the end of a page: that of the last key picture, plus the pictures after it. */
const numberOf = (granule: bigint, head: Uint8Array): number => {
  const shift = BigInt((((head[40] ?? 0) & 3) << 3) | ((head[41] ?? 0) >> 5));
  return Number((granule >> shift) + (granule & ((1n << shift) - 1n)));
};

/**
 * Each packet after the headers is one picture; an empty packet repeats the previous one. Writers also omit pictures, which the
 * page numbers show.
 */
const picturesOf = ({ head, packets, firstEnd, lastEnd }: Stream): number => {
  const there = packets - THEORA_HEADERS;
  if (!firstEnd || !lastEnd) return there;
  const before = numberOf(firstEnd.granule, head) - (firstEnd.packets - THEORA_HEADERS);
  const behind = packets - lastEnd.packets;
  return Math.max(there, numberOf(lastEnd.granule, head) + behind - before);
};

const secondsOf = (stream: Stream): number => {
  const rate = viewOf(stream.head).getUint32(22) / viewOf(stream.head).getUint32(26);
  return rate > 0 && Number.isFinite(rate) ? Math.max(0, picturesOf(stream)) / rate : 0;
};

/**
 * @returns undefined if there are no pictures
 * @throws Unreadable
 */
export const oggClip = (streams: readonly Stream[], sound: SoundTrack, isCut: boolean): Inspection | undefined => {
  if (!streams.some((stream) => OGG_PICTURES.some((code) => startsWith(stream, code)))) return undefined;
  const shown = streams.filter((stream) => startsWith(stream, THEORA) && stream.head.length >= THEORA_BYTES);
  const [first] = shown;
  const clip = { mime: "video/ogg", isComplete: !isCut };
  if (!first) return { ...clip, kind: "video", hasAudio: sound.seconds > 0 };
  const seconds = shown.reduce((sum, stream) => sum + secondsOf(stream), 0);
  if (seconds === 0) return { ...clip, kind: "video", isComplete: false };
  const frameS = seconds / shown.reduce((sum, { packets }) => sum + Math.max(1, packets - THEORA_HEADERS), 0);
  return { ...clip, ...clipOf([{ seconds, frameS, ...sizeOf(first.head) }], [sound]) };
};
