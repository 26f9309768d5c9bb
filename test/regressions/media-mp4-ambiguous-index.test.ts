// MP4 files with an ambiguous index: measured as ffmpeg plays them, unmeasurable, or rejected.
import { expect, test } from "bun:test";
import { be32, box, put } from "../corpus/recipe.ts";
import { kept, lookAtLength as look } from "./counted.ts";
import { be16, ftyp, full, movieOf, soundEntry, tablesOf, zeros } from "./mp4-file.ts";

const NOT_OF_A_CLIP = "its index is not one of a real clip";
/** The offset of the occurrence number `which` of a name. */
const placeOf = (bytes: Buffer, name: string, which = 0) => {
  let at = bytes.indexOf(name, 0, "latin1");
  for (let n = 0; n < which; n++) at = bytes.indexOf(name, at + 4, "latin1");
  expect(at).toBeGreaterThan(0);
  return at;
};
const renamed = (file: string, name: string, fresh: string, which = 0) => {
  const bytes = kept(file);
  return put(bytes, placeOf(bytes, name, which), Buffer.from(fresh, "latin1"));
};
/** Replaces bytes after a name; `at` is the offset from the end of the name. */
const patched = (file: string, name: string, at: number, fresh: Uint8Array, which = 0) => {
  const bytes = kept(file);
  return put(bytes, placeOf(bytes, name, which) + 4 + at, fresh);
};

const SECOND_TRACK: [what: string, bytes: Buffer, expected: string][] = [
  ["with timescale 0", patched("two-sounds.mp4", "mdhd", 12, be32(0), 1), "none"],
  ["with a negative timescale", patched("two-sounds.mp4", "mdhd", 12, be32(0x8000_0000), 1), NOT_OF_A_CLIP],
  ["without a media header", renamed("two-sounds.mp4", "mdhd", "free", 1), "none"],
  ["with a sample description that is too short", patched("two-sounds.mp4", "stsd", 8, be32(20), 1), "none"],
  ["with a sample description that is too long", patched("two-sounds.mp4", "stsd", 8, be32(0x10000), 1), "none"],
  ...["mdia", "minf", "stbl"].flatMap((name) =>
    ["wave", "udta", "edts"].map((other): [string, Buffer, string] => [
      `with ${name} renamed to ${other}`,
      renamed("two-sounds.mp4", name, other, 1),
      NOT_OF_A_CLIP,
    ]),
  ),
];
test.each(SECOND_TRACK)("does not ignore a second track %s", async (_, bytes, expected) =>
  expect(await look(bytes)).toBe(expected),
);

const INDEX: [what: string, bytes: Buffer][] = [
  ["a negative timescale", patched("base.mp4", "mvhd", 12, be32(0x8000_0000))],
  ["an edit list inside udta", renamed("late-1.5.mp4", "edts", "udta")],
  ["a second handler", secondHandler()],
  ...["meta", "sinf", "schi", "hoov"].map((name): [string, Buffer] => {
    const bytes = kept("faststart.mp4");
    const [at, from] = [placeOf(bytes, "moov") - 4, bytes.indexOf("mdat", 0, "latin1") - 4];
    const moov = bytes.subarray(at, from);
    return [`a second index in ${name}`, Buffer.concat([bytes.subarray(0, at), box(name, zeros(4), moov), bytes.subarray(at)])];
  }),
  [
    "a partial index in a free box",
    Buffer.concat([ftyp, box("free", be32(108), Buffer.from("mvhd"), zeros(200)), kept("base.mp4")]),
  ],
  ["a fragment for two tracks", twice("fragments.mp4", "tfhd")],
  ["a fragment whose parts exceed its length", patched("fragments.mp4", "trun", -8, be32(0x4000), 1)],
  ["two fragment defaults for one track", twice("fragments.mp4", "trex")],
].map(([what, bytes]) => [what, bytes] as [string, Buffer]);

/** Replaces the video media header with a second handler. */
function secondHandler(): Buffer {
  const bytes = kept("sound-longer.mp4");
  return put(bytes, placeOf(bytes, "vmhd"), Buffer.from("hdlr\0\0\0\0\0\0\0\0soun", "latin1"));
}
/** Duplicates a box and lengthens the boxes around it. */
function twice(file: string, name: string): Buffer {
  const bytes = kept(file);
  const around = { tfhd: ["moof", "traf"], trex: ["moov", "mvex"] }[name] ?? [];
  const at = placeOf(bytes, name) - 4;
  const length = bytes.readUInt32BE(at);
  let fresh = Buffer.concat([bytes.subarray(0, at + length), bytes.subarray(at)]);
  for (const each of around) {
    const from = fresh.lastIndexOf(each, at, "latin1") - 4;
    fresh = put(fresh, from, be32(fresh.readUInt32BE(from) + length));
  }
  return fresh;
}
test.each(INDEX)("rejects an index with %s", async (_, bytes) => expect(await look(bytes)).toBe(NOT_OF_A_CLIP));

// Files with one audio track.

const RATE = 8000;
const DATA_AT = ftyp.length + 8;
const samples = zeros(RATE * 2 * 60).fill(1);
const rows = (...all: [count: number, delta: number][]) =>
  Buffer.concat([be32(all.length), ...all.flatMap((row) => row.map((value) => be32(value)))]);
const sizes = (size: number, count: number) => Buffer.concat([be32(size), be32(count)]);
const fileOf = (data: Uint8Array, stbl: Uint8Array, rate = RATE) => Buffer.concat([ftyp, box("mdat", data), movieOf(rate, stbl)]);
const many = Math.floor(samples.length / 4096);
const plain = (stts: Uint8Array) =>
  fileOf(samples, tablesOf(soundEntry("sowt", 0, RATE), stts, sizes(4096, many), many, DATA_AT));

const fragmented = () => {
  const stbl = box(
    "stbl",
    ...[full("stsd", be32(1), soundEntry("sowt", 0, RATE)), full("stts", be32(0)), full("stsz", be32(0), be32(0))],
    ...[full("stsc", be32(0)), full("stco", be32(0))],
  );
  const movie = movieOf(RATE, stbl, box("mvex", full("trex", be32(1), be32(1), be32(1), be32(4096), be32(0))));
  const run = (at: number) => box("trun", be32(1), be32(many), be32(at));
  const moof = (at: number) => box("moof", full("mfhd", be32(1)), box("traf", box("tfhd", be32(0x20000), be32(1)), run(at)));
  return Buffer.concat([ftyp, movie, moof(moof(0).length + 8), box("mdat", samples)]);
};

const aac = kept("lc.aac");
const FRAMES: Buffer[] = [];
for (let at = 0; at + 7 < aac.length; ) {
  const length = ((aac.readUInt8(at + 3) & 3) << 11) | (aac.readUInt16BE(at + 4) >> 5);
  FRAMES.push(aac.subarray(at + 7, at + length));
  at += length;
}
const esds = (config: number) =>
  full("esds", Buffer.of(3, 25, 0, 1, 0, 4, 17, 0x40, 0x15, ...zeros(11), 5, 2, config >> 8, config & 255, 6, 1, 2));
const [AT_44100, AT_96000] = [0x1208, 0x1008];
const mp4a = (...boxes: Uint8Array[]) => soundEntry("mp4a", 0, 44_100, ...boxes);
const coded = (description: Uint8Array, delta = 1024) => {
  const table = Buffer.concat([be32(0), be32(FRAMES.length), ...FRAMES.map(({ length }) => be32(length))]);
  const stbl = tablesOf(mp4a(), rows([FRAMES.length, delta]), table, FRAMES.length, DATA_AT);
  const [at, old] = [stbl.indexOf("stsd") - 4, full("stsd", be32(1), mp4a()).length];
  const fresh = Buffer.concat([stbl.subarray(0, at), description, stbl.subarray(at + old)]);
  return fileOf(Buffer.concat(FRAMES), put(fresh, 0, be32(fresh.length)), 44_100);
};
const described = (version: number, ...entries: Uint8Array[]) =>
  box("stsd", be32(version << 24), be32(entries.length), ...entries);
const WHOLE_MS = Math.round((FRAMES.length * 1024) / 44.1);
const BY_BYTES_MS = (many * 2048) / 8;

const SOUND: [what: string, bytes: Buffer, expected: number | string][] = [
  ["PCM whose table groups samples", plain(rows([many, 2048])), BY_BYTES_MS],
  ["PCM whose table groups samples with a duration of 1 each", plain(rows([1, 1], [many - 1, 1])), BY_BYTES_MS],
  ["PCM whose fragments group samples", fragmented(), BY_BYTES_MS],
  ["AAC", coded(described(0, mp4a(esds(AT_44100)))), WHOLE_MS],
  ["AAC whose table declares half of the length", coded(described(0, mp4a(esds(AT_44100))), 512), WHOLE_MS],
  ["AAC with two configurations", coded(described(0, mp4a(esds(AT_96000), esds(AT_44100)))), "none"],
  ["AAC with two sample descriptions", coded(described(0, mp4a(esds(AT_96000)), mp4a(esds(AT_44100)))), "none"],
  ["AAC with the same sample description twice", coded(described(0, mp4a(esds(AT_44100)), mp4a(esds(AT_44100)))), WHOLE_MS],
  ["AAC with a sample description of version 1", coded(described(1, mp4a(esds(AT_44100)))), "none"],
];
test.each(SOUND)("the measured length of %s is as ffmpeg plays it, or none", async (_, bytes, expected) =>
  expect(await look(bytes)).toBe(expected),
);

test("an audio track with the handler 'pict' has the same length as with 'soun'", async () => {
  const bytes = kept("lc.m4a");
  expect(await look(put(bytes, placeOf(bytes, "soun"), Buffer.from("pict")))).toBe(await look(bytes));
});

test("a fragment without a start time continues after the samples of the index", async () => {
  const entry = box("mp4v", zeros(24), be16(64), be16(48), zeros(50));
  const [count, bytes] = [10, 50];
  const [data, run] = [zeros(count * bytes), rows([count, 800])];
  const trex = box("mvex", full("trex", be32(1), be32(1), be32(800), be32(bytes), be32(0)));
  const movie = movieOf(RATE, tablesOf(entry, run, sizes(bytes, count), count, DATA_AT), trex);
  const pictures = put(movie, placeOf(movie, "soun"), Buffer.from("vide"));
  const parts = (at: number) => box("traf", box("tfhd", be32(0x20000), be32(1)), box("trun", be32(1), be32(count), be32(at)));
  const moof = (at: number) => box("moof", full("mfhd", be32(1)), parts(at));
  const file = [ftyp, box("mdat", data), pictures, moof(moof(0).length + 8), box("mdat", data)];
  expect(await look(Buffer.concat(file.slice(0, 3)))).toBe(1000);
  expect(await look(Buffer.concat(file))).toBe(2000);
});
