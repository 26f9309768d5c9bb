// Draws images of an exact size, striped in two colours.
//
// The formats are PNG, JPEG and WebP.
import { deflateSync } from "node:zlib";
import type { Size } from "./resolutions.ts";

export type PictureFormat = "png" | "jpeg" | "webp";

/** A saturated colour from a number; consecutive seeds give distant colours. */
export const hue = (seed: number): [number, number, number] => {
  const angle = ((seed * 137.508) % 360) / 60;
  const rising = 60 + 170 * (1 - Math.abs((angle % 2) - 1));
  const wheel: [number, number, number][] = [
    [230, rising, 60],
    [rising, 230, 60],
    [60, 230, rising],
    [60, rising, 230],
    [rising, 60, 230],
    [230, 60, rising],
  ];
  return wheel[Math.floor(angle) % 6] ?? [230, 60, 60];
};

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c >>> 0;
});

/** CRC-32 of a PNG chunk. */
const crc32 = (bytes: Uint8Array): number => {
  let c = 0xffffffff;
  for (const byte of bytes) c = (CRC_TABLE[(c ^ byte) & 255] ?? 0) ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
};

/** One chunk of a PNG: length, type, payload, checksum. */
export const pngChunk = (type: string, payload: Uint8Array): Uint8Array => {
  const chunk = new Uint8Array(12 + payload.length);
  const view = new DataView(chunk.buffer);
  view.setUint32(0, payload.length);
  chunk.set(new TextEncoder().encode(type), 4);
  chunk.set(payload, 8);
  view.setUint32(8 + payload.length, crc32(chunk.subarray(4, 8 + payload.length)));
  return chunk;
};

/** One bit per pixel with a palette of two. A 4K image takes about a megabyte before deflate and a few kilobytes after it. */
const drawPng = ({ width, height }: Size, seed: number): Uint8Array => {
  const head = new Uint8Array(13);
  const view = new DataView(head.buffer);
  view.setUint32(0, width);
  view.setUint32(4, height);
  head.set([1, 3, 0, 0, 0], 8);
  const rowBytes = Math.ceil(width / 8);
  const rows = new Uint8Array((rowBytes + 1) * height);
  const stripe = 8 + (seed % 24);
  for (let y = 0; y < height; y++) {
    const start = y * (rowBytes + 1) + 1;
    const shift = Math.floor(y / stripe);
    for (let x = 0; x < rowBytes; x++) rows[start + x] = (Math.floor(x / 4) + shift) % 6 === 0 ? 255 : 0;
  }
  return Buffer.concat([
    Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10),
    pngChunk("IHDR", head),
    pngChunk("PLTE", Uint8Array.from([...hue(seed), ...hue(seed + 7)])),
    pngChunk("IDAT", deflateSync(rows, { level: 1 })),
    pngChunk("IEND", new Uint8Array(0)),
  ]);
};

/** Draws an image. JPEG and WebP are encoded outside this thread, from a small drawing that is enlarged. */
export const drawPicture = async (format: PictureFormat, size: Size, seed: number): Promise<Uint8Array> => {
  if (format === "png") return drawPng(size, seed);
  const small = new Bun.Image(drawPng({ width: 96, height: 96 }, seed)).resize(size.width, size.height, { fit: "fill" });
  return format === "jpeg" ? small.jpeg({ quality: 70 }).bytes() : small.webp({ quality: 70 }).bytes();
};
