// How many samples a packet of coded sound holds, by its bytes: Opus, Vorbis, FLAC, MPEG, AC-3.
import { ac3Frame } from "./ac3-frame.ts";
import { flacFrame } from "./flac-frame.ts";
import { mpegFrame } from "./mpeg-frame.ts";

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

export const flacTime: PacketTime = (packet) => flacFrame(packet, 0)?.samples;

/** FLAC by the rate of its own header, of which `streamInfo` is the first block; a decoder believes no other. */
export const flacSound = (streamInfo: Uint8Array, rate: number): PacketSound | undefined => {
  const [b0 = 0, b1 = 0, b2 = 0] = streamInfo.subarray(10, 13);
  const own = b0 * 4096 + b1 * 16 + (b2 >> 4) || rate;
  return own > 0 ? { time: flacTime, rate: own } : undefined;
};

type Coded = { bytes: number; samples: number; rate: number };

/** Packets of one frame or several, each with its own rate, which a decoder believes: samples at the rate of the track. */
const byFrames =
  (frameAt: (packet: Uint8Array, at: number) => Coded | undefined) =>
  (rate: number): PacketSound => {
    const time: PacketTime = (packet) => {
      let samples = 0;
      for (let at = 0; at + 4 <= packet.length; ) {
        const frame = frameAt(packet, at);
        samples += frame ? (frame.samples * rate) / frame.rate : 0;
        at += frame?.bytes ?? 1;
      }
      return samples > 0 ? samples : undefined;
    };
    return { time, rate, isWhole: true };
  };

export const mpegSound = byFrames((packet, at) => mpegFrame(new DataView(packet.buffer, packet.byteOffset + at, 4).getUint32(0)));
export const ac3Sound = byFrames(ac3Frame);

/** Bits of one mode at the end of the setup header, and of their number before them. */
const MODE_BITS = 41;
const COUNT_BITS = 6;

/** Whether each mode has long blocks, read from the end of the setup header, where modes stand; undefined when they cannot be found. */
const modesOf = (setup: Uint8Array): boolean[] | undefined => {
  const bit = (at: number) => ((setup[at >> 3] ?? 0) >> (at & 7)) & 1;
  const number = (at: number, count: number) => {
    let value = 0;
    for (let n = 0; n < count; n++) value += bit(at + n) << n;
    return value;
  };
  let framing = setup.length * 8 - 1;
  while (framing > 0 && bit(framing) === 0) framing--;
  let found: boolean[] | undefined;
  for (let count = 1; count <= 64; count++) {
    const at = framing - count * MODE_BITS;
    if (at < COUNT_BITS + 64 || number(at + 1, 16) !== 0 || number(at + 17, 16) !== 0 || number(at + 33, 8) > 63) break;
    if (number(at - COUNT_BITS, COUNT_BITS) + 1 !== count) continue;
    found = Array.from({ length: count }, (_, n) => bit(at + n * MODE_BITS) === 1);
  }
  return found;
};

/**
 * Vorbis: a block overlaps with the one before it, so the first gives no sound and each other a quarter of both.
 * @param head the identification header, 30 bytes
 * @returns undefined when the headers cannot be read
 */
export const openVorbisTime = (head: Uint8Array, setup: Uint8Array): PacketTime | undefined => {
  const modes = modesOf(setup);
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
