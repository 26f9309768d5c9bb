// MP4 inputs with a duplicated index part are rejected, because decoders disagree on the length.
import { expect, onTestFinished, test } from "bun:test";
import { inspect } from "../../src/media/formats/inspect.ts";
import { openHarness } from "../harness.ts";
import { mp4 } from "../media/made.ts";
import { answerBytes, openTwoFaced } from "./two-faced.ts";

const clip = Buffer.from(await mp4({ seconds: 8, index: "end" }));
const moovAt = clip.indexOf("moov") - 4;
const moov = clip.subarray(moovAt);
const before = clip.subarray(0, moovAt);

/** A box with the given name and contents. */
const box = (name: string, contents: Buffer) => {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(contents.length + 8);
  head.write(name, 4, "latin1");
  return Buffer.concat([head, contents]);
};
const partOf = (name: string) => moov.subarray(moov.indexOf(name) - 4).subarray(0, moov.readUInt32BE(moov.indexOf(name) - 4));
/** Inserts a box before the box `name` and lengthens its parents. */
const withBox = (more: Buffer, name: string, ...parents: string[]) => {
  const at = moov.indexOf(name) - 4;
  const index = Buffer.concat([moov.subarray(0, at), more, moov.subarray(at)]);
  for (const parent of ["moov", ...parents]) {
    const place = index.indexOf(parent) - 4;
    index.writeUInt32BE(index.readUInt32BE(place) + more.length, place);
  }
  return Buffer.concat([before, index]);
};
const changed = (part: Buffer, at: number, value: number) => {
  const copy = Buffer.from(part);
  copy.writeUInt32BE(value, at);
  return copy;
};
/** The media header with a fourfold timescale, so that the track lasts a quarter. */
const quarter = changed(partOf("mdhd"), 20, partOf("mdhd").readUInt32BE(20) * 4);
const short = Buffer.from(moov);
quarter.copy(short, moov.indexOf("mdhd") - 4);

const TWICE: [what: string, file: Buffer][] = [
  ["the media header of a track", withBox(quarter, "mdhd", "trak", "mdia")],
  ["the movie header", withBox(changed(partOf("mvhd"), 20, 4000), "mvhd")],
  ["the table of sample times", withBox(changed(partOf("stts"), 20, 1), "stts", "trak", "mdia", "minf", "stbl")],
  ["the table of sample sizes", withBox(changed(partOf("stsz"), 16, 50), "stsz", "trak", "mdia", "minf", "stbl")],
  ...["moof", "trak", "mdia", "mvex", "udta"].map((name): [string, Buffer] => [
    `an index in a top-level ${name} box`,
    Buffer.concat([before, box(name, moov), short]),
  ]),
];

test("a sample size larger than the file does not hide the following samples", async () => {
  const sizesAt = moovAt + moov.indexOf("stsz") + 16;
  const file = changed(clip, sizesAt + 4 * 50, 0x00300000);
  const reader = { sizeBytes: async () => file.length, read: async (from: number, to: number) => file.subarray(from, to) };
  expect(await inspect(reader, { signal: new AbortController().signal, depth: "whole" })).toMatchObject({
    ms: 8000,
    isComplete: false,
  });
});

test("rejects a submission with 422 when part of the index of its clip exists twice", async () => {
  const files = new Map([...TWICE.map(([, file], at) => [`/${at}`, file] as const), ["/once", clip]]);
  const server = openTwoFaced((request, { path }) => answerBytes(request, files.get(path) ?? clip, "video/mp4"));
  onTestFinished(() => server.stop());
  const harness = await openHarness({ env: { GENROUTER_MEDIA__ALLOW: server.host } });
  onTestFinished(() => harness.close());
  const answerTo = async (path: string) => {
    const input = { prompt: "an edit", resolution: "480p", video_url: `${server.url}${path}` };
    const { status, text } = await harness.request("POST", "/v1/generations", { body: { model: "vidmodel-2.5", input } });
    return [status, text.includes("its index is not one of a real clip")];
  };
  expect(await answerTo("/once")).toEqual([202, false]);
  const answers: unknown[] = [];
  for (const [at, [what]] of TWICE.entries()) answers.push([what, ...(await answerTo(`/${at}`))]);
  expect(answers).toEqual(TWICE.map(([what]) => [what, 422, true]));
});
