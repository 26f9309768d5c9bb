// Counts the samples in encoded audio packets: Opus, Vorbis, FLAC, MPEG, AC-3, AMR.
import { ac3Frame } from "./ac3-frame.ts";
import { flacFrame, isWholeFrame } from "./flac-frame.ts";
import { mpegFrame } from "./mpeg-frame.ts";
import { vorbisModes } from "./vorbis-setup.ts";

/** The samples of a packet that begins with these bytes; `undefined` if it contains no sound. */
export type PacketTime = (packet: Uint8Array) => number | undefined;

/** Sound that is measured by its packets; `isWhole` if their first bytes are not sufficient. */
export type PacketSound = { time: PacketTime; rate: number; isWhole?: boolean };
/** First bytes of a packet that determine its duration. */
export const PACKET_BYTES = 16;

/** Opus at 48,000 samples a second; the first byte contains the frame length and count. */
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
  // The maximum duration of a packet is 120 ms; longer ones are invalid.
  return samples * frames <= 5760 ? samples * frames : undefined;
};

/**
 * Counts consecutive frames; the next frame begins where the previous one ends with a valid checksum. Undefined if a frame of the
 * same form begins elsewhere or declares another rate, because decoders differ in what they play.
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

/** FLAC at the rate of its own header, whose first block is `streamInfo`. Decoders ignore any other rate. */
export const flacSound = (streamInfo: Uint8Array, rate: number): PacketSound | undefined => {
  const [b0 = 0, b1 = 0, b2 = 0] = streamInfo.subarray(10, 13);
  const own = b0 * 4096 + b1 * 16 + (b2 >> 4) || rate;
  return own > 0 ? { time: flacTimeAt(own), rate: own, isWhole: true } : undefined;
};

type Coded = { bytes: number; samples: number; rate: number };

/** Maximum share and bytes of a packet that are outside its frames. */
const MAX_BESIDE_SHARE = 0.1;
const MAX_BESIDE_BYTES = 64;

/**
 * Packets of one or several frames with their own rate, which decoders use. Returns samples at the track's rate; undefined for a
 * packet with much other content.
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
      return samples > 0 && beside <= MAX_BESIDE_BYTES + packet.length * MAX_BESIDE_SHARE ? samples : undefined;
    };
    return { time, rate, isWhole: true };
  };

/** Bytes of a 20 ms speech frame by mode, after the mode byte: narrowband and wideband. */
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
 * Vorbis blocks overlap: the first produces no sound, each later one a quarter of the sum of both block sizes.
 * @param head the identification header, 30 bytes
 * @returns undefined if the headers cannot be parsed
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
