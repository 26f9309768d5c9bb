// The boxes of ISO media files: a list of those in a piece of memory, and a walk over those of a file by their headers.
import { Unreadable } from "../byte-source.ts";
import type { Cursor } from "./cursor.ts";

/** `start` and `end` of the contents. */
export type Box = { name: string; start: number; end: number };

/** Boxes side by side in one other: items of a still picture have one each, tracks of a clip a few. */
const MOST_BOXES = 10_000;
/** Boxes of a whole file: two for each fragment, of which a long clip has thousands. */
const MOST_TOP_BOXES = 100_000;

export const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
export const nameAt = (bytes: Uint8Array, at: number) =>
  String.fromCharCode(bytes[at] ?? 0, bytes[at + 1] ?? 0, bytes[at + 2] ?? 0, bytes[at + 3] ?? 0);

/**
 * How many rows a table has. Decoders believe what it says, and read on behind its end: one with fewer rows than it says is refused.
 * @throws Unreadable
 */
export const rowsIn = (said: number, roomBytes: number, rowBytes: number): number => {
  if (said > Math.floor(Math.max(0, roomBytes) / rowBytes)) throw new Unreadable("its index is not one of a real clip");
  return said;
};

/** The boxes between two places; stops at the first that does not fit. @throws Unreadable when they are too many */
export const boxesIn = (bytes: Uint8Array, from: number, to: number): Box[] => {
  const view = viewOf(bytes);
  const boxes: Box[] = [];
  for (let at = from; at + 8 <= to; ) {
    let length = view.getUint32(at);
    let header = 8;
    if (length === 0) length = to - at;
    if (length === 1 && at + 16 <= to) {
      length = Number(view.getBigUint64(at + 8));
      header = 16;
    }
    if (length < header || at + length > to) break;
    if (boxes.length >= MOST_BOXES) throw new Unreadable("its index is not one of a real file");
    boxes.push({ name: nameAt(bytes, at + 4), start: at + header, end: at + length });
    at += length;
  }
  return boxes;
};

/** The first box of a name among the contents of another. */
export const boxIn = (bytes: Uint8Array, parent: Box | undefined, name: string, skip = 0): Box | undefined =>
  parent && boxesIn(bytes, parent.start + skip, parent.end).find((box) => box.name === name);

/** A box of the file itself; `end` may be past the end of a file that was cut. */
export type TopBox = { name: string; at: number; start: number; end: number };

/** Boxes that files have side by side: one of these that goes past the end was cut, and what has no such name is no box. */
const TOP_NAMES = new Set([
  ...["ftyp", "styp", "moov", "moof", "mdat", "imda", "mfra", "sidx", "ssix", "emsg", "prft", "uuid", "free", "skip", "wide"],
  ...["meta", "udta", "pnot", "PICT", "pdin", "idat", "jxlc", "jxlp", "jxll", "jxli", "jbrd", "brob", "jumb", "Exif", "xml "],
]);

/**
 * Walks the boxes of the file by their headers, as long as `visit` says so.
 * @returns where the walk ended: past the end of a file that was cut, and before bytes at its end that are no box
 * @throws Unreadable
 */
export const walkBoxes = async (cursor: Cursor, visit: (box: TopBox) => Promise<boolean>): Promise<number> => {
  let at = 0;
  for (let n = 0; at + 8 <= cursor.sizeBytes; n++) {
    if (n >= MOST_TOP_BOXES) throw new Unreadable("its index is not one of a real file");
    await cursor.load(at, 8);
    let length = cursor.view.getUint32(at - cursor.start);
    const name = nameAt(cursor.bytes, at + 4 - cursor.start);
    let header = 8;
    if (length === 1) {
      if (!(await cursor.load(at, 16))) return at;
      length = Number(cursor.view.getBigUint64(at + 8 - cursor.start));
      header = 16;
    } else if (length === 0) length = cursor.sizeBytes - at;
    const end = at + length;
    if (length < header || (end > cursor.sizeBytes && !TOP_NAMES.has(name))) return at;
    if (!(await visit({ name, at, start: at + header, end }))) return end;
    at = end;
  }
  return at;
};
