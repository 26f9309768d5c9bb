// Reads a small still picture of a plain kind in the main thread: its size, and whether all of it is there, in a fixed bound of steps.
import type { ByteReader } from "./bytes.ts";
import type { Cursor } from "./formats/cursor.ts";
import type { Inspection } from "./formats/inspection.ts";
import { formatOf } from "./formats/kinds.ts";
import { motionOf } from "./formats/motion.ts";
import { pictureEnds } from "./formats/picture-end.ts";
import { readPictureHeader } from "./formats/picture-header.ts";

const PLAIN: ReadonlySet<string | undefined> = new Set(["png", "jpeg", "webp", "gif", "bmp"]);
const SNIFFED_BYTES = 64;
const MOST_SIDE = 2_147_483_647;
/** Looks at a file: a JPEG of a megabyte takes some thousands, and so many take a few milliseconds. */
const MOST_STEPS = 50_000;

class TooManySteps extends Error {}

/** A window that holds the whole file: nothing is copied, and so many looks are allowed. @throws TooManySteps */
const overWhole = (bytes: Uint8Array): Cursor => {
  let left = MOST_STEPS;
  const has = (at: number, length: number): boolean => {
    left -= 1;
    if (left < 0) throw new TooManySteps();
    return at >= 0 && at + length <= bytes.length;
  };
  return {
    ...{ sizeBytes: bytes.length, bytes, start: 0, has },
    view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length),
    load: async (at, length) => has(at, length),
    part: (at, length) => bytes.subarray(at, at + length),
  };
};

/**
 * @param bytes all of the file, at most a megabyte or so
 * @returns undefined for everything that is no whole, still picture of a plain kind, and for what takes too many steps: a child looks into those
 */
export const readPlainPicture = async (bytes: Uint8Array): Promise<Inspection | undefined> => {
  if (!PLAIN.has(formatOf(bytes.subarray(0, SNIFFED_BYTES)))) return undefined;
  const file: ByteReader = { sizeBytes: async () => bytes.length, read: async (start, end) => bytes.subarray(start, end) };
  try {
    const cursor = overWhole(bytes);
    const { mime, width, height } = await readPictureHeader(file);
    if (width > MOST_SIDE || height > MOST_SIDE || !(await pictureEnds(cursor, mime))) return undefined;
    return (await motionOf(cursor, mime)) === undefined ? { mime, kind: "image", width, height, isComplete: true } : undefined;
  } catch {
    // A broken picture is told apart by a child, which has more steps and a sentence for it.
    return undefined;
  }
};
