// Looks through the index of an MP4 before a library does: a few bytes there can ask a parser for four thousand million steps.
import { type ByteReader, Unreadable } from "./bytes.ts";

/** Largest index that is read, of a file on our own disk. */
const MOST_MOVIE_BYTES = 32 * 1024 * 1024;
/** Samples that may be unrolled one by one: 500,000 frames are more than two hours at 60 per second. */
const MOST_SAMPLES = 500_000;
/** Boxes before the index: `ftyp`, `free`, `mdat` and what else writers put there. */
const MOST_BOXES_BEFORE = 64;

type Box = { name: string; start: number; end: number };

const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
const nameAt = (bytes: Uint8Array, at: number) => String.fromCharCode(...bytes.subarray(at, at + 4));

/** The boxes between two places, contents from `start`; stops at the first that does not fit. */
const boxesIn = (bytes: Uint8Array, from: number, to: number): Box[] => {
  const view = viewOf(bytes);
  const boxes: Box[] = [];
  for (let at = from; at + 8 <= to; ) {
    let length = view.getUint32(at);
    let header = 8;
    if (length === 1 && at + 16 <= to) {
      length = Number(view.getBigUint64(at + 8));
      header = 16;
    }
    if (length < header || at + length > to) break;
    boxes.push({ name: nameAt(bytes, at + 4), start: at + header, end: at + length });
    at += length;
  }
  return boxes;
};

const within = (bytes: Uint8Array, boxes: readonly Box[], ...path: string[]): Box[] =>
  path.reduce<Box[]>(
    (level, name) => level.flatMap((box) => boxesIn(bytes, box.start, box.end)).filter((box) => box.name === name),
    [...boxes],
  );

const occurrences = (bytes: Uint8Array, name: string): number => {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  let count = 0;
  for (let at = buffer.indexOf(name, 0, "latin1"); at !== -1; at = buffer.indexOf(name, at + 4, "latin1")) count++;
  return count;
};

/** The rows of a table box: after version and flags, a count, then so many rows of `rowBytes`; only those that are there. */
const rows = (bytes: Uint8Array, box: Box, rowBytes: number): DataView[] => {
  if (box.end - box.start < 8) return [];
  const count = Math.min(viewOf(bytes).getUint32(box.start + 4), Math.floor((box.end - box.start - 8) / rowBytes));
  return Array.from({ length: count }, (_, n) => viewOf(bytes.subarray(box.start + 8 + n * rowBytes, box.end)));
};

const tooMany = (): never => {
  throw new Unreadable("its index is not one of a real clip");
};

/** @throws Unreadable when a table asks for more work than its bytes are worth. */
const vetMovie = (movie: Uint8Array): void => {
  const root: Box = { name: "moov", start: 0, end: movie.length };
  const tables = within(movie, [root], "trak", "mdia", "minf", "stbl");
  let found = 0;
  for (const table of tables) {
    const inside = boxesIn(movie, table.start, table.end);
    const named = (name: string) => inside.filter((box) => box.name === name);
    found += named("stts").length + named("ctts").length + named("stsc").length;
    // Reordered frames are unrolled one by one. Sound without reordering is not, and may have a sample per 1/48,000 s.
    const isUnrolled = named("ctts").length > 0;
    const samples = named("stts")
      .flatMap((box) => rows(movie, box, 8))
      .reduce((sum, row) => sum + row.getUint32(0), 0);
    if (isUnrolled && samples > MOST_SAMPLES) tooMany();
    for (const row of named("stsc").flatMap((box) => rows(movie, box, 12)))
      if (row.getUint32(0) > MOST_SAMPLES || row.getUint32(4) > MOST_SAMPLES) tooMany();
  }
  // A table outside the place where tables belong is hidden from the look above, not from every parser.
  const written = occurrences(movie, "stts") + occurrences(movie, "ctts") + occurrences(movie, "stsc");
  if (written !== found) tooMany();
};

/** Finds the index and vets it. Files without one pass: a parser finds nothing in them either. @throws Unreadable */
export const vetIndex = async (file: ByteReader): Promise<void> => {
  const size = await file.sizeBytes();
  let at = 0;
  for (let n = 0; n < MOST_BOXES_BEFORE && at + 8 <= size; n++) {
    const header = await file.read(at, Math.min(size, at + 16));
    let length = viewOf(header).getUint32(0);
    if (length === 1 && header.length === 16) length = Number(viewOf(header).getBigUint64(8));
    const name = nameAt(header, 4);
    if (length < 8) break;
    if (name === "moov") {
      if (length > MOST_MOVIE_BYTES || at + length > size) tooMany();
      const movie = await file.read(at, at + length);
      return vetMovie(movie.subarray(viewOf(header).getUint32(0) === 1 ? 16 : 8));
    }
    at += length;
  }
  throw new Unreadable("it has no index of its contents");
};

/** Long enough that a `trun` or a protection table cut in two by two reads is seen where they meet. */
const OVERLAP_BYTES = 12;

/**
 * The same file for a parser that follows fragments: every piece it reads is looked through for runs of samples whose
 * number is not borne out by bytes, and for the tables of encrypted clips, which nothing here could play.
 */
export const siftFragments = (file: ByteReader): ByteReader => {
  const ends = new Map<number, Uint8Array>();
  const starts = new Map<number, Uint8Array>();
  const seen = new Set<number>();
  let samples = 0;
  const sift = (bytes: Buffer, start: number) => {
    for (let at = bytes.indexOf("trun", 0, "latin1"); at !== -1; at = bytes.indexOf("trun", at + 4, "latin1")) {
      if (at + 12 > bytes.length || seen.has(start + at)) continue;
      seen.add(start + at);
      samples += bytes.readUInt32BE(at + 8);
    }
    if (samples > MOST_SAMPLES || ["saiz", "senc"].some((name) => bytes.includes(name, 0, "latin1"))) tooMany();
  };
  return {
    sizeBytes: () => file.sizeBytes(),
    read: async (start, end) => {
      const bytes = await file.read(start, end);
      const before = ends.get(start) ?? new Uint8Array(0);
      sift(Buffer.concat([before, bytes, starts.get(end) ?? new Uint8Array(0)]), start - before.length);
      ends.set(end, bytes.slice(-OVERLAP_BYTES));
      starts.set(start, bytes.slice(0, OVERLAP_BYTES));
      return bytes;
    },
  };
};
