// Result check: unusual but playable files pass, damaged files fail.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { MediaKind } from "../../src/domain/types.ts";
import { checkResult } from "../../src/media/check-result.ts";
import { inspect } from "../../src/media/formats/inspect.ts";
import { readPlainPicture } from "../../src/media/plain-picture.ts";
import { kindOfHeader } from "../../src/media/result-kinds.ts";
import { inMemory } from "../media/formats/reader.ts";
import { jpeg } from "../media/made.ts";

const kept = (name: string): Buffer => readFileSync(join(import.meta.dir, "../corpus/files", name));
const latin1 = (text: string) => Buffer.from(text, "latin1");
const be32 = (value: number) => Buffer.of(value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255);
const joined = (...parts: Uint8Array[]) => Buffer.concat(parts);

/** Runs the result check on the bytes of a received file. */
const delivered = async (bytes: Uint8Array, kind: MediaKind) => {
  const look = kindOfHeader(bytes);
  if (look.sort !== "file" || !look.answers.includes(kind)) throw new Error(`unexpected header: ${JSON.stringify(look)}`);
  const whole = { signal: AbortSignal.timeout(10_000), depth: "whole" } as const;
  const arrived = { bytes: bytes.length, mime: look.mime, sha256: "" };
  return checkResult(() => inspect(inMemory(bytes), whole), arrived, kind);
};

/** A corpus file in which every `from` is replaced by `to` of the same length. */
const reworded = (name: string, from: string, to: string): Buffer => {
  const bytes = kept(name);
  expect(bytes.indexOf(from, 0, "latin1")).toBeGreaterThan(0);
  for (let at = bytes.indexOf(from, 0, "latin1"); at >= 0; at = bytes.indexOf(from, at + 4, "latin1"))
    bytes.write(to, at, "latin1");
  return bytes;
};
/** An MP4 box with the given contents. */
const box = (name: string, ...contents: Uint8Array[]): Buffer => {
  const inside = joined(...contents);
  return joined(be32(inside.length + 8), latin1(name), inside);
};
/** An MP4 with one more box in its `moov`, which is the last box of the file. */
const withBox = (name: string, more: Buffer): Buffer => {
  const bytes = joined(kept(name), more);
  const at = bytes.indexOf("moov", 0, "latin1") - 4;
  const length = bytes.readUInt32BE(at) + more.length;
  expect(at + length).toBe(bytes.length);
  bytes.writeUInt32BE(length, at);
  return bytes;
};
const handler = box("hdlr", Buffer.alloc(8), latin1("mdirappl"), Buffer.alloc(9));
/** A title as iTunes and ffmpeg write it. */
const titled = (title: string) =>
  box("udta", box("meta", be32(0), handler, box("ilst", box("\xa9nam", box("data", be32(1), be32(0), latin1(title))))));

const strayInJpeg = async (...stray: number[]): Promise<Buffer> => {
  const bytes = Buffer.from(await jpeg());
  const second = 4 + bytes.readUInt16BE(4);
  return joined(bytes.subarray(0, second), Buffer.of(...stray), bytes.subarray(second));
};
const gifBehind = (...tail: number[]): Buffer => joined(kept("still.gif").subarray(0, -1), Buffer.of(...tail));

/** A TIFF with one strip of `pixels` bytes whose declared byte count is `count`. */
const tiff = (pixels: number, count: number, packing = 1): Buffer => {
  const entries = [
    [256, 4, 64],
    [257, 4, 48],
    [258, 3, 8],
    [259, 3, packing],
    [262, 3, 1],
    [273, 4, 8 + 2 + 9 * 12 + 4],
    [277, 3, 3],
    [278, 4, 48],
    [279, 4, count],
  ] as const;
  const bytes = Buffer.alloc(10 + entries.length * 12 + 4 + pixels, "II*\0\x08\0\0\0", "latin1");
  bytes.fill(0, 8);
  bytes.writeUInt16LE(entries.length, 8);
  for (const [n, [tag, type, value]] of entries.entries()) {
    const at = 10 + n * 12;
    bytes.writeUInt16LE(tag, at);
    bytes.writeUInt16LE(type, at + 2);
    bytes.writeUInt32LE(1, at + 4);
    bytes.writeUInt32LE(value, at + 8);
  }
  return bytes;
};

const commented = (comment: string): Buffer =>
  latin1(`<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><svg><path/></svg><path/>${comment}`);

/** An Ogg page that holds one packet. */
const oggPage = (serial: number, packet: Uint8Array, flags = 0, granule = 0): Buffer => {
  const table = [...Array<number>(Math.floor(packet.length / 255)).fill(255), packet.length % 255];
  const head = Buffer.alloc(27);
  head.write("OggS");
  head[5] = flags;
  head.writeBigUInt64LE(BigInt(granule), 6);
  head.writeUInt32LE(serial, 14);
  head[26] = table.length;
  return joined(head, Buffer.of(...table), packet);
};
/** 320 x 240 at 25 frames per second, with a pixel aspect ratio of 4:3. */
const theoraHead = joined(
  latin1("\x80theora\x03\x02\x01"),
  Buffer.of(0, 20, 0, 15, 0, 1, 64, 0, 0, 240, 0, 0),
  be32(25),
  be32(1),
  Buffer.of(0, 0, 4, 0, 0, 3, 0, 0, 0, 0, 0, 0),
);
const opusHead = joined(latin1("OpusHead"), Buffer.of(1, 1, 0, 0, 0x80, 0xbb, 0, 0, 0, 0, 0));
const ogv = (frames: number, head = theoraHead): Buffer =>
  joined(
    oggPage(1, head, 2),
    oggPage(2, opusHead, 2),
    oggPage(1, latin1("\x81theora")),
    oggPage(1, latin1("\x82theora")),
    oggPage(2, latin1("OpusTags")),
    ...Array.from({ length: frames }, (_, n) => oggPage(1, n % 5 === 4 ? Buffer.alloc(0) : Buffer.of(0x30, 1, 2, 3))),
    // Each packet is 20 ms long.
    ...Array.from({ length: 2 * frames }, () => oggPage(2, Buffer.of(0x98, 1, 2, 3))),
  );

/** A granule position holds two frame numbers; here 6 bits count the frames after a key frame. */
const droppingHead = Buffer.from(theoraHead);
droppingHead.set([0, 6 << 5], 40);
/** Contains frame 1 and frame 75 only. */
const dropping = joined(
  oggPage(1, droppingHead, 2),
  oggPage(1, latin1("\x81theora")),
  oggPage(1, latin1("\x82theora")),
  oggPage(1, Buffer.of(0x30, 1, 2, 3), 0, 1 << 6),
  oggPage(1, Buffer.of(0x30, 1, 2, 3), 4, (70 << 6) + 5),
);

const WORDS = latin1("some trailer that is no box at all\n");

const WHOLE: [what: string, kind: MediaKind, make: () => Uint8Array | Promise<Uint8Array>, found: object][] = [
  ["an MP4 with trailing text", "video", () => joined(kept("silent.mp4"), WORDS), { isComplete: true }],
  ["an MP4 with trailing bytes", "video", () => joined(kept("silent.mp4"), Buffer.alloc(40, 0xfe)), { isComplete: true }],
  ["a fragmented MP4 with trailing text", "video", () => joined(kept("fragments-dash.mp4"), WORDS), { kind: "video" }],
  ["an AVIF with trailing text", "image", () => joined(kept("still.avif"), latin1("trailing words")), { mime: "image/avif" }],
  ["an MP4 whose title begins with 'trak'", "video", () => withBox("silent.mp4", titled("trak one")), { kind: "video" }],
  ["an MP4 whose title begins with 'moov'", "video", () => withBox("silent.mp4", titled("moov, a film")), { kind: "video" }],
  [
    "an MP4 with a 3GPP title that contains a box name",
    "video",
    () =>
      withBox(
        "silent.mp4",
        joined(box("udta", box("titl", be32(0), Buffer.of(0, 0), be32(40), latin1("stts"), Buffer.alloc(40)))),
      ),
    { kind: "video" },
  ],
  [
    "an MP4 whose handler name contains a box name",
    "video",
    () => reworded("silent.mp4", "VideoHandler", "trakHandlers"),
    { kind: "video" },
  ],
  ["a JPEG with stray bytes between segments", "image", () => strayInJpeg(0x12, 0x34), { width: 64, height: 48 }],
  ["a JPEG with a stray stuffed byte", "image", () => strayInJpeg(0xff, 0), { width: 64, height: 48 }],
  ["a JPEG with many stray bytes", "image", () => strayInJpeg(...Array<number>(9000).fill(1)), { width: 64, height: 48 }],
  ["a GIF with a stray byte before its trailer", "image", () => gifBehind(0, 0x3b), { mime: "image/gif" }],
  ["a GIF with a stray byte in place of its trailer", "image", () => gifBehind(0), { mime: "image/gif" }],
  ["a TIFF whose strip byte count is 0", "image", () => tiff(64 * 48 * 3, 0), { width: 64, height: 48 }],
  [
    "an SVG with a long trailing comment",
    "image",
    () => commented(`</svg>\n<!-- ${"made by hand ".repeat(2000)} -->\n`),
    { width: 9, height: 9 },
  ],
  [
    "a Theora video",
    "video",
    () => ogv(50),
    { mime: "video/ogg", kind: "video", ms: 2000, width: 427, height: 240, hasAudio: true, isComplete: true },
  ],
  ["a Theora video with dropped frames", "video", () => dropping, { kind: "video", ms: 3000 }],
  ["an animated AVIF", "video", () => kept("animated.avif"), { mime: "image/avif", kind: "image", width: 97, ms: 2 }],
  ["a Theora video with sound", "audio", () => ogv(50), { kind: "video", hasAudio: true }],
  [
    "an Ogg video with an unknown codec",
    "video",
    () => ogv(50, latin1("BBCD\0".padEnd(42))),
    { mime: "video/ogg", kind: "video", isComplete: true },
  ],
];
test.each(WHOLE)("accepts %s as %s", async (_, kind, make, found) => {
  const bytes = await make();
  expect(await delivered(bytes, kind)).toMatchObject(found);
  // readPlainPicture finds the same in the main thread, or leaves the file to the sandbox.
  const plain = await readPlainPicture([bytes]);
  if (plain) expect(plain).toMatchObject(found);
});

const dash = kept("fragments-dash.mp4");
const lastMoof = dash.lastIndexOf("moof", dash.length, "latin1") - 4;
const lastData = dash.lastIndexOf("mdat", dash.length, "latin1") - 4;
const hidden = (name: string): Buffer => box(name, box("tkhd", Buffer.alloc(84)));

const BROKEN: [what: string, kind: MediaKind, make: () => Uint8Array | Promise<Uint8Array>][] = [
  ["an MP4 truncated in its media data", "video", () => kept("faststart.mp4").subarray(0, -100)],
  ["a fragmented MP4 truncated in its last media data", "video", () => dash.subarray(0, lastData + 12)],
  ["a fragmented MP4 truncated in its last fragment header", "video", () => dash.subarray(0, lastMoof + 60)],
  ["an AVIF truncated in its media data", "image", () => kept("still.avif").subarray(0, -20)],
  ["a truncated AVIF with a trailing byte", "image", () => joined(kept("still.avif").subarray(0, -20), latin1("x"))],
  ["an MP4 with a second track in its user data", "video", () => withBox("silent.mp4", box("udta", hidden("trak")))],
  [
    "an MP4 with a second track in place of a title",
    "video",
    () => withBox("silent.mp4", box("udta", box("meta", be32(0), handler, box("ilst", hidden("trak"))))),
  ],
  [
    "an MP4 with a second track in a title that precedes the handler",
    "video",
    () =>
      withBox(
        "silent.mp4",
        box("udta", box("meta", be32(0), box("ilst", box("\xa9nam", box("data", be32(1), be32(0), handler, hidden("trak")))))),
      ),
  ],
  [
    "a JPEG that contains only stray bytes",
    "image",
    () => joined(Buffer.of(0xff, 0xd8, 0xff, 0xe0, 0, 4, 0, 0), Buffer.alloc(9000, 1)),
  ],
  ["a truncated GIF padded with zeros", "image", () => joined(kept("still.gif").subarray(0, -100), Buffer.alloc(4096))],
  ["a TIFF truncated in a strip whose byte count is 0", "image", () => tiff(64 * 48 * 3 - 1, 0)],
  ["a TIFF whose compressed strip has a byte count of 0", "image", () => tiff(100, 0, 5)],
  ["an SVG truncated after a nested SVG", "image", () => commented(`<!-- ${"made by hand ".repeat(2000)} --><path/>`)],
  ["a Theora video without frames", "video", () => ogv(0)],
  ["a truncated Theora video", "video", () => ogv(50).subarray(0, -2)],
  ["a four-byte ICO", "image", () => Buffer.of(0, 0, 1, 0)],
  ["a four-byte ZIP archive", "image", () => latin1("PK\x03\x04")],
  ["a four-byte ZIP archive", "audio", () => latin1("PK\x03\x04")],
  ["a five-byte PDF", "image", () => latin1("%PDF-")],
  ["a five-byte PSD", "image", () => latin1("8BPS\0")],
  ["an eight-byte TIFF", "image", () => latin1("II*\0\x08\0\0\0")],
  ["an AVIF that contains only its brand", "image", () => box("ftyp", latin1("avif"), be32(0))],
  ...(["rgb.tif", "jpeg-in.tif", "still.avif", "alpha.avif", "still.heic", "animated.avif", "phone.3gp"] as const).flatMap(
    (name) =>
      [0.1, 0.5, 0.9].map((part): (typeof BROKEN)[number] => [
        `${name} truncated to ${part} of its length`,
        name.endsWith("3gp") ? "video" : "image",
        () => kept(name).subarray(0, Math.floor(kept(name).length * part)),
      ]),
  ),
  ["a glTF scene that contains only a header", "image", () => latin1("glTF\x02\0\0\0\x14\0\0\0\0\0\0\0JSON")],
];
test.each(BROKEN)("rejects %s as %s", async (_, kind, make) => {
  expect(await delivered(await make(), kind).catch((fault: Error) => fault.constructor.name)).toBe("UnreadableResult");
});

test("readPlainPicture leaves a PNG with 85,000 empty chunks to the sandbox after fewer than 50,000 piece reads", async () => {
  const chunk = joined(be32(0), latin1("tEXt"), be32(0));
  const bytes = joined(kept("alpha.png").subarray(0, 33), ...Array.from({ length: 85_000 }, () => chunk));
  const step = Math.ceil(bytes.length / 999);
  const pieces = Array.from({ length: 999 }, (_, n) => bytes.subarray(n * step, (n + 1) * step));
  let looks = 0;
  const counted = new Proxy(pieces, {
    get: (target, name, receiver) => {
      if (/^\d+$/.test(String(name))) looks++;
      return Reflect.get(target, name, receiver);
    },
  });
  expect(await readPlainPicture(counted)).toBeUndefined();
  expect(looks).toBeLessThan(50_000);
});
