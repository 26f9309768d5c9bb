// Inspects a media file: true kind, size of its pictures, length of its tracks, and whether all of it is there.
import { type ByteReader, Unreadable } from "../bytes.ts";
import { isWhole, sniff } from "../sniff.ts";
import { readAdts } from "./adts.ts";
import { type Cursor, openCursor } from "./cursor.ts";
import { readDrawing } from "./drawing.ts";
import { readFlac } from "./flac.ts";
import { readHeif } from "./heif.ts";
import type { Inspection } from "./inspection.ts";
import { readJxl } from "./jxl.ts";
import { type Format, formatOf, SNIFFED_BYTES } from "./kinds.ts";
import { readMatroska } from "./matroska.ts";
import { motionOf } from "./motion.ts";
import { readMpeg } from "./mp3.ts";
import { readMp4 } from "./mp4.ts";
import { readOgg } from "./ogg.ts";
import { pictureEnds } from "./picture-end.ts";
import { readPictureHeader } from "./picture-header.ts";
import { afterId3, beforeTail } from "./tags.ts";
import { readTiff } from "./tiff.ts";
import { readAiff, readWav } from "./wav.ts";

export type { Inspection } from "./inspection.ts";

export type InspectOptions = {
  /** Ends the reading; the process that runs this is bounded besides. */
  signal: AbortSignal;
  /**
   * `shallow`: each read may cost a request to a strange server, and only what decides kind, size and length is read.
   * `whole`: the file lies on our own disk, and its end is held against its beginning.
   */
  depth: "shallow" | "whole";
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

const readOther = async (file: ByteReader, { signal, depth }: InspectOptions): Promise<Inspection> => {
  const size = await file.sizeBytes();
  const sniffed = sniff(await file.read(0, Math.min(size, 64)));
  if (!sniffed) throw new Unreadable("it is no picture, clip or sound of a known kind");
  const isComplete = depth === "shallow" || (await isWhole(file, sniffed.mime));
  // Loaded where it is needed, which is seldom: a child that starts is waited for.
  const { measureClip } = await import("../clip.ts");
  const { kind, ms, width, height, hasAudio } = await measureClip(file, sniffed, signal);
  const found: Inspection = { mime: sniffed.mime, kind, ms, hasAudio, isComplete };
  return width === undefined || height === undefined ? found : { ...found, width, height };
};

/** Sound that may stand behind tags: what it is, its first bytes after them say; in doubt it is MPEG behind garbage. */
const readSound = async (cursor: Cursor, from: number): Promise<Inspection> => {
  const end = await beforeTail(cursor);
  const start = await afterId3(cursor, from);
  const length = Math.min(16, cursor.sizeBytes - start);
  await cursor.load(start, length);
  const format = formatOf(cursor.part(start, length));
  if (format === "flac") return readFlac(cursor, start, end);
  return format === "adts" ? readAdts(cursor, start, end) : readMpeg(cursor, start, end);
};

type Read = (file: ByteReader, cursor: Cursor, options: InspectOptions) => Promise<Inspection>;
/** Frames in sequence that nothing but sound has, where a file does not begin with one. */
const CHAIN_BEHIND_GARBAGE = 6;

const readUnknown: Read = async (_, cursor) => {
  const sound = await readMpeg(cursor, 0, await beforeTail(cursor), CHAIN_BEHIND_GARBAGE).catch(() => undefined);
  if (!sound) throw new Unreadable("it is no picture, clip or sound of a known kind");
  return sound;
};

const picture: Read = (file, cursor, { depth }) => readPicture(file, cursor, depth);
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
  mp4: (_, cursor) => readMp4(cursor),
  matroska: (_, cursor, { depth }) => readMatroska(cursor, depth),
  wav: (_, cursor) => readWav(cursor, "riff"),
  wave64: (_, cursor) => readWav(cursor, "wave64"),
  aiff: (_, cursor) => readAiff(cursor),
  ogg: (_, cursor) => readOgg(cursor),
  flac: (_, cursor) => readSound(cursor, 0),
  adts: (_, cursor) => readSound(cursor, 0),
  mpeg: (_, cursor) => readSound(cursor, 0),
  id3: (_, cursor) => readSound(cursor, 0),
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

/** @throws Unreadable when the file is nothing known or cannot be read as what it is. */
export const inspect = async (file: ByteReader, options: InspectOptions): Promise<Inspection> => {
  const cursor = await openCursor(file);
  const beginning = Math.min(cursor.sizeBytes, SNIFFED_BYTES);
  await cursor.load(0, beginning);
  const format = formatOf(cursor.part(0, beginning));
  const read = format ? (READS[format] ?? ((from, _, how) => readOther(from, how))) : readUnknown;
  try {
    return sane(await read(file, cursor, options));
  } catch (error) {
    // A number that leads past what was read: the readers look at memory only through views that refuse it.
    if (error instanceof RangeError) throw new Unreadable("its index is broken");
    throw error;
  }
};
