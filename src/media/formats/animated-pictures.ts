// Measures the duration of one pass of an animated GIF, WebP or PNG.

import type { Cursor } from "./cursor.ts";
import { nameAt } from "./mp4-boxes.ts";

/** Maximum number of chunks and blocks; each takes at least a few bytes. */
const MAX_STEPS = 4_000_000;
/** Browsers and ffmpeg show GIF frames shorter than 20 ms for 100 ms. */
const MIN_HUNDREDTHS = 2;
const USUAL_HUNDREDTHS = 10;

const byte = (cursor: Cursor, at: number) => cursor.bytes[at - cursor.start] ?? 0;

type Motion = { frames: number; ms: number };

const gifMotion = async (cursor: Cursor): Promise<Motion> => {
  await cursor.load(0, 13);
  const colours = (flags: number) => (flags & 0x80 ? 3 * 2 ** ((flags & 7) + 1) : 0);
  const motion = { frames: 0, ms: 0 };
  let at = 13 + colours(byte(cursor, 10));
  let hundredths = 0;
  let isInBlocks = false;
  for (let n = 0; n < MAX_STEPS && (await cursor.load(at, 1)); n++) {
    const mark = byte(cursor, at);
    if (isInBlocks) {
      at += 1 + mark;
      isInBlocks = mark !== 0;
    } else if (mark === 0x21) {
      if ((await cursor.load(at, 8)) && byte(cursor, at + 1) === 0xf9)
        hundredths = cursor.view.getUint16(at + 4 - cursor.start, true);
      at += 2;
      isInBlocks = true;
    } else if (mark === 0x2c && (await cursor.load(at, 10))) {
      motion.frames++;
      motion.ms += (hundredths < MIN_HUNDREDTHS ? USUAL_HUNDREDTHS : hundredths) * 10;
      hundredths = 0;
      at += 11 + colours(byte(cursor, at + 9));
      isInBlocks = true;
    } else break;
  }
  return motion;
};

const webpMotion = async (cursor: Cursor): Promise<Motion> => {
  const motion = { frames: 0, ms: 0 };
  // The extended header declares the animation.
  if (!(await cursor.load(0, 21)) || nameAt(cursor.bytes, 12 - cursor.start) !== "VP8X" || !(byte(cursor, 20) & 2)) return motion;
  for (let at = 12, n = 0; n < MAX_STEPS && (await cursor.load(at, 8)); n++) {
    const length = cursor.view.getUint32(at + 4 - cursor.start, true);
    if (nameAt(cursor.bytes, at - cursor.start) === "ANMF" && (await cursor.load(at, 24))) {
      motion.frames++;
      motion.ms += byte(cursor, at + 20) | (byte(cursor, at + 21) << 8) | (byte(cursor, at + 22) << 16);
    }
    at += 8 + length + (length & 1);
  }
  return motion;
};

const pngMotion = async (cursor: Cursor): Promise<Motion> => {
  const motion = { frames: 0, ms: 0 };
  for (let at = 8, n = 0; n < MAX_STEPS && (await cursor.load(at, 8)); n++) {
    const length = cursor.view.getUint32(at - cursor.start);
    if (nameAt(cursor.bytes, at + 4 - cursor.start) === "fcTL" && (await cursor.load(at, 34))) {
      motion.frames++;
      const [part, whole] = [cursor.view.getUint16(at + 28 - cursor.start), cursor.view.getUint16(at + 30 - cursor.start)];
      motion.ms += (1000 * part) / (whole || 100);
    }
    at += 12 + length;
  }
  return motion;
};

const MOTIONS: Record<string, (cursor: Cursor) => Promise<Motion>> = {
  "image/gif": gifMotion,
  "image/webp": webpMotion,
  "image/png": pngMotion,
};

/** Duration of an animated picture, ms; undefined for a still picture. */
export const motionOf = async (cursor: Cursor, mime: string): Promise<number | undefined> => {
  const motion = await MOTIONS[mime]?.(cursor);
  return motion && motion.frames > 1 && motion.ms >= 1 ? Math.round(motion.ms) : undefined;
};
