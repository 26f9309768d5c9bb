// Measures AAC without a container by its frames.
import { Unreadable } from "../bytes.ts";
import type { Cursor } from "./cursor.ts";
import type { Inspection } from "./inspection.ts";
import { adtsFrame } from "./mpeg-frame.ts";
import { afterId3 } from "./tags.ts";

/** @throws Unreadable */
export const readAdts = async (cursor: Cursor, from: number, end: number): Promise<Inspection> => {
  let at = from;
  let [seconds, frameMs, isCut] = [0, 0, false];
  let isInSync = true;
  while (at + 7 <= end) {
    if (!cursor.has(at, 7) && !(await cursor.load(at, 7))) break;
    const frame = adtsFrame(cursor.bytes, at - cursor.start);
    if (!frame) {
      const next = cursor.bytes[at - cursor.start] === 0x49 ? await afterId3(cursor, at) : at;
      isInSync = next > at;
      at = Math.max(next, at + 1);
      continue;
    }
    if (at + frame.bytes > end) isCut = isInSync;
    else seconds += frame.samples / frame.rate;
    frameMs ||= (frame.samples / frame.rate) * 1000;
    isInSync = true;
    at += frame.bytes;
  }
  if (seconds === 0) throw new Unreadable("it holds no frames of sound");
  return { mime: "audio/aac", kind: "audio", ms: Math.round(seconds * 1000), hasAudio: true, frameMs, isComplete: !isCut };
};
