// Measures AVIF and HEIC pictures, and checks that their items are complete.
//
// The size is that of the primary picture as displayed.
import { latin1, Unreadable } from "../byte-source.ts";
import type { Cursor } from "./cursor.ts";
import type { Inspection } from "./inspection.ts";
import { readMp4 } from "./mp4.ts";
import { type Box, boxesIn, boxIn, type TopBox, viewOf, walkBoxes } from "./mp4-boxes.ts";

/** Maximum number of items and properties; a tiled picture has hundreds. */
const MAX_ENTRIES = 20_000;
/** Maximum size of the brand list at the beginning. */
const MAX_BRANDS_BYTES = 1024;

const isCrop = ({ name, start, end }: Box) => name === "clap" && end - start >= 32;

/** The property numbers of one item, counted from 1. */
const propertiesOf = (meta: Uint8Array, box: Box, item: number): number[] => {
  const view = viewOf(meta);
  const [isWide, isLong] = [view.getUint8(box.start) > 0, (view.getUint8(box.start + 3) & 1) === 1];
  const found: number[] = [];
  let at = box.start + 8;
  for (let n = view.getUint32(box.start + 4); n > 0 && at + 5 <= box.end && found.length < MAX_ENTRIES; n--) {
    const id = isWide ? view.getUint32(at) : view.getUint16(at);
    at += isWide ? 4 : 2;
    const count = view.getUint8(at++);
    for (let each = 0; each < count && at + (isLong ? 2 : 1) <= box.end; each++) {
      if (id === item) found.push(isLong ? view.getUint16(at) & 0x7fff : view.getUint8(at) & 0x7f);
      at += isLong ? 2 : 1;
    }
  }
  return found;
};

const sizeIn = (meta: Uint8Array, box: Box): { width: number; height: number } | undefined => {
  const view = viewOf(meta);
  const inside: Box = { name: "meta", start: box.start + 4, end: box.end };
  const primary = boxIn(meta, inside, "pitm");
  const properties = boxIn(meta, inside, "iprp");
  const container = boxIn(meta, properties, "ipco");
  const links = boxIn(meta, properties, "ipma");
  if (!primary || !container || !links) return undefined;
  const item = view.getUint8(primary.start) === 0 ? view.getUint16(primary.start + 4) : view.getUint32(primary.start + 4);
  const all = boxesIn(meta, container.start, container.end);
  const own = propertiesOf(meta, links, item).flatMap((n) => all[n - 1] ?? []);
  const extent = own.find(({ name, start, end }) => name === "ispe" && end - start >= 12);
  if (!extent) return undefined;
  const [coded, crop] = [[view.getUint32(extent.start + 4), view.getUint32(extent.start + 8)], own.find(isCrop)];
  // The displayed area, as two fractions.
  const shown = (n: number) =>
    crop ? Math.floor(view.getUint32(crop.start + n * 8) / view.getUint32(crop.start + n * 8 + 4)) : (coded[n] ?? 0);
  const [width, height] = [shown(0), shown(1)];
  const turn = own.find(({ name }) => name === "irot");
  return turn && view.getUint8(turn.start) & 1 ? { width: height, height: width } : { width, height };
};

/**
 * Reports whether all ranges of the item location table are inside the file and not empty. True if the table is in an unsupported
 * form.
 */
const hasItems = (meta: Uint8Array, box: Box, fileBytes: number): boolean => {
  const table = boxIn(meta, { name: "meta", start: box.start + 4, end: box.end }, "iloc");
  if (!table || table.end - table.start < 8) return false;
  const view = viewOf(meta);
  const version = view.getUint8(table.start);
  const [sizes, more] = [view.getUint8(table.start + 4), view.getUint8(table.start + 5)];
  const bytes = { offset: sizes >> 4, length: sizes & 15, base: more >> 4, index: version > 0 ? more & 15 : 0 };
  if (Object.values(bytes).some((each) => ![0, 4, 8].includes(each))) return true;
  let at = table.start + 6;
  const take = (length: number): number => {
    if (at + length > table.end) throw new Unreadable("its table of places is broken");
    const value =
      length === 8 ? Number(view.getBigUint64(at)) : length === 4 ? view.getUint32(at) : length === 2 ? view.getUint16(at) : 0;
    at += length;
    return value;
  };
  let [furthest, held, steps] = [0, 0, 0];
  for (let items = take(version < 2 ? 2 : 4); items > 0 && steps < MAX_ENTRIES; items--, steps++) {
    take(version < 2 ? 2 : 4);
    const isInFile = version === 0 || (take(2) & 15) === 0;
    take(2);
    const base = take(bytes.base);
    for (let extents = take(2); extents > 0 && steps < MAX_ENTRIES; extents--, steps++) {
      take(bytes.index);
      const offset = take(bytes.offset);
      const length = take(bytes.length);
      // An extent without a length covers the rest of the file.
      held += bytes.length > 0 || !isInFile ? length : Math.max(0, fileBytes - base - offset);
      if (isInFile) furthest = Math.max(furthest, base + offset + length);
    }
  }
  return held > 0 && furthest <= fileBytes;
};

/** Duration of a picture sequence, whose index is that of a clip, ms. Undefined for a single picture or an unreadable index. */
const motionOf = async (cursor: Cursor): Promise<number | undefined> => {
  const clip = await readMp4(cursor, false).catch((error: unknown) => {
    if (error instanceof Unreadable || error instanceof RangeError) return undefined;
    throw error;
  });
  return clip?.ms !== undefined && clip.ms > (clip.frameMs ?? clip.ms) * 1.5 ? clip.ms : undefined;
};

/** @throws Unreadable */
export const readHeif = async (cursor: Cursor): Promise<Inspection> => {
  await cursor.load(0, 16);
  const brandsEnd = Math.min(cursor.sizeBytes, cursor.view.getUint32(0), MAX_BRANDS_BYTES);
  await cursor.load(0, brandsEnd);
  const isAvif = /avi[fs]/.test(latin1(cursor.part(0, brandsEnd)));
  let found: { width: number; height: number } | undefined;
  let [isThere, hasMovie] = [false, false];
  const end = await walkBoxes(cursor, async ({ name, start, end: stop }: TopBox) => {
    hasMovie ||= name === "moov";
    if (name !== "meta") return true;
    if (!(await cursor.load(start, stop - start))) return false;
    const meta = cursor.part(start, stop - start);
    const box: Box = { name, start: 0, end: meta.length };
    found = sizeIn(meta, box);
    isThere = hasItems(meta, box, cursor.sizeBytes);
    return true;
  });
  const mime = isAvif ? "image/avif" : "image/heic";
  if (!found && end > cursor.sizeBytes) return { mime, kind: "image", isComplete: false };
  if (!found || found.width < 1 || found.height < 1) throw new Unreadable("its header does not say the size of the picture");
  const isComplete = end <= cursor.sizeBytes && isThere;
  const ms = hasMovie ? await motionOf(cursor) : undefined;
  return { mime, kind: "image", ...found, isComplete, ...(ms === undefined ? {} : { ms }) };
};
