// Results with an unusual beginning or embedded frames of another kind are delivered unchanged.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { MediaKind } from "../../src/domain/types.ts";
import { openDelivery, whole } from "./delivery.ts";

const kept = (name: string) => readFileSync(join(import.meta.dir, "../corpus/files", name));
const latin1 = (text: string) => Buffer.from(text, "latin1");
const be32 = (value: number) => Buffer.of(value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255);

const mp3 = kept("noxing.mp3");
const adts = kept("lc.aac");
/** An APE tag with one item, as it precedes the audio. */
const ape = () => {
  const item = Buffer.concat([Buffer.of(5, 0, 0, 0, 0, 0, 0, 0), latin1("Title\0"), latin1("A kit")]);
  const ends = (flags: number) =>
    Buffer.concat([
      latin1("APETAGEX"),
      Buffer.of(0xd0, 7, 0, 0, item.length + 32, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, flags),
      Buffer.alloc(8),
    ]);
  return Buffer.concat([ends(0xa0), item, ends(0x80)]);
};
/** An FLV whose tags contain one audio frame each. */
const flv = () => {
  const tag = (data: Uint8Array) =>
    Buffer.concat([
      Buffer.of(8, 0, data.length >> 8, data.length & 255, 0, 0, 0, 0, 0, 0, 0, 0x2f),
      data.subarray(1),
      be32(data.length + 11),
    ]);
  const frames = Array.from({ length: 40 }, (_, n) =>
    tag(Buffer.concat([Buffer.of(0x2f), mp3.subarray(n * 100, n * 100 + 200)])),
  );
  return Buffer.concat([latin1("FLV\x01\x04"), be32(9), be32(0), ...frames, mp3]);
};
const au = () => Buffer.concat([latin1(".snd"), be32(24), be32(16_000), be32(3), be32(8000), be32(1), mp3, Buffer.alloc(16_000)]);
const qoi = () => Buffer.concat([latin1("qoif"), be32(64), be32(48), Buffer.of(3, 0), mp3, Buffer.of(0, 0, 0, 0, 0, 0, 0, 1)]);
const programStream = () => Buffer.concat([be32(0x1ba), Buffer.of(0x44, 0, 4, 0, 4, 1, 0x89, 0xc3, 0xf8), mp3]);

const KEPT: [what: string, kind: MediaKind, mime: string, bytes: Uint8Array][] = [
  ["MP3 after unknown bytes", "audio", "audio/mpeg", Buffer.concat([Buffer.alloc(700, 0x5a), Buffer.of(1, 2, 0xfe), mp3])],
  ["MP3 after zeros", "audio", "audio/mpeg", Buffer.concat([Buffer.alloc(5000), mp3])],
  ["MP3 after an APE tag", "audio", "audio/mpeg", Buffer.concat([ape(), mp3])],
  ["MP3 that begins in the middle of a frame", "audio", "audio/mpeg", mp3.subarray(100)],
  ["AAC that begins in the middle of a frame", "audio", "audio/aac", adts.subarray(30)],
  ["Wave64", "audio", "audio/x-w64", kept("wave64.w64")],
  ["an FLV that contains MP3", "video", "video/x-flv", flv()],
  ["an MPEG program stream that contains MP3", "video", "video/mpeg", programStream()],
  ["a Sun AU file that contains MP3 frames", "audio", "audio/basic", au()],
  ["a QOI image that contains MP3 frames", "image", "image/x-qoi", qoi()],
];
for (const [what, kind, mime, bytes] of KEPT)
  test(`delivers ${what} unchanged after one download`, async () => {
    const delivery = await openDelivery(kind, () => whole(bytes, {}));
    const shown = await delivery.order();
    expect(shown).toMatchObject({ status: "succeeded", attempts: 1 });
    const content = await delivery.content(shown.id);
    expect(content.headers.get("content-type")).toBe(mime);
    expect(await content.bytes()).toEqual(new Uint8Array(bytes));
    expect(delivery.fetched).toHaveLength(1);
  });

test("rejects bytes of no known format as audio and falls back to the next route", async () => {
  const delivery = await openDelivery("audio", () => whole(Buffer.alloc(9000, 0x81), {}));
  const shown = await delivery.order();
  expect(shown).toMatchObject({ status: "succeeded", attempts: 2 });
  expect((await delivery.attempts(shown.id))[0]?.failure?.detail).toContain("no picture, clip or sound of a known kind");
});
