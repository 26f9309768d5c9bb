// One track of a Matroska file: what it is, and how the lengths of its blocks add up.
import { latin1, Unreadable } from "../bytes.ts";
import { elementsIn, floatOf, ID, uintOf, variable } from "./ebml.ts";
import { aacFrame } from "./mp4-codes.ts";
import { ac3Sound, flacSound, mpegSound, openVorbisTime, opusTime, type PacketSound, type PacketTime } from "./packet-time.ts";

export type Track = {
  number: number;
  kind: "video" | "audio";
  width: number;
  height: number;
  /** Time of one frame by the header, seconds; 0 where it does not say. */
  frameS: number;
  /** Sound by its packets: samples of each, at a rate; absent where only the clock says how long it is. */
  heard: PacketSound | undefined;
  /** Seconds that a decoder cuts off at the front. */
  delayS: number;
  /** Bytes that were taken off the beginning of each frame. */
  stripped: Uint8Array;
};

const NONE = new Uint8Array(0);

const children = (content: Uint8Array) => {
  const all = new Map<number, Uint8Array>();
  for (const { id, content: inner } of elementsIn(content)) if (!all.has(id)) all.set(id, inner);
  return all;
};

/** The three headers of Vorbis in one piece: two lengths in pieces of 255, then the headers. */
const vorbisTime = (codec: Uint8Array): PacketTime | undefined => {
  if (codec[0] !== 2) return undefined;
  const lengths = [0, 0];
  let at = 1;
  for (let n = 0; n < 2; n++)
    for (let more = true; more && at < codec.length; at++) {
      lengths[n] = (lengths[n] ?? 0) + (codec[at] ?? 0);
      more = codec[at] === 255;
    }
  const [head = 0, notes = 0] = lengths;
  return openVorbisTime(codec.subarray(at, at + head), codec.subarray(at + head + notes));
};

const constant =
  (samples: number): PacketTime =>
  () =>
    samples;

const heardOf = (codec: string, own: Uint8Array, rate: number, blockBytes: number): Track["heard"] => {
  if (codec === "A_OPUS") return { time: opusTime, rate: 48_000 };
  if (rate <= 0) return undefined;
  if (codec.startsWith("A_AAC")) return { time: constant((aacFrame(own) ?? 1024 / rate) * rate), rate };
  if (codec.startsWith("A_MPEG/")) return mpegSound(rate);
  // Behind the mark of the format and the head of the block.
  if (codec === "A_FLAC") return flacSound(own.subarray(8), rate);
  if (codec === "A_AC3" || codec === "A_EAC3") return ac3Sound(rate);
  if (codec.startsWith("A_PCM/") && blockBytes > 0) return { time: (packet) => packet.length / blockBytes, rate, isWhole: true };
  const time = codec === "A_VORBIS" ? vorbisTime(own) : undefined;
  return time && { time, rate };
};

/** Square pixels by more of them, never by fewer. */
const shownSize = (video: ReadonlyMap<number, Uint8Array>): { width: number; height: number } => {
  const number = (id: number) => uintOf(video.get(id) ?? NONE);
  const [width, height] = [number(ID.pixelWidth), number(ID.pixelHeight)];
  const [across, down] = [number(ID.displayWidth) || width, number(ID.displayHeight) || height];
  // Units 0 (pixels) and 3 (ratio) say a shape; centimetres and inches do as well.
  const shape = (across * height) / (down * width);
  if (!(shape > 0) || Math.abs(shape - 1) < 0.001) return { width, height };
  return shape > 1 ? { width: Math.round(width * shape), height } : { width, height: Math.round(height / shape) };
};

const strippedOf = (track: ReadonlyMap<number, Uint8Array>): Uint8Array => {
  const inside = (content: Uint8Array | undefined, id: number) => (content ? children(content).get(id) : undefined);
  const compression = inside(inside(track.get(ID.encodings), ID.encoding), ID.compression);
  return compression && uintOf(inside(compression, ID.algorithm) ?? NONE) === 3
    ? (inside(compression, ID.stripped) ?? NONE)
    : NONE;
};

/** Reads a track; undefined for text and what else is neither picture nor sound. @throws Unreadable */
export const trackOf = (content: Uint8Array): Track | undefined => {
  const track = children(content);
  const type = uintOf(track.get(ID.trackType) ?? NONE);
  if (type !== 1 && type !== 2) return undefined;
  // A clock of its own, which writers stopped to use before there was WebM; 0 is none.
  const scale = floatOf(track.get(ID.trackScale) ?? NONE);
  if (scale !== 0 && scale !== 1) throw new Unreadable("its tracks have clocks of their own");
  const codec = latin1(track.get(ID.codec) ?? NONE);
  const own = track.get(ID.codecPrivate) ?? NONE;
  const audio = children(track.get(ID.audio) ?? NONE);
  const rate = floatOf(audio.get(ID.rate) ?? NONE) || 8000;
  const blockBytes = ((uintOf(audio.get(ID.channels) ?? NONE) || 1) * uintOf(audio.get(ID.bitDepth) ?? NONE)) / 8;
  const delayNs = uintOf(track.get(ID.codecDelay) ?? NONE);
  // Opus says its delay in its own header too, at 48,000 samples a second.
  const skip = codec === "A_OPUS" && own.length >= 12 ? (own[10] ?? 0) + (own[11] ?? 0) * 256 : 0;
  return {
    number: uintOf(track.get(ID.trackNumber) ?? NONE),
    kind: type === 1 ? "video" : "audio",
    ...shownSize(children(track.get(ID.video) ?? NONE)),
    frameS: uintOf(track.get(ID.defaultDuration) ?? NONE) / 1e9,
    heard: type === 2 ? heardOf(codec, own, rate, blockBytes) : undefined,
    delayS: codec === "A_OPUS" ? (skip > 0 ? skip / 48_000 : delayNs / 1e9) : 0,
    stripped: strippedOf(track),
  };
};

/** Sizes of the frames of a block that holds several; undefined when they make no sense. */
const lacesOf = (
  block: Uint8Array,
  at: number,
  lacing: number,
  totalBytes: number,
): { sizes: number[]; at: number } | undefined => {
  const frames = (block[at] ?? 0) + 1;
  let next = at + 1;
  const sizes: number[] = [];
  if (lacing === 2) return { sizes: Array.from({ length: frames }, () => Math.floor((totalBytes - next) / frames)), at: next };
  for (let n = 0; n < frames - 1; n++) {
    let size = 0;
    if (lacing === 1) {
      for (let more = true; more; next++) {
        size += block[next] ?? 0;
        more = block[next] === 255;
      }
    } else {
      const number = variable(block, next);
      if (number?.value === undefined) return undefined;
      next += number.length;
      // The first is a size, the others say the difference to the one before.
      size = n === 0 ? number.value : (sizes[n - 1] ?? 0) + number.value - (2 ** (7 * number.length - 1) - 1);
    }
    sizes.push(size);
  }
  sizes.push(totalBytes - next - sizes.reduce((sum, size) => sum + size, 0));
  return sizes.every((size) => size >= 0) ? { sizes, at: next } : undefined;
};

export type Block = { track: number; time: number; isInvisible: boolean; frames: { at: number; bytes: number }[] };

/** The head of a block, of which `block` holds at least the beginning, and where its frames lie in it. */
export const blockOf = (block: Uint8Array, totalBytes: number): Block | undefined => {
  const number = variable(block, 0);
  if (number?.value === undefined || block.length < number.length + 3) return undefined;
  const view = new DataView(block.buffer, block.byteOffset, block.length);
  const flags = block[number.length + 2] ?? 0;
  const at = number.length + 3;
  const found = { track: number.value, time: view.getInt16(number.length), isInvisible: (flags & 8) !== 0 };
  const lacing = (flags >> 1) & 3;
  if (lacing === 0) return { ...found, frames: [{ at, bytes: totalBytes - at }] };
  const laces = lacesOf(block, at, lacing, totalBytes);
  if (!laces) return undefined;
  let next = laces.at;
  const frames = laces.sizes.map((bytes) => {
    next += bytes;
    return { at: next - bytes, bytes };
  });
  return { ...found, frames };
};
