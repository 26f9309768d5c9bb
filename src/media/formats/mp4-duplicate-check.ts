// Rejects MP4 files whose index states a value twice.
//
// Decoders differ in which value they use, and real files state each value once.
import { Unreadable } from "../byte-source.ts";
import { type Box, boxesIn, boxIn, nameAt, viewOf } from "./mp4-boxes.ts";

/** Boxes that determine the duration of a track and occur at most once in it. Boxes in one row are alternative forms. */
const ONCE: readonly (readonly string[])[] = [
  ...["tkhd", "edts", "elst", "mdia", "mdhd", "minf", "stbl", "stts", "ctts", "stsc"].map((name) => [name]),
  ["stsz", "stz2"],
  ["stco", "co64"],
];
/** The parent of each of those boxes in a real track. Decoders read some of them anywhere, and search other boxes for them. */
const AROUND: Record<string, string> = {
  ...{ tkhd: "trak", edts: "trak", elst: "edts", mdia: "trak", mdhd: "mdia", minf: "mdia", stbl: "minf" },
  ...Object.fromEntries(["stts", "ctts", "stsc", "stsz", "stz2", "stco", "co64"].map((name) => [name, "stbl"])),
};
/** Boxes that decoders enter anywhere, but that real files contain only in their index and fragments. */
const INNER = new Set([
  ...["trak", "mdia", "minf", "stbl", "edts", "mvex", "traf", "udta", "dinf", "wave", "tref", "gmhd", "ilst", "meta", "hoov"],
  ...["sinf", "schi", "cmov", "stsd"],
]);
/** Boxes of fragments and of the index for them. Each has one valid position, but decoders read it anywhere. */
const OF_FRAGMENTS = ["traf", "tfhd", "tfdt", "trun", "trex"];
/** Boxes that determine the duration of a clip, and their parents; never at the top level. */
const NEVER_ALONE = new Set([...Object.keys(AROUND), ...OF_FRAGMENTS, "trak", "mvhd", "mvex", "cmov", "cmvd"]);
/** Boxes that may contain an unfinished index; some decoders search them. */
const UNUSED = new Set(["free", "skip", "wide"]);

/** Counts boxes with these names between two offsets, at any depth. */
const countOf = (bytes: Buffer, names: readonly string[], from: number, to: number): number => {
  const view = viewOf(bytes);
  let count = 0;
  for (const name of names)
    for (let at = bytes.indexOf(name, from + 4, "latin1"); at >= 0 && at < to; at = bytes.indexOf(name, at + 4, "latin1")) {
      const length = view.getUint32(at - 4);
      if (length <= 1 || (length >= 8 && at - 4 + length <= to)) count++;
    }
  return count;
};

const ensure = (isRight: boolean): void => {
  if (!isRight) throw new Unreadable("its index is not one of a real clip");
};
const bufferOf = ({ buffer, byteOffset, length }: Uint8Array): Buffer => Buffer.from(buffer, byteOffset, length);

/** User texts, in addition to those whose names begin with the copyright sign. */
const USER_TEXT = /^(\xa9...|titl|auth|dscp|perf|gnre|albm|cprt)$/;

/** Ranges of the index that contain text, such as handler names and titles. Decoders do not search text for boxes. */
const textsIn = (movie: Uint8Array, traks: readonly Box[]): Box[] => {
  const inside = (boxes: readonly Box[], name: RegExp, skip = 0) =>
    boxes.flatMap(({ start, end }) => boxesIn(movie, start + skip, end)).filter((box) => name.test(box.name));
  const parents = [{ name: "moov", start: 0, end: movie.length }, ...traks];
  const user = inside(parents, /^udta$/);
  // QuickTime omits the four version bytes. Decoders search for the handler first, at either position.
  const metas = inside([...parents, ...user], /^meta$/).flatMap(({ name, start, end }) =>
    [start, start + 4]
      .map((from) => ({ name, start: from, end }))
      .filter((box) => boxesIn(movie, box.start, end)[0]?.name === "hdlr"),
  );
  const media = inside(traks, /^mdia$/);
  const handlers = inside([...metas, ...media, ...inside(media, /^minf$/)], /^hdlr$/);
  const items = inside(inside(metas, /^ilst$/), /^/);
  return [...inside(user, USER_TEXT), ...handlers, ...inside(items, /^(data|mean|name)$/)];
};

/** A copy of the index without those texts, because a title may look like a box. */
const withoutTexts = (movie: Uint8Array, traks: readonly Box[]): Buffer => {
  const bytes = Buffer.from(movie);
  for (const { start, end } of textsIn(movie, traks)) bytes.fill(0, start, end);
  return bytes;
};

/** Handlers that decoders treat as pictures or sound. */
const PLAYED = /^(vide|soun|pict)$/;
/** Counts such handlers in a track, in any box. */
const handlersIn = (bytes: Buffer, { start, end }: Box): number => {
  let count = 0;
  for (let at = bytes.indexOf("hdlr", start, "latin1"); at >= 0 && at + 16 <= end; at = bytes.indexOf("hdlr", at + 4, "latin1"))
    if (PLAYED.test(nameAt(bytes, at + 12))) count++;
  return count;
};

/** The names of the child boxes of each container box of a track. */
const insideOf = (movie: Uint8Array, trak: Box): Map<string, Set<string>> => {
  const found = new Map<string, Set<string>>();
  const look = (name: string, { start, end }: Box, ...further: string[]): void => {
    const boxes = boxesIn(movie, start, end);
    found.set(name, new Set(boxes.map((box) => box.name)));
    const [next = "", ...others] = further;
    const inner = boxes.find((box) => box.name === next);
    if (inner) look(next, inner, ...others);
  };
  look("edts", boxIn(movie, trak, "edts") ?? { ...trak, end: trak.start });
  look("trak", trak, "mdia", "minf", "stbl");
  return found;
};

/**
 * @param movie the contents of the index
 * @throws Unreadable
 */
export const requireOneIndex = (movie: Uint8Array, traks: readonly Box[]): void => {
  const bytes = withoutTexts(movie, traks);
  for (const name of ["mvhd", "mvex"]) ensure(countOf(bytes, [name], 0, bytes.length) <= 1);
  ensure(traks.every((trak) => handlersIn(bufferOf(movie), trak) <= 1));
  // A compressed index contains its own tracks.
  ensure(countOf(bytes, ["cmov", "cmvd"], 0, bytes.length) === 0);
  const trex = boxesIn(movie, 0, movie.length)
    .filter(({ name }) => name === "mvex")
    .flatMap(({ start, end }) => boxesIn(movie, start, end).filter(({ name }) => name === "trex"));
  ensure(countOf(bytes, OF_FRAGMENTS, 0, bytes.length) === trex.length);
  ensure(countOf(bytes, ["trak"], 0, bytes.length) === traks.length && countOf(bytes, ["moov", "moof"], 0, bytes.length) === 0);
  const insides = traks.map((trak) => insideOf(movie, trak));
  for (const names of ONCE) {
    const counts = traks.map(({ start, end }) => countOf(bytes, names, start, end));
    const inTracks = counts.reduce((sum, count) => sum + count, 0);
    ensure(counts.every((count) => count <= 1) && countOf(bytes, names, 0, bytes.length) === inTracks);
    ensure(insides.every((inside, n) => counts[n] === 0 || names.some((name) => inside.get(AROUND[name] ?? "")?.has(name))));
  }
};

/**
 * @param fragment the contents of one fragment
 * @throws Unreadable
 */
export const requireOneFragment = (fragment: Uint8Array): void => {
  const bytes = bufferOf(fragment);
  const count = (...names: string[]) => countOf(bytes, names, 0, bytes.length);
  const parts = boxesIn(fragment, 0, fragment.length).filter(({ name }) => name === "traf");
  const inParts = parts.map(({ start, end }) => boxesIn(fragment, start, end).map(({ name }) => name));
  const each = (name: string) => inParts.map((names) => names.filter((one) => one === name).length);
  const sum = (counts: readonly number[]) => counts.reduce((total, one) => total + one, 0);
  ensure(count("moov", "moof", "trak", "mvhd", "mvex", "trex", ...Object.keys(AROUND)) === 0 && count("traf") === parts.length);
  const isFilled = ({ start, end }: Box) => boxesIn(fragment, start, end).at(-1)?.end === end;
  // Decoders truncate boxes that extend past their parent.
  ensure(isFilled({ name: "moof", start: 0, end: fragment.length }) && parts.every(isFilled));
  ensure(each("tfhd").every((one) => one === 1) && each("tfdt").every((one) => one <= 1));
  ensure(["tfhd", "tfdt", "trun"].every((name) => sum(each(name)) === count(name)));
};

/**
 * @param name of a top-level box
 * @throws Unreadable if decoders find a part of an index in it
 */
export const requirePosition = (name: string): void => ensure(!NEVER_ALONE.has(name));

/** Reports whether the contents of a top-level box have to be checked too. */
export const mayHideIndex = (name: string): boolean => INNER.has(name);

/** Reports whether a box that is declared unused begins like an index. */
export const isUnusedIndex = (name: string, contents: Uint8Array): boolean => UNUSED.has(name) && nameAt(contents, 4) === "mvhd";

/** @throws Unreadable if the contents include an index, or a part of one, that only some decoders find */
export const requireNone = (contents: Uint8Array): void => {
  const bytes = bufferOf(contents);
  ensure(countOf(bytes, ["moov", "moof", ...NEVER_ALONE], 0, bytes.length) === 0);
};
