// Inspects a media file: format, picture size, track durations and completeness.
import { type ByteReader, Unreadable } from "../byte-source.ts";
import { kindOfHeader } from "../result-kinds.ts";
import { findAdts, readAdts } from "./adts.ts";
import { motionOf } from "./animated-pictures.ts";
import { afterId3, beforeTail } from "./audio-tags.ts";
import { type Cursor, createCursor } from "./cursor.ts";
import { type Format, formatOf, SNIFFED_BYTES } from "./detect-format.ts";
import { readFlac } from "./flac.ts";
import { readHeif } from "./heif.ts";
import type { Depth, Inspection } from "./inspection.ts";
import { readJxl } from "./jxl.ts";
import { readMatroska } from "./matroska.ts";
import { readMpeg } from "./mp3.ts";
import { readMp4 } from "./mp4.ts";
import { readOgg } from "./ogg.ts";
import { pictureEnds } from "./picture-end.ts";
import { readPictureHeader } from "./picture-header.ts";
import { readDrawing } from "./svg.ts";
import { readTiff } from "./tiff.ts";
import { readAiff, readWav } from "./wav.ts";

export type { Inspection } from "./inspection.ts";

export type InspectOptions = {
  /** Aborts reading. The process that runs the inspection is bounded separately. */
  signal: AbortSignal;
  depth: Depth;
};

const readPicture = async (file: ByteReader, cursor: Cursor, depth: InspectOptions["depth"]): Promise<Inspection> => {
  const { mime, width, height } = await readPictureHeader(file);
  if (depth === "shallow") return { mime, kind: "image", width, height, isComplete: true };
  const isComplete = await pictureEnds(cursor, mime);
  const ms = await motionOf(cursor, mime);
  return { mime, kind: "image", width, height, isComplete, ...(ms === undefined ? {} : { ms }) };
};

/** Two headers and the version that every glTF scene declares. */
const MIN_SCENE_BYTES = 48;

/** A binary glTF scene; its header declares its length. */
const readScene = async (cursor: Cursor): Promise<Inspection> => {
  const length = cursor.view.getUint32(8 - cursor.start, true);
  const isComplete = length >= MIN_SCENE_BYTES && length <= cursor.sizeBytes;
  return { mime: "model/gltf-binary", kind: "other", isComplete };
};

/**
 * Sound that may follow tags. The bytes after the tags determine the format; if they are ambiguous, the file is read as MPEG
 * after garbage.
 */
const readSound = async (cursor: Cursor, from: number, isCounted: boolean): Promise<Inspection> => {
  const end = await beforeTail(cursor);
  const start = await afterId3(cursor, from);
  const length = Math.min(16, cursor.sizeBytes - start);
  await cursor.load(start, length);
  const format = formatOf(cursor.part(start, length));
  if (format === "flac") return readFlac(cursor, start, end);
  return format === "adts" ? readAdts(cursor, start, end, isCounted) : readMpeg(cursor, start, end);
};

type Read = (file: ByteReader, cursor: Cursor, options: InspectOptions) => Promise<Inspection>;
/** Number of consecutive frames that only sound contains, for files that do not begin with a frame. */
const CHAIN_BEHIND_GARBAGE = 6;

const readUnknown: Read = async (_, cursor, { depth }) => {
  // A file of another kind may contain such frames among other data.
  if (kindOfHeader(cursor.part(0, Math.min(cursor.sizeBytes, SNIFFED_BYTES))).sort === "file")
    throw new Unreadable("it is of a kind that cannot be measured");
  const end = await beforeTail(cursor);
  const firstAt = await findAdts(cursor, CHAIN_BEHIND_GARBAGE);
  if (firstAt !== undefined) return readAdts(cursor, firstAt, end, depth === "counted", cursor.part(0, firstAt).slice());
  const sound = await readMpeg(cursor, 0, end, CHAIN_BEHIND_GARBAGE).catch(() => undefined);
  if (!sound) throw new Unreadable("it is no picture, clip or sound of a known kind");
  return sound;
};

const picture: Read = (file, cursor, { depth }) => readPicture(file, cursor, depth);
const sound: Read = (_, cursor, { depth }) => readSound(cursor, 0, depth === "counted");
const READS: Partial<Record<Format, Read>> = {
  png: picture,
  jpeg: picture,
  webp: picture,
  gif: picture,
  bmp: picture,
  heif: (_, cursor) => readHeif(cursor),
  jxl: (_, cursor) => readJxl(cursor),
  tiff: (_, cursor) => readTiff(cursor),
  svg: (_, cursor) => readDrawing(cursor),
  glb: (_, cursor) => readScene(cursor),
  mp4: (_, cursor, { depth }) => readMp4(cursor, depth === "counted"),
  matroska: (_, cursor, { depth }) => readMatroska(cursor, depth === "shallow"),
  wav: (_, cursor) => readWav(cursor, "riff"),
  wave64: (_, cursor) => readWav(cursor, "wave64"),
  aiff: (_, cursor) => readAiff(cursor),
  ogg: (_, cursor, { depth }) => readOgg(cursor, depth === "counted"),
  flac: sound,
  adts: sound,
  mpeg: sound,
  id3: sound,
};

/** Maximum side of a picture in px, and maximum duration in ms (24 days). */
const MOST = 2_147_483_647;
/** A longer frame says nothing about the precision of a duration. */
const MAX_FRAME_MS = 60_000;
/** Rejects sizes and durations that no real file has. */
const sane = (found: Inspection): Inspection => {
  const { width = 1, height = 1, ms = 1 } = found;
  if (![width, height, ms].every((value) => Number.isInteger(value) && value >= 1 && value <= MOST))
    throw new Unreadable("its length or its size is none that a file can have");
  const { frameMs, ...rest } = found;
  return frameMs !== undefined && frameMs > 0 && frameMs <= MAX_FRAME_MS ? found : rest;
};

/** Out of memory implies nothing about the file, because earlier files may have used the memory of this process. */
const isOutOfMemory = ({ message }: RangeError): boolean => /out of memory/i.test(message);

/** @throws Unreadable if the format is unknown or the file cannot be parsed */
export const inspect = async (file: ByteReader, options: InspectOptions): Promise<Inspection> => {
  const cursor = await createCursor(file);
  const beginning = Math.min(cursor.sizeBytes, SNIFFED_BYTES);
  await cursor.load(0, beginning);
  const format = formatOf(cursor.part(0, beginning));
  const read = (format && READS[format]) ?? readUnknown;
  try {
    return sane(await read(file, cursor, options));
  } catch (error) {
    // An offset points past the bytes read. The parsers access memory only through views that reject such offsets.
    if (error instanceof RangeError && !isOutOfMemory(error)) throw new Unreadable("its index is broken");
    throw error;
  }
};
