// Parses MPEG audio and ADTS frame headers: length in bytes and in samples.

export type Frame = { bytes: number; samples: number; rate: number; layer: number; isMono: boolean; isLow: boolean };

const RATES = [44_100, 48_000, 32_000];
const ADTS_RATES = [96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350];
/** Bit rates in kbit/s by version and layer. Index 0 is "free", which common decoders do not support. */
const HIGH: number[][] = [
  [],
  [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
];
const LOW_1 = [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256];
const LOW_2 = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];

/** The frame that begins with these four bytes; undefined if they are not a header. */
export const mpegFrame = (word: number): Frame | undefined => {
  const version = (word >>> 19) & 3;
  const layer = 4 - ((word >>> 17) & 3);
  const rateAt = (word >>> 10) & 3;
  const bitRateAt = (word >>> 12) & 15;
  if (word >>> 21 !== 0x7ff || version === 1 || layer === 4 || bitRateAt === 15 || bitRateAt === 0 || rateAt === 3)
    return undefined;
  const isLow = version !== 3;
  const rate = (RATES[rateAt] ?? 0) >> (version === 3 ? 0 : version === 2 ? 1 : 2);
  const bits = ((isLow ? (layer === 1 ? LOW_1 : LOW_2) : HIGH[layer])?.[bitRateAt] ?? 0) * 1000;
  const padding = (word >>> 9) & 1;
  const isHalf = isLow && layer === 3;
  const samples = layer === 1 ? 384 : isHalf ? 576 : 1152;
  const bytes =
    layer === 1 ? (Math.floor((12 * bits) / rate) + padding) * 4 : Math.floor(((isHalf ? 72 : 144) * bits) / rate) + padding;
  return { bytes, samples, rate, layer, isMono: ((word >>> 6) & 3) === 3, isLow };
};

/** Compares the properties that all frames of a stream share: sync, version, layer, sampling rate. */
export const isSameStream = (one: number, other: number): boolean => ((one ^ other) & 0xfffe0c00) === 0;

/** The AAC frame that begins with the seven bytes at `at`; undefined if they are not a header. */
export const adtsFrame = (bytes: Uint8Array, at: number): Frame | undefined => {
  const [b1 = 0, b2 = 0, b3 = 0, b4 = 0, b5 = 0, b6 = 0] = [
    bytes[at + 1],
    bytes[at + 2],
    bytes[at + 3],
    bytes[at + 4],
    bytes[at + 5],
    bytes[at + 6],
  ];
  const rate = ADTS_RATES[(b2 >> 2) & 15];
  const length = ((b3 & 3) << 11) | (b4 << 3) | (b5 >> 5);
  if (bytes[at] !== 0xff || (b1 & 0xf6) !== 0xf0 || rate === undefined || length < 7) return undefined;
  return { bytes: length, samples: 1024 * ((b6 & 3) + 1), rate, layer: 0, isMono: false, isLow: false };
};
