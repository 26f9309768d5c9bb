// Huffman codebooks of AAC (ISO/IEC 14496-3, 4.A), reduced to code lengths.
//
// The tables contain only what is needed to skip codes: the length of each code, and the sign and escape bits that follow it.

/**
 * A canonical code is defined by its number of codes of each length, from one bit upwards, in the order of their values. `signs`:
 * for each code, the number of sign bits that follow it. `hasEscapes`: adds 3 for each value that continues in an escape.
 */
type Table = { counts: readonly number[]; signs?: string; hasEscapes?: true };

const SCALE_FACTORS: Table = { counts: [1, 0, 1, 3, 2, 4, 3, 5, 4, 6, 6, 6, 5, 8, 4, 7, 3, 7, 46] };
/** Codebooks 1 to 11. */
const SPECTRUM: readonly Table[] = [
  { counts: [1, 0, 0, 0, 8, 0, 24, 0, 24, 8, 16] },
  { counts: [0, 0, 1, 1, 7, 24, 15, 19, 14] },
  {
    counts: [1, 0, 0, 4, 2, 6, 3, 5, 15, 15, 8, 9, 3, 3, 5, 2],
    signs: "011112222232343311223232331221224334323244332333223243344233333344442233434443233",
  },
  {
    counts: [0, 0, 0, 10, 6, 0, 9, 21, 8, 14, 11, 2],
    signs: "433331202222121144443333333333332222222222221111444444333333333433344422222243333",
  },
  { counts: [1, 0, 0, 4, 4, 0, 4, 12, 12, 12, 18, 10, 4] },
  { counts: [0, 0, 0, 9, 0, 16, 13, 8, 23, 8, 4] },
  { counts: [1, 0, 2, 1, 0, 4, 5, 10, 14, 15, 8, 4], signs: "0112221122211222222221122212122222222211222222222222112222222222" },
  { counts: [0, 0, 1, 5, 7, 10, 14, 15, 8, 4], signs: "2212120112222222221122222222221212222222121222222222221212222112" },
  {
    counts: [1, 0, 2, 1, 0, 4, 3, 8, 11, 20, 31, 38, 32, 14, 4],
    signs:
      "0112221122211222222221122222221212222222212222222212221222212222112222222222222122212222222222222222222212212222222122222222222222212212222122222222222222222222222222222",
  },
  {
    counts: [0, 0, 0, 3, 8, 14, 17, 25, 31, 41, 22, 8],
    signs:
      "2222112222211222202211222222222222121222222222222121222222222222222222122222122222222222222222121222222212222221222222222222222221212122222222222222212122212221222222122",
  },
  {
    counts: [0, 0, 0, 2, 6, 7, 16, 59, 55, 95, 43, 6],
    signs:
      "0281122222212122222221122222222222222255555251215255552222255225552252555252255222155222212552252522222225221222222122222222222222122222222222422222242122222222222222222222222222222212222222222222222221222222222222222222222222222112222222222222222222222222212212122212222211222212212112112",
    hasEscapes: true,
  },
];

/**
 * Indexed by the next `bits` bits of the stream: the length of the code with its signs, and the number of escapes that follow.
 */
export type Codebook = { bits: number; lengths: Uint8Array; escapes: Uint8Array | undefined };

const opened = ({ counts, signs, hasEscapes }: Table): Codebook => {
  const bits = counts.length;
  const lengths = new Uint8Array(1 << bits);
  const escapes = hasEscapes && new Uint8Array(1 << bits);
  let [at, code] = [0, 0];
  for (const [n, count] of counts.entries())
    for (let left = count; left > 0; left--, code++) {
      const next = at + (1 << (bits - n - 1));
      const digit = Number(signs?.[code] ?? 0);
      lengths.fill(n + 1 + (escapes ? digit % 3 : digit), at, next);
      escapes?.fill(Math.floor(digit / 3), at, next);
      at = next;
    }
  return { bits, lengths, escapes };
};

let made: { scaleFactors: Codebook; spectrum: Codebook[] } | undefined;
/** Built on first use; the tables take 700 kB. */
export const codebooks = () => {
  made ??= { scaleFactors: opened(SCALE_FACTORS), spectrum: SPECTRUM.map(opened) };
  return made;
};

const bands = (...widths: number[]): number[] =>
  widths.flatMap((width, n) => (n % 2 === 0 ? Array<number>(widths[n + 1] ?? 0).fill(width) : []));
/** Band widths of long and short blocks, as pairs of a width and its number of repetitions. */
const LONG = {
  96: bands(4, 14, 8, 5, 12, 5, 16, 2, 24, 1, 28, 1, 36, 1, 44, 1, 64, 11),
  64: bands(4, 14, 8, 4, 12, 3, 16, 3, 20, 1, 24, 2, 28, 1, 36, 1, 40, 18),
  48: bands(4, 10, 8, 7, 12, 4, 16, 2, 20, 2, 24, 2, 28, 2, 32, 19, 96, 1),
  32: bands(4, 10, 8, 7, 12, 4, 16, 2, 20, 2, 24, 2, 28, 2, 32, 22),
  24: bands(4, 11, 8, 10, 12, 4, 16, 3, 20, 2, 24, 2, 28, 2, 32, 1, 36, 2, 40, 1, 44, 1, 48, 1, 52, 2, 64, 5),
  16: bands(8, 11, 12, 9, 16, 4, 20, 3, 24, 2, 28, 2, 32, 1, 36, 1, 40, 2, 44, 1, 48, 1, 52, 1, 56, 1, 60, 1, 64, 3),
  8: bands(12, 13, 16, 7, 20, 4, 24, 3, 28, 2, 32, 1, 36, 2, 40, 1, 44, 1, 48, 1, 52, 1, 56, 1, 60, 1, 64, 1, 80, 1),
};
const SHORT = {
  96: bands(4, 6, 8, 3, 16, 1, 28, 1, 36, 1),
  48: bands(4, 5, 8, 3, 12, 3, 16, 3),
  24: bands(4, 7, 8, 3, 12, 2, 16, 2, 20, 1),
  16: bands(4, 8, 8, 2, 12, 2, 16, 1, 20, 2),
  8: bands(4, 7, 8, 4, 12, 1, 16, 1, 20, 2),
};
/** Indexed by sampling-rate index: the band widths, and the number of predicted bands in the main profile. */
export const BANDS: readonly { long: number[]; short: number[]; predicted: number }[] = [
  { long: LONG[96], short: SHORT[96], predicted: 33 },
  { long: LONG[96], short: SHORT[96], predicted: 33 },
  { long: LONG[64], short: SHORT[96], predicted: 38 },
  { long: LONG[48], short: SHORT[48], predicted: 40 },
  { long: LONG[48], short: SHORT[48], predicted: 40 },
  { long: LONG[32], short: SHORT[48], predicted: 40 },
  { long: LONG[24], short: SHORT[24], predicted: 41 },
  { long: LONG[24], short: SHORT[24], predicted: 41 },
  { long: LONG[16], short: SHORT[16], predicted: 37 },
  { long: LONG[16], short: SHORT[16], predicted: 37 },
  { long: LONG[16], short: SHORT[16], predicted: 37 },
  { long: LONG[8], short: SHORT[8], predicted: 34 },
  { long: LONG[8], short: SHORT[8], predicted: 34 },
];
