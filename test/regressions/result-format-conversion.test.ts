// Results in formats that the specification does not list are converted or delivered, and not discarded.
import { expect, test } from "bun:test";
import type { MediaKind } from "../../src/domain/types.ts";
import { inspect } from "../../src/media/formats/inspect.ts";
import { oddFile } from "../../src/simulator/prebuilt-files.ts";
import { OTHER_KINDS } from "../../src/simulator/rare-formats.ts";
import { inMemory } from "../media/formats/reader.ts";
import { bmp, mp3, mp4, png, wav } from "../media/made.ts";
import { openDelivery, whole } from "./delivery.ts";

const text = (words: string) => new TextEncoder().encode(words);
const ascii = (words: string) => Buffer.from(words, "latin1");
const SVG = `<?xml version="1.0" encoding="UTF-8"?>\n<!-- made by hand -->\n<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>`;
/** A binary glTF file with one empty scene. */
const glb = () => {
  const scene = text('{"asset":{"version":"2.0"}}'.padEnd(28));
  const head = Buffer.from(new Uint32Array([0x46546c67, 2, 20 + scene.length, scene.length, 0x4e4f534a]).buffer);
  return Buffer.concat([head, scene]);
};

const clip = (kind: "mov" | "mkv" | "webm") => OTHER_KINDS[kind].make({ width: 320, height: 180, ms: 3000, sound: true }, 4);

type Row = [
  what: string,
  kind: MediaKind,
  bytes: () => Promise<Uint8Array> | Uint8Array,
  mime: string,
  how: "inline" | "attachment",
];
const ROWS: Row[] = [
  ["a HEIC photo", "image", () => oddFile("heic"), "image/heic", "attachment"],
  ["a TIFF", "image", () => oddFile("tiff"), "image/tiff", "attachment"],
  ["a JPEG XL", "image", () => oddFile("jxl"), "image/jxl", "attachment"],
  ["an animated GIF", "image", () => oddFile("movingGif"), "image/gif", "inline"],
  ["an animated GIF", "video", () => oddFile("movingGif"), "image/gif", "inline"],
  ["an SVG with a script", "image", () => text(SVG), "image/svg+xml", "attachment"],
  ["a GLB", "image", glb, "model/gltf-binary", "attachment"],
  ["a VP8 WebM clip", "video", () => oddFile("vp8"), "video/webm", "inline"],
  ["an MPEG transport stream", "video", () => oddFile("ts"), "video/mp2t", "attachment"],
  ["FLAC", "audio", () => oddFile("flac"), "audio/flac", "inline"],
  ["Opus in Ogg", "audio", () => oddFile("opus"), "audio/ogg", "inline"],
  ["an M4A", "audio", () => oddFile("m4a"), "audio/mp4", "inline"],
  ["AAC", "audio", () => oddFile("aac"), "audio/aac", "inline"],
  ["an MP4 with only sound", "audio", () => oddFile("soundOnlyMp4"), "audio/mp4", "inline"],
  ["MP3", "audio", () => mp3(2), "audio/mpeg", "inline"],
  ["WAV", "audio", () => wav(2), "audio/wav", "inline"],
  [
    "an archive of several files",
    "image",
    () => Buffer.concat([ascii("PK\x03\x04"), Buffer.alloc(200)]),
    "application/zip",
    "attachment",
  ],
];
/** Formats that the service converts without loss to a format of the specification, with the output as the API shows it. */
const CONVERTED: [what: string, kind: MediaKind, bytes: () => Promise<Uint8Array> | Uint8Array, mime: string, shown: object][] = [
  ["a still GIF", "image", () => oddFile("gif"), "image/png", { width: 64, height: 48 }],
  ["a bitmap", "image", () => bmp(30, 20), "image/png", { width: 30, height: 20 }],
  ["an AVIF", "image", () => oddFile("avif"), "image/png", { width: 64, height: 48 }],
  [
    "a QuickTime clip",
    "video",
    () => clip("mov"),
    "video/mp4",
    { width: 320, height: 180, duration_s: expect.closeTo(3, 2), has_audio: true },
  ],
  [
    "a Matroska clip",
    "video",
    () => clip("mkv"),
    "video/mp4",
    { width: 320, height: 180, duration_s: expect.closeTo(3, 2), has_audio: true },
  ],
  [
    "a WebM clip with VP9",
    "video",
    () => clip("webm"),
    "video/mp4",
    { width: 1280, height: 720, duration_s: expect.closeTo(3, 2), has_audio: false },
  ],
  ["a QuickTime clip with HEVC", "video", () => oddFile("hevc"), "video/mp4", { width: 1280, height: 720, duration_s: 0.04 }],
  ["a Matroska clip with AV1", "video", () => oddFile("av1"), "video/mp4", { width: 1280, height: 720, duration_s: 0.04 }],
  ["a WebM with only sound", "audio", () => oddFile("soundOnlyWebm"), "audio/mp4", {}],
];
for (const [what, kind, make, mime, shown] of CONVERTED)
  test(`converts ${what} for an order of ${kind} to ${mime} after one download`, async () => {
    const bytes = await make();
    const delivery = await openDelivery(kind, () => whole(bytes, { "content-type": "application/octet-stream" }));
    const reported = await delivery.order();
    expect(reported).toMatchObject({ status: "succeeded", cost_usd: 0.2, attempts: 1, output: shown });
    expect(delivery.fetched).toHaveLength(1);
    const content = await delivery.content(reported.id);
    expect(content.headers.get("content-type")).toBe(mime);
    const sent = await content.bytes();
    expect(content.headers.get("etag")).toBe(`"${new Bun.CryptoHasher("sha256").update(sent).digest("hex")}"`);
    const found = await inspect(inMemory(sent), { depth: "whole", signal: new AbortController().signal });
    expect(found).toMatchObject({ kind, isComplete: true });
  });

for (const [what, kind, make, mime, how] of ROWS)
  for (const claim of ["application/octet-stream", "image/png"])
    test(`delivers ${what} for an order of ${kind}, served as ${claim}, unchanged as ${mime} after one download`, async () => {
      const bytes = await make();
      const delivery = await openDelivery(kind, () => whole(bytes, { "content-type": claim }));
      const shown = await delivery.order();
      expect(shown).toMatchObject({ status: "succeeded", cost_usd: 0.2, attempts: 1 });
      expect(delivery.fetched).toHaveLength(1);
      for (const content of [await delivery.content(shown.id), await fetch(shown.output?.urls[0] ?? "")]) {
        expect(content.headers.get("content-type")).toBe(mime);
        expect(content.headers.get("content-disposition")).toStartWith(how);
        expect(content.headers.get("content-security-policy")).toBe("sandbox");
        expect(content.headers.get("x-content-type-options")).toBe("nosniff");
        expect(await content.bytes()).toEqual(new Uint8Array(bytes));
      }
    });

test("accepts a text-based 3D model by its Content-Type, and rejects an HTML page with the same Content-Type", async () => {
  const obj = text("# a triangle\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
  const delivery = await openDelivery("image", () => whole(obj, { "content-type": "model/obj" }));
  const shown = await delivery.order();
  expect(shown).toMatchObject({ status: "succeeded", attempts: 1 });
  expect((await delivery.content(shown.id)).headers.get("content-type")).toBe("model/obj");
  const page = text("<html><body>model/obj is not ready</body></html>");
  const other = await openDelivery("image", () => whole(page, { "content-type": "model/obj" }));
  expect(await other.order()).toMatchObject({ status: "succeeded", cost_usd: 0.25, attempts: 2 });
});

const REFUSED: Row[] = [
  ["a still picture", "video", () => png(64, 48), "image/png", "inline"],
  ["a clip", "image", () => mp4({ seconds: 1 }), "video/mp4", "inline"],
  ["a file with only sound", "video", () => oddFile("m4a"), "audio/mp4", "inline"],
  ["a bitmap", "audio", () => bmp(9, 9), "image/bmp", "inline"],
  ["a truncated M4A", "audio", () => oddFile("m4a").subarray(0, 700), "audio/mp4", "inline"],
];
for (const [what, kind, make, mime] of REFUSED)
  test(`rejects ${what} (${mime}) for an order of ${kind} and charges only the next route`, async () => {
    const bytes = await make();
    const delivery = await openDelivery(kind, () => whole(bytes));
    expect(await delivery.order()).toMatchObject({ status: "succeeded", cost_usd: 0.25, attempts: 2 });
  });

for (const announced of ["image/x-new", "audio/x-new"])
  test(`delivers a file of unknown format served as ${announced} only if the order is for that kind`, async () => {
    const bytes = Uint8Array.from({ length: 3000 }, (_, at) => 128 | (at * 7919));
    const delivery = await openDelivery("image", () => whole(bytes, { "content-type": `${announced}; v=1` }));
    const shown = await delivery.order();
    const isPicture = announced.startsWith("image");
    expect(shown.attempts).toBe(isPicture ? 1 : 2);
    const content = await delivery.content(shown.id);
    expect(content.headers.get("content-type")).toBe(isPicture ? announced : "image/png");
    if (isPicture) expect(content.headers.get("content-disposition")).toStartWith("attachment");
  });
