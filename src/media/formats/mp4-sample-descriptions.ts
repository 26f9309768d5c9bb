// Parses MP4 sample descriptions: codec, displayed size and audio frame duration.
import { Unreadable } from "../byte-source.ts";
import { framesIn } from "./aac-blocks.ts";
import { type Box, boxesIn, boxIn, viewOf } from "./mp4-boxes.ts";
import type { TrackKind } from "./mp4-track-kinds.ts";
import { ac3Sound, amrSound, flacSound, mpegSound, opusTime, type PacketSound, type PacketTime } from "./packet-duration.ts";

export type TrackCode = {
  /** The four-character code as stored in the file. */
  code: string;
  width?: number;
  height?: number;
  /** Seconds of sound in one sample; absent if it varies or is unknown. */
  sampleS?: number;
  /** Derives the length of a sample from its bytes. */
  packetTime?: PacketSound;
  /**
   * For AAC, whose samples each contain one frame: parses all bytes to detect additional frames. `unread` if the frames cannot be
   * parsed.
   */
  aac?: PacketSound | "unread";
  /** Minimum bytes of one sample, for sound whose table may count single samples. */
  leastBytes?: number;
  /** The description states a value twice or states an unusual value; decoders differ in the value they use. */
  isUnclear?: true;
};

const AAC_RATES = [96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350];
/** Additional rates of extended HE-AAC, from index 15. */
const EXTENDED_RATES = [51_200, 40_000, 38_400, 34_150, 28_800, 25_600, 20_000, 19_200, 17_075, 14_400, 12_800, 9600];
const PLAIN = /^(sowt|twos|lpcm|in24|in32|fl32|fl64|raw |NONE|ulaw|alaw|ipcm|fpcm)$/;
/** Bytes of one PCM sample, if the code defines them. */
const WIDTHS: Record<string, number> = { in24: 3, in32: 4, fl32: 4, fl64: 8, ulaw: 1, alaw: 1 };
/** Sample sizes in bits that decoders support, for codes that leave them to the description. */
const BITS: Record<string, readonly number[]> = {
  ...{ sowt: [8, 16, 24, 32], twos: [8, 16, 24, 32], "raw ": [8, 16], NONE: [8, 16] },
  ...{ lpcm: [8, 16, 24, 32, 64], ipcm: [8, 16, 24, 32], fpcm: [32, 64] },
};
/** Counting rate for codecs whose frames declare their own rate. */
const FRAMES_RATE = 48_000;
/** Bytes of a description before its child boxes. */
const PICTURE_BYTES = 78;
const SOUND_BYTES = 28;

/** AAC object types that declare their frame length, and the low-delay types among them, whose frames are half as long. */
const FRAMED = [1, 2, 3, 4, 6, 7, 17, 19, 20, 22, 23, 39];
const LOW_DELAY = [23, 39];
/** Extended HE-AAC declares its output length by an index. */
const EXTENDED = 42;
const EXTENDED_SAMPLES = [768, 1024, 2048, 2048, 4096];
/** MPEG audio and lossless audio with an AAC-like configuration; their frames have other lengths. */
const OTHER = [32, 33, 34, 36];

/** Contents of an AAC configuration: object type and rate index of the core, and the frame duration in seconds. */
type AacConfig = { object: number; rateIndex: number; frameS: number };

/** @throws Unreadable if the object type cannot be measured */
const readConfig = (config: Uint8Array): AacConfig | undefined => {
  let at = 0;
  const take = (count: number): number => {
    let value = 0;
    for (let n = 0; n < count; n++, at++) value = value * 2 + (((config[at >> 3] ?? 0) >> (7 - (at & 7))) & 1);
    return value;
  };
  const type = () => {
    const short = take(5);
    return short === 31 ? 32 + take(6) : short;
  };
  const hertz = (bits = 4) => {
    const index = take(bits);
    return { index, rate: index === 2 ** bits - 1 ? take(24) : (AAC_RATES[index] ?? EXTENDED_RATES[index - 15]) };
  };
  let object = type();
  const { index: rateIndex, rate } = hertz();
  take(4);
  // With spectral band replication, the configuration contains the output rate and the object type of the core.
  if (object === 5 || object === 29) {
    hertz();
    object = type();
  }
  if (!rate || config.length < 2) return undefined;
  if (OTHER.includes(object)) throw new Unreadable("its sound is of a kind that cannot be measured");
  if (object === EXTENDED) {
    const ownRate = hertz(5).rate;
    const samples = EXTENDED_SAMPLES[take(3)];
    return ownRate && samples ? { object, rateIndex, frameS: samples / ownRate } : undefined;
  }
  const isShort = FRAMED.includes(object) && take(1) === 1;
  const frameS = (isShort ? 960 : 1024) / (LOW_DELAY.includes(object) ? 2 : 1) / rate;
  return { object: isShort ? 0 : object, rateIndex, frameS };
};

/** Builds the configuration of a plain object type, for containers that do not store it. */
export const aacConfig = (object: 1 | 2, rate: number): Uint8Array => {
  const index = AAC_RATES.indexOf(rate);
  return index < 0 ? new Uint8Array(0) : Uint8Array.of((object << 3) | (index >> 1), ((index & 1) << 7) | (1 << 3));
};

/** Seconds of one AAC frame according to its configuration. @throws Unreadable */
export const aacFrame = (config: Uint8Array): number | undefined => readConfig(config)?.frameS;

/** Counts the AAC frames in each packet; undefined for object types whose frames cannot be parsed. @throws Unreadable */
export const aacSound = (config: Uint8Array): PacketSound | undefined => {
  const { object = 0, rateIndex = 0, frameS = 0 } = readConfig(config) ?? {};
  if ((object !== 1 && object !== 2) || rateIndex >= AAC_RATES.length) return undefined;
  const core = { object, rateIndex } as const;
  const time: PacketTime = (packet) => {
    const frames = framesIn(packet, core);
    return frames && frames * frameS * FRAMES_RATE;
  };
  return { time, rate: FRAMES_RATE, isWhole: true };
};

/** Finds the object type and configuration in the nested descriptors of an `esds` box. */
const esdsOf = (bytes: Uint8Array, box: Box): { object: number; config: Uint8Array } | undefined => {
  let at = box.start + 4;
  let object = 0;
  for (let step = 0; step < 16 && at + 2 < box.end; step++) {
    const tag = bytes[at++];
    let length = 0;
    for (let n = 0; n < 4 && at < box.end; n++) {
      const byte = bytes[at++] ?? 0;
      length = length * 128 + (byte & 127);
      if (byte < 128) break;
    }
    if (tag === 3) {
      const flags = bytes[at + 2] ?? 0;
      at += 3 + (flags & 0x80 ? 2 : 0) + (flags & 0x40 ? 1 + (bytes[at + 3] ?? 0) : 0) + (flags & 0x20 ? 2 : 0);
    } else if (tag === 4) {
      object = bytes[at] ?? 0;
      at += 13;
    } else if (tag === 5) return { object, config: bytes.subarray(at, Math.min(box.end, at + length)) };
    else at += length;
  }
  return object === 0 ? undefined : { object, config: new Uint8Array(0) };
};

/** QuickTime names of MPEG audio. */
const MPEG_NAMES = [".mp1", ".mp2", ".mp3", "mp3 ", "ms\0U", "ms\0P"];
const isAac = (object: number) => object === 0x40 || (object >= 0x66 && object <= 0x68);
/** MPEG-1 and MPEG-2 audio of any layer. */
const isMpeg = (object: number) => object === 0x69 || object === 0x6b;
const isAc3 = (object: number) => object === 0xa5 || object === 0xa6;

const bitsOf = (view: DataView, { start }: Box, version: number): number =>
  version === 2 ? view.getUint32(start + 48) : view.getUint16(start + 18);

/** Minimum bytes of one sample of all channels: by sample size for PCM, by the packet fields of version 1 for encoded sound. */
const leastBytes = (view: DataView, entry: Box, version: number): number => {
  const { name, start, end } = entry;
  const isFirst = version === 1 && start + 40 <= end;
  const channels = Math.max(1, version === 2 ? view.getUint32(start + 40) : view.getUint16(start + 16));
  const bits = bitsOf(view, entry, version);
  if (PLAIN.test(name)) return channels * Math.max(1, WIDTHS[name] ?? bits >> 3);
  const [samples, bytes] = isFirst ? [view.getUint32(start + 28), view.getUint32(start + 36)] : [0, 0];
  // Encoded sound takes at least 4 bits for each sample, as far as a table counts its samples.
  const halves = channels / 2;
  return samples > 0 && bytes > 0 ? Math.min(bytes / samples, halves) : halves;
};

const soundOf = (bytes: Uint8Array, entry: Box): TrackCode => {
  const view = viewOf(bytes);
  const version = view.getUint16(entry.start + 8);
  // Version 2 of QuickTime stores its rate as a float. Versions 1 and 2 have additional fields before the boxes.
  const rate = version === 2 ? view.getFloat64(entry.start + 32) : view.getUint16(entry.start + 24);
  const skip = SOUND_BYTES + (version === 1 ? 16 : version === 2 ? 36 : 0);
  const inside = entry.start + skip <= entry.end ? boxesIn(bytes, entry.start + skip, entry.end) : [];
  const wave = inside.find(({ name }) => name === "wave");
  const all = wave ? [...inside, ...boxesIn(bytes, wave.start, wave.end)] : inside;
  const isTwice = new Set(all.map(({ name }) => name)).size < all.length;
  const isOdd = isTwice || (BITS[entry.name]?.includes(bitsOf(view, entry, version)) ?? true) === false;
  const found: TrackCode = { code: entry.name, ...(isOdd ? { isUnclear: true } : {}) };
  const sampled = (sampleS: number | undefined): TrackCode =>
    sampleS && Number.isFinite(sampleS) ? { ...found, sampleS } : found;
  const esds = all.find(({ name, start, end }) => name === "esds" && end - start > 6);
  if (esds) {
    const declared = esdsOf(bytes, esds);
    if (declared && isMpeg(declared.object)) return { ...found, packetTime: mpegSound(FRAMES_RATE) };
    if (declared && isAc3(declared.object)) return { ...found, packetTime: ac3Sound(FRAMES_RATE) };
    if (!declared || !isAac(declared.object)) return found;
    return { ...sampled(aacFrame(declared.config)), aac: aacSound(declared.config) ?? "unread" };
  }
  const alac = all.find(({ name, start, end }) => name === "alac" && end - start >= 28);
  if (alac) return sampled(view.getUint32(alac.start + 4) / view.getUint32(alac.start + 24));
  if (entry.name === "ac-3" || entry.name === "ec-3") return { ...found, packetTime: ac3Sound(FRAMES_RATE) };
  if (MPEG_NAMES.includes(entry.name)) return { ...found, packetTime: mpegSound(FRAMES_RATE) };
  if (entry.name === "samr" || entry.name === "sawb") return { ...found, packetTime: amrSound(entry.name) };
  if (entry.name === "Opus") return { ...found, packetTime: { time: opusTime, rate: 48_000 } };
  if (entry.name === "fLaC") {
    const own = all.find(({ name }) => name === "dfLa");
    const packetTime = flacSound(own ? bytes.subarray(own.start + 8, own.end) : new Uint8Array(0), rate);
    return packetTime ? { ...found, packetTime } : found;
  }
  const single = { leastBytes: leastBytes(view, entry, version) };
  return PLAIN.test(entry.name) ? { ...sampled(1 / rate), ...single } : { ...found, ...single };
};

const pictureOf = (bytes: Uint8Array, entry: Box): TrackCode => {
  const view = viewOf(bytes);
  const [width, height] = [view.getUint16(entry.start + 24), view.getUint16(entry.start + 26)];
  const pasp = entry.start + PICTURE_BYTES < entry.end ? boxIn(bytes, entry, "pasp", PICTURE_BYTES) : undefined;
  const [across, down] =
    pasp && pasp.end - pasp.start >= 8 ? [view.getUint32(pasp.start), view.getUint32(pasp.start + 4)] : [1, 1];
  if (across === 0 || down === 0 || across === down) return { code: entry.name, width, height };
  // Non-square pixels are converted by enlarging one side, never by shrinking.
  return across > down
    ? { code: entry.name, width: Math.round((width * across) / down), height }
    : { code: entry.name, width, height: Math.round((height * down) / across) };
};

/** The first description of a track. */
export const entryOf = (bytes: Uint8Array, stsd: Box | undefined): Box | undefined =>
  stsd && boxesIn(bytes, stsd.start + 8, stsd.end)[0];

/** Reports whether all descriptions of a track are identical and of a version that all decoders read alike. */
const isOne = (bytes: Uint8Array, description: Box | undefined): boolean => {
  if (description && bytes[description.start] !== 0) return false;
  const [first, ...others] = description ? boxesIn(bytes, description.start + 8, description.end) : [];
  const entryAt = ({ start, end }: Box) => bytes.subarray(start - 4, end);
  return others.every((other) => first !== undefined && Buffer.compare(entryAt(other), entryAt(first)) === 0);
};

export const codeOf = (bytes: Uint8Array, entry: Box, kind: TrackKind, description?: Box): TrackCode | undefined => {
  if (kind === "othr") return { code: entry.name };
  if (entry.end - entry.start < SOUND_BYTES) return undefined;
  if (kind === "vide") return pictureOf(bytes, entry);
  const sound = soundOf(bytes, entry);
  return isOne(bytes, description) ? sound : { ...sound, isUnclear: true };
};
