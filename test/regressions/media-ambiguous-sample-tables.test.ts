// MP4 and Matroska files whose length depends on the decoder are rejected as inputs.
//
// Their tables have fewer rows than declared, or their parts are where only some decoders look.
import { expect, onTestFinished, test } from "bun:test";
import { inspect } from "../../src/media/formats/inspect.ts";
import { makeClip } from "../../src/simulator/clip.ts";
import { be32, box } from "../corpus/recipe.ts";
import { openHarness } from "../harness.ts";
import { inMemory } from "../media/formats/reader.ts";
import { mp4 } from "../media/made.ts";
import { zeros } from "./mp4-file.ts";
import { answerBytes, openTwoFaced } from "./two-faced.ts";

type Edit = (file: Buffer) => Buffer;
type Case = [what: string, file: Buffer];

const clip = Buffer.from(await mp4({ seconds: 8, index: "end", audio: true }));
const fragments = Buffer.from(await mp4({ seconds: 8, index: "fragments" }));
const matroska = Buffer.from(await makeClip({ width: 64, height: 36 }, 12_000, false, 1, "mkv"));

const at = (file: Buffer, name: string): number => {
  const found = file.indexOf(name, 0, "latin1");
  if (found < 0) throw new Error(`the file has no ${name} box`);
  return found - 4;
};
const edited = (file: Buffer, edit: (copy: Buffer) => void): Buffer => {
  const copy = Buffer.from(file);
  edit(copy);
  return copy;
};
/** Truncates the contents of a box to `contents` bytes; the rest becomes a `free` box. */
const cutTo = (file: Buffer, name: string, contents: number): Buffer =>
  edited(file, (copy) => {
    const from = at(copy, name);
    const length = copy.readUInt32BE(from);
    copy.writeUInt32BE(contents + 8, from);
    copy.writeUInt32BE(length - contents - 8, from + 8 + contents);
    copy.write("free", from + 12 + contents, "latin1");
  });
/** Declares one row more than the table has. `countAt`: offset of the count in the contents. */
const oneMore = (file: Buffer, name: string, countAt = 4): Buffer =>
  edited(file, (copy) => {
    const place = at(copy, name) + 8 + countAt;
    copy.writeUInt32BE(copy.readUInt32BE(place) + 1, place);
  });
/** Inserts a box at the beginning of the innermost box of `around`. */
const into = (file: Buffer, more: Uint8Array, ...around: string[]): Buffer => {
  const copy = Buffer.from(file);
  const places = around.map((name) => at(copy, name));
  for (const place of places) copy.writeUInt32BE(copy.readUInt32BE(place) + more.length, place);
  const inside = (places.at(-1) ?? 0) + 8;
  return Buffer.concat([copy.subarray(0, inside), more, copy.subarray(inside)]);
};
const withBox = (name: string): Case => [`a ${name} box at the top level`, Buffer.concat([clip, box(name, zeros(40))])];
const run = (track: number): Buffer =>
  box("moof", box("mfhd", zeros(8)), box("traf", box("tfhd", be32(0x2_0000), be32(track)), box("trun", be32(0), be32(25))));

const SHORT: Case[] = [
  ["sizes of the first samples only", cutTo(clip, "stsz", 12 + 50 * 4)],
  ...["stts", "stsc", "stco"].map((name): Case => [`one row of ${name} less than declared`, oneMore(clip, name)]),
  ["one row of stsz less than declared", oneMore(clip, "stsz", 8)],
  ["a truncated track header", cutTo(clip, "tkhd", 28)],
  ["a truncated media header", cutTo(clip, "mdhd", 12)],
  ["truncated fragment defaults", cutTo(fragments, "trex", 12)],
];
const ELSEWHERE: Case[] = [
  ...["trak", "traf", "tfhd", "tfdt", "trun", "trex", "mdia", "stbl", "stts", "stsz", "mvhd", "mvex"].map(withBox),
  ["fragment defaults outside of mvex", into(fragments, box("trex", zeros(4), be32(7), zeros(16)), "moov")],
  ["a sample run in the index", into(clip, box("trun", be32(0), be32(25)), "moov")],
  ["an index table in a fragment", into(fragments, box("stts", zeros(4), be32(1), be32(1), be32(9)), "moof")],
  ["a fragment that the index does not announce", Buffer.concat([clip, run(1)])],
  ["a fragment of an unknown track", Buffer.concat([fragments, run(9)])],
];
/** Inserts an element header before the first cluster that spans one cluster. */
const around =
  (...id: number[]): Edit =>
  (file) => {
    const first = file.indexOf(Buffer.of(0x1f, 0x43, 0xb6, 0x75));
    const second = file.indexOf(Buffer.of(0x1f, 0x43, 0xb6, 0x75), first + 1);
    const length = second - first;
    const size = Buffer.of(0x10 | (length >>> 24), (length >>> 16) & 255, (length >>> 8) & 255, length & 255);
    return Buffer.concat([file.subarray(0, first), Buffer.from(id), size, file.subarray(first)]);
  };
const IN_TABLES: Case[] = [
  ["clusters inside Tags", around(0x12, 0x54, 0xc3, 0x67)(matroska)],
  ["clusters inside Cues", around(0x1c, 0x53, 0xbb, 0x6b)(matroska)],
  ["clusters inside Attachments", around(0x19, 0x41, 0xa4, 0x69)(matroska)],
];

const measured = async (file: Buffer) =>
  inspect(inMemory(file), { depth: "counted", signal: new AbortController().signal }).then(
    (found) => ({ ...found, message: "" }),
    (fault: Error) => ({ message: fault.message }),
  );

test("measures the unchanged clips", async () => {
  const found = await Promise.all([clip, fragments, matroska].map(measured));
  expect(found.map((one) => ("ms" in one ? one.ms : one.message))).toEqual([8000, 8000, 12_000]);
});
test.each([...SHORT, ...ELSEWHERE])("rejects an MP4 with %s", async (_, file) => {
  expect(await measured(file)).toEqual({ message: "its index is not one of a real clip" });
});
test.each(IN_TABLES)("rejects a Matroska file with %s", async (_, file) => {
  expect(await measured(file)).toEqual({ message: "its index is not one of a real file" });
});

test("a fragmented track with timescale 0 marks the file as uncounted", async () => {
  const both = Buffer.from(await mp4({ seconds: 8, index: "fragments", audio: true }));
  expect(await measured(both)).not.toHaveProperty("isUncounted");
  const clocks = [at(both, "mdhd"), both.indexOf("mdhd", at(both, "mdhd") + 8, "latin1") - 4];
  for (const clock of clocks) {
    const file = edited(both, (copy) => copy.writeUInt32BE(0, clock + 20));
    expect(await measured(file)).toMatchObject({ isUncounted: true, message: "" });
  }
});

test("rejects a submission whose clip has ambiguous sample tables with 422", async () => {
  const cases = [...SHORT.slice(0, 2), ...ELSEWHERE.slice(1, 2), ...IN_TABLES.slice(0, 1)];
  const files = cases.map(([, file]) => file);
  const server = openTwoFaced((request, { path }) => answerBytes(request, files[Number(path.slice(1))] ?? clip, "video/mp4"));
  onTestFinished(() => server.stop());
  const harness = await openHarness({ env: { GENROUTER_MEDIA__ALLOW: server.host } });
  onTestFinished(() => harness.close());
  const answerTo = async (path: string) => {
    const input = { prompt: "an edit", resolution: "480p", video_url: `${server.url}/${path}` };
    return (await harness.request("POST", "/v1/generations", { body: { model: "vidmodel-2.5", input } })).status;
  };
  expect(await answerTo("honest")).toBe(202);
  const answers: number[] = [];
  for (const n of cases.keys()) answers.push(await answerTo(String(n)));
  expect(answers).toEqual(cases.map(() => 422));
});
