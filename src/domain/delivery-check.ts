// What was ordered and whether what came is that: the comparison that stands before every charge, pure and without any room.
import type { MediaKind, Output, StoredFile } from "./types.ts";

/**
 * What a generation was accepted for, frozen at submission with its tolerances, so that a later catalogue or release judges it as it was
 * sold. A member that is not there is not compared. Short names' worth: it is written with every generation.
 */
export type Ordered = {
  kind: MediaKind;
  /** Files promised, where it is more than one. */
  files?: number;
  /** Fewer files than promised are not accepted; otherwise they are delivered, and told. */
  allFiles?: true;
  /** Length that was ordered, or that of what the result follows; the shortest that is that; the longest that is not told. */
  ms?: number;
  leastMs?: number;
  mostMs?: number;
  /** Of the class of a video: only what is below both is too small. */
  leastPixels?: number;
  leastSide?: number;
  /** The model's own size: what is below either is too small. */
  ownPixels?: number;
  ownSide?: number;
  /** Shape as it was asked for (`16:9`), and how far off it may be, as a share. */
  aspect?: string;
  aspectOff?: number;
  /** It must have a sound track. */
  sound?: true;
};

/** Why what came is not what was ordered, in words for the operator. `file`: which of several. */
export type Mismatch = {
  what: "files" | "kind" | "length" | "size" | "aspect" | "sound";
  ordered: string;
  came: string;
  file?: number;
};

/** What was measured of one file. */
export type Facts = Pick<Output, "width" | "height" | "durationMs" | "hasAudio">;

const seconds = (ms: number): string => `${Number((ms / 1000).toFixed(3))} s`;

/** Width by height of `16:9`; undefined for a word such as `adaptive`. */
export const ratioOf = (aspect: string): number | undefined => {
  const [, width = 0, height = 0] = (/^(\d{1,5}):(\d{1,5})$/.exec(aspect) ?? []).map(Number);
  return width > 0 && height > 0 ? width / height : undefined;
};

/** Whether a file of this kind answers an order of that one: pictures that move are a clip, and a clip that sounds is sound. */
const answers = (kind: MediaKind, { mime }: StoredFile, { durationMs, hasAudio }: Facts): boolean => {
  switch (mime.slice(0, mime.indexOf("/"))) {
    case "image":
      return kind === "image" || (kind === "video" && durationMs !== undefined && durationMs > 0);
    case "video":
      return kind === "video" || (kind === "audio" && hasAudio !== false);
    case "audio":
      return kind === "audio";
    default:
      return true;
  }
};

/** What cannot be measured is whole all the same, and is not dropped: it is told. */
const lengthFault = ({ ms, leastMs }: Ordered, { durationMs }: Facts): Mismatch | undefined => {
  if (leastMs === undefined || durationMs === undefined || durationMs >= leastMs) return undefined;
  return { what: "length", ordered: `${seconds(ms ?? leastMs)}, at least ${seconds(leastMs)}`, came: seconds(durationMs) };
};

const sizeFault = (ordered: Ordered, { width, height }: Facts): Mismatch | undefined => {
  if (width === undefined || height === undefined) return undefined;
  const { leastPixels, leastSide, ownPixels, ownSide } = ordered;
  const pixels = width * height;
  const side = Math.min(width, height);
  const came = `${width}x${height}`;
  const isBelowClass = leastPixels !== undefined && leastSide !== undefined && pixels < leastPixels && side < leastSide;
  if (isBelowClass) return { what: "size", ordered: `at least ${leastPixels} pixels, or ${leastSide} on the shorter side`, came };
  if (ownPixels !== undefined && pixels < ownPixels) return { what: "size", ordered: `at least ${ownPixels} pixels`, came };
  if (ownSide !== undefined && side < ownSide) return { what: "size", ordered: `at least ${ownSide} on the shorter side`, came };
  return undefined;
};

const aspectFault = ({ aspect, aspectOff = 0 }: Ordered, { width, height }: Facts): Mismatch | undefined => {
  const asked = aspect === undefined ? undefined : ratioOf(aspect);
  if (asked === undefined || aspect === undefined || !width || !height) return undefined;
  const ratio = width / height;
  const off = Math.max(ratio / asked, asked / ratio) - 1;
  // A shape on the border is right: 1.1 is not exactly what it says.
  return off <= aspectOff + 1e-9 ? undefined : { what: "aspect", ordered: aspect, came: `${width}x${height}` };
};

const fileFault = (ordered: Ordered, file: StoredFile, facts: Facts): Mismatch | undefined => {
  if (!answers(ordered.kind, file, facts)) return { what: "kind", ordered: ordered.kind, came: file.mime };
  const isSilent = ordered.sound === true && facts.hasAudio === false;
  return (
    lengthFault(ordered, facts) ??
    sizeFault(ordered, facts) ??
    aspectFault(ordered, facts) ??
    (isSilent ? { what: "sound", ordered: "with sound", came: "no sound track" } : undefined)
  );
};

/** What was measured of a file; a result's own measures are those of its first. */
const factsOf = (output: Output, file: StoredFile): Facts => {
  const shared = output.files[0] === file ? output : undefined;
  const facts: Facts = {};
  const [width, height] = [file.width ?? shared?.width, file.height ?? shared?.height];
  const durationMs = file.durationMs ?? shared?.durationMs;
  if (width !== undefined) facts.width = width;
  if (height !== undefined) facts.height = height;
  if (durationMs !== undefined) facts.durationMs = durationMs;
  if (output.hasAudio !== undefined) facts.hasAudio = output.hasAudio;
  return facts;
};

/** The first thing in which what came is not what was ordered; undefined when it may be charged for. Longer and larger is right. */
export const mismatchOf = (ordered: Ordered, output: Output): Mismatch | undefined => {
  const { files } = output;
  const promised = ordered.files ?? 1;
  if (files.length === 0 || (ordered.allFiles && files.length < promised))
    return { what: "files", ordered: `${promised} ${promised === 1 ? "file" : "files"}`, came: String(files.length) };
  if (output.kind !== ordered.kind) return { what: "kind", ordered: ordered.kind, came: output.kind };
  for (const file of files) {
    const fault = fileFault(ordered, file, factsOf(output, file));
    if (fault) return files.length === 1 ? fault : { ...fault, file: file.n };
  }
  return undefined;
};

/**
 * What is delivered and charged, and worth telling the operator all the same: fewer files than promised, more than is billed, or a length
 * that was ordered and cannot be measured.
 */
export type Odd = {
  fewer?: { promised: number; came: number };
  longer?: { orderedMs: number; cameMs: number };
  unmeasured?: true;
};

/** What is odd about a delivery that is no mismatch; undefined for nearly all. */
export const oddOf = ({ files: promised = 1, ms = 0, leastMs, mostMs }: Ordered, output: Output): Odd | undefined => {
  const { files } = output;
  const [first] = files;
  const durationMs = (first && factsOf(output, first).durationMs) ?? 0;
  const odd: Odd = {
    ...(files.length < promised ? { fewer: { promised, came: files.length } } : {}),
    ...(mostMs !== undefined && durationMs > mostMs ? { longer: { orderedMs: ms, cameMs: durationMs } } : {}),
    ...(leastMs !== undefined && durationMs === 0 ? { unmeasured: true as const } : {}),
  };
  return Object.keys(odd).length > 0 ? odd : undefined;
};

/** What is to become of a delivery: nothing is charged for a mismatch. Of an order that is not known (null, or absent) nothing is said. */
export const judged = (ordered: Ordered | null | undefined, output: Output): { mismatch?: Mismatch; odd?: Odd } => {
  if (!ordered) return {};
  const mismatch = mismatchOf(ordered, output);
  if (mismatch) return { mismatch };
  const odd = oddOf(ordered, output);
  return odd ? { odd } : {};
};

/** A mismatch as one sentence for the operator. */
export const describeMismatch = ({ what, ordered, came, file }: Mismatch): string =>
  `${file === undefined ? "" : `file ${file}: `}${what}: ${came} came, ${ordered} ordered`;
