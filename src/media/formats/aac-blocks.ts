// Steps through coded AAC (ISO/IEC 14496-3, 4.4.2) without decoding it, to see how many frames stand in one packet: a decoder plays them all.
import { type Bits, createBits, insist, NoFrame } from "./aac-bits.ts";
import { BANDS, type Codebook, codebooks } from "./aac-codebooks.ts";

/** What the configuration says: main profile (1) or low complexity (2), and the index of the sampling rate of the core. */
export type AacCore = { object: 1 | 2; rateIndex: number };

const SHORT_SEQUENCE = 2;
/** `groups`: windows of each, of eight short ones; one of one else. */
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
    insist(mostBand <= bands.short.length);
    return { isShort, mostBand, widths: bands.short, groups };
  }
  const mostBand = bits.take(6);
  insist(mostBand <= bands.long.length);
  if (bits.take(1)) {
    // Only the main profile predicts.
    insist(object === 1);
    if (bits.take(1)) bits.skip(5);
    bits.skip(Math.min(mostBand, bands.predicted));
  }
  return { isShort, mostBand, widths: bands.long, groups: [1] };
};

const NOISE = 13;
const RESERVED = 12;

/** The codebook of each band, group by group. */
const sectionsOf = (bits: Bits, { isShort, mostBand, groups }: Windows): Uint8Array => {
  const books = new Uint8Array(groups.length * mostBand);
  const length = isShort ? 3 : 5;
  const most = (1 << length) - 1;
  for (let group = 0; group < groups.length; group++)
    for (let band = 0; band < mostBand; ) {
      const book = bits.take(4);
      insist(book !== RESERVED);
      let count = 0;
      let piece = most;
      while (piece === most) {
        piece = bits.take(length);
        count += piece;
      }
      insist(band + count <= mostBand);
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

/** Ones up to a zero say how many bits a large value has more than four. */
const MOST_ESCAPE_ONES = 8;
const skipEscape = (bits: Bits): void => {
  let ones = 0;
  while (bits.take(1)) ones++;
  insist(ones <= MOST_ESCAPE_ONES);
  bits.skip(ones + 4);
};

const skipValues = (bits: Bits, { bits: width, lengths, escapes }: Codebook, codes: number): void => {
  for (let n = 0; n < codes; n++) {
    const next = bits.peek(width);
    bits.skip(lengths[next] ?? 0);
    if (escapes) for (let left = escapes[next] ?? 0; left > 0; left--) skipEscape(bits);
  }
};

/** Codebooks from here on hold pairs, before it fours; above the last one there are no values. */
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

/** One channel. @returns the codebooks of its bands */
const skipChannel = (bits: Bits, core: AacCore, shared?: Windows): Uint8Array => {
  bits.skip(8);
  const windows = shared ?? windowsOf(bits, core);
  const books = sectionsOf(bits, windows);
  skipScaleFactors(bits, books);
  if (bits.take(1)) {
    insist(!windows.isShort);
    const pulses = bits.take(2) + 1;
    bits.skip(6 + pulses * 9);
  }
  if (bits.take(1)) skipShaping(bits, windows.isShort);
  // Gain control is of a profile that nobody uses.
  insist(bits.take(1) === 0);
  skipSpectrum(bits, windows, books);
  return books;
};

const skipPair = (bits: Bits, core: AacCore): void => {
  const shared = bits.take(1) ? windowsOf(bits, core) : undefined;
  if (shared) {
    const mask = bits.take(2);
    insist(mask !== 3);
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

/** Channels that are left out of a change of loudness, seven to a byte. */
const skipExcluded = (bits: Bits): void => {
  do bits.skip(7);
  while (bits.take(1));
};

const RANGE = 11;
/** How a decoder may change loudness: it reads all of this, whatever length is said of it. */
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
    insist(bits.at() === from + all);
  } else bits.skip(all);
};

/** Elements by the number that names them. */
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
/** One frame: elements up to the one that ends it. @returns where the next one begins, in bytes, and whether there is sound in this one */
const readFrame = (bytes: Uint8Array, from: number, core: AacCore): { end: number; isHeard: boolean } => {
  const bits = createBits(bytes, from);
  let isHeard = false;
  for (let element = bits.take(3); element !== END; element = bits.take(3)) {
    if (element !== FILLING) bits.skip(4);
    ELEMENTS[element]?.(bits, core);
    isHeard ||= CHANNELS.includes(element);
  }
  bits.align();
  return { end: bits.byte(), isHeard };
};

/** Whether a decoder looks for another frame: zeros at the end are padding. */
const goesOn = (bytes: Uint8Array, from: number): boolean => {
  for (let at = from; at < bytes.length; at++) if (bytes[at] !== 0) return true;
  return false;
};

/** The header of a frame that stands by itself, which a decoder takes for a new beginning. */
const isHeader = (bytes: Uint8Array, at: number): boolean => bytes[at] === 0xff && ((bytes[at + 1] ?? 0) & 0xf0) === 0xf0;

/** Frames in a packet, as a decoder finds them one behind the other; undefined where headers stand among them, or what is no frame. */
export const framesIn = (packet: Uint8Array, core: AacCore): number | undefined => {
  let [at, frames] = [0, 0];
  try {
    while (at === 0 || goesOn(packet, at)) {
      if (isHeader(packet, at)) return undefined;
      const { end, isHeard } = readFrame(packet, at, core);
      at = end;
      if (isHeard) frames++;
    }
  } catch (fault) {
    if (!(fault instanceof NoFrame)) throw fault;
    return undefined;
  }
  return Math.max(1, frames);
};
