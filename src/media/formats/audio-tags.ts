// Skips metadata tags of audio files: ID3 before the sound, others after it.
import { latin1 } from "../byte-source.ts";
import type { Cursor } from "./cursor.ts";

/** Maximum number of consecutive tags. */
const MAX_TAGS = 16;

/** Returns the offset after the ID3 tags that begin at `from`. */
export const afterId3 = async (cursor: Cursor, from: number): Promise<number> => {
  let at = from;
  for (let n = 0; n < MAX_TAGS && (await cursor.load(at, 10)); n++) {
    const tag = cursor.part(at, 10);
    const [a = 0, b = 0, c = 0] = tag;
    const size = tag.subarray(6);
    if (a !== 0x49 || b !== 0x44 || c !== 0x33 || tag[3] === 0xff || size.some((each) => each > 127)) break;
    const length = size.reduce((sum, each) => sum * 128 + each, 0);
    at += 10 + length + ((tag[5] ?? 0) & 0x10 ? 10 : 0);
  }
  return at;
};

const APE_BYTES = 32;
/** Reports whether a tag may begin with this byte. */
export const mayBeTag = (byte: number): boolean => byte === 0x49 || byte === 0x41;

/** Length of the tag (ID3 or APE) that begins at `at`, between or after frames; 0 if there is none. */
export const tagBytes = async (cursor: Cursor, at: number): Promise<number> => {
  if (cursor.bytes[at - cursor.start] === 0x49) return (await afterId3(cursor, at)) - at;
  if (!(await cursor.load(at, APE_BYTES)) || latin1(cursor.part(at, 8)) !== "APETAGEX") return 0;
  // A header states the length of everything after it. A footer alone follows its contents.
  const isHead = (cursor.view.getUint32(at + 20 - cursor.start, true) & 0x2000_0000) !== 0;
  return APE_BYTES + (isHead ? cursor.view.getUint32(at + 12 - cursor.start, true) : 0);
};

/** End of the sound: the start of a trailing ID3v1 tag of 128 bytes, or the end of the file. */
export const beforeTail = async (cursor: Cursor): Promise<number> => {
  const at = cursor.sizeBytes - 128;
  if (at < 0 || !(await cursor.load(at, 3))) return cursor.sizeBytes;
  return latin1(cursor.part(at, 3)) === "TAG" ? at : cursor.sizeBytes;
};
