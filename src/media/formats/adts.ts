// Measures raw AAC (ADTS) by its frames.
import { Unreadable } from "../byte-source.ts";
import { type AacCore, framesIn } from "./aac-blocks.ts";
import { mayBeTag, tagBytes } from "./audio-tags.ts";
import type { Cursor } from "./cursor.ts";
import type { Inspection } from "./inspection.ts";
import { adtsFrame } from "./mpeg-frame.ts";
import { createStrayBytes, isMuch } from "./stray-bytes.ts";

/** The first frame is searched within this distance, after garbage or a truncated frame. */
const MAX_GARBAGE_BYTES = 64 * 1024;
const MAX_FRAME_BYTES = 8191;

/** Returns the start of `chain` consecutive frames near the beginning of a file; undefined if there is none. */
export const findAdts = async (cursor: Cursor, chain: number): Promise<number | undefined> => {
  await cursor.load(0, Math.min(cursor.sizeBytes, MAX_GARBAGE_BYTES + chain * MAX_FRAME_BYTES));
  const frameAt = (at: number) => (cursor.has(at, 7) ? adtsFrame(cursor.bytes, at - cursor.start) : undefined);
  for (let at = 0; at <= MAX_GARBAGE_BYTES && cursor.has(at, 7); at++) {
    const first = frameAt(at);
    let next = at;
    for (let seen = 0; first && seen < chain; seen++) {
      const frame = frameAt(next);
      if (!frame || frame.rate !== first.rate) break;
      if (seen === chain - 1) return at;
      next += frame.bytes;
    }
  }
  return undefined;
};

const HEAD_BYTES = 7;
const CHECKSUM_BYTES = 2;

/** The AAC core configuration in a frame header; undefined for kinds that are not counted. */
const coreOf = (header: Uint8Array): AacCore | undefined => {
  const object = ((header[2] ?? 0) >> 6) + 1;
  return object === 1 || object === 2 ? { object, rateIndex: ((header[2] ?? 0) >> 2) & 15 } : undefined;
};

/**
 * Reports whether a frame contains exactly one block of sound, as its header declares. Decoders treat additional blocks
 * differently.
 */
const isPlain = (frame: Uint8Array): boolean => {
  const core = coreOf(frame);
  const payload = frame.subarray(HEAD_BYTES + ((frame[1] ?? 0) & 1 ? 0 : CHECKSUM_BYTES));
  return ((frame[6] ?? 0) & 3) === 0 && core !== undefined && framesIn(payload, core) === 1;
};

/**
 * @param isCounted whether all bytes of the frames are parsed as well
 * @param lead the bytes before the first frame
 * @throws Unreadable
 */
export const readAdts = async (
  cursor: Cursor,
  from: number,
  end: number,
  isCounted: boolean,
  lead: Uint8Array = new Uint8Array(0),
): Promise<Inspection> => {
  const strays = createStrayBytes();
  for (const byte of lead) strays.stray(byte);
  let [at, unclear] = [from, 0];
  let [seconds, frameMs, isCut] = [0, 0, false];
  let isInSync = true;
  while (at + 7 <= end) {
    if (!cursor.has(at, 7) && !(await cursor.load(at, 7))) break;
    const frame = adtsFrame(cursor.bytes, at - cursor.start);
    if (!frame) {
      const byte = cursor.bytes[at - cursor.start] ?? 0;
      const length = mayBeTag(byte) ? await tagBytes(cursor, at) : 0;
      if (length > 0) strays.tag(length);
      else strays.stray(byte);
      isInSync = length > 0;
      at += Math.max(length, 1);
      continue;
    }
    strays.frame(frame.bytes);
    if (isCounted && at + frame.bytes <= end && (await cursor.load(at, frame.bytes)) && !isPlain(cursor.part(at, frame.bytes)))
      unclear += frame.bytes;
    if (at + frame.bytes > end) isCut = isInSync;
    else seconds += frame.samples / frame.rate;
    frameMs ||= (frame.samples / frame.rate) * 1000;
    isInSync = true;
    at += frame.bytes;
  }
  if (seconds === 0) throw new Unreadable("it holds no frames of sound");
  const found: Inspection = {
    ...{ mime: "audio/aac", kind: "audio", ms: Math.round(seconds * 1000), hasAudio: true, frameMs },
    isComplete: !isCut,
  };
  return strays.isUncounted() || isMuch(unclear, end - from) ? { ...found, isUncounted: true } : found;
};
