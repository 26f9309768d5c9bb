// Parses the boxes of ISO media files, in memory and on file level.
import { Unreadable } from "../byte-source.ts";
import type { Cursor } from "./cursor.ts";

/** `start` and `end` of the contents. */
export type Box = { name: string; start: number; end: number };

/** Maximum number of sibling boxes. A still picture has one for each item, a clip a few for its tracks. */
const MAX_BOXES = 10_000;
/** Maximum number of top-level boxes: two for each fragment, and a long clip has thousands. */
const MAX_TOP_BOXES = 100_000;

export const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
export const nameAt = (bytes: Uint8Array, at: number) =>
  String.fromCharCode(bytes[at] ?? 0, bytes[at + 1] ?? 0, bytes[at + 2] ?? 0, bytes[at + 3] ?? 0);

/**
 * Checks the row count of a table. Decoders trust the declared count and read past the end, so a shorter table is rejected.
 * @throws Unreadable
 */
export const rowsIn = (declared: number, spaceBytes: number, rowBytes: number): number => {
  if (declared > Math.floor(Math.max(0, spaceBytes) / rowBytes)) throw new Unreadable("its index is not one of a real clip");
  return declared;
};

/** The boxes between two offsets, up to the first that does not fit. @throws Unreadable if there are too many */
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
    if (boxes.length >= MAX_BOXES) throw new Unreadable("its index is not one of a real file");
    boxes.push({ name: nameAt(bytes, at + 4), start: at + header, end: at + length });
    at += length;
  }
  return boxes;
};

/** The first child box with a name. */
export const boxIn = (bytes: Uint8Array, parent: Box | undefined, name: string, skip = 0): Box | undefined =>
  parent && boxesIn(bytes, parent.start + skip, parent.end).find((box) => box.name === name);

/** A top-level box; `end` may be past the end of a truncated file. */
export type TopBox = { name: string; at: number; start: number; end: number };

/** Names of top-level boxes. A box with one of these names that extends past the end is truncated; other bytes are not a box. */
const TOP_NAMES = new Set([
  ...["ftyp", "styp", "moov", "moof", "mdat", "imda", "mfra", "sidx", "ssix", "emsg", "prft", "uuid", "free", "skip", "wide"],
  ...["meta", "udta", "pnot", "PICT", "pdin", "idat", "jxlc", "jxlp", "jxll", "jxli", "jbrd", "brob", "jumb", "Exif", "xml "],
]);

/**
 * Visits the top-level boxes by their headers while `visit` returns true.
 * @returns the end of the walk: past the end of a truncated file, or before trailing bytes that are not a box
 * @throws Unreadable
 */
export const walkBoxes = async (cursor: Cursor, visit: (box: TopBox) => Promise<boolean>): Promise<number> => {
  let at = 0;
  for (let n = 0; at + 8 <= cursor.sizeBytes; n++) {
    if (n >= MAX_TOP_BOXES) throw new Unreadable("its index is not one of a real file");
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
