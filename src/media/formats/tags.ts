// Tags of writers and players around sound: ID3 before it, and what players put behind it.
import { latin1 } from "../bytes.ts";
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

/** Where the sound ends: before an ID3v1 tag of 128 bytes, which is the last thing of a file. */
export const beforeTail = async (cursor: Cursor): Promise<number> => {
  const at = cursor.sizeBytes - 128;
  if (at < 0 || !(await cursor.load(at, 3))) return cursor.sizeBytes;
  return latin1(cursor.part(at, 3)) === "TAG" ? at : cursor.sizeBytes;
};
