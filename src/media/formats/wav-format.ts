// The description of sound that WAV has, and that other containers took over: its code, and how many samples a block of bytes holds.
import { Unreadable } from "../byte-source.ts";

/** Whole samples side by side; A-law and mu-law among them take a byte each, whatever is said of their bits. */
export const PLAIN_CODES = [1, 3, 6, 7];
const LAWS = [6, 7];
export const MPEG_LAYER = [0x50, 0x55];
/** The widest samples that are decoded. */
const MOST_BITS = 64;

/** `blockBytes` of a block of all channels, `bits` of one sample. */
export type Form = { code: number; channels: number; rate: number; blockBytes: number; bits: number };

/** @param bytes 14 at least @throws RangeError where they are fewer */
export const formOf = (bytes: Uint8Array, isLittle: boolean): Form => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const code = view.getUint16(0, isLittle);
  return {
    // An extensible header says its code 24 bytes later.
    code: code === 0xfffe && bytes.length >= 26 ? view.getUint16(24, isLittle) : code,
    channels: view.getUint16(2, isLittle),
    rate: view.getUint32(4, isLittle),
    blockBytes: view.getUint16(12, isLittle),
    bits: bytes.length >= 16 ? view.getUint16(14, isLittle) : 8,
  };
};

/** Bytes of one sample of all channels of plain sound. @throws Unreadable */
export const plainBytes = ({ code, channels, bits }: Form): number => {
  if (LAWS.includes(code)) return channels;
  if (bits > MOST_BITS) throw new Unreadable("its header is broken");
  return channels * Math.max(1, Math.ceil(bits / 8));
};

/** Samples of one channel that one block of coded sound holds; 0 for other codes, whose headers say what they like there. */
export const samplesOfBlock = ({ code, channels, blockBytes, bits }: Form): number => {
  if (code === 0x02) return Math.floor(((blockBytes - 7 * channels) * 2) / channels) + 2;
  if (code === 0x11 && bits > 0) return Math.floor(((blockBytes - 4 * channels) * 8) / (bits * channels)) + 1;
  return code === 0x31 ? 320 : 0;
};
