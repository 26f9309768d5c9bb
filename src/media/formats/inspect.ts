// Inspects a media file: true kind, size of its pictures, length of its tracks, and whether all of it is there.
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
  /** Ends the reading; the process that runs this is bounded besides. */
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

/** Two headers, and the version that each scene of three dimensions says of itself. */
const LEAST_SCENE_BYTES = 48;

/** A scene of three dimensions: its header says its version and its length. */
const readScene = async (cursor: Cursor): Promise<Inspection> => {
  const length = cursor.view.getUint32(8 - cursor.start, true);
  const isComplete = length >= LEAST_SCENE_BYTES && length <= cursor.sizeBytes;
  return { mime: "model/gltf-binary", kind: "other", isComplete };
};

/** Sound that may stand behind tags: what it is, its first bytes after them say; in doubt it is MPEG behind garbage. */
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
/** Frames in sequence that nothing but sound has, where a file does not begin with one. */
const CHAIN_BEHIND_GARBAGE = 6;

const readUnknown: Read = async (_, cursor, { depth }) => {
  // Another kind of file may hold such frames as well, and much besides.
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

/** What a side of a picture, or a length in ms, may be at most: 24 days. */
const MOST = 2_147_483_647;
/** A frame may be shown longer, and then says nothing of how exact a length is. */
const MOST_FRAME_MS = 60_000;
/** A file may say anything of itself: a side or a length that none can have is no answer. */
const sane = (found: Inspection): Inspection => {
  const { width = 1, height = 1, ms = 1 } = found;
  if (![width, height, ms].every((value) => Number.isInteger(value) && value >= 1 && value <= MOST))
    throw new Unreadable("its length or its size is none that a file can have");
  const { frameMs, ...rest } = found;
  return frameMs !== undefined && frameMs > 0 && frameMs <= MOST_FRAME_MS ? found : rest;
};

/** It says nothing of the file: other files may have left too little in this process. */
const isOutOfMemory = ({ message }: RangeError): boolean => /out of memory/i.test(message);

/** @throws Unreadable when the file is nothing known or cannot be read as what it is. */
export const inspect = async (file: ByteReader, options: InspectOptions): Promise<Inspection> => {
  const cursor = await createCursor(file);
  const beginning = Math.min(cursor.sizeBytes, SNIFFED_BYTES);
  await cursor.load(0, beginning);
  const format = formatOf(cursor.part(0, beginning));
  const read = (format && READS[format]) ?? readUnknown;
  try {
    return sane(await read(file, cursor, options));
  } catch (error) {
    // A number that leads past what was read: the readers look at memory only through views that refuse it.
    if (error instanceof RangeError && !isOutOfMemory(error)) throw new Unreadable("its index is broken");
    throw error;
  }
};
