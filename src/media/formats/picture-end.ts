// Whether a picture is all there: its chunks, segments or blocks are walked by their lengths to the mark that ends them.

import { nameAt } from "./boxes.ts";
import type { Cursor } from "./cursor.ts";

/** Chunks, segments and blocks that are walked; each is a few bytes at least. */
const MOST_STEPS = 4_000_000;

const byte = (cursor: Cursor, at: number) => cursor.bytes[at - cursor.start] ?? 0;

const pngEnds = async (cursor: Cursor): Promise<boolean> => {
  let at = 8;
  for (let n = 0; n < MOST_STEPS; n++) {
    if (!(await cursor.load(at, 12))) return false;
    const length = cursor.view.getUint32(at - cursor.start);
    const name = nameAt(cursor.bytes, at + 4 - cursor.start);
    at += 12 + length;
    if (at > cursor.sizeBytes) return false;
    if (name === "IEND") return true;
  }
  return false;
};

/** The first marker after `from` in coded data of a JPEG: neither a stuffed byte nor a restart; -1 when there is none. */
const nextMarker = async (cursor: Cursor, from: number): Promise<number> => {
  let at = from;
  // Of what is in the window nobody waits for anything: there is such a byte in every few hundred.
  for (let n = 0; n < MOST_STEPS && (cursor.has(at, 2) || (await cursor.load(at, 2))); n++) {
    const found = cursor.bytes.indexOf(0xff, at - cursor.start);
    const last = cursor.start + cursor.bytes.length - 1;
    if (found < 0 || cursor.start + found === last) {
      at = found < 0 ? last + 1 : last;
      if (at + 2 > cursor.sizeBytes) return -1;
      continue;
    }
    at = cursor.start + found;
    const marker = byte(cursor, at + 1);
    if (marker !== 0 && marker !== 0xff && !(marker >= 0xd0 && marker <= 0xd7)) return at;
    at += marker === 0xff ? 1 : 2;
  }
  return -1;
};

const jpegEnds = async (cursor: Cursor): Promise<boolean> => {
  let at = 2;
  for (let n = 0; n < MOST_STEPS; n++) {
    if (!(await cursor.load(at, 2))) return false;
    const marker = byte(cursor, at + 1);
    const isMarker = byte(cursor, at) === 0xff;
    if (isMarker && marker === 0xd9) return true;
    // Decoders look for the next marker where a segment is longer than it says.
    if (!isMarker) at = await nextMarker(cursor, at);
    else if (marker === 0xff) at++;
    else if (marker === 1 || (marker >= 0xd0 && marker <= 0xd8)) at += 2;
    else {
      if (!(await cursor.load(at, 4))) return false;
      at += 2 + cursor.view.getUint16(at + 2 - cursor.start);
      if (marker === 0xda) at = await nextMarker(cursor, at);
    }
    if (at < 0) return false;
  }
  return false;
};

const webpEnds = async (cursor: Cursor): Promise<boolean> => {
  await cursor.load(0, 12);
  // Some writers leave out the byte that makes the last chunk even.
  return cursor.view.getUint32(4, true) + 8 <= cursor.sizeBytes + 1;
};

const bmpEnds = async (cursor: Cursor): Promise<boolean> => {
  await cursor.load(0, 34);
  const number = (at: number) => cursor.view.getUint32(at - cursor.start, true);
  if (number(14) === 12) return number(2) <= cursor.sizeBytes;
  const [width, height] = [Math.abs(number(18) | 0), Math.abs(number(22) | 0)];
  const isPlain = [0, 3].includes(number(30));
  const rows = Math.ceil((width * cursor.view.getUint16(28 - cursor.start, true)) / 32) * 4 * height;
  return number(10) + (isPlain ? rows : 0) <= cursor.sizeBytes;
};

const gifEnds = async (cursor: Cursor): Promise<boolean> => {
  await cursor.load(0, 13);
  const colours = (flags: number) => (flags & 0x80 ? 3 * 2 ** ((flags & 7) + 1) : 0);
  let at = 13 + colours(byte(cursor, 10));
  let isInBlocks = false;
  let pictures = 0;
  for (let n = 0; n < MOST_STEPS; n++) {
    // Some writers leave out the mark at the end.
    if (at === cursor.sizeBytes) return pictures > 0 && !isInBlocks;
    if (!(cursor.has(at, 1) || (await cursor.load(at, 1)))) return false;
    const mark = byte(cursor, at);
    if (isInBlocks) {
      at += 1 + mark;
      isInBlocks = mark !== 0;
    } else if (mark === 0x3b) return true;
    else if (mark === 0x21) {
      at += 2;
      isInBlocks = true;
    } else if (mark === 0x2c) {
      if (!(await cursor.load(at, 10))) return false;
      at += 11 + colours(byte(cursor, at + 9));
      pictures++;
      isInBlocks = true;
    } else return false;
  }
  return false;
};

const ENDS: Record<string, (cursor: Cursor) => Promise<boolean>> = {
  "image/png": pngEnds,
  "image/jpeg": jpegEnds,
  "image/webp": webpEnds,
  "image/bmp": bmpEnds,
  "image/gif": gifEnds,
};

/** Whether a picture of one of the five common kinds is all there. */
export const pictureEnds = async (cursor: Cursor, mime: string): Promise<boolean> => (await ENDS[mime]?.(cursor)) ?? true;
