// Mutates media files: flipped bits, truncation, splices, missing or repeated parts, and extreme numbers.
import type { MediaFile } from "./media-files.ts";

export type Dice = () => number;
export type Mutant = { file: MediaFile; bytes: Uint8Array<ArrayBuffer>; how: string[] };

/** Values for fields of length, count or time. */
const EXTREMES: readonly number[] = [
  0, 1, 2, 7, 8, 0x7f, 0x80, 0xff, 0x100, 0xffff, 0x1_0000, 0x00ff_ffff, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe, 0xffff_ffff,
];
/** Names of boxes, chunks and elements, which have a length before or after them. */
const NAMES = [
  "moov",
  "trak",
  "mdia",
  "stbl",
  "stts",
  "ctts",
  "stsz",
  "stco",
  "stsc",
  "elst",
  "mdhd",
  "mvhd",
  "tkhd",
  "moof",
  "trun",
  "mdat",
  "IHDR",
  "IDAT",
  "RIFF",
  "data",
  "fmt ",
  "VP8X",
  "ANMF",
  "OggS",
  "fLaC",
  "ID3",
  "meta",
  "iloc",
  "ipco",
  "ispe",
];

const whole = (dice: Dice, below: number): number => Math.floor(dice() * below);
/** Half of the positions are in the first kilobytes, which contain most metadata. */
const placeIn = (dice: Dice, bytes: Uint8Array): number =>
  whole(dice, dice() < 0.5 ? Math.min(bytes.length, 2048) : bytes.length);

type Change = (dice: Dice, bytes: Uint8Array, others: readonly MediaFile[]) => Uint8Array;
const copied = (bytes: Uint8Array): Buffer => Buffer.from(bytes);
const write = (to: Buffer, at: number, value: number, size: number, isLittle: boolean): void => {
  if (at + size > to.length || at < 0) return;
  const masked = size === 4 ? value >>> 0 : value % 2 ** (size * 8);
  if (isLittle) to.writeUIntLE(masked, at, size);
  else to.writeUIntBE(masked, at, size);
};

const CHANGES: Record<string, Change> = {
  bits: (dice, bytes) => {
    const made = copied(bytes);
    for (let n = whole(dice, 16); n >= 0 && made.length > 0; n -= 1) {
      const at = placeIn(dice, made);
      made[at] = (made[at] ?? 0) ^ (1 << whole(dice, 8));
    }
    return made;
  },
  bytes: (dice, bytes) => {
    const made = copied(bytes);
    for (let n = whole(dice, 8); n >= 0 && made.length > 0; n -= 1) made[placeIn(dice, made)] = whole(dice, 256);
    return made;
  },
  number: (dice, bytes) => {
    const made = copied(bytes);
    const size = [1, 2, 3, 4, 4, 4][whole(dice, 6)] ?? 4;
    write(made, placeIn(dice, made), EXTREMES[whole(dice, EXTREMES.length)] ?? 0, size, dice() < 0.3);
    return made;
  },
  "number beside a name": (dice, bytes) => {
    const made = copied(bytes);
    const name = NAMES[whole(dice, NAMES.length)] ?? "moov";
    const at = made.indexOf(name, 0, "latin1");
    const near = [-4, 4, 8, 12, 16, 20][whole(dice, 6)] ?? 4;
    write(made, (at === -1 ? placeIn(dice, made) : at) + near, EXTREMES[whole(dice, EXTREMES.length)] ?? 0, 4, dice() < 0.2);
    return made;
  },
  cut: (dice, bytes) => bytes.subarray(0, placeIn(dice, bytes)),
  "part gone": (dice, bytes) => {
    const from = placeIn(dice, bytes);
    return Buffer.concat([bytes.subarray(0, from), bytes.subarray(from + whole(dice, 200))]);
  },
  "part twice": (dice, bytes) => {
    const from = placeIn(dice, bytes);
    const part = bytes.subarray(from, from + 1 + whole(dice, 400));
    const times = dice() < 0.2 ? 200 : 1 + whole(dice, 4);
    return Buffer.concat([bytes.subarray(0, from), ...Array.from({ length: times }, () => part), bytes.subarray(from)]);
  },
  splice: (dice, bytes, others) => {
    const other = others[whole(dice, others.length)]?.bytes ?? bytes;
    return Buffer.concat([bytes.subarray(0, placeIn(dice, bytes)), other.subarray(placeIn(dice, other))]);
  },
  noise: (dice, bytes) => {
    const at = placeIn(dice, bytes);
    const noise = Buffer.from(Array.from({ length: 1 + whole(dice, 300) }, () => whole(dice, 256)));
    return Buffer.concat([bytes.subarray(0, at), noise, bytes.subarray(at)]);
  },
};
const NAMED = Object.entries(CHANGES);
const MOST_BYTES = 4 * 1024 * 1024;

const REAL_SHARE = 0.85;
/** One to four mutations of one of the files. */
export const mutantOf = (dice: Dice, files: readonly MediaFile[]): Mutant => {
  const isReal = dice() < REAL_SHARE;
  const some = files.filter(({ isBomb }) => (isBomb ?? false) !== isReal);
  const file = some[whole(dice, some.length)];
  if (!file) throw new Error("there is no file to change");
  let bytes: Uint8Array = file.bytes;
  const how: string[] = [];
  for (let n = whole(dice, 4); n >= 0; n -= 1) {
    const [name, change] = NAMED[whole(dice, NAMED.length)] ?? ["", (_: Dice, same: Uint8Array) => same];
    bytes = change(dice, bytes, some).subarray(0, MOST_BYTES);
    how.push(name);
  }
  return { file, bytes: new Uint8Array(bytes), how };
};

/** Changes only bytes without information about the file; undefined if none are known. */
export const repaintedOf = (dice: Dice, files: readonly MediaFile[]): Mutant | undefined => {
  const known = files.filter(({ payload }) => payload !== undefined);
  const file = known[whole(dice, known.length)];
  if (!file?.payload) return undefined;
  const bytes = new Uint8Array(file.bytes);
  const [start, end] = file.payload;
  for (let n = 1 + whole(dice, 64); n > 0; n -= 1) bytes[start + whole(dice, end - start)] = whole(dice, 256);
  return { file, bytes, how: ["payload"] };
};
