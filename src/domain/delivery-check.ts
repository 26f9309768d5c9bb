// Delivery check: compares a delivery with what was ordered before every charge.
import type { MediaKind, Output, StoredFile } from "./types.ts";

/**
 * The order of a generation with its tolerances, frozen at submission, so that a later catalogue or release applies the original
 * terms. An absent member is not compared. Names are short because it is stored with every generation.
 */
export type Ordered = {
  kind: MediaKind;
  /** Number of promised files, if more than one. */
  files?: number;
  /** A delivery with fewer files is a mismatch; otherwise it is delivered and logged. */
  allFiles?: true;
  /**
   * Ordered length in milliseconds, or the length of the source of the result; the shortest accepted length; the longest that is
   * not logged.
   */
  ms?: number;
  leastMs?: number;
  mostMs?: number;
  /** For the class of a video: a size is too small only if both sides are below. */
  leastPixels?: number;
  leastSide?: number;
  /** The model's own size: a size is too small if one side is below. */
  ownPixels?: number;
  ownSide?: number;
  /** Ordered aspect ratio (`16:9`) and its tolerance as a fraction. */
  aspect?: string;
  aspectOff?: number;
  /** A sound track is required. */
  sound?: true;
  /** Requested format of every file, by its name in the input. */
  format?: string;
};

/** The difference between delivery and order, for the operator. `file`: number of the file, if there are several. */
export type Mismatch = {
  what: "files" | "kind" | "length" | "size" | "aspect" | "sound" | "format";
  ordered: string;
  came: string;
  file?: number;
};

/** Measurements of one file. */
export type MeasuredProperties = Pick<Output, "width" | "height" | "durationMs" | "hasAudio">;

const seconds = (ms: number): string => `${Number((ms / 1000).toFixed(3))} s`;

/** Width by height of `16:9`; undefined for a word such as `adaptive`. */
export const ratioOf = (aspect: string): number | undefined => {
  const [, width = 0, height = 0] = (/^(\d{1,5}):(\d{1,5})$/.exec(aspect) ?? []).map(Number);
  return width > 0 && height > 0 ? width / height : undefined;
};

/** Whether a file kind satisfies an ordered kind: an animated picture is a video, and a video with sound is audio. */
const answers = (kind: MediaKind, { mime }: StoredFile, { durationMs, hasAudio }: MeasuredProperties): boolean => {
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

/** A complete file whose length cannot be measured is delivered and logged. */
const lengthFault = ({ ms, leastMs }: Ordered, { durationMs }: MeasuredProperties): Mismatch | undefined => {
  if (leastMs === undefined || durationMs === undefined || durationMs >= leastMs) return undefined;
  return { what: "length", ordered: `${seconds(ms ?? leastMs)}, at least ${seconds(leastMs)}`, came: seconds(durationMs) };
};

const sizeFault = (ordered: Ordered, { width, height }: MeasuredProperties): Mismatch | undefined => {
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

const aspectFault = ({ aspect, aspectOff = 0 }: Ordered, { width, height }: MeasuredProperties): Mismatch | undefined => {
  const requested = aspect === undefined ? undefined : ratioOf(aspect);
  if (requested === undefined || aspect === undefined || !width || !height) return undefined;
  const ratio = width / height;
  const off = Math.max(ratio / requested, requested / ratio) - 1;
  // A ratio on the border is accepted; 1.1 has no exact binary form.
  return off <= aspectOff + 1e-9 ? undefined : { what: "aspect", ordered: aspect, came: `${width}x${height}` };
};

/** The content type of each requested format. */
const FORMAT_TYPES: Readonly<Record<string, string>> = {
  png: "image/png",
  jpeg: "image/jpeg",
  webp: "image/webp",
  mp3: "audio/mpeg",
  wav: "audio/wav",
  flac: "audio/flac",
  opus: "audio/ogg",
};

const formatFault = ({ format }: Ordered, { mime }: StoredFile): Mismatch | undefined => {
  const type = format === undefined ? undefined : FORMAT_TYPES[format];
  return type === undefined || type === mime ? undefined : { what: "format", ordered: `${format} (${type})`, came: mime };
};

const fileFault = (ordered: Ordered, file: StoredFile, facts: MeasuredProperties): Mismatch | undefined => {
  if (!answers(ordered.kind, file, facts)) return { what: "kind", ordered: ordered.kind, came: file.mime };
  const isSilent = ordered.sound === true && facts.hasAudio === false;
  return (
    formatFault(ordered, file) ??
    lengthFault(ordered, facts) ??
    sizeFault(ordered, facts) ??
    aspectFault(ordered, facts) ??
    (isSilent ? { what: "sound", ordered: "with sound", came: "no sound track" } : undefined)
  );
};

/** Measurements of a file; the measurements of a result are those of its first file. */
const factsOf = (output: Output, file: StoredFile): MeasuredProperties => {
  const shared = output.files[0] === file ? output : undefined;
  const facts: MeasuredProperties = {};
  const [width, height] = [file.width ?? shared?.width, file.height ?? shared?.height];
  const durationMs = file.durationMs ?? shared?.durationMs;
  if (width !== undefined) facts.width = width;
  if (height !== undefined) facts.height = height;
  if (durationMs !== undefined) facts.durationMs = durationMs;
  if (output.hasAudio !== undefined) facts.hasAudio = output.hasAudio;
  return facts;
};

/** The first mismatch; undefined if the delivery may be charged. A longer or larger delivery is accepted. */
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
 * A delivery that is charged and logged for the operator: fewer files than promised, more than is billed, or an ordered length
 * that cannot be measured.
 */
export type Odd = {
  fewer?: { promised: number; came: number };
  longer?: { orderedMs: number; cameMs: number };
  unmeasured?: true;
};

/** The oddity of an accepted delivery; undefined for nearly all. */
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

/** The verdict on a delivery: a mismatch is not charged. An unknown order (null or absent) gives no verdict. */
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
