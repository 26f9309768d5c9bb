// Parses the WAV format chunk, which other containers use too.
import { Unreadable } from "../byte-source.ts";

/** PCM codes with interleaved samples. A-law and mu-law samples take one byte each, regardless of the declared bits. */
export const PLAIN_CODES = [1, 3, 6, 7];
const LAWS = [6, 7];
export const MPEG_LAYER = [0x50, 0x55];
/** Maximum bits of a sample that is decoded. */
const MAX_BITS = 64;

/** `blockBytes`: size of a block of all channels; `bits`: size of one sample. */
export type Form = { code: number; channels: number; rate: number; blockBytes: number; bits: number };

/**
 * @param bytes at least 14
 * @throws RangeError if there are fewer
 */
export const formOf = (bytes: Uint8Array, isLittle: boolean): Form => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const code = view.getUint16(0, isLittle);
  return {
    // An extensible header contains its code 24 bytes later.
    code: code === 0xfffe && bytes.length >= 26 ? view.getUint16(24, isLittle) : code,
    channels: view.getUint16(2, isLittle),
    rate: view.getUint32(4, isLittle),
    blockBytes: view.getUint16(12, isLittle),
    bits: bytes.length >= 16 ? view.getUint16(14, isLittle) : 8,
  };
};

/** Bytes of one PCM sample of all channels. @throws Unreadable */
export const plainBytes = ({ code, channels, bits }: Form): number => {
  if (LAWS.includes(code)) return channels;
  if (bits > MAX_BITS) throw new Unreadable("its header is broken");
  return channels * Math.max(1, Math.ceil(bits / 8));
};

/** Samples of one channel in one encoded block; 0 for other codes, whose headers are not reliable here. */
export const samplesOfBlock = ({ code, channels, blockBytes, bits }: Form): number => {
  if (code === 0x02) return Math.floor(((blockBytes - 7 * channels) * 2) / channels) + 2;
  if (code === 0x11 && bits > 0) return Math.floor(((blockBytes - 4 * channels) * 8) / (bits * channels)) + 1;
  return code === 0x31 ? 320 : 0;
};
