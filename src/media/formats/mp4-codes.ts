// What the sample descriptions of an MP4 track say: code, size as displayed, and how much sound one coded frame holds.
import { type Box, boxesIn, boxIn, viewOf } from "./boxes.ts";
import { flacTime, opusTime, type PacketTime } from "./packet-time.ts";

export type TrackCode = {
  /** Four letters, as the file has them. */
  code: string;
  width?: number;
  height?: number;
  /** Seconds of sound in one sample; absent where it differs or is not known. */
  sampleS?: number;
  /** Tells the length of a sample by its first bytes. */
  packetTime?: { time: PacketTime; rate: number };
};

const AAC_RATES = [96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350];
const PLAIN = /^(sowt|twos|lpcm|in24|in32|fl32|fl64|raw |NONE|ulaw|alaw|ipcm|fpcm)$/;
/** Bytes of a description before the boxes in it. */
const PICTURE_BYTES = 78;
const SOUND_BYTES = 28;

/** Seconds of one frame of AAC, by its configuration. */
export const aacFrame = (config: Uint8Array): number | undefined => {
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
  const hertz = () => {
    const index = take(4);
    return index === 15 ? take(24) : AAC_RATES[index];
  };
  let object = type();
  const rate = hertz();
  take(4);
  // Doubled rates say the rate of the output and the kind of the core.
  if (object === 5 || object === 29) {
    hertz();
    object = type();
  }
  if (!rate || config.length < 2) return undefined;
  const isShort = [1, 2, 3, 4, 6, 7, 17, 19, 20, 22, 23].includes(object) && take(1) === 1;
  return (object === 23 || object === 39 ? 512 : isShort ? 960 : 1024) / rate;
};

/** Content of the descriptor with a tag inside an `esds` box, found through those around it. */
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

const mpegSample = (object: number, config: Uint8Array, rate: number): number | undefined => {
  if (object === 0x40 || (object >= 0x66 && object <= 0x68)) return aacFrame(config);
  if (object === 0x69 || object === 0x6b) return (rate >= 32_000 ? 1152 : 576) / rate;
  return undefined;
};

const soundOf = (bytes: Uint8Array, entry: Box): TrackCode => {
  const view = viewOf(bytes);
  const version = view.getUint16(entry.start + 8);
  // QuickTime's second version has its rate as a float, and both later ones have more before the boxes.
  const rate = version === 2 ? view.getFloat64(entry.start + 32) : view.getUint16(entry.start + 24);
  const skip = SOUND_BYTES + (version === 1 ? 16 : version === 2 ? 36 : 0);
  const inside = entry.start + skip <= entry.end ? boxesIn(bytes, entry.start + skip, entry.end) : [];
  const wave = inside.find(({ name }) => name === "wave");
  const all = wave ? [...inside, ...boxesIn(bytes, wave.start, wave.end)] : inside;
  const found: TrackCode = { code: entry.name };
  const sampled = (sampleS: number | undefined): TrackCode =>
    sampleS && Number.isFinite(sampleS) ? { ...found, sampleS } : found;
  const esds = all.find(({ name, start, end }) => name === "esds" && end - start > 6);
  if (esds) {
    const said = esdsOf(bytes, esds);
    return sampled(said && mpegSample(said.object, said.config, rate));
  }
  const alac = all.find(({ name, start, end }) => name === "alac" && end - start >= 28);
  if (alac) return sampled(view.getUint32(alac.start + 4) / view.getUint32(alac.start + 24));
  if (entry.name === "ac-3") return sampled(1536 / rate);
  if (entry.name === ".mp3") return sampled((rate >= 32_000 ? 1152 : 576) / rate);
  if (entry.name === "Opus") return { ...found, packetTime: { time: opusTime, rate: 48_000 } };
  if (entry.name === "fLaC" && rate > 0) return { ...found, packetTime: { time: flacTime, rate } };
  return PLAIN.test(entry.name) ? sampled(1 / rate) : found;
};

const pictureOf = (bytes: Uint8Array, entry: Box): TrackCode => {
  const view = viewOf(bytes);
  const [width, height] = [view.getUint16(entry.start + 24), view.getUint16(entry.start + 26)];
  const pasp = entry.start + PICTURE_BYTES < entry.end ? boxIn(bytes, entry, "pasp", PICTURE_BYTES) : undefined;
  const [across, down] =
    pasp && pasp.end - pasp.start >= 8 ? [view.getUint32(pasp.start), view.getUint32(pasp.start + 4)] : [1, 1];
  if (across === 0 || down === 0 || across === down) return { code: entry.name, width, height };
  // Square pixels by more of them, never by fewer.
  return across > down
    ? { code: entry.name, width: Math.round((width * across) / down), height }
    : { code: entry.name, width, height: Math.round((height * down) / across) };
};

/** The first description of a track. */
export const codeOf = (bytes: Uint8Array, stsd: Box | undefined, kind: "vide" | "soun"): TrackCode | undefined => {
  const entry = stsd && boxesIn(bytes, stsd.start + 8, stsd.end)[0];
  if (!entry || entry.end - entry.start < SOUND_BYTES) return undefined;
  return kind === "vide" ? pictureOf(bytes, entry) : soundOf(bytes, entry);
};
