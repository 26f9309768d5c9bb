// Length of sound and clips as ffmpeg plays them, not as their tables declare it; files on which decoders disagree are rejected.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { inspect } from "../../src/media/formats/inspect.ts";
import { be32, box, le32, put } from "../corpus/recipe.ts";
import { inMemory } from "../media/formats/reader.ts";
import { be16, ftyp, full, movieOf, soundEntry, tablesOf, times, zeros } from "./mp4-file.ts";

type File = [what: string, bytes: Uint8Array, ms: number];

const lengthOf = async (bytes: Uint8Array) =>
  (await inspect(inMemory(bytes), { signal: AbortSignal.timeout(10_000), depth: "counted" })).ms;
const refusalOf = (bytes: Uint8Array) => lengthOf(bytes).catch((error: Error) => error.message);
const measures = (files: File[]) =>
  test.each(files)("measures %s as ffmpeg plays it", async (_, bytes, ms) => {
    expect(await lengthOf(bytes)).toBe(ms);
  });
const refuses = (files: [what: string, bytes: Uint8Array][], why: string) =>
  test.each(files)("rejects %s", async (_, bytes) => {
    expect(await refusalOf(bytes)).toBe(why);
  });

const kept = (name: string) => readFileSync(join(import.meta.dir, "../corpus/files", name));
/** A corpus file with some bytes of a box replaced; `at` counts from the end of the box name. */
const patched = (name: string, boxName: string, at: number, fresh: Uint8Array) => {
  const bytes = kept(name);
  return put(bytes, bytes.indexOf(boxName, 0, "latin1") + boxName.length + at, fresh);
};
const DATA_AT = ftyp.length + 8;
const fileOf = (data: Uint8Array, movie: Uint8Array) => Buffer.concat([ftyp, box("mdat", data), movie]);

/** An MPEG-2 layer 2 frame: 8 kbit/s, 24,000 samples a second, 1152 samples, 48 ms. */
const layer2 = Buffer.concat([Buffer.of(0xff, 0xf5, 0x14, 0xc0), zeros(44)]);
/** An MPEG-2 layer 3 frame: 576 samples, 24 ms. */
const layer3 = Buffer.concat([Buffer.of(0xff, 0xf3, 0x14, 0xc4), zeros(20)]);
const FRAMES = 40;
const esds = full("esds", Buffer.of(3, 21, 0, 1, 0, 4, 13, 0x69, 0x15, ...zeros(11), 6, 1, 2));
const mp4a = soundEntry("mp4a", 0, 24_000, esds);
const inIndex = (entry: Uint8Array, frame: Uint8Array, delta: number, frames = FRAMES) => {
  const sizes = Buffer.concat([be32(frame.length), be32(frames)]);
  const row = Buffer.concat([be32(1), be32(frames), be32(delta)]);
  return fileOf(times(frames, frame), movieOf(24_000, tablesOf(entry, row, sizes, frames, DATA_AT)));
};
const inFragment = (frame: Uint8Array, delta: number) => {
  const movie = movieOf(
    24_000,
    box(
      "stbl",
      ...[full("stsd", be32(1), mp4a), full("stts", be32(0)), full("stsz", be32(0), be32(0)), full("stsc", be32(0))],
      full("stco", be32(0)),
    ),
    box("mvex", full("trex", be32(1), be32(1), be32(delta), be32(frame.length), be32(0))),
  );
  const moof = (at: number) =>
    box(
      "moof",
      full("mfhd", be32(1)),
      box("traf", box("tfhd", be32(0x20000), be32(1)), box("trun", be32(1), be32(FRAMES), be32(at))),
    );
  return Buffer.concat([ftyp, movie, moof(moof(0).length + 8), box("mdat", times(FRAMES, frame))]);
};

/** About one second of AAC with 10 frames in each sample. */
const aac = kept("lc.aac");
const aacFrames: Buffer[] = [];
for (let at = 0; aacFrames.length < 40; ) {
  const length = ((aac.readUInt8(at + 3) & 3) << 11) | (aac.readUInt16BE(at + 4) >> 5);
  aacFrames.push(aac.subarray(at + 7, at + length));
  at += length;
}
const aacEsds = full("esds", Buffer.of(3, 25, 0, 1, 0, 4, 17, 0x40, 0x15, ...zeros(11), 5, 2, 0x12, 0x08, 6, 1, 2));
const tenEach = () => {
  const data = Buffer.concat(aacFrames);
  const sizes = [0, 10, 20, 30].map((from) => be32(Buffer.concat(aacFrames.slice(from, from + 10)).length));
  const row = Buffer.concat([be32(1), be32(4), be32(1024)]);
  const table = tablesOf(soundEntry("mp4a", 0, 44_100, aacEsds), row, Buffer.concat([be32(0), be32(4), ...sizes]), 4, DATA_AT);
  return fileOf(data, movieOf(44_100, table));
};

measures([
  ["AAC with ten frames in each sample", tenEach(), Math.round((40 * 1024) / 44.1)],
  ["MPEG layer 2 at a low rate in an MP4", inIndex(mp4a, layer2, 1152), 1920],
  ["MPEG layer 2 with a .mp2 sample entry in QuickTime", inIndex(soundEntry(".mp2", 0, 24_000), layer2, 1152), 1920],
  ["MPEG layer 2 with wrong durations in the time table", inIndex(mp4a, layer2, 100), 1920],
  ["MPEG layer 2 with two frames in each sample", inIndex(mp4a, times(2, layer2), 1152, FRAMES / 2), 1920],
  [
    "MPEG layer 2 with a different rate in its sample description",
    inIndex(soundEntry("mp4a", 0, 48_000, esds), layer2, 576),
    1920,
  ],
  ["MPEG layer 2 in a fragment", inFragment(layer2, 1152), 1920],
  ["MPEG layer 2 in a fragment with wrong durations", inFragment(layer2, 10), 1920],
  ["MPEG layer 3 in an MP4", inIndex(mp4a, layer3, 576), 960],
  ["MPEG layer 3 in a fragment with wrong durations", inFragment(layer3, 10), 960],
  ["AC-3 with a different rate in its sample description", patched("ac3-in.mp4", "ac-3", 24, be16(64_000)), 3002],
  ["FLAC with a different rate in its sample description", patched("flac-in.mp4", "fLaC", 24, be16(48_000)), 3000],
]);

// QuickTime sound whose tables count single samples.

/** 22 packets of 1024 bytes with 2036 samples each. */
const ADPCM = { samples: 22 * 2036, bytes: 22 * 1024 };
const packed = (samples: number, bytes: number) => Buffer.concat([samples, bytes, bytes, 2].map(be32));
const adpcm = (size: number, count: number, head = packed(2036, 1024)) => {
  const row = Buffer.concat([be32(1), be32(ADPCM.samples), be32(1)]);
  const sizes = Buffer.concat([be32(size), be32(count)]);
  const entry = soundEntry("ms\0\x02", 1, 22_050, head);
  return fileOf(zeros(ADPCM.bytes), movieOf(22_050, tablesOf(entry, row, sizes, ADPCM.samples, DATA_AT)));
};
measures([
  ["ADPCM in QuickTime with samples of 1 byte in its size table", adpcm(1, ADPCM.samples), 2031],
  ["ADPCM in QuickTime with half the samples in its size table", adpcm(1, ADPCM.samples / 2), 2031],
  ["ADPCM in QuickTime with samples of 2 bytes in its size table", adpcm(2, ADPCM.samples), 2031],
  [
    "ADPCM in QuickTime with too few samples for each packet in its description",
    adpcm(1, ADPCM.samples, packed(100, 1024)),
    2031,
  ],
  ["PCM in QuickTime with half the samples in its size table", patched("pcm-in.mov", "stsz", 8, be32(5200)), 1300],
  ["PCM in QuickTime with larger samples in its size table", patched("pcm-in.mov", "stsz", 4, be32(4)), 1300],
]);

// Times on which decoders disagree.

refuses(
  [
    [
      "an MP4 with a composition offset so large that ffmpeg discards the table",
      patched("bframes.mp4", "ctts", 12, be32(2 ** 28 + 1)),
    ],
    ["an MP4 with an equally large negative composition offset", patched("bframes.mp4", "ctts", 12, be32(-(2 ** 28) - 1))],
    ["an MP4 with a composition offset for -1 samples", patched("bframes.mp4", "ctts", 8, be32(-1))],
    ["an MP4 with an edit that starts at -2", patched("base.mp4", "elst", 12, be32(-2))],
    ["an MP4 with an edit of length 0 before another edit", patched("late-1.5.mp4", "elst", 8, zeros(8))],
    ["an MP4 with a timescale of 0", patched("base.mp4", "mvhd", 12, zeros(4))],
  ],
  "its index is not one of a real clip",
);

// Matroska.

const element = (id: string, ...parts: Uint8Array[]) => {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(id, "hex"), be32(0x1000_0000 + content.length), content]);
};
const float = (value: number) => {
  const bytes = zeros(8);
  bytes.writeDoubleBE(value);
  return bytes;
};
const ebml = element("1a45dfa3", element("4282", Buffer.from("matroska")));
const infoOf = (scale: number) => element("1549a966", element("2ad7b1", be32(scale)));
const tracksOf = (codec: string, rate: number, ...more: Uint8Array[]) =>
  element(
    "1654ae6b",
    element(
      "ae",
      ...[
        element("d7", Buffer.of(1)),
        element("73c5", Buffer.of(1)),
        element("83", Buffer.of(2)),
        element("86", Buffer.from(codec)),
      ],
      ...[element("e1", element("b5", float(rate)), element("9f", Buffer.of(1)), element("6264", Buffer.of(16))), ...more],
    ),
  );
const blockOf = (time: number, data: Uint8Array) => Buffer.concat([Buffer.of(0x81), be16(time), Buffer.of(0x80), data]);
const clusterOf = (...blocks: Uint8Array[]) => element("1f43b675", element("e7", Buffer.of(0)), ...blocks);
const blocksOf = (count: number, stepMs: number, data: Uint8Array) =>
  Array.from({ length: count }, (_, n) => element("a3", blockOf(n * stepMs, data)));
const segment = (...parts: Uint8Array[]) => Buffer.concat([ebml, element("18538067", ...parts)]);
const MS = 1_000_000;

/** An Opus packet of 20 ms. */
const packet = Buffer.of(0x98, 1, 2, 3);
const padded = (padding: Uint8Array) =>
  Array.from({ length: 50 }, (_, n) => element("a0", element("a1", blockOf(n * 20, packet)), element("75a2", padding)));
const opus = tracksOf("A_OPUS", 48_000, element("63a2", Buffer.from("OpusHead\x01\x01\0\0\x80\xbb\0\0\0\0\0", "latin1")));
const ownClock = (scale: number) =>
  segment(infoOf(MS), tracksOf("A_UNKNOWN", 8000, element("23314f", float(scale))), clusterOf(...blocksOf(10, 100, zeros(8))));
const ac3 = put(zeros(128), 0, Buffer.of(0x0b, 0x77, 0, 0, 0x80, 0x40));

measures([
  ["Opus in Matroska with a negative discard padding", segment(infoOf(MS), opus, clusterOf(...padded(Buffer.of(0xff)))), 1000],
  [
    "Opus in Matroska with a negative discard padding in 4 bytes",
    segment(infoOf(MS), opus, clusterOf(...padded(be32(-1)))),
    1000,
  ],
  ["Opus in Matroska with a positive discard padding", segment(infoOf(MS), opus, clusterOf(...padded(be32(MS)))), 950],
  ["a Matroska track with a timestamp scale of 1", ownClock(1), 1000],
  [
    "MPEG layer 3 in Matroska with ten frames in a block",
    segment(infoOf(MS), tracksOf("A_MPEG/L3", 24_000), clusterOf(...blocksOf(4, 240, times(10, layer3)))),
    960,
  ],
  [
    "MPEG layer 2 in Matroska with a different rate in its track header",
    segment(infoOf(MS), tracksOf("A_MPEG/L2", 48_000), clusterOf(...blocksOf(40, 48, layer2))),
    1920,
  ],
  [
    "AC-3 in Matroska with ten frames in a block",
    segment(infoOf(MS), tracksOf("A_AC3", 48_000), clusterOf(...blocksOf(2, 480, times(10, put(ac3, 4, Buffer.of(0x00)))))),
    640,
  ],
]);
refuses([["a Matroska track with a timestamp scale of 20", ownClock(20)]], "its tracks have clocks of their own");

const seekTo = (...places: [id: string, at: number][]) =>
  element(
    "114d9b74",
    ...places.map(([id, at]) => element("4dbb", element("53ab", Buffer.from(id, "hex")), element("53ac", be32(at)))),
  );
/** A segment whose headers follow the clusters, with a seek table that points to them. */
const led = (before: Uint8Array[], behind: [id: string, header: Uint8Array][]) => {
  const cluster = clusterOf(...blocksOf(10, 100, zeros(8)));
  const place = (from: number) =>
    seekTo(
      ...behind.map(([id], n): [string, number] => [id, from + Buffer.concat(behind.slice(0, n).map(([, one]) => one)).length]),
    );
  const from = place(0).length + Buffer.concat(before).length + cluster.length;
  return segment(place(from), ...before, cluster, ...behind.map(([, header]) => header));
};
const plain = tracksOf("A_UNKNOWN", 8000);
const slow = infoOf(20 * MS);
measures([
  ["a Matroska file with its Info element after the clusters", led([plain], [["1549a966", slow]]), 20_000],
  ["a Matroska file with its Tracks element after the clusters", led([slow], [["1654ae6b", plain]]), 20_000],
  [
    "a Matroska file with its Info and Tracks elements after the clusters",
    led(
      [],
      [
        ["1654ae6b", plain],
        ["1549a966", slow],
      ],
    ),
    20_000,
  ],
]);
refuses(
  [
    [
      "a Matroska file with an Info element after the clusters and no seek table",
      segment(plain, clusterOf(...blocksOf(10, 100, zeros(8))), slow),
    ],
    [
      "a Matroska file with a Tracks element after the clusters and no seek table",
      segment(slow, clusterOf(...blocksOf(10, 100, zeros(8))), plain),
    ],
  ],
  "its index is not one of a real file",
);

// WAV and Ogg.

const BITS_AT = 34;
measures(
  ["alaw.wav", "ulaw.wav"].flatMap((name) =>
    [8, 16, 64, 800].map(
      (bits): File => [
        `${name} with ${bits} bits a sample in its header`,
        put(kept(name), BITS_AT, le32(bits).subarray(0, 2)),
        1300,
      ],
    ),
  ),
);
test("rejects PCM with 800 bits a sample in its header", async () => {
  expect(await refusalOf(put(kept("pcm16.wav"), BITS_AT, le32(800).subarray(0, 2)))).toBe("its header is broken");
});

const pagesOf = (name: string, serial: number) => {
  const bytes = kept(name);
  const pages: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const pieces = bytes[at + 26] ?? 0;
    const length = 27 + pieces + bytes.subarray(at + 27, at + 27 + pieces).reduce((sum, piece) => sum + piece, 0);
    pages.push(put(bytes.subarray(at, at + length), 14, le32(serial)));
    at += length;
  }
  return pages;
};
const alone = (name: string) => lengthOf(kept(name));
test("measures parallel Ogg streams as the longest one and chained streams as their sum", async () => {
  const [long, short] = [pagesOf("opus20.opus", 1), pagesOf("opus-trimmed-both.opus", 2)];
  const together = [...long.slice(0, 1), ...short.slice(0, 1), ...long.slice(1), ...short.slice(1)];
  expect(await lengthOf(Buffer.concat(together))).toBe(await alone("opus20.opus"));
  const chained = (await alone("opus20.opus")) ?? 0;
  const next = pagesOf("vorbis.ogg", 3);
  expect(await lengthOf(Buffer.concat([...together, ...next]))).toBe(chained + ((await alone("vorbis.ogg")) ?? 0));
});
