// Measures a JPEG XL picture from the bit-packed header of its codestream.
import { Unreadable } from "../byte-source.ts";
import type { Cursor } from "./cursor.ts";
import type { Inspection } from "./inspection.ts";
import { type TopBox, walkBoxes } from "./mp4-boxes.ts";

/** Maximum length of a size: two numbers of up to 30 bits with their selectors. */
const SIZE_BYTES = 12;
const RATIOS: [number, number][] = [
  [1, 1],
  [12, 10],
  [4, 3],
  [3, 2],
  [16, 9],
  [5, 4],
  [2, 1],
];

const sizeAt = (bytes: Uint8Array): { width: number; height: number } => {
  let at = 0;
  const take = (count: number): number => {
    let value = 0;
    for (let n = 0; n < count; n++, at++) value += (((bytes[at >> 3] ?? 0) >> (at & 7)) & 1) * 2 ** n;
    return value;
  };
  const isSmall = take(1) === 1;
  const side = () => (isSmall ? (1 + take(5)) * 8 : 1 + take([9, 13, 18, 30][take(2)] ?? 9));
  const height = side();
  const ratio = RATIOS[take(3) - 1];
  return { height, width: ratio ? Math.floor((height * ratio[0]) / ratio[1]) : side() };
};

/** @throws Unreadable */
export const readJxl = async (cursor: Cursor): Promise<Inspection> => {
  await cursor.load(0, 16);
  let codeAt = cursor.bytes[0] === 0xff ? 0 : -1;
  let end = cursor.sizeBytes;
  if (codeAt < 0)
    end = await walkBoxes(cursor, async ({ name, start }: TopBox) => {
      if (codeAt < 0 && (name === "jxlc" || name === "jxlp")) codeAt = name === "jxlc" ? start : start + 4;
      return true;
    });
  const isThere = codeAt >= 0 && (await cursor.load(codeAt, 2 + SIZE_BYTES));
  if (!isThere || cursor.view.getUint16(codeAt - cursor.start) !== 0xff0a)
    throw new Unreadable("its header does not say the size of the picture");
  const size = sizeAt(cursor.part(codeAt + 2, SIZE_BYTES));
  return { mime: "image/jxl", kind: "image", ...size, isComplete: end <= cursor.sizeBytes };
};
