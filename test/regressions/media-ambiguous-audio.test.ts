// Ambiguous audio files: measured as ffmpeg plays them, unmeasurable, or rejected.
import { expect, test } from "bun:test";
import { flacFrame } from "../../src/media/formats/flac-frame.ts";
import { inspect } from "../../src/media/formats/inspect.ts";
import { le32, noise, put } from "../corpus/recipe.ts";
import { inMemory } from "../media/formats/reader.ts";
import { kept, lookAtLength as look } from "./counted.ts";
import { be, block, element, float, matroska, text } from "./matroska-file.ts";

const NOT_OF_A_FILE = "its index is not one of a real file";
const byTens = (parts: readonly Buffer[]) =>
  Array.from({ length: Math.ceil(parts.length / 10) }, (_, n) => parts.slice(n * 10, (n + 1) * 10));

// Frame streams.

const mp3 = kept("noxing.mp3");
const adts = kept("lc.aac");
const ADTS: Buffer[] = [];
for (let at = 0; at + 7 < adts.length; ) {
  const length = ((adts.readUInt8(at + 3) & 3) << 11) | (adts.readUInt16BE(at + 4) >> 5);
  ADTS.push(adts.subarray(at, at + length));
  at += length;
}
const RAW = ADTS.map((frame) => frame.subarray(7));
/** A frame with an ADTS header that declares `more` blocks besides the first. */
const framed = (payload: Uint8Array, more = 0) => {
  const length = payload.length + 7;
  const [a = 0, b = 0, c = 0] = adts;
  return Buffer.concat([
    Buffer.of(
      a,
      b | 1,
      c,
      ((adts[3] ?? 0) & 0xfc) | (length >> 11),
      (length >> 3) & 255,
      ((length & 7) << 5) | 0x1f,
      0xfc | more,
    ),
    payload,
  ]);
};
const id3 = Buffer.concat([text("ID3\x04\0\0\0\0\0\x0a"), Buffer.alloc(10)]);
const riff = (...chunks: Uint8Array[]) => {
  const all = Buffer.concat([text("WAVE"), ...chunks]);
  return Buffer.concat([text("RIFF"), le32(all.length), all]);
};
const chunk = (name: string, content: Uint8Array, said = content.length) => Buffer.concat([text(name), le32(said), content]);
const format = (channels: number, rate: number) => {
  const bytes = Buffer.alloc(16);
  bytes.writeUInt16LE(1, 0);
  bytes.writeUInt16LE(channels, 2);
  bytes.writeUInt32LE(rate, 4);
  bytes.writeUInt32LE(rate * channels * 2, 8);
  bytes.writeUInt16LE(channels * 2, 12);
  bytes.writeUInt16LE(16, 14);
  return chunk("fmt ", bytes);
};
const second = Buffer.alloc(16_000, 1);
const fewFrames = mp3.subarray(0, 2090);

const STREAMS: [what: string, bytes: Uint8Array, expected: number | string][] = [
  ["ten blocks in each ADTS frame", Buffer.concat(byTens(RAW).map((ten) => framed(Buffer.concat(ten), 3))), "none"],
  [
    "ADTS frames inside each ADTS frame",
    Buffer.concat(byTens(ADTS).map(([first = adts, ...more]) => framed(Buffer.concat([first.subarray(7), ...more])))),
    "none",
  ],
  ["a few MP3 frames before noise", Buffer.concat([fewFrames.subarray(0, 836), noise(200_000, 3)]), "none"],
  ["a tag and a few MP3 frames in noise", Buffer.concat([id3, noise(1000, 4), fewFrames, noise(200_000, 3)]), "none"],
  ["AAC frames in a file of unknown format", Buffer.concat([noise(900, 5), ...ADTS.slice(0, 8), noise(90_000, 6)]), "none"],
  [
    "a tag before a WAV that contains MP3 frames",
    Buffer.concat([id3, riff(chunk("JUNK", fewFrames), format(1, 8000), chunk("data", noise(64_000, 8)))]),
    "none",
  ],
  ["MP3 in a PCM WAV", riff(format(8, 192_000), chunk("data", mp3)), "none"],
  [
    "an RF64 WAV with two lengths",
    Buffer.concat([
      text("RF64\xff\xff\xff\xffWAVE"),
      chunk("ds64", Buffer.concat([Buffer.alloc(8), le32(160_000), Buffer.alloc(16)])),
      ...[format(1, 8000), chunk("data", Buffer.alloc(160_000), 16_000)],
    ]),
    10_000,
  ],
  ["a WAV with an unpadded odd chunk", riff(format(1, 8000), chunk("LIST", Buffer.alloc(7)), chunk("data", second)), "none"],
  ["a WAV with two data chunks", riff(format(1, 8000), chunk("data", second), chunk("data", second)), "none"],
];
test.each(STREAMS)("the measured length of %s is as ffmpeg plays it, or none", async (_, bytes, expected) =>
  expect(await look(bytes)).toBe(expected),
);

test("tags and a little garbage after MP3 frames do not prevent the measurement", async () => {
  const ms = await look(mp3);
  expect(ms).toBeNumber();
  expect(await look(Buffer.concat([mp3, Buffer.alloc(30_000), mp3]))).toBe(2 * Number(ms));
  for (const more of [id3, noise(3000, 7), Buffer.concat([text("TAG"), Buffer.alloc(125, 0x41)])])
    expect(await look(Buffer.concat([mp3, more]))).toBe(ms);
});

// FLAC.

const flac = kept("plain.flac");
/** Only the stream header, without the following metadata blocks. */
const FLAC_HEAD = put(flac.subarray(0, 42), 4, Buffer.of(0x80));
const FLAC: Buffer[] = [];
{
  const starts: number[] = [];
  for (let at = flac.indexOf(Buffer.of(0xff, 0xf8)); at >= 0; at = flac.indexOf(Buffer.of(0xff, 0xf8), at + 1))
    if (flacFrame(flac, at)?.number === starts.length) starts.push(at);
  for (const [n, at] of starts.entries()) FLAC.push(flac.subarray(at, starts[n + 1] ?? flac.length));
}
const broken = (frame: Buffer) => put(frame, frame.length - 1, Buffer.of((frame.at(-1) ?? 0) ^ 0x55));
/** The stream header with another sample rate: 20 bits after the four sizes. */
const atRate = (rate: number) =>
  put(FLAC_HEAD, 18, Buffer.of(rate >> 12, (rate >> 4) & 255, ((rate & 15) << 4) | ((FLAC_HEAD[20] ?? 0) & 15)));
const inBlocks = (nodeUrl: Uint8Array, packets: Buffer[]) =>
  matroska({ codec: "A_FLAC", own: nodeUrl, rate: 44_100 }, ...packets.map((data, n) => block(n * 20, data)));
test("FLAC with grouped frames of wrong checksum has no measured length, and with one such frame it has", async () => {
  const ms = await look(flac);
  expect(await look(inBlocks(FLAC_HEAD, FLAC))).toBe(ms);
  const together = byTens(FLAC.map(broken)).map((ten) => Buffer.concat(ten));
  expect(await look(inBlocks(FLAC_HEAD, together))).toBe("none");
  expect(
    await look(
      inBlocks(
        FLAC_HEAD,
        FLAC.map((frame, n) => (n === 3 ? broken(frame) : frame)),
      ),
    ),
  ).toBe(ms);
});
test("FLAC has no measured length when the sample rates of frames and header differ", async () => {
  expect(await look(inBlocks(atRate(655_350), FLAC))).toBe("none");
});
test("FLAC with misnumbered frames of wrong checksum has no measured length", async () => {
  const repeated = FLAC.slice(0, 3).concat(FLAC.slice(3).map(() => broken(FLAC[5] ?? flac)));
  expect(await look(Buffer.concat([FLAC_HEAD, ...repeated]))).toBe("none");
});
test("FLAC without its first frames is complete, and FLAC without its last frame is not", async () => {
  const whole = async (bytes: Uint8Array) =>
    (await inspect(inMemory(bytes), { signal: AbortSignal.timeout(10_000), depth: "whole" })).isComplete;
  expect(await whole(Buffer.concat([FLAC_HEAD, ...FLAC.slice(4)]))).toBe(true);
  expect(await whole(Buffer.concat([FLAC_HEAD, ...FLAC.slice(4)]).subarray(0, -30))).toBe(false);
  expect(await whole(Buffer.concat([FLAC_HEAD, ...FLAC.slice(0, -1)]))).toBe(false);
});

// AAC packets.

const inPackets = (packets: Buffer[]) =>
  matroska({ codec: "A_AAC", own: Buffer.of(0x12, 0x08), rate: 44_100 }, ...packets.map((data, n) => block(n * 23, data)));
/** Prepends a one-byte fill element with a dynamic range change that a decoder reads beyond its length. */
const withRange = (frame: Buffer) => {
  const bits = [...Buffer.concat([Buffer.of(0b1100_0011, 0b0110_1100), frame])].map((byte) => byte.toString(2).padStart(8, "0"));
  const all = bits.join("").slice(0, 15) + bits.join("").slice(16);
  return Buffer.from((all.match(/.{1,8}/g) ?? []).map((each) => Number.parseInt(each.padEnd(8, "0"), 2)));
};
const AAC: [what: string, packets: Buffer[]][] = [
  [
    "ADTS frames after the first frame",
    byTens(ADTS).map(([first = adts, ...more]) => Buffer.concat([first.subarray(7), ...more])),
  ],
  [
    "ADTS headers of another sample rate",
    RAW.map((frame) => Buffer.concat([put(framed(frame), 2, Buffer.of(0x6c)).subarray(0, 7), frame])),
  ],
  ["dynamic range changes beyond their length", RAW.map(withRange)],
];
test.each(AAC)("AAC packets with %s have no measured length", async (_, packets) =>
  expect(await look(inPackets(packets))).toBe("none"),
);

// Matroska.

const plain = { codec: "A_PCM/INT/LIT", rate: 8000, bits: 16 };
const seconds = (count: number, data: Uint8Array = second) => Array.from({ length: count }, (_, n) => block(n * 10, data));
const encoding = (...parts: Uint8Array[]) => element(0x6d80, element(0x6240, ...parts));
const stripping = (...more: Uint8Array[]) =>
  encoding(...more, element(0x5034, element(0x4254, be(3, 1)), element(0x4255, Buffer.alloc(2, 1))));
const MATROSKA: [what: string, bytes: Uint8Array, expected: number | string][] = [
  ["PCM", matroska(plain, ...seconds(20)), 20_000],
  ["header stripping", matroska({ ...plain, more: [stripping()] }, ...seconds(20, second.subarray(2))), 20_000],
  [
    "header stripping outside of frames",
    matroska({ ...plain, more: [stripping(element(0x5032, be(4, 1)))] }, ...seconds(20)),
    "none",
  ],
  ["encrypted frames", matroska({ ...plain, more: [stripping(element(0x5033, be(1, 1)))] }, ...seconds(20)), "none"],
  [
    "compressed frames",
    matroska({ ...plain, more: [encoding(element(0x5034, element(0x4254, be(0, 1))))] }, ...seconds(20)),
    "none",
  ],
  ["PCM of an invalid sample width", matroska({ ...plain, bits: 64 }, ...seconds(20)), "none"],
  [
    "two audio descriptions",
    matroska({ ...plain, more: [element(0xe1, element(0xb5, float(4000)))] }, ...seconds(20)),
    NOT_OF_A_FILE,
  ],
  ["two track numbers", matroska({ ...plain, more: [element(0xd7, be(2, 1))] }, ...seconds(20)), NOT_OF_A_FILE],
  ["two track types", matroska({ ...plain, more: [element(0x83, be(1, 1))] }, ...seconds(20)), NOT_OF_A_FILE],
  ["stray bytes between its elements", matroska({ ...plain, more: [Buffer.alloc(3)] }, ...seconds(20)), NOT_OF_A_FILE],
];
test.each(MATROSKA)("a Matroska track with %s is measured or rejected", async (_, bytes, expected) =>
  expect(await look(bytes)).toBe(expected),
);

test("discard padding of Opus blocks does not shorten the measured length", async () => {
  const opus = Buffer.concat([Buffer.of(0x78), Buffer.alloc(60, 9)]);
  const head = Buffer.concat([text("OpusHead\x01\x01\0\0"), le32(48_000), Buffer.alloc(3)]);
  const padded = (ns: number) =>
    matroska(
      { codec: "A_OPUS", own: head, rate: 48_000 },
      ...Array.from({ length: 100 }, (_, n) =>
        element(0xa0, element(0xa1, Buffer.of(0x81), be(n * 20, 2), Buffer.of(0), opus), element(0x75a2, be(ns, 4))),
      ),
    );
  expect(await look(padded(1_000_000_000))).toBe(2000);
  expect(await look(padded(20_000_000))).toBe(2000);
});
