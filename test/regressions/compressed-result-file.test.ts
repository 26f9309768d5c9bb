// Result files are decompressed if a server compresses them although the request accepts only `identity`.
import { expect, test } from "bun:test";
import * as zlib from "node:zlib";
import type { MediaKind } from "../../src/domain/types.ts";
import { streaming } from "../media/fixture.ts";
import { mp3, mp4, png, wav } from "../media/made.ts";
import { openDelivery, whole } from "./delivery.ts";

const SVG = new TextEncoder().encode(
  '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><rect width="8" height="8"/></svg>',
);

const CODINGS: readonly [string, (bytes: Uint8Array) => Uint8Array][] = [
  ["gzip", (bytes) => zlib.gzipSync(bytes)],
  ["x-gzip", (bytes) => zlib.gzipSync(bytes)],
  ["deflate", (bytes) => zlib.deflateSync(bytes)],
  ["deflate", (bytes) => zlib.deflateRawSync(bytes)],
  ["br", (bytes) => zlib.brotliCompressSync(bytes)],
  ["zstd", (bytes) => zlib.zstdCompressSync(bytes)],
  ["gzip, br", (bytes) => zlib.brotliCompressSync(zlib.gzipSync(bytes))],
];
const FILES: readonly [string, MediaKind, string, () => Promise<Uint8Array> | Uint8Array][] = [
  ["picture", "image", "image/png", () => png(64, 48)],
  ["clip", "video", "video/mp4", () => mp4({ seconds: 5 })],
  ["WAV file", "audio", "audio/wav", () => wav(2)],
  ["MP3 file", "audio", "audio/mpeg", () => mp3(2)],
  ["vector graphic", "image", "image/svg+xml", () => SVG],
];

for (const [index, [coding, pack]] of CODINGS.entries()) {
  const [what, kind, mime, make] = FILES[index % FILES.length] ?? FILES[0] ?? ["", "image", "", () => SVG];
  test(`decompresses a ${what} sent as ${coding} (${index}), with and without a Content-Length`, async () => {
    const bytes = await make();
    const packed = pack(bytes);
    for (const hasLength of [true, false]) {
      const coded = { "content-encoding": coding };
      const pieces = [packed.subarray(0, 40), packed.subarray(40)];
      const delivery = await openDelivery(kind, () =>
        hasLength ? whole(packed, coded) : streaming(async (n) => pieces[n], coded),
      );
      const shown = await delivery.order();
      expect(shown).toMatchObject({ status: "succeeded", cost_usd: 0.2, attempts: 1 });
      const content = await delivery.content(shown.id);
      expect(content.headers.get("content-type")).toBe(mime);
      expect(await content.bytes()).toEqual(new Uint8Array(bytes));
      expect(delivery.fetched).toHaveLength(1);
    }
  });
}

test("does not charge for a truncated compressed file and falls back to the next route", async () => {
  const packed = zlib.gzipSync(await png(64, 48));
  const delivery = await openDelivery("image", () => whole(packed.subarray(0, -12), { "content-encoding": "gzip" }));
  const shown = await delivery.order();
  expect(shown).toMatchObject({ status: "succeeded", cost_usd: 0.25, attempts: 2 });
  expect((await delivery.attempts(shown.id))[0]?.failure?.detail).toContain("damaged or cut short");
});

test("does not charge for a file that decompresses to more than limits.result_bytes and falls back to the next route", async () => {
  const film = Buffer.concat([
    await mp4({ seconds: 1 }),
    Buffer.from([0, 0x60, 0, 0]),
    Buffer.from("free"),
    Buffer.alloc(6 * 2 ** 20),
  ]);
  const delivery = await openDelivery("video", () => whole(zlib.gzipSync(film), { "content-encoding": "gzip" }), {
    env: { GENROUTER_LIMITS__RESULT_BYTES: String(2 ** 20) },
  });
  const shown = await delivery.order();
  expect(shown).toMatchObject({ status: "succeeded", cost_usd: 0.25, attempts: 2 });
  expect((await delivery.attempts(shown.id))[0]?.failure?.detail).toContain("larger than 1048576 bytes");
});

test("delivers a gzip-compressed SVG without a Content-Encoding unchanged, as application/gzip", async () => {
  const packed = zlib.gzipSync(SVG);
  const delivery = await openDelivery("image", () => whole(packed, { "content-type": "image/svg+xml" }), { path: "/logo.svgz" });
  const shown = await delivery.order();
  const content = await delivery.content(shown.id);
  expect(content.headers.get("content-type")).toBe("application/gzip");
  expect(content.headers.get("content-disposition")).toStartWith("attachment");
  expect(await content.bytes()).toEqual(new Uint8Array(packed));
});
