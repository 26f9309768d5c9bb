// Refuses an MP4 index that says a thing twice: decoders differ in which of the two they believe, and a real one says it once.
import { Unreadable } from "../byte-source.ts";
import { type Box, boxesIn, boxIn, nameAt, viewOf } from "./mp4-boxes.ts";

/** Boxes that decide how long a track is, of which it has one at most; those of one row are the same in two forms. */
const ONCE: readonly (readonly string[])[] = [
  ...["tkhd", "edts", "elst", "mdia", "mdhd", "minf", "stbl", "stts", "ctts", "stsc"].map((name) => [name]),
  ["stsz", "stz2"],
  ["stco", "co64"],
];
/** The boxes around those in a real track. Decoders read some wherever they stand, and look into other boxes for them. */
const AROUND: Record<string, string> = {
  ...{ tkhd: "trak", edts: "trak", elst: "edts", mdia: "trak", mdhd: "mdia", minf: "mdia", stbl: "minf" },
  ...Object.fromEntries(["stts", "ctts", "stsc", "stsz", "stz2", "stco", "co64"].map((name) => [name, "stbl"])),
};
/** What decoders look into wherever it stands, and real files have nowhere but in their index and fragments. */
const INNER = new Set([
  ...["trak", "mdia", "minf", "stbl", "edts", "mvex", "traf", "udta", "dinf", "wave", "tref", "gmhd", "ilst", "meta", "hoov"],
  ...["sinf", "schi", "cmov", "stsd"],
]);
/** Of fragments, and of an index for them: each has its one place, and decoders read it wherever it stands. */
const OF_FRAGMENTS = ["traf", "tfhd", "tfdt", "trun", "trex"];
/** What decides how long a clip is, and what is around that: never a box of the file itself. */
const NEVER_ALONE = new Set([...Object.keys(AROUND), ...OF_FRAGMENTS, "trak", "mvhd", "mvex", "cmov", "cmvd"]);
/** In which an index may stand that was not finished: some decoders look for it. */
const UNUSED = new Set(["free", "skip", "wide"]);

/** How many boxes of these names lie between two places, at whatever depth. */
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

const insist = (isRight: boolean): void => {
  if (!isRight) throw new Unreadable("its index is not one of a real clip");
};
const bufferOf = ({ buffer, byteOffset, length }: Uint8Array): Buffer => Buffer.from(buffer, byteOffset, length);

/** Texts of users, beside those that begin with the sign of copyright. */
const USER_TEXT = /^(\xa9...|titl|auth|dscp|perf|gnre|albm|cprt)$/;

/** Where the index holds words, in which no decoder looks for boxes: names of handlers, titles and the like. */
const textsIn = (movie: Uint8Array, traks: readonly Box[]): Box[] => {
  const inside = (boxes: readonly Box[], name: RegExp, skip = 0) =>
    boxes.flatMap(({ start, end }) => boxesIn(movie, start + skip, end)).filter((box) => name.test(box.name));
  const parents = [{ name: "moov", start: 0, end: movie.length }, ...traks];
  const user = inside(parents, /^udta$/);
  // QuickTime writes them without the four bytes of a version. Decoders look for the handler first, wherever it stands.
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

/** A copy of the index without those words: a title may begin as a box does. */
const withoutTexts = (movie: Uint8Array, traks: readonly Box[]): Buffer => {
  const bytes = Buffer.from(movie);
  for (const { start, end } of textsIn(movie, traks)) bytes.fill(0, start, end);
  return bytes;
};

/** Handlers by which decoders take a track for pictures or sound. */
const PLAYED = /^(vide|soun|pict)$/;
/** How many handlers of such a kind a track has, in whatever box. */
const handlersIn = (bytes: Buffer, { start, end }: Box): number => {
  let count = 0;
  for (let at = bytes.indexOf("hdlr", start, "latin1"); at >= 0 && at + 16 <= end; at = bytes.indexOf("hdlr", at + 4, "latin1"))
    if (PLAYED.test(nameAt(bytes, at + 12))) count++;
  return count;
};

/** The names of the boxes in each of those of a track that hold others. */
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

/** @param movie the contents of the index @throws Unreadable */
export const requireOneIndex = (movie: Uint8Array, traks: readonly Box[]): void => {
  const bytes = withoutTexts(movie, traks);
  for (const name of ["mvhd", "mvex"]) insist(countOf(bytes, [name], 0, bytes.length) <= 1);
  insist(traks.every((trak) => handlersIn(bufferOf(movie), trak) <= 1));
  // One that is compressed holds tracks of its own.
  insist(countOf(bytes, ["cmov", "cmvd"], 0, bytes.length) === 0);
  const trex = boxesIn(movie, 0, movie.length)
    .filter(({ name }) => name === "mvex")
    .flatMap(({ start, end }) => boxesIn(movie, start, end).filter(({ name }) => name === "trex"));
  insist(countOf(bytes, OF_FRAGMENTS, 0, bytes.length) === trex.length);
  insist(countOf(bytes, ["trak"], 0, bytes.length) === traks.length && countOf(bytes, ["moov", "moof"], 0, bytes.length) === 0);
  const insides = traks.map((trak) => insideOf(movie, trak));
  for (const names of ONCE) {
    const counts = traks.map(({ start, end }) => countOf(bytes, names, start, end));
    const inTracks = counts.reduce((sum, count) => sum + count, 0);
    insist(counts.every((count) => count <= 1) && countOf(bytes, names, 0, bytes.length) === inTracks);
    insist(insides.every((inside, n) => counts[n] === 0 || names.some((name) => inside.get(AROUND[name] ?? "")?.has(name))));
  }
};

/** @param fragment the contents of one @throws Unreadable */
export const requireOneFragment = (fragment: Uint8Array): void => {
  const bytes = bufferOf(fragment);
  const count = (...names: string[]) => countOf(bytes, names, 0, bytes.length);
  const parts = boxesIn(fragment, 0, fragment.length).filter(({ name }) => name === "traf");
  const inParts = parts.map(({ start, end }) => boxesIn(fragment, start, end).map(({ name }) => name));
  const each = (name: string) => inParts.map((names) => names.filter((one) => one === name).length);
  const sum = (counts: readonly number[]) => counts.reduce((total, one) => total + one, 0);
  insist(count("moov", "moof", "trak", "mvhd", "mvex", "trex", ...Object.keys(AROUND)) === 0 && count("traf") === parts.length);
  const isFilled = ({ start, end }: Box) => boxesIn(fragment, start, end).at(-1)?.end === end;
  // Decoders cut what goes on beyond the box around it.
  insist(isFilled({ name: "moof", start: 0, end: fragment.length }) && parts.every(isFilled));
  insist(each("tfhd").every((one) => one === 1) && each("tfdt").every((one) => one <= 1));
  insist(["tfhd", "tfdt", "trun"].every((name) => sum(each(name)) === count(name)));
};

/** @param name of a box of the file itself @throws Unreadable where decoders find a part of an index in it */
export const requirePosition = (name: string): void => insist(!NEVER_ALONE.has(name));

/** Whether a box of the file itself has to be looked into as well. */
export const mayHideIndex = (name: string): boolean => INNER.has(name);

/** Whether a box that is said to be unused begins as an index does. */
export const isUnusedIndex = (name: string, contents: Uint8Array): boolean => UNUSED.has(name) && nameAt(contents, 4) === "mvhd";

/** @throws Unreadable where there is an index, or a part of one, that only some find */
export const requireNone = (contents: Uint8Array): void => {
  const bytes = bufferOf(contents);
  insist(countOf(bytes, ["moov", "moof", ...NEVER_ALONE], 0, bytes.length) === 0);
};
