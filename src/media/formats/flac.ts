// Measures FLAC by its frames and compares the count with the header.
import { Unreadable } from "../byte-source.ts";
import type { Cursor } from "./cursor.ts";
import { type FlacFrame, flacFrame, isWholeFrame, MAX_HEADER_BYTES } from "./flac-frame.ts";
import type { Inspection } from "./inspection.ts";

/** Minimum size of a frame: header, a constant for each channel, checksum. */
const MIN_FRAME_BYTES = 10;
/** Maximum number of metadata blocks before the sound, including pictures. */
const MAX_BLOCKS = 1024;

type Stream = { rate: number; total: number; framesAt: number };

/** Reads the metadata blocks of a stream whose marker is at `from`. */
const streamAt = async (cursor: Cursor, from: number): Promise<Stream> => {
  let at = from + 4;
  let found: Omit<Stream, "framesAt"> | undefined;
  for (let n = 0; n < MAX_BLOCKS && (await cursor.load(at, 4)); n++) {
    const word = cursor.view.getUint32(at - cursor.start);
    const [isLast, type, length] = [word >>> 31 === 1, (word >>> 24) & 127, word & 0xffffff];
    if (type === 0 && length >= 34 && (await cursor.load(at + 4, 18))) {
      const packed = cursor.view.getUint32(at + 14 - cursor.start);
      const low = cursor.view.getUint32(at + 18 - cursor.start);
      found = { rate: packed >>> 12, total: (packed & 15) * 2 ** 32 + low };
    }
    at += 4 + length;
    if (isLast) break;
  }
  if (!found || found.rate === 0) throw new Unreadable("its header is broken");
  return { ...found, framesAt: at };
};

const FEW_REFUSED = 2;
const FEW_REFUSED_SHARE = 0.01;

/**
 * Follows the frames of a stream. A frame with the expected number is accepted. Another frame is accepted only if its predecessor
 * ends with a valid checksum.
 */
const openFollower = (rateOfStream: number) => {
  let last: { at: number; frame: FlacFrame } | undefined;
  let [seconds, samples, frames, refused, firstNumber] = [0, 0, 0, 0, 0];
  const expected = () => (last ? last.frame.number + (last.frame.isVariable ? last.frame.samples : 1) : 0);
  return {
    offer: (cursor: Cursor, at: number, isAfterMark: boolean): boolean => {
      const frame = flacFrame(cursor.bytes, at - cursor.start);
      if (!frame) return false;
      const isNext = frame.number === expected() || (isAfterMark && frame.number === 0);
      const endsBefore = () =>
        last !== undefined && cursor.has(last.at, at - last.at) && isWholeFrame(cursor.part(last.at, at - last.at));
      if (last && !isNext && !endsBefore()) {
        if (frame.form === last.frame.form) refused++;
        return false;
      }
      if (frames === 0) firstNumber = frame.number;
      last = { at, frame };
      frames++;
      samples += frame.samples;
      seconds += frame.samples / (frame.rate || rateOfStream);
      return true;
    },
    last: () => last,
    samples: () => samples,
    firstNumber: () => firstNumber,
    seconds: () => seconds,
    /** Reports whether so many frames of the same form were skipped that a decoder may play more. */
    isUncounted: () => refused > FEW_REFUSED + frames * FEW_REFUSED_SHARE,
  };
};

/** Maximum frame kept in the window. 65,535 samples of eight channels would be larger, but writers use at most 4,608 samples. */
const MAX_FRAME_BYTES = 1024 * 1024;

/** Finds offsets in the window at which a frame or another stream may begin; each offset is visited once. */
const openPlaces = (cursor: Cursor) => {
  let [mark, window] = [-1, cursor.bytes];
  const markFrom = (at: number): number => {
    if (window === cursor.bytes && (mark >= at || mark === Number.POSITIVE_INFINITY)) return mark;
    window = cursor.bytes;
    const found = Buffer.from(window.buffer, window.byteOffset, window.length).indexOf("fLaC", at - cursor.start, "latin1");
    mark = found < 0 ? Number.POSITIVE_INFINITY : cursor.start + found;
    return mark;
  };
  /**
   * Returns the next candidate from `at`. The last bytes of the window are left for the next window, because a marker may span
   * both.
   */
  return (at: number): { at: number; isMark: boolean } => {
    const found = cursor.bytes.indexOf(0xff, at - cursor.start);
    const end = Math.max(at, cursor.start + cursor.bytes.length - 3);
    const next = Math.min(found < 0 ? end : cursor.start + found, end);
    const marked = markFrom(at);
    return marked <= next ? { at: marked, isMark: true } : { at: next, isMark: false };
  };
};

/** Keeps the current frame in the window, so that its checksum can be computed. */
const loadFrom = (cursor: Cursor, at: number, frameAt: number, length: number): Promise<boolean> => {
  const from = at - frameAt < MAX_FRAME_BYTES ? frameAt : at;
  return cursor.load(from, at - from + length);
};

/** @throws Unreadable */
export const readFlac = async (cursor: Cursor, from: number, end: number): Promise<Inspection> => {
  let stream = await streamAt(cursor, from);
  let { total } = stream;
  const follower = openFollower(stream.rate);
  const nextPlace = openPlaces(cursor);
  let isAfterMark = true;
  for (let at = stream.framesAt; at + MIN_FRAME_BYTES <= end; ) {
    // A frame of silence may be shorter than the maximum header.
    const length = Math.min(MAX_HEADER_BYTES, end - at);
    if (!cursor.has(at, length) && !(await loadFrom(cursor, at, follower.last()?.at ?? at, length))) break;
    const isFrame = follower.offer(cursor, at, isAfterMark);
    if (isFrame) isAfterMark = false;
    const next = nextPlace(at + (isFrame ? 6 : 1));
    at = next.at;
    if (!next.isMark) continue;
    stream = await streamAt(cursor, at);
    total = total > 0 && stream.total > 0 ? total + stream.total : 0;
    isAfterMark = true;
    at = stream.framesAt;
  }
  const last = follower.last();
  if (!last) throw new Unreadable("it holds no frames of sound");
  const lastBytes = Math.min(end - last.at, MAX_FRAME_BYTES);
  const isWholeEnd = (await cursor.load(last.at, lastBytes)) && isWholeFrame(cursor.part(last.at, lastBytes));
  // A file that does not begin with frame 0 is cut from a longer stream, and the header describes that stream.
  const isComplete = total > 0 && follower.firstNumber() === 0 ? follower.samples() >= total : isWholeEnd;
  const lastS = last.frame.samples / stream.rate;
  // Decoders do not play a truncated frame.
  const seconds = follower.seconds() - (isComplete || isWholeEnd ? 0 : lastS);
  return {
    mime: "audio/flac",
    kind: "audio",
    ms: Math.round(seconds * 1000),
    hasAudio: true,
    frameMs: lastS * 1000,
    isComplete,
    ...(follower.isUncounted() ? { isUncounted: true } : {}),
  };
};
