// All bombs, in an order and with sizes that a seed decides.
import type { Bomb } from "./bomb.ts";
import { type Piece, sizeOf, slice } from "./bytes.ts";
import { MATROSKA } from "./matroska.ts";
import { MP4 } from "./mp4.ts";
import { PICTURES } from "./pictures.ts";
import { SOUND } from "./sound.ts";
import { TRANSFER } from "./transfer.ts";

export const BOMBS: readonly Bomb[] = [...MP4, ...MATROSKA, ...SOUND, ...PICTURES, ...TRANSFER];

const MIB = 1024 * 1024;
/** Sizes of the bombs with their shares in percent. */
const SIZES: readonly (readonly [bytes: number, share: number])[] = [
  [1024, 8],
  [64 * 1024, 20],
  [MIB / 4, 30],
  [MIB, 22],
  [4 * MIB, 14],
  [16 * MIB, 4],
  [64 * MIB - 4096, 2],
];

/** Random numbers from 0 to 1, the same for the same seed. */
export const diceOf = (seed: number): (() => number) => {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b_79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
};

/** A bomb to throw: its index, its size, whether it is truncated, and whether its server supports ranges. */
export type Throw = { index: number; bytes: number; isCut: boolean; hasRanges: boolean };

const sizeBy = (chance: number): number => {
  let rest = chance * 100;
  for (const [bytes, share] of SIZES) {
    if (rest < share) return bytes;
    rest -= share;
  }
  return MIB;
};

/** The bombs that first crashed a service, in the sizes that did so. */
const KNOWN: readonly (readonly [name: string, bytes: number])[] = [
  ["mp4, tracks", MIB],
  ["adts, frames of nothing", 255 * 1024],
  ["mp4, tracks", 4 * MIB],
  ["mp4, tracks", 31 * MIB],
  ["adts, frames of nothing", 60 * MIB],
];

/** Infinite throws: the known ones first, then each bomb once before any repeats. */
export const throwsOf = function* (seed: number): Generator<Throw, never> {
  const dice = diceOf(seed);
  for (const [known, bytes] of KNOWN)
    yield { index: BOMBS.findIndex(({ name }) => name === known), bytes, isCut: false, hasRanges: false };
  for (;;) {
    const order = BOMBS.map((_, index) => ({ index, at: dice() })).sort((one, other) => one.at - other.at);
    for (const { index } of order) yield { index, bytes: sizeBy(dice()), isCut: dice() < 0.15, hasRanges: dice() < 0.5 };
  }
};

export const piecesOf = ({ index, bytes, isCut }: Throw): Piece[] => {
  const pieces = BOMBS[index]?.make(bytes) ?? [];
  if (!isCut) return pieces;
  const [first, ...rest] = pieces;
  // A fixed part lacks its end; a repeated part is shorter than declared.
  const last = rest.at(-1);
  if (last === undefined) return first ? [slice([first], 0, Math.floor(Math.min(sizeOf([first]), MIB) * 0.7))] : [];
  return [
    ...(first ? [first] : []),
    ...rest.slice(0, -1),
    last instanceof Uint8Array ? last.subarray(0, last.length >> 1) : { ...last, times: Math.ceil(last.times / 2) },
  ];
};
