// Measures WAV, RF64, Wave64 and AIFF by the sound bytes that are present.
import { Unreadable } from "../byte-source.ts";
import type { Cursor } from "./cursor.ts";
import { beginsCoded } from "./disguised-codec.ts";
import type { Inspection } from "./inspection.ts";
import { readMpeg } from "./mp3.ts";
import { nameAt } from "./mp4-boxes.ts";
import { type Form, formOf, MPEG_LAYER, PLAIN_CODES, plainBytes, samplesOfBlock } from "./wav-format.ts";

const MAX_CHUNKS = 10_000;
/** A header that was written before its length was known declares at least this much, which is hours of sound. */
const UNKNOWN_BYTES = 256 * 1024 * 1024;
const UNKNOWN_32 = 0xffff_ffff;

/** `isUnclear`: the padding byte of a chunk is missing, which not every decoder detects. */
type Sound = { form?: Form; dataAt: number; dataBytes: number; isUnclear: boolean };

const number = (cursor: Cursor, at: number, bytes: 2 | 4 | 8, isLittle: boolean): number => {
  const from = at - cursor.start;
  if (bytes === 2) return cursor.view.getUint16(from, isLittle);
  return bytes === 4 ? cursor.view.getUint32(from, isLittle) : Number(cursor.view.getBigUint64(from, isLittle));
};

const formAt = async (cursor: Cursor, at: number, length: number, isLittle: boolean): Promise<Form> => {
  if (length < 14 || !(await cursor.load(at, Math.min(length, 40)))) throw new Unreadable("its header is broken");
  return formOf(cursor.part(at, Math.min(length, 40)), isLittle);
};

const secondsOf = (form: Form, bytes: number): number | undefined => {
  const { code, channels, rate } = form;
  if (rate < 1 || channels < 1) throw new Unreadable("its header is broken");
  if (PLAIN_CODES.includes(code)) return Math.floor(bytes / plainBytes(form)) / rate;
  const samples = samplesOfBlock(form);
  if (form.blockBytes < 1 || samples < 1) return undefined;
  return (Math.floor(bytes / form.blockBytes) * samples) / rate;
};

/** Walks the chunks up to the sound; `dataBytes` is the declared length. */
const findSound = async (cursor: Cursor, form: "riff" | "wave64"): Promise<Sound> => {
  const isLittle = nameAt(cursor.bytes, 0) !== "RIFX";
  const isLong64 = nameAt(cursor.bytes, 0) === "RF64" || nameAt(cursor.bytes, 0) === "BW64";
  const [nameBytes, sizeBytes] = form === "riff" ? ([4, 4] as const) : ([16, 8] as const);
  const headerBytes = nameBytes + sizeBytes;
  let at = headerBytes + nameBytes;
  let known: Form | undefined;
  let longBytes: number | undefined;
  let isUnclear = false;
  for (let n = 0; n < MAX_CHUNKS && (await cursor.load(at, headerBytes)); n++) {
    const name = nameAt(cursor.bytes, at - cursor.start);
    const size = number(cursor, at + nameBytes, sizeBytes, isLittle);
    const content = at + headerBytes;
    const length = form === "riff" ? size : size - headerBytes;
    if (length < 0) throw new Unreadable("its header is broken");
    // If there are two, the first applies, as in decoders.
    if (name === "fmt ") known ??= await formAt(cursor, content, length, isLittle);
    if (name === "ds64" && isLong64 && (await cursor.load(content, 16))) longBytes = number(cursor, content + 8, 8, true);
    if (name === "data" && known) {
      // If the two lengths of a long file differ, decoders use one or the other.
      const declared = size === UNKNOWN_32 ? (longBytes ?? length) : Math.max(length, longBytes ?? 0);
      return { form: known, dataAt: content, dataBytes: declared, isUnclear };
    }
    // Chunks are aligned to even offsets, in Wave64 to multiples of eight bytes.
    at = form === "riff" ? content + length + (length & 1) : at + Math.ceil(size / 8) * 8;
    if (form === "riff" && length & 1 && (await cursor.load(at - 1, 4)) && isChunk(cursor, at - 1)) {
      at--;
      isUnclear = true;
    }
  }
  throw new Unreadable("it holds no sound");
};

/** A real file has one data chunk. If there are several, decoders play the first, the last or all of them. */
const longestOf = async (cursor: Cursor, firstAt: number, firstBytes: number, isLittle: boolean) => {
  let pieces = 1;
  let [at, most] = [firstAt + firstBytes + (firstBytes & 1), firstBytes];
  for (let n = 0; n < MAX_CHUNKS && (await cursor.load(at, 8)); n++) {
    const size = number(cursor, at + 4, 4, isLittle);
    if (nameAt(cursor.bytes, at - cursor.start) === "data") {
      most = Math.max(most, Math.min(size, cursor.sizeBytes - at - 8));
      pieces++;
    }
    at += 8 + size + (size & 1);
  }
  return { bytes: most, isUnclear: pieces > 1 };
};

/** Some writers omit the padding byte of a chunk. */
const isChunk = (cursor: Cursor, at: number) => /^(data|LIST|fact|fmt |id3 |bext)$/.test(nameAt(cursor.bytes, at - cursor.start));

/** @throws Unreadable */
export const readWav = async (cursor: Cursor, kind: "riff" | "wave64"): Promise<Inspection> => {
  const isLittle = nameAt(cursor.bytes, 0) !== "RIFX";
  const { form, dataAt, dataBytes, ...sound } = await findSound(cursor, kind);
  const there = cursor.sizeBytes - dataAt;
  const isUnknown = dataBytes === 0 || (dataBytes >= UNKNOWN_BYTES && dataBytes > there * 2);
  const longest =
    kind === "riff" && !isUnknown && dataBytes < there ? await longestOf(cursor, dataAt, dataBytes, isLittle) : undefined;
  const isUnclear = sound.isUnclear || longest?.isUnclear === true;
  const bytes = isUnknown ? there : Math.min(there, longest?.bytes ?? dataBytes);
  if (!form || bytes < 1) throw new Unreadable("it holds no sound");
  const isComplete = isUnknown || dataBytes <= there + 1;
  if (MPEG_LAYER.includes(form.code)) {
    const inside = await readMpeg(cursor, dataAt, dataAt + bytes);
    const found: Inspection = { ...inside, mime: "audio/wav", isComplete: isComplete && inside.isComplete };
    return isUnclear ? { ...found, isUncounted: true } : found;
  }
  const seconds = secondsOf(form, bytes);
  const isCoded = PLAIN_CODES.includes(form.code) && (await beginsCoded(cursor, dataAt, bytes));
  const uncounted = isCoded || isUnclear ? { isUncounted: true as const } : {};
  const found: Inspection = { mime: "audio/wav", kind: "audio", hasAudio: true, isComplete, ...uncounted };
  return seconds === undefined ? found : { ...found, ms: Math.round(seconds * 1000), frameMs: 1000 / form.rate };
};

/** A sampling rate as an 80-bit extended float; real rates are whole numbers. */
const extended = (cursor: Cursor, at: number): number =>
  number(cursor, at + 2, 4, false) * 2 ** ((number(cursor, at, 2, false) & 0x7fff) - 16_383 - 31);

/** AIFF-C codes with at least one byte for each sample. */
const AIFF_PLAIN = /^(NONE|sowt|twos|raw |fl32|FL32|fl64|FL64|in24|in32|ulaw|ULAW|alaw|ALAW)$/;

/** @throws Unreadable */
export const readAiff = async (cursor: Cursor): Promise<Inspection> => {
  let at = 12;
  let form: { rate: number; frameBytes: number; isPlain: boolean } | undefined;
  for (let n = 0; n < MAX_CHUNKS && (await cursor.load(at, 8)); n++) {
    const name = nameAt(cursor.bytes, at - cursor.start);
    const length = number(cursor, at + 4, 4, false);
    const content = at + 8;
    if (name === "COMM" && (await cursor.load(content, Math.min(length, 22)))) {
      const code = length >= 22 ? nameAt(cursor.bytes, content + 18 - cursor.start) : "NONE";
      const bits = /law$/i.test(code) ? 8 : number(cursor, content + 6, 2, false);
      form = {
        rate: extended(cursor, content + 8),
        frameBytes: number(cursor, content, 2, false) * Math.ceil(bits / 8),
        isPlain: AIFF_PLAIN.test(code),
      };
    }
    if (name === "SSND" && form) {
      const there = cursor.sizeBytes - content - 8;
      const declared = length - 8;
      const isUnknown = declared <= 0 || (declared >= UNKNOWN_BYTES && declared > there * 2);
      const found: Inspection = {
        mime: "audio/aiff",
        kind: "audio",
        hasAudio: true,
        isComplete: isUnknown || declared <= there + 1,
      };
      if (!form.isPlain) return found;
      if (!(form.rate >= 1) || form.frameBytes < 1) throw new Unreadable("its header is broken");
      const seconds = Math.floor((isUnknown ? there : Math.min(there, declared)) / form.frameBytes) / form.rate;
      return { ...found, ms: Math.round(seconds * 1000), frameMs: 1000 / form.rate };
    }
    at = content + length + (length & 1);
  }
  throw new Unreadable("it holds no sound");
};
