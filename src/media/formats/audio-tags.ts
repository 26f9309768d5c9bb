// Tags of writers and players around sound: ID3 before it, and what players put behind it.
import { latin1 } from "../byte-source.ts";
import type { Cursor } from "./cursor.ts";

/** Tags one after the other. */
const MOST_TAGS = 16;

/** Where the file goes on after the ID3 tags at `from`. */
export const afterId3 = async (cursor: Cursor, from: number): Promise<number> => {
  let at = from;
  for (let n = 0; n < MOST_TAGS && (await cursor.load(at, 10)); n++) {
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
/** Whether a tag may begin with this byte. */
export const mayBeTag = (byte: number): boolean => byte === 0x49 || byte === 0x41;

/** How long the tag is that begins at `at`, of those that players put between or behind sound: ID3, APE; 0 where none does. */
export const tagBytes = async (cursor: Cursor, at: number): Promise<number> => {
  if (cursor.bytes[at - cursor.start] === 0x49) return (await afterId3(cursor, at)) - at;
  if (!(await cursor.load(at, APE_BYTES)) || latin1(cursor.part(at, 8)) !== "APETAGEX") return 0;
  // The head says how long all behind it is; a foot alone has its contents before it.
  const isHead = (cursor.view.getUint32(at + 20 - cursor.start, true) & 0x2000_0000) !== 0;
  return APE_BYTES + (isHead ? cursor.view.getUint32(at + 12 - cursor.start, true) : 0);
};

/** Where the sound ends: before an ID3v1 tag of 128 bytes, which is the last thing of a file. */
export const beforeTail = async (cursor: Cursor): Promise<number> => {
  const at = cursor.sizeBytes - 128;
  if (at < 0 || !(await cursor.load(at, 3))) return cursor.sizeBytes;
  return latin1(cursor.part(at, 3)) === "TAG" ? at : cursor.sizeBytes;
};
