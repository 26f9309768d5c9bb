// MP4 whose index can be read in two ways: it is as long as ffmpeg plays it, or has no price by its length, or is refused.
import { expect, test } from "bun:test";
import { be32, box, put } from "../corpus/recipe.ts";
import { kept, lookAtLength as look } from "./counted.ts";
import { be16, ftyp, full, movieOf, soundEntry, tablesOf, zeros } from "./mp4-file.ts";

const NOT_OF_A_CLIP = "its index is not one of a real clip";
/** The place of a name: of several the one that is asked for. */
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
/** Other bytes behind a name; `at` counts from the end of the name. */
const patched = (file: string, name: string, at: number, fresh: Uint8Array, which = 0) => {
  const bytes = kept(file);
  return put(bytes, placeOf(bytes, name, which) + 4 + at, fresh);
};

const SECOND_TRACK: [what: string, bytes: Buffer, expected: string][] = [
  ["whose clock stands still", patched("two-sounds.mp4", "mdhd", 12, be32(0), 1), "none"],
  ["whose clock has a sign", patched("two-sounds.mp4", "mdhd", 12, be32(0x8000_0000), 1), NOT_OF_A_CLIP],
  ["without a clock", renamed("two-sounds.mp4", "mdhd", "free", 1), "none"],
  ["whose description is too short", patched("two-sounds.mp4", "stsd", 8, be32(20), 1), "none"],
  ["whose description is too long", patched("two-sounds.mp4", "stsd", 8, be32(0x10000), 1), "none"],
  ...["mdia", "minf", "stbl"].flatMap((name) =>
    ["wave", "udta", "edts"].map((other): [string, Buffer, string] => [
      `whose ${name} is called ${other}`,
      renamed("two-sounds.mp4", name, other, 1),
      NOT_OF_A_CLIP,
    ]),
  ),
];
test.each(SECOND_TRACK)("A2: a track %s is not left out", async (_, bytes, expected) => expect(await look(bytes)).toBe(expected));

const INDEX: [what: string, bytes: Buffer][] = [
  ["a clock with a sign", patched("base.mp4", "mvhd", 12, be32(0x8000_0000))],
  ["edits outside of their place", renamed("late-1.5.mp4", "edts", "udta")],
  ["a second handler", secondHandler()],
  ...["meta", "sinf", "schi", "hoov"].map((name): [string, Buffer] => {
    const bytes = kept("faststart.mp4");
    const [at, from] = [placeOf(bytes, "moov") - 4, bytes.indexOf("mdat", 0, "latin1") - 4];
    const moov = bytes.subarray(at, from);
    return [`another index in ${name}`, Buffer.concat([bytes.subarray(0, at), box(name, zeros(4), moov), bytes.subarray(at)])];
  }),
  [
    "an unfinished index in what is unused",
    Buffer.concat([ftyp, box("free", be32(108), Buffer.from("mvhd"), zeros(200)), kept("base.mp4")]),
  ],
  ["a fragment for two tracks at once", twice("fragments.mp4", "tfhd")],
  ["a fragment whose parts are longer than itself", patched("fragments.mp4", "trun", -8, be32(0x4000), 1)],
  ["two defaults of a track", twice("fragments.mp4", "trex")],
].map(([what, bytes]) => [what, bytes] as [string, Buffer]);

/** Where the form of the pictures is said, another handler. */
function secondHandler(): Buffer {
  const bytes = kept("sound-longer.mp4");
  return put(bytes, placeOf(bytes, "vmhd"), Buffer.from("hdlr\0\0\0\0\0\0\0\0soun", "latin1"));
}
/** The same file with a box twice, and those around it as much longer. */
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
test.each(INDEX)("A2: an index with %s is refused", async (_, bytes) => expect(await look(bytes)).toBe(NOT_OF_A_CLIP));

// One track of sound.

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
  ["plain samples that a table takes together", plain(rows([many, 2048])), BY_BYTES_MS],
  ["plain samples that a table takes together and counts as one each", plain(rows([1, 1], [many - 1, 1])), BY_BYTES_MS],
  ["plain samples that fragments take together", fragmented(), BY_BYTES_MS],
  ["AAC", coded(described(0, mp4a(esds(AT_44100)))), WHOLE_MS],
  ["AAC whose table says half of it", coded(described(0, mp4a(esds(AT_44100))), 512), WHOLE_MS],
  ["AAC of two configurations", coded(described(0, mp4a(esds(AT_96000), esds(AT_44100)))), "none"],
  ["AAC of two descriptions", coded(described(0, mp4a(esds(AT_96000)), mp4a(esds(AT_44100)))), "none"],
  ["AAC of the same description twice", coded(described(0, mp4a(esds(AT_44100)), mp4a(esds(AT_44100)))), WHOLE_MS],
  ["a description that some read in another form", coded(described(1, mp4a(esds(AT_44100)))), "none"],
];
test.each(SOUND)("A5: %s", async (_, bytes, expected) => expect(await look(bytes)).toBe(expected));

test("A5: sound that is called a sequence of pictures is sound", async () => {
  const bytes = kept("lc.m4a");
  expect(await look(put(bytes, placeOf(bytes, "soun"), Buffer.from("pict")))).toBe(await look(bytes));
});

test("A2: a fragment that does not say when it begins goes on behind the table", async () => {
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
