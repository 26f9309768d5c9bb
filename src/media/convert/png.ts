// Encodes 8-bit pixels as PNG, with the colour profile of their source.
import { crc32, deflateSync } from "node:zlib";

const SIGNATURE = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10);
const [RGB, RGBA] = [2, 6];
/** Filter type 1: each byte is stored as the difference from the pixel before, which compresses smooth areas well. */
const SUB = 1;

const chunk = (name: string, payload: Uint8Array): Uint8Array => {
  const bytes = new Uint8Array(12 + payload.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, payload.length);
  bytes.set(Buffer.from(name, "latin1"), 4);
  bytes.set(payload, 8);
  view.setUint32(8 + payload.length, crc32(bytes.subarray(4, 8 + payload.length)));
  return bytes;
};

const isOpaque = (rgba: Uint8Array | Uint8ClampedArray): boolean => {
  for (let at = 3; at < rgba.length; at += 4) if (rgba[at] !== 255) return false;
  return true;
};

export type Pixels = { width: number; height: number; rgba: Uint8Array | Uint8ClampedArray };

/** @param profile an ICC profile, embedded unchanged */
export const writePng = ({ width, height, rgba }: Pixels, profile?: Uint8Array): Uint8Array => {
  const channels = isOpaque(rgba) ? 3 : 4;
  const rows = new Uint8Array((1 + width * channels) * height);
  let to = 0;
  for (let y = 0, from = 0; y < height; y++) {
    rows[to++] = SUB;
    for (let x = 0; x < width; x++, from += 4)
      for (let c = 0; c < channels; c++) {
        const before = x === 0 ? 0 : (rgba[from + c - 4] ?? 0);
        rows[to++] = (rgba[from + c] ?? 0) - before;
      }
  }
  const head = new Uint8Array(13);
  const view = new DataView(head.buffer);
  view.setUint32(0, width);
  view.setUint32(4, height);
  head.set([8, channels === 3 ? RGB : RGBA, 0, 0, 0], 8);
  const parts = [SIGNATURE, chunk("IHDR", head)];
  if (profile) parts.push(chunk("iCCP", Buffer.concat([Buffer.from("icc\0\0", "latin1"), deflateSync(profile)])));
  parts.push(chunk("IDAT", deflateSync(rows, { level: 6 })), chunk("IEND", new Uint8Array(0)));
  return Buffer.concat(parts);
};
