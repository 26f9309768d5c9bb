// Parses AC-3 and E-AC-3 frame headers: length in bytes and in samples.

export type Ac3Frame = { bytes: number; samples: number; rate: number };

const RATES = [48_000, 44_100, 32_000];
/** Bit rates of AC-3 in kbit/s, indexed by half of the frame size code. */
const BIT_RATES = [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 576, 640];
/** Number of 256-sample blocks in an E-AC-3 frame. */
const BLOCKS = [1, 2, 3, 6];
const BLOCK_SAMPLES = 256;
/** Highest version (bsid) of AC-3; versions above 8 halve the sampling rate. */
const MAX_VERSION = 10;

const plainFrame = (code: number, size: number, version: number): Ac3Frame | undefined => {
  const [rate, bitRate] = [RATES[code], BIT_RATES[size >> 1]];
  if (rate === undefined || bitRate === undefined) return undefined;
  const words = code === 1 ? Math.floor((320 * bitRate) / 147) + (size & 1) : bitRate * (code === 0 ? 2 : 3);
  return { bytes: words * 2, samples: 6 * BLOCK_SAMPLES, rate: rate >> Math.max(0, version - 8) };
};

/** The frame that begins at `at`; undefined if there is none. A dependent substream or another program has 0 samples. */
export const ac3Frame = (bytes: Uint8Array, at: number): Ac3Frame | undefined => {
  const b = (n: number) => bytes[at + n] ?? 0;
  if (b(0) !== 0x0b || b(1) !== 0x77) return undefined;
  const [code, version] = [b(4) >> 6, b(5) >> 3];
  if (version <= MAX_VERSION) return plainFrame(code, b(4) & 63, version);
  const [more, isFirst] = [(b(4) >> 4) & 3, b(2) >> 6 !== 1 && ((b(2) >> 3) & 7) === 0];
  const rate = code === 3 ? (RATES[more] ?? 0) / 2 : (RATES[code] ?? 0);
  const blocks = code === 3 ? 6 : (BLOCKS[more] ?? 0);
  const size = (((b(2) & 7) << 8) | b(3)) + 1;
  return rate > 0 ? { bytes: size * 2, samples: isFirst ? blocks * BLOCK_SAMPLES : 0, rate } : undefined;
};
