// Counts the AAC frames in one packet without decoding them (ISO/IEC 14496-3, 4.4.2).
//
// A decoder plays every frame of a packet, so the count decides the duration.
import { type Bits, createBits, ensure, NoFrame } from "./aac-bits.ts";
import { BANDS, type Codebook, codebooks } from "./aac-codebooks.ts";

/** From the configuration: main profile (1) or low complexity (2), and the sampling-rate index of the core. */
export type AacCore = { object: 1 | 2; rateIndex: number };

const SHORT_SEQUENCE = 2;
/** `groups`: number of windows in each group; eight short windows in total, otherwise one group of one window. */
type Windows = { isShort: boolean; mostBand: number; widths: readonly number[]; groups: readonly number[] };

const windowsOf = (bits: Bits, { object, rateIndex }: AacCore): Windows => {
  const bands = BANDS[rateIndex];
  if (!bands) throw new NoFrame();
  bits.skip(1);
  const isShort = bits.take(2) === SHORT_SEQUENCE;
  bits.skip(1);
  if (isShort) {
    const mostBand = bits.take(4);
    const groups = [1];
    for (let n = 0; n < 7; n++)
      if (bits.take(1)) groups[groups.length - 1] = (groups.at(-1) ?? 0) + 1;
      else groups.push(1);
    ensure(mostBand <= bands.short.length);
    return { isShort, mostBand, widths: bands.short, groups };
  }
  const mostBand = bits.take(6);
  ensure(mostBand <= bands.long.length);
  if (bits.take(1)) {
    // Only the main profile has prediction.
    ensure(object === 1);
    if (bits.take(1)) bits.skip(5);
    bits.skip(Math.min(mostBand, bands.predicted));
  }
  return { isShort, mostBand, widths: bands.long, groups: [1] };
};

const NOISE = 13;
const RESERVED = 12;

/** Reads the codebook of each band, group by group. */
const sectionsOf = (bits: Bits, { isShort, mostBand, groups }: Windows): Uint8Array => {
  const books = new Uint8Array(groups.length * mostBand);
  const length = isShort ? 3 : 5;
  const most = (1 << length) - 1;
  for (let group = 0; group < groups.length; group++)
    for (let band = 0; band < mostBand; ) {
      const book = bits.take(4);
      ensure(book !== RESERVED);
      let count = 0;
      let piece = most;
      while (piece === most) {
        piece = bits.take(length);
        count += piece;
      }
      ensure(band + count <= mostBand);
      books.fill(book, group * mostBand + band, group * mostBand + band + count);
      band += count;
    }
  return books;
};

const skipCode = (bits: Bits, { bits: width, lengths }: Codebook): void => bits.skip(lengths[bits.peek(width)] ?? 0);

const skipScaleFactors = (bits: Bits, books: Uint8Array): void => {
  const { scaleFactors } = codebooks();
  let isFirstNoise = true;
  for (const book of books) {
    if (book === 0) continue;
    if (book === NOISE && isFirstNoise) {
      bits.skip(9);
      isFirstNoise = false;
    } else skipCode(bits, scaleFactors);
  }
};

const skipShaping = (bits: Bits, isShort: boolean): void => {
  for (let window = 0; window < (isShort ? 8 : 1); window++) {
    const filters = bits.take(isShort ? 1 : 2);
    const resolution = filters > 0 ? 3 + bits.take(1) : 0;
    for (let n = 0; n < filters; n++) {
      bits.skip(isShort ? 4 : 6);
      const order = bits.take(isShort ? 3 : 5);
      if (order === 0) continue;
      bits.skip(1);
      bits.skip(order * (resolution - bits.take(1)));
    }
  }
};

/** An escape is a sequence of ones, a zero, and four bits more than the number of ones. */
const MAX_ESCAPE_ONES = 8;
const skipEscape = (bits: Bits): void => {
  let ones = 0;
  while (bits.take(1)) ones++;
  ensure(ones <= MAX_ESCAPE_ONES);
  bits.skip(ones + 4);
};

const skipValues = (bits: Bits, { bits: width, lengths, escapes }: Codebook, codes: number): void => {
  for (let n = 0; n < codes; n++) {
    const next = bits.peek(width);
    bits.skip(lengths[next] ?? 0);
    if (escapes) for (let left = escapes[next] ?? 0; left > 0; left--) skipEscape(bits);
  }
};

/** Codebooks from 5 code pairs, those before it code quadruples. Codebooks above 11 have no spectral values. */
const FIRST_OF_PAIRS = 5;
const LAST_WITH_VALUES = 11;
const skipSpectrum = (bits: Bits, { mostBand, widths, groups }: Windows, books: Uint8Array): void => {
  const { spectrum } = codebooks();
  for (const [group, windows] of groups.entries())
    for (let band = 0; band < mostBand; band++) {
      const book = books[group * mostBand + band] ?? 0;
      const values = (widths[band] ?? 0) * windows;
      const codebook = book <= LAST_WITH_VALUES ? spectrum[book - 1] : undefined;
      if (codebook) skipValues(bits, codebook, values / (book < FIRST_OF_PAIRS ? 4 : 2));
    }
};

/** Skips one channel. @returns the codebooks of its bands */
const skipChannel = (bits: Bits, core: AacCore, shared?: Windows): Uint8Array => {
  bits.skip(8);
  const windows = shared ?? windowsOf(bits, core);
  const books = sectionsOf(bits, windows);
  skipScaleFactors(bits, books);
  if (bits.take(1)) {
    ensure(!windows.isShort);
    const pulses = bits.take(2) + 1;
    bits.skip(6 + pulses * 9);
  }
  if (bits.take(1)) skipShaping(bits, windows.isShort);
  // Gain control belongs to a profile that is not in use.
  ensure(bits.take(1) === 0);
  skipSpectrum(bits, windows, books);
  return books;
};

const skipPair = (bits: Bits, core: AacCore): void => {
  const shared = bits.take(1) ? windowsOf(bits, core) : undefined;
  if (shared) {
    const mask = bits.take(2);
    ensure(mask !== 3);
    if (mask === 1) bits.skip(shared.mostBand * shared.groups.length);
  }
  skipChannel(bits, core, shared);
  skipChannel(bits, core, shared);
};

const skipCoupling = (bits: Bits, core: AacCore): void => {
  const isIndependent = bits.take(1) === 1;
  let gains = 0;
  for (let left = bits.take(3); left >= 0; left--) {
    gains++;
    const isPair = bits.take(1) === 1;
    bits.skip(4);
    if (isPair && bits.take(2) === 3) gains++;
  }
  bits.skip(4);
  const books = skipChannel(bits, core);
  const { scaleFactors } = codebooks();
  for (let n = 1; n < gains; n++)
    if (isIndependent || bits.take(1)) skipCode(bits, scaleFactors);
    else for (const book of books) if (book !== 0) skipCode(bits, scaleFactors);
};

const skipProgram = (bits: Bits): void => {
  bits.skip(6);
  const [front, side, back, low, data, coupling] = [4, 4, 4, 2, 3, 4].map((width) => bits.take(width)) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  for (const width of [4, 4, 3]) if (bits.take(1)) bits.skip(width);
  bits.skip((front + side + back + coupling) * 5 + (low + data) * 4);
  bits.align();
  bits.skip(bits.take(8) * 8);
};

const skipAncillary = (bits: Bits): void => {
  const isAligned = bits.take(1) === 1;
  const count = bits.take(8);
  const all = count === 255 ? count + bits.take(8) : count;
  if (isAligned) bits.align();
  bits.skip(all * 8);
};

/** Channels excluded from dynamic range control, seven in each byte. */
const skipExcluded = (bits: Bits): void => {
  do bits.skip(7);
  while (bits.take(1));
};

const RANGE = 11;
/** Dynamic range control. A decoder parses all of it, regardless of the declared length. */
const skipRange = (bits: Bits): void => {
  bits.skip(4);
  if (bits.take(1)) bits.skip(8);
  if (bits.take(1)) skipExcluded(bits);
  let bands = 1;
  if (bits.take(1)) {
    bands += bits.take(4);
    bits.skip(4 + bands * 8);
  }
  if (bits.take(1)) bits.skip(8);
  bits.skip(bands * 8);
};

const skipFill = (bits: Bits): void => {
  const count = bits.take(4);
  const all = (count === 15 ? 14 + bits.take(8) : count) * 8;
  const from = bits.at();
  if (all > 0 && bits.peek(4) === RANGE) {
    skipRange(bits);
    ensure(bits.at() === from + all);
  } else bits.skip(all);
};

/** Element parsers, indexed by element id. */
const ELEMENTS: readonly ((bits: Bits, core: AacCore) => unknown)[] = [
  skipChannel,
  skipPair,
  skipCoupling,
  skipChannel,
  skipAncillary,
  skipProgram,
  skipFill,
];
const CHANNELS = [0, 1, 3];
const FILLING = 6;
const END = 7;
/** Parses one frame up to its end element. @returns the byte offset of the next frame, and whether this frame contains sound */
const readFrame = (bytes: Uint8Array, from: number, core: AacCore): { end: number; hasSound: boolean } => {
  const bits = createBits(bytes, from);
  let hasSound = false;
  for (let element = bits.take(3); element !== END; element = bits.take(3)) {
    if (element !== FILLING) bits.skip(4);
    ELEMENTS[element]?.(bits, core);
    hasSound ||= CHANNELS.includes(element);
  }
  bits.align();
  return { end: bits.byte(), hasSound };
};

/** Reports whether a decoder searches for another frame. Trailing zeros are padding. */
const hasMoreFrames = (bytes: Uint8Array, from: number): boolean => {
  for (let at = from; at < bytes.length; at++) if (bytes[at] !== 0) return true;
  return false;
};

/** The header of a standalone frame, which a decoder treats as a new start. */
const isHeader = (bytes: Uint8Array, at: number): boolean => bytes[at] === 0xff && ((bytes[at + 1] ?? 0) & 0xf0) === 0xf0;

/** Counts the consecutive frames of a packet. Undefined if it contains frame headers or invalid data. */
export const framesIn = (packet: Uint8Array, core: AacCore): number | undefined => {
  let [at, frames] = [0, 0];
  try {
    while (at === 0 || hasMoreFrames(packet, at)) {
      if (isHeader(packet, at)) return undefined;
      const { end, hasSound } = readFrame(packet, at, core);
      at = end;
      if (hasSound) frames++;
    }
  } catch (fault) {
    if (!(fault instanceof NoFrame)) throw fault;
    return undefined;
  }
  return Math.max(1, frames);
};
