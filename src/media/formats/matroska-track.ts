// Parses a Matroska track and its blocks: kind, codec and frame durations.
import { latin1, Unreadable } from "../byte-source.ts";
import { elementsIn, floatOf, ID, uintOf, variable } from "./ebml.ts";
import { aacConfig, aacSound } from "./mp4-sample-descriptions.ts";
import {
  ac3Sound,
  createVorbisTime,
  flacSound,
  mpegSound,
  opusTime,
  type PacketSound,
  type PacketTime,
} from "./packet-duration.ts";
import { formOf, MPEG_LAYER, PLAIN_CODES, plainBytes, samplesOfBlock } from "./wav-format.ts";

export type Track = {
  number: number;
  kind: "video" | "audio";
  width: number;
  height: number;
  /** Duration of one frame according to the header, seconds; 0 if not declared. */
  frameS: number;
  /** Sample counter for the packets of sound; absent if only timestamps determine the duration. */
  sound: PacketSound | undefined;
  /** Seconds that a decoder skips at the start. */
  delayS: number;
  /** Bytes that were removed from the beginning of each frame. */
  stripped: Uint8Array;
};

const NONE = new Uint8Array(0);

/**
 * Elements that may occur several times in their parent: fillers, checksums, and elements that do not affect the duration of a
 * track.
 */
const REPEATED: ReadonlySet<number> = new Set<number>([
  ...[ID.void, ID.checksum, ID.encoding],
  ...[ID.overlay, ID.translate, ID.additionMapping],
]);

/** The child elements by id. @throws Unreadable if an id occurs twice, because decoders differ in which one they use */
const children = (content: Uint8Array) => {
  const all = new Map<number, Uint8Array>();
  for (const { id, content: inner } of elementsIn(content, true)) {
    if (all.has(id) && !REPEATED.has(id)) throw new Unreadable("its index is not one of a real file");
    if (!all.has(id)) all.set(id, inner);
  }
  return all;
};

/**
 * Parses the three Vorbis headers in one block: two lengths in steps of 255, then the headers. The rate is that of the first
 * header.
 */
const vorbisSound = (codec: Uint8Array): PacketSound | undefined => {
  if (codec[0] !== 2) return undefined;
  const lengths = [0, 0];
  let at = 1;
  for (let n = 0; n < 2; n++)
    for (let more = true; more && at < codec.length; at++) {
      lengths[n] = (lengths[n] ?? 0) + (codec[at] ?? 0);
      more = codec[at] === 255;
    }
  const [head = 0, notes = 0] = lengths;
  const first = codec.subarray(at, at + head);
  const time = createVorbisTime(first, codec.subarray(at + head + notes));
  const rate = time ? new DataView(first.buffer, first.byteOffset, first.length).getUint32(12, true) : 0;
  return time && rate > 0 ? { time, rate } : undefined;
};

const constant =
  (samples: number): PacketTime =>
  () =>
    samples;

const bySize = (blockBytes: number, samples: number, rate: number): PacketSound | undefined =>
  blockBytes > 0 && samples > 0
    ? { time: (packet) => Math.floor(packet.length / blockBytes) * samples, rate, isWhole: true }
    : undefined;

/** Codecs defined for AVI, whose header is that of a WAV file. */
const acmSound = (own: Uint8Array, rate: number): PacketSound | undefined => {
  if (own.length < 16) return undefined;
  const form = formOf(own, true);
  if (form.channels < 1) return undefined;
  if (PLAIN_CODES.includes(form.code)) return bySize(plainBytes(form), 1, rate);
  if (MPEG_LAYER.includes(form.code)) return mpegSound(rate);
  return bySize(form.blockBytes, samplesOfBlock(form), rate);
};

/** An ALAC frame has the length given in its header, at a rate that both headers must declare. */
const alacSound = (own: Uint8Array, rate: number): PacketSound | undefined => {
  if (own.length < 24) return undefined;
  const view = new DataView(own.buffer, own.byteOffset, own.length);
  return view.getUint32(20) === rate ? { time: constant(view.getUint32(0)), rate } : undefined;
};

/** `rate` is that of the encoded sound; `playedRate` applies to sound whose codec declares no rate. */
const soundOf = (
  codec: string,
  own: Uint8Array,
  { rate, playedRate, channels, bits }: { rate: number; playedRate: number; channels: number; bits: number },
): Track["sound"] => {
  if (codec === "A_OPUS") return { time: opusTime, rate: 48_000 };
  if (rate <= 0) return undefined;
  if (codec.startsWith("A_AAC")) return aacSound(own.length > 0 ? own : aacConfig(codec.includes("MAIN") ? 1 : 2, rate));
  if (codec.startsWith("A_MPEG/")) return mpegSound(rate);
  // Skips the format marker and the header of the block.
  if (codec === "A_FLAC") return flacSound(own.subarray(8), rate);
  if (codec === "A_AC3" || codec === "A_EAC3") return ac3Sound(rate);
  if (codec.startsWith("A_PCM/")) return plainSound(codec, channels, bits, playedRate);
  if (codec === "A_MS/ACM") return acmSound(own, playedRate);
  if (codec === "A_ALAC") return alacSound(own, playedRate);
  return codec === "A_VORBIS" ? vorbisSound(own) : undefined;
};

/** Non-square pixels are converted by enlarging one side, never by shrinking. */
const shownSize = (video: ReadonlyMap<number, Uint8Array>): { width: number; height: number } => {
  const number = (id: number) => uintOf(video.get(id) ?? NONE);
  const [width, height] = [number(ID.pixelWidth), number(ID.pixelHeight)];
  const [across, down] = [number(ID.displayWidth) || width, number(ID.displayHeight) || height];
  // Units 0 (pixels) and 3 (ratio) define an aspect ratio; so do centimetres and inches.
  const shape = (across * height) / (down * width);
  if (!(shape > 0) || Math.abs(shape - 1) < 0.001) return { width, height };
  return shape > 1 ? { width: Math.round(width * shape), height } : { width, height: Math.round(height / shape) };
};

/** Header stripping, one of the compression algorithms. */
const STRIPPING = 3;
/** The default scope of an encoding: all frames. */
const FRAMES = Uint8Array.of(1);
/** Bytes that were removed from each frame; undefined if frames are compressed in another way and their bytes are unknown. */
const strippedOf = (track: ReadonlyMap<number, Uint8Array>): Uint8Array | undefined => {
  const encodings = track.get(ID.encodings);
  if (!encodings) return NONE;
  const all = elementsIn(encodings).filter(({ id }) => id === ID.encoding);
  const own = children(all[0]?.content ?? NONE);
  const compression = children(own.get(ID.compression) ?? NONE);
  const isOfFrames = uintOf(own.get(ID.scope) ?? FRAMES) === 1 && uintOf(own.get(ID.encodingType) ?? NONE) === 0;
  if (all.length !== 1 || !isOfFrames || uintOf(compression.get(ID.algorithm) ?? NONE) !== STRIPPING) return undefined;
  return compression.get(ID.stripped) ?? NONE;
};

/** Sample sizes that decoders support; they treat any other as 16 bits. */
const WHOLE_BITS = [8, 16, 24, 32];
const FLOAT_BITS = [32, 64];
const plainSound = (codec: string, channels: number, bits: number, rate: number): PacketSound | undefined => {
  const known = codec.startsWith("A_PCM/FLOAT") ? FLOAT_BITS : WHOLE_BITS;
  return known.includes(bits) ? bySize((channels * bits) / 8, 1, rate) : undefined;
};

/** Parses a track; undefined for subtitles and other tracks that are neither pictures nor sound. @throws Unreadable */
export const trackOf = (content: Uint8Array): Track | undefined => {
  const track = children(content);
  const type = uintOf(track.get(ID.trackType) ?? NONE);
  if (type !== 1 && type !== 2) return undefined;
  // A track clock, which writers stopped using before WebM existed; 0 means none.
  const scale = floatOf(track.get(ID.trackScale) ?? NONE);
  if (scale !== 0 && scale !== 1) throw new Unreadable("its tracks have clocks of their own");
  const codec = latin1(track.get(ID.codec) ?? NONE);
  const own = track.get(ID.codecPrivate) ?? NONE;
  const audio = children(track.get(ID.audio) ?? NONE);
  const rate = floatOf(audio.get(ID.rate) ?? NONE) || 8000;
  const playedRate = floatOf(audio.get(ID.playedRate) ?? NONE) || rate;
  const channels = uintOf(audio.get(ID.channels) ?? NONE) || 1;
  const bits = uintOf(audio.get(ID.bitDepth) ?? NONE);
  const stripped = strippedOf(track);
  const delayNs = uintOf(track.get(ID.codecDelay) ?? NONE);
  // Opus declares its delay in its own header too, at 48,000 samples a second.
  const skip = codec === "A_OPUS" && own.length >= 12 ? (own[10] ?? 0) + (own[11] ?? 0) * 256 : 0;
  return {
    number: uintOf(track.get(ID.trackNumber) ?? NONE),
    kind: type === 1 ? "video" : "audio",
    ...shownSize(children(track.get(ID.video) ?? NONE)),
    frameS: uintOf(track.get(ID.defaultDuration) ?? NONE) / 1e9,
    sound: type === 2 && stripped ? soundOf(codec, own, { rate, playedRate, channels, bits }) : undefined,
    delayS: codec === "A_OPUS" ? (skip > 0 ? skip / 48_000 : delayNs / 1e9) : 0,
    stripped: stripped ?? NONE,
  };
};

/** Sizes of the frames of a block with several frames; undefined if they are invalid. */
const lacesOf = (
  block: Uint8Array,
  at: number,
  lacing: number,
  totalBytes: number,
): { sizes: number[]; at: number } | undefined => {
  const frames = (block[at] ?? 0) + 1;
  if (frames > totalBytes) return undefined;
  let next = at + 1;
  const sizes: number[] = [];
  if (lacing === 2) return { sizes: Array.from({ length: frames }, () => Math.floor((totalBytes - next) / frames)), at: next };
  for (let n = 0; n < frames - 1; n++) {
    let size = 0;
    if (lacing === 1) {
      for (let more = true; more; next++) {
        const piece = block[next];
        if (piece === undefined) return undefined;
        size += piece;
        more = piece === 255;
      }
    } else {
      const number = variable(block, next);
      if (number?.value === undefined) return undefined;
      next += number.length;
      // The first value is a size; the others are differences from the previous size.
      size = n === 0 ? number.value : (sizes[n - 1] ?? 0) + number.value - (2 ** (7 * number.length - 1) - 1);
    }
    sizes.push(size);
  }
  sizes.push(totalBytes - next - sizes.reduce((sum, size) => sum + size, 0));
  return sizes.every((size) => size >= 0) ? { sizes, at: next } : undefined;
};

/** A block whose frame sizes are invalid has no frames. */
export type Block = { track: number; time: number; frames: { at: number; bytes: number }[] };

/** Parses the header of a block and the positions of its frames. `block` contains at least its beginning. */
export const blockOf = (block: Uint8Array, totalBytes: number): Block | undefined => {
  const number = variable(block, 0);
  if (number?.value === undefined || block.length < number.length + 3) return undefined;
  const view = new DataView(block.buffer, block.byteOffset, block.length);
  const flags = block[number.length + 2] ?? 0;
  const at = number.length + 3;
  const found = { track: number.value, time: view.getInt16(number.length) };
  const lacing = (flags >> 1) & 3;
  if (lacing === 0) return { ...found, frames: [{ at, bytes: totalBytes - at }] };
  const laces = lacesOf(block, at, lacing, totalBytes);
  if (!laces) return { ...found, frames: [] };
  let next = laces.at;
  const frames = laces.sizes.map((bytes) => {
    next += bytes;
    return { at: next - bytes, bytes };
  });
  return { ...found, frames };
};
