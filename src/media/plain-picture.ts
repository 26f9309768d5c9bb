// Measures a small still picture in the main thread, within a bounded number of steps.
//
// It also checks that the picture is complete.

import { motionOf } from "./formats/animated-pictures.ts";
import type { Cursor } from "./formats/cursor.ts";
import { formatOf } from "./formats/detect-format.ts";
import type { Inspection } from "./formats/inspection.ts";
import { pictureEnds } from "./formats/picture-end.ts";
import { createPictureHeaderParser } from "./formats/picture-header.ts";

const PLAIN: ReadonlySet<string | undefined> = new Set(["png", "jpeg", "webp", "gif", "bmp"]);
const SNIFFED_BYTES = 64;
const MAX_SIDE = 2_147_483_647;
/** Maximum number of reads for one file. A JPEG of 1 MB takes some thousands; this maximum takes about 10 ms. */
const MAX_STEPS = 20_000;
/** Bytes that are copied at least if a read spans two chunks. */
const ACROSS_BYTES = 64;

class TooManySteps extends Error {}

const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);

/** A cursor over several chunks. It copies only ranges that span chunks, and bounds the number of steps. @throws TooManySteps */
const overChunks = (chunks: readonly Uint8Array[]): Cursor => {
  const sizeBytes = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  let left = MAX_STEPS;
  /** Index and start offset of the current chunk. */
  let [n, from] = [0, 0];
  const count = () => {
    left -= 1;
    if (left < 0) throw new TooManySteps();
  };
  const goTo = (at: number): Uint8Array => {
    if (at < from) [n, from] = [0, 0];
    for (let chunk = chunks[n]; chunk && at >= from + chunk.length; chunk = chunks[n]) {
      count();
      from += chunk.length;
      n += 1;
    }
    return chunks[n] ?? new Uint8Array(0);
  };
  /** Copies a range that begins in the current chunk and ends in a later one. */
  const across = (at: number, length: number): Uint8Array => {
    const bytes = new Uint8Array(length);
    for (let [chunk, skipped, filled] = [n, at - from, 0]; filled < length; chunk++, skipped = 0) {
      count();
      const part = chunks[chunk]?.subarray(skipped, skipped + length - filled) ?? bytes;
      bytes.set(part, filled);
      filled += part.length;
    }
    return bytes;
  };
  const first = chunks[0] ?? new Uint8Array(0);
  const cursor = {
    ...{ sizeBytes, bytes: first, view: viewOf(first), start: 0 },
    has: (at: number, length: number) => {
      count();
      return at >= cursor.start && at + length <= cursor.start + cursor.bytes.length;
    },
    load: async (at: number, length: number) => {
      if (cursor.has(at, length)) return true;
      if (!(at >= 0) || at + length > sizeBytes) return false;
      const chunk = goTo(at);
      const isInOne = at + length <= from + chunk.length;
      cursor.start = isInOne ? from : at;
      cursor.bytes = isInOne ? chunk : across(at, Math.min(sizeBytes - at, Math.max(length, ACROSS_BYTES)));
      cursor.view = viewOf(cursor.bytes);
      return true;
    },
    part: (at: number, length: number) => cursor.bytes.subarray(at - cursor.start, at - cursor.start + length),
  };
  return cursor;
};

const headerOf = async (cursor: Cursor) => {
  const header = createPictureHeaderParser();
  let step = header.feed(cursor.bytes, 0);
  while (step.kind === "more" && (await cursor.load(step.at, step.bytes))) {
    const { at } = step;
    step = header.feed(cursor.bytes.subarray(at - cursor.start), at);
  }
  return step.kind === "size" ? step : undefined;
};

/**
 * @param chunks the whole file, at most about 1 MB
 * @returns undefined for any file that is not a complete still picture of a simple format, or that takes too many steps. The
 * sandbox inspects those files.
 */
export const readPlainPicture = async (chunks: readonly Uint8Array[]): Promise<Inspection | undefined> => {
  const cursor = overChunks(chunks);
  try {
    if (!(await cursor.load(0, SNIFFED_BYTES)) || !PLAIN.has(formatOf(cursor.part(0, SNIFFED_BYTES)))) return undefined;
    const header = await headerOf(cursor);
    if (!header) return undefined;
    const { mime, width, height } = header;
    if (width > MAX_SIDE || height > MAX_SIDE || !(await pictureEnds(cursor, mime))) return undefined;
    return (await motionOf(cursor, mime)) === undefined ? { mime, kind: "image", width, height, isComplete: true } : undefined;
  } catch {
    // The sandbox reports the reason for a broken picture, because it allows more steps.
    return undefined;
  }
};
