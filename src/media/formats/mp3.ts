// Measures MPEG audio by counting its frames as a decoder plays them.
//
// A header is only compared with the count.
import { latin1, Unreadable } from "../byte-source.ts";
import { mayBeTag, tagBytes } from "./audio-tags.ts";
import type { Cursor } from "./cursor.ts";
import type { Inspection } from "./inspection.ts";
import { type Frame, isSameStream, mpegFrame } from "./mpeg-frame.ts";
import { createStrayBytes } from "./stray-bytes.ts";

/** The first frame is searched within this distance, after garbage. */
const MAX_GARBAGE_BYTES = 64 * 1024;
const MAX_FRAME_BYTES = 4096;
/** Delay of every decoder, samples. Decoders skip the encoder's delay and this delay at the start. */
const DECODER_DELAY = 529;

/** Values of a first frame that describes the stream instead of containing sound. */
type Header = { frames: number; bytes: number; padding?: { start: number; end: number } };

const wordAt = (cursor: Cursor, at: number) => cursor.view.getUint32(at - cursor.start);
const textAt = (cursor: Cursor, at: number, length: number) => latin1(cursor.part(at, length));

/** The first frame from `from` that is followed by frames of the same stream or by the end of the file. */
const findFirst = async (cursor: Cursor, from: number, chain: number): Promise<number> => {
  await cursor.load(from, Math.max(0, Math.min(cursor.sizeBytes - from, MAX_GARBAGE_BYTES + chain * MAX_FRAME_BYTES)));
  for (let at = from; at <= from + MAX_GARBAGE_BYTES && cursor.has(at, 4); at++) {
    const word = wordAt(cursor, at);
    let frame = mpegFrame(word);
    let next = at;
    for (let seen = 0; frame && seen < chain; seen++) {
      next += frame.bytes;
      // A file may end before the chain does. A single frame header can occur by chance.
      if (next + 4 > cursor.sizeBytes && (seen > 1 || chain === 1)) return at;
      frame = cursor.has(next, 4) && isSameStream(wordAt(cursor, next), word) ? mpegFrame(wordAt(cursor, next)) : undefined;
    }
    if (frame) return at;
  }
  throw new Unreadable("it holds no frames of sound");
};

const vbriHeader = (cursor: Cursor, at: number): Header | undefined =>
  textAt(cursor, at, 4) === "VBRI" ? { bytes: wordAt(cursor, at + 10), frames: wordAt(cursor, at + 14) } : undefined;

const headerIn = async (cursor: Cursor, at: number, frame: Frame): Promise<Header | undefined> => {
  if (frame.layer !== 3 || frame.bytes < 60 || !(await cursor.load(at, frame.bytes))) return undefined;
  const vbri = vbriHeader(cursor, at + 36);
  const xing = at + 4 + (frame.isLow ? (frame.isMono ? 9 : 17) : frame.isMono ? 17 : 32);
  if (vbri) return vbri;
  if (!/^(Xing|Info)$/.test(textAt(cursor, xing, 4)) || xing + 16 > at + frame.bytes) return undefined;
  const flags = wordAt(cursor, xing + 4);
  let next = xing + 8;
  const number = (flag: number): number => {
    if (!(flags & flag)) return 0;
    next += 4;
    return wordAt(cursor, next - 4);
  };
  const [frames, bytes] = [number(1), number(2)];
  if (frames === 0 && bytes === 0) return undefined;
  next += (flags & 4 ? 100 : 0) + (flags & 8 ? 4 : 0);
  if (next + 24 > at + frame.bytes || !/^(LAME|Lavf|Lavc)$/.test(textAt(cursor, next, 4))) return { frames, bytes };
  const packed = (cursor.bytes[next + 21 - cursor.start] ?? 0) * 65_536 + cursor.view.getUint16(next + 22 - cursor.start);
  return { frames, bytes, padding: { start: packed >> 12, end: packed & 4095 } };
};

/**
 * Sums frames in order of time, and subtracts the samples that a decoder skips at both ends of the stream described by the
 * header.
 */
const tally = (header: Header | undefined, first: Frame) => {
  const skip = header?.padding ? header.padding.start + DECODER_DELAY : 0;
  const endOfAll = header?.padding && header.frames > 0 ? header.frames * first.samples : 0;
  const endOfSound = header?.padding ? endOfAll - Math.max(0, header.padding.end - DECODER_DELAY) : 0;
  let [at, seconds, frames] = [0, 0, 0];
  const overlap = (from: number, to: number, samples: number) => Math.max(0, Math.min(to, at + samples) - Math.max(from, at));
  return {
    add: ({ samples, rate }: Frame, isPlayed: boolean) => {
      const cut = overlap(0, skip, samples) + (endOfAll > 0 ? overlap(endOfSound, endOfAll, samples) : 0);
      if (isPlayed) seconds += Math.max(0, samples - cut) / rate;
      at += samples;
      frames++;
    },
    seconds: () => seconds,
    frames: () => frames,
  };
};

/** Counts the frames from `from` to `end` as a decoder splits and plays them. */
const countFrames = async (
  cursor: Cursor,
  from: number,
  end: number,
  { count, strays }: { count: ReturnType<typeof tally>; strays: ReturnType<typeof createStrayBytes> },
) => {
  /** Decoders search the contents of a tag for frames too, but do not treat them as garbage. */
  let tagEnd = from;
  let at = from;
  let [isGarbage, isCut, lastEnd] = [false, false, from];
  while (at + 4 <= end) {
    if (!cursor.has(at, 4) && !(await cursor.load(at, 4))) break;
    const frame = mpegFrame(wordAt(cursor, at));
    if (!frame) {
      const byte = cursor.bytes[at - cursor.start] ?? 0;
      // A decoder skips zeros; other garbage corrupts the next frame.
      isGarbage ||= byte !== 0;
      const length = at >= tagEnd && mayBeTag(byte) ? await tagBytes(cursor, at) : 0;
      if (length > 0) strays.tag(length);
      tagEnd = Math.max(tagEnd, at + length);
      if (at >= tagEnd) strays.stray(byte);
      at++;
      continue;
    }
    isCut = at + frame.bytes > end && !isGarbage;
    // Decoders play the available part of a truncated frame.
    count.add(frame, !isGarbage);
    strays.frame(frame.bytes);
    lastEnd = Math.min(end, at + frame.bytes);
    isGarbage = false;
    at += frame.bytes;
  }
  return { isCut, lastEnd };
};

/**
 * Measures MPEG audio that begins at `from` or shortly after.
 * @param chain number of consecutive frames of one stream that identify it as sound
 * @throws Unreadable
 */
export const readMpeg = async (cursor: Cursor, from: number, end: number, chain = 1): Promise<Inspection> => {
  const start = await findFirst(cursor, from, chain);
  await cursor.load(start, 4);
  const first = mpegFrame(wordAt(cursor, start));
  if (!first) throw new Unreadable("it holds no frames of sound");
  const strays = createStrayBytes();
  for (const byte of cursor.part(from, start - from)) strays.stray(byte);
  const header = await headerIn(cursor, start, first);
  // A file that is much longer than its header declares is a concatenation, and the padding of its first part is played.
  const isJoined = header !== undefined && header.bytes > 0 && (end - start - header.bytes) * 16 > header.bytes;
  const count = tally(isJoined && header ? { ...header, frames: 0 } : header, first);
  if (header) strays.frame(first.bytes);
  const { isCut, lastEnd } = await countFrames(cursor, header ? start + first.bytes : start, end, { count, strays });
  const isUncounted = strays.isUncounted();
  // Writers either count the frame of the header or do not.
  const isShort =
    header !== undefined && (count.frames() + 1 < header.frames || lastEnd - start + 2 * first.bytes < header.bytes);
  const frameMs = (first.samples / first.rate) * 1000;
  return {
    mime: "audio/mpeg",
    kind: "audio",
    ms: Math.round(count.seconds() * 1000),
    hasAudio: true,
    frameMs,
    isComplete: !isCut && !isShort,
    ...(isUncounted ? { isUncounted } : {}),
  };
};
