// Picture formats: sizes from headers, however large or late, and truncated files.
import { expect, test } from "bun:test";
import { inspect } from "../../../src/media/formats/inspect.ts";
import { createPictureHeaderParser, readPictureHeader } from "../../../src/media/formats/picture-header.ts";
import { bmp, jpeg, noted, png, webp } from "../made.ts";
import { counted, inMemory } from "./reader.ts";

const whole = { signal: AbortSignal.timeout(10_000), depth: "whole" } as const;
const KINDS: [string, () => Promise<Uint8Array>][] = [
  ["image/png", () => png(321, 123)],
  ["image/jpeg", () => jpeg(321, 123)],
  ["image/webp", () => webp(321, 123)],
  ["image/bmp", async () => bmp(321, 123)],
];

test.each(KINDS)("%s: reads the size and detects a truncated file", async (mime, make) => {
  const bytes = await make();
  expect(await inspect(inMemory(bytes), whole)).toEqual({ mime, kind: "image", width: 321, height: 123, isComplete: true });
  for (const share of [0.3, 0.6, 0.99]) {
    const cut = bytes.subarray(0, Math.max(60, Math.floor(bytes.length * share)));
    const said = await inspect(inMemory(cut), whole).catch(() => ({ isComplete: false }));
    expect(said.isComplete).toBe(false);
  }
});

test("finds the size of a JPEG behind 3 MB of metadata in fewer than 10 reads", async () => {
  const bytes = noted(await jpeg(64, 48), 50);
  const file = counted(bytes);
  expect(await readPictureHeader(file)).toEqual({ mime: "image/jpeg", width: 64, height: 48 });
  expect(file.reads()).toBeLessThan(10);
});

test("reports the displayed size of a JPEG that its EXIF orientation rotates", async () => {
  const exif = Buffer.from(
    "ffe100224578696600004d4d002a0000000800010112000300000001000600000000 0000".replaceAll(" ", ""),
    "hex",
  );
  const bytes = await jpeg(64, 48);
  const turned = Buffer.concat([bytes.subarray(0, 2), exif, bytes.subarray(2)]);
  expect(await readPictureHeader(inMemory(turned))).toMatchObject({ width: 48, height: 64 });
});

test("stops at its step limit on a header without a size", () => {
  const endless = new Uint8Array(8 * 1024 * 1024).fill(0xff);
  endless.set([0xff, 0xd8, 0xff], 0);
  expect(createPictureHeaderParser().feed(endless, 0)).toEqual({ kind: "none" });
  const short = Buffer.concat([Buffer.of(0xff, 0xd8), Buffer.alloc(4_000_000, Buffer.of(0xff, 0xe1, 0, 2))]);
  expect(createPictureHeaderParser().feed(short, 0)).toEqual({ kind: "none" });
});

test("never throws on a truncated header", async () => {
  for (const [, make] of KINDS) {
    const bytes = await make();
    for (let length = 0; length < Math.min(bytes.length, 400); length++)
      createPictureHeaderParser().feed(bytes.subarray(0, length), 0);
  }
});

test("reports a JPEG with an early end marker as not complete, and ignores bytes after the true end", async () => {
  const bytes = await jpeg(321, 123);
  const scan = Buffer.from(bytes).indexOf(Buffer.of(0xff, 0xda));
  const coded = scan + 2 + Buffer.from(bytes).readUInt16BE(scan + 2);
  const end = Buffer.of(0xff, 0xd9);
  const early = Buffer.concat([bytes.subarray(0, coded + 1), end, bytes.subarray(coded + 3)]);
  expect(early.subarray(-2)).toEqual(end);
  expect(await inspect(inMemory(early), whole)).toMatchObject({ isComplete: false });
  const followed = Buffer.concat([bytes, Buffer.alloc(5000, 7), end]);
  expect(await inspect(inMemory(followed), whole)).toMatchObject({ isComplete: true });
});

test("finds the end of a large JPEG with one scan without reading the bytes between", async () => {
  const bytes = await jpeg(64, 48);
  const scan = Buffer.from(bytes).indexOf(Buffer.of(0xff, 0xda));
  const coded = scan + 2 + Buffer.from(bytes).readUInt16BE(scan + 2);
  const file = counted(
    Buffer.concat([bytes.subarray(0, coded + 20), Buffer.alloc(8 * 1024 * 1024, 7), bytes.subarray(coded + 20)]),
  );
  expect(await inspect(file, whole)).toMatchObject({ isComplete: true });
  expect(file.reads()).toBeLessThan(6);
});
