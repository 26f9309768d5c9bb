// Checks that a picture is complete by walking its chunks, segments or blocks.
//
// The walk follows their lengths to the end marker and requires picture data.

import type { Cursor } from "./cursor.ts";
import { nameAt } from "./mp4-boxes.ts";
import { hasNoContent } from "./picture-header.ts";

/** Maximum number of chunks, segments and blocks; each takes at least a few bytes. */
const MAX_STEPS = 4_000_000;

const byte = (cursor: Cursor, at: number) => cursor.bytes[at - cursor.start] ?? 0;

/** Best possible compression: DEFLATE encodes 258 bytes in two bits, a JPEG of one colour a block in less than a bit. */
const MAX_DEFLATED = 1032;
const MAX_BLOCKS_PER_BYTE = 32;

const PNG_SAMPLES: Record<number, number> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };

/** Uncompressed bytes of a PNG; `at`: the content of its first chunk. */
const pngRowBytes = (cursor: Cursor, at: number): number => {
  const [width, height] = [cursor.view.getUint32(at - cursor.start), cursor.view.getUint32(at + 4 - cursor.start)];
  const bits = byte(cursor, at + 8) * (PNG_SAMPLES[byte(cursor, at + 9)] ?? 1);
  return height * (1 + Math.ceil((width * bits) / 8));
};

const pngEnds = async (cursor: Cursor): Promise<boolean> => {
  let at = 8;
  let packed = 0;
  let unpacked = Number.POSITIVE_INFINITY;
  for (let n = 0; n < MAX_STEPS; n++) {
    if (!(await cursor.load(at, 12))) return false;
    const length = cursor.view.getUint32(at - cursor.start);
    const name = nameAt(cursor.bytes, at + 4 - cursor.start);
    if (name === "IHDR" && length >= 13 && (await cursor.load(at, 21))) unpacked = pngRowBytes(cursor, at + 8);
    if (name === "IDAT") packed += length;
    at += 12 + length;
    if (at > cursor.sizeBytes) return false;
    if (name === "IEND") return packed > 0 && packed * MAX_DEFLATED >= unpacked;
  }
  return false;
};

/** The first marker after `from` in JPEG data that is neither a stuffed byte nor a restart; -1 if there is none. */
const nextMarker = async (cursor: Cursor, from: number): Promise<number> => {
  let at = from;
  // A 0xff byte occurs every few hundred bytes, so bytes in the window are processed without awaiting.
  for (let n = 0; n < MAX_STEPS && (cursor.has(at, 2) || (await cursor.load(at, 2))); n++) {
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

const END_OF_IMAGE = Buffer.of(0xff, 0xd9);

/**
 * End of a JPEG whose data begins at `from` and is in one scan. The end marker cannot occur in such data; -1 if it is missing.
 */
const endOfImage = async (cursor: Cursor, from: number): Promise<number> => {
  let at = from;
  while (cursor.has(at, 2) || (await cursor.load(at, 2))) {
    const { buffer, byteOffset, length } = cursor.bytes;
    const found = Buffer.from(buffer, byteOffset, length).indexOf(END_OF_IMAGE, at - cursor.start);
    if (found >= 0) return cursor.start + found;
    // The marker may span the end of the window.
    at = cursor.start + length - 1;
    if (byte(cursor, at) !== 0xff) at += 1;
  }
  return -1;
};

/**
 * Reports whether a single-scan JPEG ends with the file, and has no end marker within the minimum data of its size. In that case
 * the rest need not be searched.
 */
const endsAtItsEnd = async (cursor: Cursor, from: number, least: number): Promise<boolean> => {
  const last = cursor.sizeBytes - END_OF_IMAGE.length;
  if (last < from + least || !(await cursor.load(last, END_OF_IMAGE.length))) return false;
  if (!END_OF_IMAGE.equals(cursor.part(last, END_OF_IMAGE.length)) || !(await cursor.load(from, least + 1))) return false;
  const { buffer, byteOffset, length } = cursor.part(from, least + 1);
  return Buffer.from(buffer, byteOffset, length).indexOf(END_OF_IMAGE) < 0;
};

/** Frame types without further scans of the same components. */
const SEQUENTIAL_FRAMES: ReadonlySet<number> = new Set([0xc0, 0xc1]);
/** Huffman-coded frame types, in which each block takes at least part of a bit. */
const HUFFMAN_FRAMES: ReadonlySet<number> = new Set([0xc0, 0xc1, 0xc2]);

/** Minimum encoded bytes of a picture with this frame; `at`: its marker. */
const leastScanned = (cursor: Cursor, at: number): number => {
  const [height, width] = [5, 7].map((place) => cursor.view.getUint16(at + place - cursor.start)) as [number, number];
  return Math.floor((Math.ceil(width / 8) * Math.ceil(height / 8)) / MAX_BLOCKS_PER_BYTE);
};

const jpegEnds = async (cursor: Cursor): Promise<boolean> => {
  let at = 2;
  let scanned = 0;
  let least = 1;
  let colours = 0;
  for (let n = 0; n < MAX_STEPS; n++) {
    if (!(await cursor.load(at, 2))) return false;
    const marker = byte(cursor, at + 1);
    const isMarker = byte(cursor, at) === 0xff;
    if (isMarker && marker === 0xd9) return scanned >= least;
    // If a segment is longer than it declares, decoders search for the next marker.
    if (!isMarker) at = await nextMarker(cursor, at);
    else if (marker === 0xff) at++;
    else if (hasNoContent(marker)) at += 2;
    else {
      if (!(await cursor.load(at, 4))) return false;
      if (HUFFMAN_FRAMES.has(marker) && (await cursor.load(at, 10))) least = Math.max(least, leastScanned(cursor, at));
      if (SEQUENTIAL_FRAMES.has(marker) && cursor.has(at, 10)) colours = byte(cursor, at + 9);
      const isAllInOne = marker === 0xda && (await cursor.load(at, 5)) && byte(cursor, at + 4) === colours;
      at += 2 + cursor.view.getUint16(at + 2 - cursor.start);
      if (marker === 0xda) {
        if (isAllInOne && (await endsAtItsEnd(cursor, at, least))) return true;
        const next = await (isAllInOne ? endOfImage : nextMarker)(cursor, at);
        scanned += next - at;
        at = next;
      }
    }
    if (at < 0) return false;
  }
  return false;
};

/** Minimum size of chunks with a picture: a header and a byte of data; for a frame also its position and duration. */
const WEBP_LEAST: Record<string, number> = { "VP8 ": 11, VP8L: 6, ANMF: 30 };

const webpEnds = async (cursor: Cursor): Promise<boolean> => {
  await cursor.load(0, 12);
  // Some writers omit the padding byte of the last chunk.
  const size = cursor.sizeBytes + 1;
  if (cursor.view.getUint32(4, true) + 8 > size) return false;
  for (let at = 12, n = 0; n < MAX_STEPS && (await cursor.load(at, 8)); n++) {
    const length = cursor.view.getUint32(at + 4 - cursor.start, true);
    const least = WEBP_LEAST[nameAt(cursor.bytes, at - cursor.start)];
    at += 8 + length + (length & 1);
    if (least !== undefined) return length >= least && at <= size;
  }
  return false;
};

const bmpEnds = async (cursor: Cursor): Promise<boolean> => {
  const isOld = (await cursor.load(0, 26)) && cursor.view.getUint32(14, true) === 12;
  if (!isOld && !(await cursor.load(0, 38))) return false;
  const [number, short] = [(at: number) => cursor.view.getUint32(at, true), (at: number) => cursor.view.getUint16(at, true)];
  const from = Math.max(number(10), 14 + number(14));
  const rows = (width: number, height: number, bits: number) => Math.ceil((width * bits) / 32) * 4 * height;
  if (isOld) return from + rows(short(18), short(20), short(24)) <= cursor.sizeBytes;
  const isPlain = [0, 3, 6].includes(number(30));
  const pixels = isPlain ? rows(Math.abs(number(18) | 0), Math.abs(number(22) | 0), short(28)) : Math.max(1, number(34));
  return from + pixels <= cursor.sizeBytes;
};

/** Maximum number of stray bytes after the last picture of a GIF, with or without the end marker. */
const MAX_STRAY_BYTES = 64;

const gifEnds = async (cursor: Cursor): Promise<boolean> => {
  await cursor.load(0, 13);
  const colours = (flags: number) => (flags & 0x80 ? 3 * 2 ** ((flags & 7) + 1) : 0);
  let at = 13 + colours(byte(cursor, 10));
  let isInBlocks = false;
  let isPicture = false;
  let pictures = 0;
  for (let n = 0; n < MAX_STEPS; n++) {
    // Some writers omit the end marker.
    if (at === cursor.sizeBytes) return pictures > 0 && !isInBlocks;
    if (!(cursor.has(at, 1) || (await cursor.load(at, 1)))) return false;
    const mark = byte(cursor, at);
    if (isInBlocks) {
      at += 1 + mark;
      isInBlocks = mark !== 0;
      if (isPicture && isInBlocks) pictures++;
      isPicture = false;
    } else if (mark === 0x3b) return pictures > 0;
    else if (mark === 0x21) {
      at += 2;
      isInBlocks = true;
    } else if (mark === 0x2c) {
      if (!(await cursor.load(at, 10))) return false;
      at += 11 + colours(byte(cursor, at + 9));
      isInBlocks = true;
      isPicture = true;
    } else return pictures > 0 && cursor.sizeBytes - at <= MAX_STRAY_BYTES;
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

/** Reports whether a picture of one of the five common formats is complete; true for other formats. */
export const pictureEnds = async (cursor: Cursor, mime: string): Promise<boolean> => (await ENDS[mime]?.(cursor)) ?? true;
