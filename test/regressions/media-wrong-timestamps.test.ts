// Length of sound by its packets, not by its timestamps; if packets cannot be counted, the file has no price by length.
import { expect, onTestFinished, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { framesIn } from "../../src/media/formats/aac-blocks.ts";
import { flacFrame } from "../../src/media/formats/flac-frame.ts";
import type { Inspection } from "../../src/media/formats/inspect.ts";
import { inspect } from "../../src/media/formats/inspect.ts";
import { lengthFault } from "../../src/media/pin-input.ts";
import { put } from "../corpus/recipe.ts";
import { openHarness } from "../harness.ts";
import { inMemory } from "../media/formats/reader.ts";
import { block, matroska, text } from "./matroska-file.ts";
import { answerBytes, openTwoFaced } from "./two-faced.ts";

const look = (bytes: Uint8Array): Promise<Partial<Inspection> | string> =>
  inspect(inMemory(bytes), { signal: AbortSignal.timeout(10_000), depth: "counted" }).catch((error: Error) => error.message);

/** The format header of a WAV file, as Matroska stores it for A_MS/ACM. */
const acm = (code: number, channels: number, rate: number, blockBytes: number, bits: number, ...more: number[]) => {
  const bytes = Buffer.alloc(18 + more.length);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt16LE(channels, 2);
  bytes.writeUInt32LE(rate, 4);
  bytes.writeUInt32LE(rate, 8);
  bytes.writeUInt16LE(blockBytes, 12);
  bytes.writeUInt16LE(bits, 14);
  bytes.writeUInt16LE(more.length, 16);
  bytes.set(more, 18);
  return bytes;
};
const IMA = { blockBytes: 256, samples: (256 - 4) * 2 + 1 };
/** Blocks whose timestamps span at most one second. */
const blocks = (count: number, data: Uint8Array) => Array.from({ length: count }, (_, n) => block(n * 10, data));
const pcm = (frames: number) => Buffer.alloc(frames * 2, 1);
/** Xiph lacing: sizes of all frames except the last, in bytes of up to 255. */
const xiph = (...sizes: number[]) =>
  Buffer.concat([
    Buffer.of(sizes.length),
    ...sizes.map((size) => Buffer.concat([Buffer.alloc(Math.floor(size / 255), 255), Buffer.of(size % 255)])),
  ]);

const LACED = 0x80 | 2;
const COUNTED: [what: string, bytes: Buffer, ms: number][] = [
  [
    "IMA ADPCM",
    matroska({ codec: "A_MS/ACM", own: acm(0x11, 1, 8000, IMA.blockBytes, 4, 0xf9, 1) }, ...blocks(100, Buffer.alloc(256))),
    (100 * IMA.samples) / 8,
  ],
  ["MS ADPCM", matroska({ codec: "A_MS/ACM", own: acm(2, 1, 8000, 256, 4) }, ...blocks(100, Buffer.alloc(256))), (100 * 500) / 8],
  ["A-law", matroska({ codec: "A_MS/ACM", own: acm(6, 1, 8000, 1, 8) }, ...blocks(100, Buffer.alloc(800))), 10_000],
  ["PCM with a WAV header", matroska({ codec: "A_MS/ACM", own: acm(1, 1, 8000, 2, 16) }, ...blocks(100, pcm(800))), 10_000],
  ["PCM", matroska({ codec: "A_PCM/INT/LIT", bits: 16 }, ...blocks(100, pcm(800))), 10_000],
  [
    "PCM with a different output rate",
    matroska({ codec: "A_PCM/INT/LIT", bits: 16, playedRate: 4000 }, ...blocks(100, pcm(800))),
    20_000,
  ],
  [
    "PCM with two laced frames whose size field takes more than 1000 bytes",
    matroska({ codec: "A_PCM/INT/LIT", bits: 16 }, block(0, Buffer.concat([xiph(320_000), pcm(168_000)]), LACED)),
    21_000,
  ],
];
for (const [what, bytes, ms] of COUNTED)
  test(`measures ${what} in Matroska by its data when the timestamps are wrong`, async () => {
    const found = await look(bytes);
    expect(found).toMatchObject({ kind: "audio", ms: Math.round(ms) });
    expect(found).not.toHaveProperty("isUncounted");
  });

test("counts invisible Matroska blocks in the length of a clip, as decoders do", async () => {
  const picture = Buffer.alloc(40, 3);
  const flags = (n: number) => (n === 0 ? 0x80 : 8);
  const clip = matroska(
    { codec: "V_MPEG4/ISO/ASP" },
    ...Array.from({ length: 100 }, (_, n) => block(n * 100, picture, flags(n))),
  );
  expect(await look(clip)).toMatchObject({ kind: "video", ms: 10_000 });
});

test("rejects a Matroska block whose laced frame sizes exceed its data", async () => {
  const broken = matroska({ codec: "A_PCM/INT/LIT", bits: 16 }, block(0, Buffer.concat([xiph(90_000), pcm(1000)]), LACED));
  expect(await look(broken)).toBe("its index is not one of a real file");
});

const kept = (name: string) => readFileSync(join(import.meta.dir, "../corpus/files", name));
/** Replaces the first `from` after `behind` in a corpus file. */
const renamed = (name: string, behind: string, from: string, to: string): Buffer => {
  const bytes = kept(name);
  const at = bytes.indexOf(from, bytes.indexOf(behind, 0, "latin1"), "latin1");
  expect(at).toBeGreaterThan(0);
  return put(bytes, at, text(to));
};

test("classifies a sound track by its sample description when its handler type is wrong", async () => {
  const honest = await look(kept("sound-longer.mp4"));
  expect(honest).toMatchObject({ kind: "video" });
  for (const handler of ["xxxx", "text", "auxv", "\0\0\0\0"])
    expect(await look(renamed("sound-longer.mp4", "hdlr", "soun", handler))).toEqual(honest);
});

test("a track of unknown type that is longer than the others prevents a price by length but not delivery as a result", async () => {
  const clip = renamed("sound-shorter.mp4", "hdlr", "vide", "xxxx");
  expect(await look(clip)).toMatchObject({ ms: 1000, isUncounted: true, isComplete: true });
  // The same track with sample sizes of 0, so that it has no data.
  const countAt = clip.indexOf("stsz", 0, "latin1") + 12;
  const empty = put(clip, countAt + 4, Buffer.alloc(4 * clip.readUInt32BE(countAt)));
  expect(await look(empty)).toMatchObject({ isComplete: true });
});

const NOT_OF_A_CLIP = "its index is not one of a real clip";
test("rejects an MP4 with a compressed index (cmov) inside its index", async () => {
  expect(await look(renamed("base.mp4", "moov", "udta", "cmov"))).toBe(NOT_OF_A_CLIP);
});

test("rejects an edit list with an empty edit at its end, because some decoders then show the clip twice", async () => {
  const bytes = kept("late-1.5.mp4");
  const at = bytes.indexOf("elst", 0, "latin1") + 12;
  const [gap, shown] = [bytes.subarray(at, at + 12), bytes.subarray(at + 12, at + 24)];
  expect(gap.readInt32BE(4)).toBe(-1);
  expect(await look(bytes)).toMatchObject({ kind: "video" });
  expect(await look(put(bytes, at, Buffer.concat([shown, gap])))).toBe(NOT_OF_A_CLIP);
});

test("rejects sound input whose packets cannot be counted, and does not accept it as a copy of measured input", async () => {
  const dts = matroska({ codec: "A_DTS" }, ...blocks(500, Buffer.alloc(100, 7)));
  expect(await look(dts)).toMatchObject({ kind: "audio", isUncounted: true });
  const server = openTwoFaced((request) => answerBytes(request, dts, "audio/x-matroska", true));
  onTestFinished(() => server.stop());
  const harness = await openHarness({ env: { GENROUTER_MEDIA__ALLOW: server.host } });
  onTestFinished(() => harness.close());
  const input = { prompt: "an edit", resolution: "480p", audio_urls: [`${server.url}/whole`] };
  const { status, body } = await harness.request("POST", "/v1/generations", { body: { model: "vidmodel-2.5", input } });
  expect([status, (body.error as { message: string }).message]).toEqual([
    422,
    "input.audio_urls[0]: its length cannot be measured",
  ]);
  const wanted = { kind: "audio", measuredMs: 5000, frameMs: 20 } as Parameters<typeof lengthFault>[1];
  expect(lengthFault({ kind: "audio", ms: 5000, isUncounted: true }, wanted)).toContain("0.00 s long");
});

/** AAC frames of 44,100 samples a second without their headers; the matching configuration follows below. */
const AAC_FRAMES: Buffer[] = [];
for (let at = 0, bytes = kept("lc.aac"); at + 7 < bytes.length; ) {
  const length = ((bytes.readUInt8(at + 3) & 3) << 11) | (bytes.readUInt16BE(at + 4) >> 5);
  AAC_FRAMES.push(bytes.subarray(at + 7, at + length));
  at += length;
}
const AAC_CONFIG = Buffer.of(0x12, 0x08);
const byTens = (parts: readonly Buffer[], many: number) =>
  Array.from({ length: Math.ceil(parts.length / many) }, (_, n) => Buffer.concat(parts.slice(n * many, (n + 1) * many)));
test.each([1, 2, 10])("measures AAC in Matroska by its frames, with %d in each block", async (many) => {
  const track = { codec: "A_AAC", own: AAC_CONFIG, rate: 44_100 };
  const file = matroska(track, ...byTens(AAC_FRAMES, many).map((data, n) => block(n * 23, data)));
  expect(await look(file)).toMatchObject({ kind: "audio", ms: 4040 });
  const unnamed = matroska(
    { codec: "A_AAC/MPEG4/LC", rate: 44_100 },
    ...byTens(AAC_FRAMES, many).map((data, n) => block(n * 23, data)),
  );
  expect(await look(unnamed)).toMatchObject({ kind: "audio", ms: 4040 });
});

test("counts one frame with padding or several complete frames in an AAC packet, and rejects other content", () => {
  const [frame = Buffer.alloc(0), other = frame] = AAC_FRAMES.slice(50);
  const core = { object: 2, rateIndex: 4 } as const;
  expect(framesIn(frame, core)).toBe(1);
  expect(framesIn(Buffer.concat([frame, Buffer.alloc(20)]), core)).toBe(1);
  expect(framesIn(Buffer.concat([frame, other]), core)).toBe(2);
  expect(framesIn(Buffer.concat([frame, other.subarray(0, 20)]), core)).toBeUndefined();
  // A decoder treats the header of a standalone frame as a restart.
  expect(framesIn(Buffer.concat([frame, Buffer.of(0xff, 0xf1, 0x50, 0x80, 4, 0x1f, 0xfc), other]), core)).toBeUndefined();
  expect(framesIn(Buffer.alloc(100, 0xff), core)).toBeUndefined();
});

test.each([1, 4])("measures FLAC in Matroska by its frames, with %d in each block", async (many) => {
  const bytes = kept("plain.flac");
  const frames: Buffer[] = [];
  const starts: number[] = [];
  for (let at = bytes.indexOf(Buffer.of(0xff, 0xf8)); at >= 0; at = bytes.indexOf(Buffer.of(0xff, 0xf8), at + 1))
    if (flacFrame(bytes, at)?.number === starts.length) starts.push(at);
  for (const [n, at] of starts.entries()) frames.push(bytes.subarray(at, starts[n + 1] ?? bytes.length));
  const head = bytes.subarray(0, 42);
  const file = matroska(
    { codec: "A_FLAC", own: head, rate: 44_100 },
    ...byTens(frames, many).map((data, n) => block(n * 20, data)),
  );
  const { ms } = (await look(bytes)) as { ms: number };
  expect(frames.length).toBeGreaterThan(8);
  expect(await look(file)).toMatchObject({ kind: "audio", ms });
});

test("trims Vorbis to the end position of its last page only if that removes at most the last packet", async () => {
  const bytes = kept("oggenc.ogg");
  const page = bytes.lastIndexOf("OggS", bytes.length, "latin1");
  const end = bytes.readBigUInt64LE(page + 6);
  const saying = (granule: bigint) => {
    const place = Buffer.alloc(8);
    place.writeBigUInt64LE(granule);
    return look(put(bytes, page + 6, place));
  };
  expect(await saying(end)).toMatchObject({ ms: 4000 });
  expect(await saying(end - 500n)).toMatchObject({ ms: 3989 });
  // A page contains at least two seconds.
  for (const less of [1500n, 20_000n, end]) expect(await saying(end - less)).toMatchObject({ ms: 4020 });
});
