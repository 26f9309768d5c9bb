// Files with the header and the end of their format but no content are not complete.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { inspect } from "../../../src/media/formats/inspect.ts";
import { readPlainPicture } from "../../../src/media/plain-picture.ts";
import { bmp, jpeg, png } from "../made.ts";
import { inMemory } from "./reader.ts";

const whole = { signal: AbortSignal.timeout(10_000), depth: "whole" } as const;
const kept = (name: string): Buffer => readFileSync(join(import.meta.dir, "../../corpus/files", name));
const latin1 = (text: string) => Buffer.from(text, "latin1");

const isComplete = async (bytes: Uint8Array): Promise<boolean> => {
  const asChild = await inspect(inMemory(bytes), whole).catch(() => ({ isComplete: false }));
  const isPlain = (await readPlainPicture([bytes])) !== undefined;
  // The main thread accepts nothing that a child process would reject.
  if (isPlain) expect(asChild.isComplete).toBe(true);
  return asChild.isComplete;
};

const pngChunk = (name: string, content = Buffer.alloc(0)): Buffer => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  return Buffer.concat([length, latin1(name), content, Buffer.alloc(4)]);
};
const withPngData = async (...data: Buffer[]): Promise<Buffer> =>
  Buffer.concat([(await png(1200, 900)).subarray(0, 33), ...data, pngChunk("IEND")]);

/** The part of a JPEG before its coded data, with `data` as coded data, and the end. */
const withScan = async (data: string, width = 1200): Promise<Buffer> => {
  const bytes = Buffer.from(await jpeg(width, 900));
  const scanAt = bytes.indexOf(Buffer.of(0xff, 0xda));
  return Buffer.concat([bytes.subarray(0, scanAt + 2 + bytes.readUInt16BE(scanAt + 2)), latin1(data), Buffer.of(0xff, 0xd9)]);
};
const withoutScan = async (): Promise<Buffer> => {
  const bytes = Buffer.from(await jpeg());
  return Buffer.concat([bytes.subarray(0, bytes.indexOf(Buffer.of(0xff, 0xda))), Buffer.of(0xff, 0xd9)]);
};

const riff = (...chunks: [string, Buffer][]): Buffer => {
  const inside = chunks.map(([name, content]) => {
    const length = Buffer.alloc(4);
    length.writeUInt32LE(content.length);
    return Buffer.concat([latin1(name), length, content, Buffer.alloc(content.length & 1)]);
  });
  const body = Buffer.concat([latin1("WEBP"), ...inside]);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(body.length);
  return Buffer.concat([latin1("RIFF"), length, body]);
};
const extended = (flags = 0): [string, Buffer] => ["VP8X", Buffer.of(flags, 0, 0, 0, 63, 0, 0, 47, 0, 0)];
const lossyHeader = Buffer.of(0x30, 1, 0, 0x9d, 1, 0x2a, 64, 0, 48, 0);

const gif = (...blocks: Buffer[]): Buffer =>
  Buffer.concat([latin1("GIF89a"), Buffer.of(64, 0, 48, 0, 0, 0, 0), ...blocks, Buffer.of(0x3b)]);
const gifImage = (...subBlocks: number[]): Buffer => Buffer.of(0x2c, 0, 0, 0, 0, 64, 0, 48, 0, 0, 2, ...subBlocks, 0);

const svg = (inside: string): Buffer => latin1(`<svg xmlns="http://www.w3.org/2000/svg" width="64" height="48">${inside}</svg>`);

/** A BMP with a header of 12 bytes and `rows` bytes of pixels. */
const oldBmp = (rows: number): Buffer => {
  const bytes = Buffer.alloc(26 + rows);
  bytes.write("BM");
  for (const [at, value] of [
    [10, 26],
    [14, 12],
  ] as const)
    bytes.writeUInt32LE(value, at);
  for (const [at, value] of [
    [18, 64],
    [20, 48],
    [22, 1],
    [24, 24],
  ] as const)
    bytes.writeUInt16LE(value, at);
  return bytes;
};

/** A file of the corpus with a box of its index changed: `put` runs at offset `at` behind each occurrence of the box name. */
const patched = (name: string, box: string, at: number, put: (bytes: Buffer, from: number) => void): Buffer => {
  const bytes = Buffer.from(kept(name));
  for (let found = bytes.indexOf(box); found >= 0; found = bytes.indexOf(box, found + 4)) put(bytes, found + 4 + at);
  return bytes;
};
/** Sets the sizes of all samples of all tracks to 0. */
const withoutSamples = (name: string): Buffer =>
  patched(name, "stsz", 8, (bytes, from) => bytes.fill(0, from + 4, from + 4 + 4 * bytes.readUInt32BE(from)));
/** Sets the length of the only item to 0: it is at the end of the table. */
const withoutItems = (name: string): Buffer =>
  patched(name, "iloc", 0, (bytes, from) => {
    const end = from - 8 + bytes.readUInt32BE(from - 8);
    bytes.fill(0, end - 4, end);
  });
/** Removes the media data behind the index of a fragmented clip. */
const withoutFragmentData = (): Buffer => {
  const bytes = kept("fragments-dash.mp4");
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    const isData = bytes.toString("latin1", at + 4, at + 8) === "mdat";
    parts.push(isData ? Buffer.concat([Buffer.of(0, 0, 0, 8), latin1("mdat")]) : bytes.subarray(at, at + length));
    at += length;
  }
  return Buffer.concat(parts);
};

const EMPTY: [string, () => Uint8Array | Promise<Uint8Array>][] = [
  ["a PNG without data", () => withPngData()],
  ["a PNG whose data chunks are empty", () => withPngData(pngChunk("IDAT"), pngChunk("IDAT"))],
  ["a PNG with less data than can be unpacked to its rows", () => withPngData(pngChunk("IDAT", Buffer.alloc(20, 1)))],
  ["a JPEG without a scan", withoutScan],
  ["a JPEG whose scan is empty", () => withScan("")],
  ["a JPEG whose scan has fewer bits than blocks", () => withScan("\x01\x02\x03", 8000)],
  ["an extended WebP without a picture", () => riff(extended())],
  ["an extended WebP with metadata alone", () => riff(extended(8), ["EXIF", Buffer.alloc(100)])],
  ["a WebP with only the header of its coded data", () => riff(["VP8 ", lossyHeader])],
  ["an animated WebP with empty frames", () => riff(extended(2), ["ANIM", Buffer.alloc(6)], ["ANMF", Buffer.alloc(16)])],
  ["a GIF without pictures", () => gif()],
  ["a GIF whose picture is empty", () => gif(gifImage())],
  ["a GIF with only a comment", () => gif(Buffer.of(0x21, 0xfe, 2, 65, 65, 0))],
  ["a BMP without rows", () => bmp(64, 48).subarray(0, 54)],
  ["a BMP with a 12-byte header and no rows", () => oldBmp(0)],
  ["an SVG without elements", () => svg("")],
  ["an SVG with a self-closing root", () => latin1('<svg xmlns="http://www.w3.org/2000/svg" width="64" height="48"/>')],
  ["an SVG with only a title", () => svg("<title>a kite</title><!-- <path/> is to come -->".replace("<path/>", "path"))],
  ["an AVIF whose item is empty", () => withoutItems("still.avif")],
  ["a clip whose samples are empty", () => withoutSamples("silent.mp4")],
  ["a fragmented clip without media data", withoutFragmentData],
];
test.each(EMPTY)("reports %s as not complete", async (_, make) => {
  expect(await isComplete(await make())).toBe(false);
});

const LEAST: [string, () => Uint8Array | Promise<Uint8Array>][] = [
  ["a PNG of one colour", async () => png(1, 1)],
  [
    "a PNG with equal pixels",
    async () => new Bun.Image(Buffer.concat([bmp(4000, 3000).subarray(0, 54), Buffer.alloc(36_000_000)])).png().bytes(),
  ],
  [
    "a JPEG with equal pixels",
    async () => new Bun.Image(Buffer.concat([bmp(4000, 3000).subarray(0, 54), Buffer.alloc(36_000_000)])).jpeg().bytes(),
  ],
  [
    "a WebP with equal pixels",
    async () => new Bun.Image(Buffer.concat([bmp(4000, 3000).subarray(0, 54), Buffer.alloc(36_000_000)])).webp().bytes(),
  ],
  [
    "an extended WebP with its picture behind metadata",
    () => riff(extended(8), ["ICCP", Buffer.alloc(9)], ["VP8 ", Buffer.concat([lossyHeader, Buffer.alloc(9)])]),
  ],
  ["a GIF without its trailer", () => gif(gifImage(1, 0x44)).subarray(0, -1)],
  ["a BMP with a 12-byte header", () => oldBmp(64 * 3 * 48)],
  ["an SVG with one element", () => svg("<path/>")],
  [
    "an SVG whose elements have a prefix",
    () => latin1('<svg:svg xmlns:svg="http://www.w3.org/2000/svg" width="9" height="9"><svg:rect/></svg:svg>'),
  ],
  ["an SVG that is drawn by a script", () => svg("<script>draw()</script>")],
];
test.each(LEAST)("reports %s as complete", async (_, make) => {
  expect(await isComplete(await make())).toBe(true);
});
