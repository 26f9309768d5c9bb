// Parses FLAC frame headers: number of samples and position in the stream.

export type FlacFrame = {
  headerBytes: number;
  samples: number;
  /** Sampling rate of this frame; 0 if it is that of the stream. */
  rate: number;
  /** Number of the frame, or of its first sample if the block size is variable. */
  number: number;
  isVariable: boolean;
  /** Properties that all frames of a stream share: block size strategy, rate and sample size. */
  form: number;
};

const RATES = [0, 88_200, 176_400, 192_000, 8000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000];

const CRC_8 = Uint8Array.from({ length: 256 }, (_, value) => {
  let crc = value;
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x80 ? ((crc << 1) ^ 7) & 255 : crc << 1;
  return crc;
});
const CRC_16 = Uint16Array.from({ length: 256 }, (_, value) => {
  let crc = value << 8;
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? ((crc << 1) ^ 0x8005) & 0xffff : (crc << 1) & 0xffff;
  return crc;
});

/** Maximum header: sync and codes, a number of 7 bytes, a block size and a rate of 2 bytes each, a checksum. */
export const MAX_HEADER_BYTES = 16;

/** Reports whether the last two bytes of a frame are the checksum of the bytes before. */
export const isWholeFrame = (frame: Uint8Array): boolean => {
  let crc = 0;
  for (let at = 0; at < frame.length - 2; at++) crc = ((crc << 8) ^ (CRC_16[(crc >> 8) ^ (frame[at] ?? 0)] ?? 0)) & 0xffff;
  return crc === (frame.at(-2) ?? 0) * 256 + (frame.at(-1) ?? 0);
};

/** The frame that begins at `at`; undefined if there is none. */
export const flacFrame = (bytes: Uint8Array, at: number): FlacFrame | undefined => {
  const b = (n: number) => bytes[at + n] ?? 0;
  if (b(0) !== 0xff || (b(1) & 0xfe) !== 0xf8 || (b(3) & 1) !== 0 || b(3) >> 4 > 10) return undefined;
  const [length, rate] = [b(2) >> 4, b(2) & 15];
  if (length === 0 || rate === 15) return undefined;
  const lead = b(4);
  const more =
    lead < 0x80
      ? 0
      : lead < 0xc0
        ? -1
        : lead < 0xe0
          ? 1
          : lead < 0xf0
            ? 2
            : lead < 0xf8
              ? 3
              : lead < 0xfc
                ? 4
                : lead < 0xfe
                  ? 5
                  : 6;
  if (more < 0) return undefined;
  let number = more === 0 ? lead : lead & (0x3f >> more);
  for (let n = 1; n <= more; n++) {
    if (b(4 + n) >> 6 !== 2) return undefined;
    number = number * 64 + (b(4 + n) & 0x3f);
  }
  let next = 5 + more;
  let samples = length === 1 ? 192 : length < 6 ? 576 << (length - 2) : length > 7 ? 256 << (length - 8) : 0;
  if (length === 6) samples = b(next++) + 1;
  if (length === 7) {
    samples = b(next) * 256 + b(next + 1) + 1;
    next += 2;
  }
  let hertz = RATES[rate] ?? 0;
  if (rate === 12) hertz = b(next++) * 1000;
  if (rate > 12) {
    hertz = (b(next) * 256 + b(next + 1)) * (rate === 14 ? 10 : 1);
    next += 2;
  }
  let crc = 0;
  for (let n = 0; n < next; n++) crc = CRC_8[crc ^ b(n)] ?? 0;
  if (crc !== b(next)) return undefined;
  const form = ((b(1) & 1) << 7) | (rate << 3) | ((b(3) >> 1) & 7);
  return { headerBytes: next + 1, samples, rate: hertz, number, isVariable: (b(1) & 1) === 1, form };
};
