// How many samples a packet of coded sound holds, by its bytes: Opus, Vorbis, FLAC, MPEG, AC-3.
import { ac3Frame } from "./ac3-frame.ts";
import { flacFrame, isWholeFrame } from "./flac-frame.ts";
import { mpegFrame } from "./mpeg-frame.ts";
import { vorbisModes } from "./vorbis-setup.ts";

/** Samples of a packet that begins with these bytes; `undefined` for one that holds no sound. */
export type PacketTime = (packet: Uint8Array) => number | undefined;

/** Sound that is measured by its packets; `isWhole` where their first bytes are not enough. */
export type PacketSound = { time: PacketTime; rate: number; isWhole?: boolean };
/** First bytes of a packet that say how long it is. */
export const PACKET_BYTES = 16;

/** Opus at 48,000 samples a second: its first byte says the length of a frame and how many there are. */
export const opusTime: PacketTime = (packet) => {
  if (packet.length < 1) return undefined;
  const toc = packet[0] ?? 0;
  const config = toc >> 3;
  const samples =
    config < 12
      ? ([480, 960, 1920, 2880][config & 3] ?? 0)
      : config < 16
        ? ([480, 960][config & 1] ?? 0)
        : ([120, 240, 480, 960][config & 3] ?? 0);
  const frames = (toc & 3) === 0 ? 1 : (toc & 3) < 3 ? 2 : (packet[1] ?? 0) & 63;
  // A packet is 120 ms at most; another is no packet.
  return samples * frames <= 5760 ? samples * frames : undefined;
};

/**
 * Frames one behind the other: the next begins where the one before ends with its checksum. Undefined where one of the same form begins
 * without that, or says another rate than the stream: decoders differ in what they play then.
 */
export const flacTimeAt =
  (rate: number): PacketTime =>
  (packet) => {
    const first = flacFrame(packet, 0);
    if (!first || (first.rate !== 0 && first.rate !== rate)) return undefined;
    let { samples } = first;
    let from = 0;
    for (let at = packet.indexOf(0xff, 1); at > 0; at = packet.indexOf(0xff, at + 1)) {
      const next = flacFrame(packet, at);
      if (!next) continue;
      if (isWholeFrame(packet.subarray(from, at))) {
        samples += next.samples;
        from = at;
      } else if (next.form === first.form) return undefined;
    }
    return samples;
  };

/** FLAC by the rate of its own header, of which `streamInfo` is the first block; a decoder believes no other. */
export const flacSound = (streamInfo: Uint8Array, rate: number): PacketSound | undefined => {
  const [b0 = 0, b1 = 0, b2 = 0] = streamInfo.subarray(10, 13);
  const own = b0 * 4096 + b1 * 16 + (b2 >> 4) || rate;
  return own > 0 ? { time: flacTimeAt(own), rate: own, isWhole: true } : undefined;
};

type Coded = { bytes: number; samples: number; rate: number };

/** Of a packet, what stands beside its frames at most, this part and these bytes. */
const MOST_BESIDE_SHARE = 0.1;
const MOST_BESIDE_BYTES = 64;

/**
 * Packets of one frame or several, each with its own rate, which a decoder believes: samples at the rate of the track. Undefined for
 * one that holds much else.
 */
const byFrames =
  (frameAt: (packet: Uint8Array, at: number) => Coded | undefined) =>
  (rate: number): PacketSound => {
    const time: PacketTime = (packet) => {
      let [samples, beside] = [0, 0];
      for (let at = 0; at + 4 <= packet.length; ) {
        const frame = frameAt(packet, at);
        samples += frame ? (frame.samples * rate) / frame.rate : 0;
        if (!frame && packet[at] !== 0) beside++;
        at += frame?.bytes ?? 1;
      }
      return samples > 0 && beside <= MOST_BESIDE_BYTES + packet.length * MOST_BESIDE_SHARE ? samples : undefined;
    };
    return { time, rate, isWhole: true };
  };

/** Bytes of a frame of speech of 20 ms by its mode, behind the byte that names it: of the narrow band and of the wide one. */
const AMR_BYTES = { samr: [12, 13, 15, 17, 19, 20, 26, 31, 5], sawb: [17, 23, 32, 36, 40, 46, 50, 58, 60, 5] };
const AMR_RATES = { samr: 8000, sawb: 16_000 };
const AMR_FRAME_S = 0.02;

export const amrSound = (code: "samr" | "sawb"): PacketSound => {
  const rate = AMR_RATES[code];
  const time: PacketTime = (packet) => {
    let frames = 0;
    for (let at = 0; at < packet.length; frames++) at += 1 + (AMR_BYTES[code][((packet[at] ?? 0) >> 3) & 15] ?? 0);
    return frames * AMR_FRAME_S * rate;
  };
  return { time, rate, isWhole: true };
};

export const mpegSound = byFrames((packet, at) => mpegFrame(new DataView(packet.buffer, packet.byteOffset + at, 4).getUint32(0)));
export const ac3Sound = byFrames(ac3Frame);

/**
 * Vorbis: a block overlaps with the one before it, so the first gives no sound and each other a quarter of both.
 * @param head the identification header, 30 bytes
 * @returns undefined when the headers cannot be read
 */
export const createVorbisTime = (head: Uint8Array, setup: Uint8Array): PacketTime | undefined => {
  const modes = vorbisModes(setup, head[11] ?? 0);
  if (!modes || head.length < 29) return undefined;
  const sizes = [1 << ((head[28] ?? 0) & 15), 1 << ((head[28] ?? 0) >> 4)];
  const mask = (1 << Math.ceil(Math.log2(modes.length))) - 1;
  let before = 0;
  return (packet) => {
    const first = packet[0] ?? 1;
    if (packet.length === 0 || first & 1) return undefined;
    const now = sizes[modes[(first >> 1) & mask] ? 1 : 0] ?? 0;
    const samples = before === 0 ? 0 : (before + now) / 4;
    before = now;
    return samples;
  };
};
