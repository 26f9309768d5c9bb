// Parses the Vorbis setup header up to its modes (Vorbis I specification, 4.2.4).
//
// The modes determine the block size of each packet.

/** The bits are not a valid setup header or end too early. */
class NoSetup extends Error {}

const openBits = (bytes: Uint8Array) => {
  const end = bytes.length * 8;
  let at = 0;
  const skip = (count: number): void => {
    at += count;
    if (at > end) throw new NoSetup();
  };
  const take = (count: number): number => {
    let value = 0;
    for (let n = 0; n < count; n++) value += (((bytes[(at + n) >> 3] ?? 0) >> ((at + n) & 7)) & 1) * 2 ** n;
    skip(count);
    return value;
  };
  return { take, skip };
};
type Bits = ReturnType<typeof openBits>;

const ensure = (isRight: boolean): void => {
  if (!isRight) throw new NoSetup();
};
/** Number of bits of a value. */
const widthOf = (value: number): number => (value < 1 ? 0 : Math.floor(Math.log2(value)) + 1);
const times = (count: number, each: (n: number) => void): void => {
  for (let n = 0; n < count; n++) each(n);
};

const CODEBOOK = 0x564342;

/** Skips the code lengths of all entries. */
const skipLengths = (bits: Bits, entries: number): void => {
  const isOrdered = bits.take(1) === 1;
  if (isOrdered) {
    bits.skip(5);
    for (let entry = 0; entry < entries; ) {
      entry += bits.take(widthOf(entries - entry));
      ensure(entry <= entries);
    }
    return;
  }
  const isSparse = bits.take(1) === 1;
  if (!isSparse) bits.skip(entries * 5);
  else times(entries, () => bits.take(1) && bits.skip(5));
};

/** The largest number of values for each dimension whose combinations do not exceed the entries. */
const gridOf = (entries: number, dimensions: number): number => {
  let values = Math.floor(entries ** (1 / dimensions));
  while ((values + 1) ** dimensions <= entries) values++;
  while (values ** dimensions > entries) values--;
  return values;
};

const skipCodebook = (bits: Bits): void => {
  ensure(bits.take(24) === CODEBOOK);
  const [dimensions, entries] = [bits.take(16), bits.take(24)];
  skipLengths(bits, entries);
  const lookup = bits.take(4);
  ensure(lookup <= 2);
  if (lookup === 0) return;
  ensure(dimensions > 0);
  bits.skip(64);
  const width = bits.take(4) + 1;
  bits.skip(1 + width * (lookup === 1 ? gridOf(entries, dimensions) : entries * dimensions));
};

const skipFloor = (bits: Bits): void => {
  const type = bits.take(16);
  ensure(type <= 1);
  if (type === 0) {
    bits.skip(8 + 16 + 16 + 6 + 8);
    bits.skip((bits.take(4) + 1) * 8);
    return;
  }
  const classes: number[] = [];
  times(bits.take(5), () => classes.push(bits.take(4)));
  const dimensions: number[] = [];
  times(Math.max(-1, ...classes) + 1, () => {
    dimensions.push(bits.take(3) + 1);
    const subclasses = bits.take(2);
    if (subclasses > 0) bits.skip(8);
    bits.skip(8 * 2 ** subclasses);
  });
  bits.skip(2);
  const width = bits.take(4);
  for (const each of classes) bits.skip(width * (dimensions[each] ?? 0));
};

const skipResidue = (bits: Bits): void => {
  ensure(bits.take(16) <= 2);
  bits.skip(3 * 24);
  const classes = bits.take(6) + 1;
  bits.skip(8);
  let books = 0;
  times(classes, () => {
    let cascade = bits.take(3);
    if (bits.take(1)) cascade += bits.take(5) * 8;
    for (; cascade > 0; cascade >>= 1) books += cascade & 1;
  });
  bits.skip(books * 8);
};

const skipMapping = (bits: Bits, channels: number): void => {
  ensure(bits.take(16) === 0);
  const submaps = bits.take(1) ? bits.take(4) + 1 : 1;
  if (bits.take(1)) bits.skip((bits.take(8) + 1) * 2 * widthOf(channels - 1));
  ensure(bits.take(2) === 0);
  if (submaps > 1) bits.skip(4 * channels);
  bits.skip(submaps * 24);
};

const HEAD_BYTES = 7;
/** Placeholder values that must be zero. */
const skipTime = (bits: Bits): void => ensure(bits.take(16) === 0);

/**
 * @param setup the third header, from its name
 * @param channels as declared by the first header
 * @returns whether each mode has long blocks; undefined if the header cannot be parsed
 */
export const vorbisModes = (setup: Uint8Array, channels: number): boolean[] | undefined => {
  const bits = openBits(setup.subarray(HEAD_BYTES));
  const modes: boolean[] = [];
  try {
    times(bits.take(8) + 1, () => skipCodebook(bits));
    times(bits.take(6) + 1, () => skipTime(bits));
    times(bits.take(6) + 1, () => skipFloor(bits));
    times(bits.take(6) + 1, () => skipResidue(bits));
    times(bits.take(6) + 1, () => skipMapping(bits, channels));
    times(bits.take(6) + 1, () => {
      modes.push(bits.take(1) === 1);
      ensure(bits.take(32) === 0);
      bits.skip(8);
    });
    ensure(bits.take(1) === 1);
  } catch (fault) {
    if (!(fault instanceof NoSetup)) throw fault;
    return undefined;
  }
  return modes;
};
