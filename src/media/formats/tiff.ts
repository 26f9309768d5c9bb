// Reads the size of a TIFF from its first directory and checks its data.
//
// A picture is complete if all its strips or tiles are inside the file.
import { Unreadable } from "../byte-source.ts";
import type { Cursor } from "./cursor.ts";
import type { Inspection } from "./inspection.ts";

const MAX_ENTRIES = 4096;
/** Maximum number of strips that are checked; a picture has one for a few rows. */
const MAX_STRIPS = 65_536;

const WIDTH = 256;
const HEIGHT = 257;
const OFFSETS = [273, 324];
const COUNTS = [279, 325];
const BITS = 258;
const PACKING = 259;
const SAMPLES = 277;
const TYPE_BYTES: Record<number, number> = { 3: 2, 4: 4, 16: 8 };

type Entry = { type: number; count: number; valueAt: number };

/** A referenced range is past the end of the file. */
class CutShort extends Error {}

/** @throws Unreadable, CutShort */
const readDirectory = async (cursor: Cursor): Promise<Inspection> => {
  await cursor.load(0, 16);
  const isLittle = cursor.bytes[0] === 0x49;
  const isBig = cursor.view.getUint16(2, isLittle) === 43;
  const number = (at: number, bytes: number): number => {
    const from = at - cursor.start;
    if (bytes === 2) return cursor.view.getUint16(from, isLittle);
    return bytes === 4 ? cursor.view.getUint32(from, isLittle) : Number(cursor.view.getBigUint64(from, isLittle));
  };
  const need = async (at: number, length: number) => {
    if (!(await cursor.load(at, length))) throw new CutShort();
  };
  const directory = isBig ? number(8, 8) : number(4, 4);
  const [countBytes, entryBytes] = isBig ? [8, 20] : [2, 12];
  await need(directory, countBytes);
  const count = Math.min(number(directory, countBytes), MAX_ENTRIES);
  await need(directory, countBytes + count * entryBytes);
  const entries = new Map<number, Entry>();
  for (let n = 0; n < count; n++) {
    const at = directory + countBytes + n * entryBytes;
    const values = number(at + 4, isBig ? 8 : 4);
    entries.set(number(at, 2), { type: number(at + 2, 2), count: values, valueAt: at + (isBig ? 12 : 8) });
  }
  const valuesOf = async (entry: Entry | undefined): Promise<number[]> => {
    const bytes = TYPE_BYTES[entry?.type ?? 0];
    if (!entry || !bytes || entry.count > MAX_STRIPS) return [];
    const isInline = entry.count * bytes <= (isBig ? 8 : 4);
    await need(entry.valueAt, isBig ? 8 : 4);
    const at = isInline ? entry.valueAt : number(entry.valueAt, isBig ? 8 : 4);
    await need(at, entry.count * bytes);
    return Array.from({ length: entry.count }, (_, n) => number(at + n * bytes, bytes));
  };
  const [width = 0] = await valuesOf(entries.get(WIDTH));
  const [height = 0] = await valuesOf(entries.get(HEIGHT));
  if (width < 1 || height < 1) throw new Unreadable("its header does not say the size of the picture");
  const first = (tags: number[]) => tags.map((tag) => entries.get(tag)).find((entry) => entry !== undefined);
  const offsets = await valuesOf(first(OFFSETS));
  const lengths = await valuesOf(first(COUNTS));
  const [packing = 1] = await valuesOf(entries.get(PACKING));
  // Some writers store a length of 0 for the only strip of an uncompressed picture. Its rows determine the length.
  if (lengths.length === 1 && lengths[0] === 0 && packing === 1) {
    const [[bits = 1], [samples = 1]] = [await valuesOf(entries.get(BITS)), await valuesOf(entries.get(SAMPLES))];
    lengths[0] = Math.ceil((width * bits * samples) / 8) * height;
  }
  // If there are too many strips or no lengths, only their offsets are checked.
  const held =
    offsets.length === 0 ? first(OFFSETS)?.count : lengths.length === 0 ? 1 : lengths.reduce((sum, each) => sum + each, 0);
  const isThere = offsets.every((offset, n) => offset + (lengths[n] ?? 1) <= cursor.sizeBytes);
  const isComplete = isThere && (held ?? 0) > 0;
  return { mime: "image/tiff", kind: "image", width, height, isComplete };
};

/** @throws Unreadable */
export const readTiff = (cursor: Cursor): Promise<Inspection> =>
  readDirectory(cursor).catch((fault: unknown) => {
    if (!(fault instanceof CutShort)) throw fault;
    return { mime: "image/tiff", kind: "image", isComplete: false };
  });
