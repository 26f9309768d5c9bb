// Reads a small still picture of a plain kind in the main thread: its size, and whether all of it is there, in a fixed bound of steps.

import { motionOf } from "./formats/animated-pictures.ts";
import type { Cursor } from "./formats/cursor.ts";
import { formatOf } from "./formats/detect-format.ts";
import type { Inspection } from "./formats/inspection.ts";
import { pictureEnds } from "./formats/picture-end.ts";
import { openPictureHeader } from "./formats/picture-header.ts";

const PLAIN: ReadonlySet<string | undefined> = new Set(["png", "jpeg", "webp", "gif", "bmp"]);
const SNIFFED_BYTES = 64;
const MOST_SIDE = 2_147_483_647;
/** Looks at a file: a JPEG of a megabyte takes some thousands, and so many take ten milliseconds. */
const MOST_STEPS = 20_000;
/** What lies in two chunks is copied with this much of what follows. */
const ACROSS_BYTES = 64;

class TooManySteps extends Error {}

const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);

/** A window that goes from chunk to chunk: only what lies across two is copied, and so many looks are allowed. @throws TooManySteps */
const overChunks = (chunks: readonly Uint8Array[]): Cursor => {
  const sizeBytes = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  let left = MOST_STEPS;
  /** The chunk that was looked at last, and where it begins. */
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
  /** A copy of what begins in the chunk that was looked at last and ends in a later one. */
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
  const header = openPictureHeader();
  let step = header.feed(cursor.bytes, 0);
  while (step.kind === "more" && (await cursor.load(step.at, step.bytes))) {
    const { at } = step;
    step = header.feed(cursor.bytes.subarray(at - cursor.start), at);
  }
  return step.kind === "size" ? step : undefined;
};

/**
 * @param chunks all of the file, at most a megabyte or so
 * @returns undefined for everything that is no whole, still picture of a plain kind, and for what takes too many steps: a child looks into those
 */
export const readPlainPicture = async (chunks: readonly Uint8Array[]): Promise<Inspection | undefined> => {
  const cursor = overChunks(chunks);
  try {
    if (!(await cursor.load(0, SNIFFED_BYTES)) || !PLAIN.has(formatOf(cursor.part(0, SNIFFED_BYTES)))) return undefined;
    const header = await headerOf(cursor);
    if (!header) return undefined;
    const { mime, width, height } = header;
    if (width > MOST_SIDE || height > MOST_SIDE || !(await pictureEnds(cursor, mime))) return undefined;
    return (await motionOf(cursor, mime)) === undefined ? { mime, kind: "image", width, height, isComplete: true } : undefined;
  } catch {
    // A broken picture is told apart by a child, which has more steps and a sentence for it.
    return undefined;
  }
};
