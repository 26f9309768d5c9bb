// An MP4 whose index says a thing twice is longer to some decoders than to others: it is not measured by one of the two.
import { expect, onTestFinished, test } from "bun:test";
import { inspect } from "../../src/media/formats/inspect.ts";
import { openHarness } from "../harness.ts";
import { mp4 } from "../media/made.ts";
import { answerBytes, openTwoFaced } from "./two-faced.ts";

const clip = Buffer.from(await mp4({ seconds: 8, index: "end" }));
const moovAt = clip.indexOf("moov") - 4;
const moov = clip.subarray(moovAt);
const before = clip.subarray(0, moovAt);

/** A box of a name around others. */
const box = (name: string, contents: Buffer) => {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(contents.length + 8);
  head.write(name, 4, "latin1");
  return Buffer.concat([head, contents]);
};
const partOf = (name: string) => moov.subarray(moov.indexOf(name) - 4).subarray(0, moov.readUInt32BE(moov.indexOf(name) - 4));
/** The index with one box more before another, in all that it lies in. */
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
/** The same index, in whose clock everything lasts a quarter. */
const quarter = changed(partOf("mdhd"), 20, partOf("mdhd").readUInt32BE(20) * 4);
const short = Buffer.from(moov);
quarter.copy(short, moov.indexOf("mdhd") - 4);

const TWICE: [what: string, file: Buffer][] = [
  ["the clock of a track", withBox(quarter, "mdhd", "trak", "mdia")],
  ["the clock of all", withBox(changed(partOf("mvhd"), 20, 4000), "mvhd")],
  ["the times of samples", withBox(changed(partOf("stts"), 20, 1), "stts", "trak", "mdia", "minf", "stbl")],
  ["the sizes of samples", withBox(changed(partOf("stsz"), 16, 50), "stsz", "trak", "mdia", "minf", "stbl")],
  ...["moof", "trak", "mdia", "mvex", "udta"].map((name): [string, Buffer] => [
    `an index in a ${name} of the file`,
    Buffer.concat([before, box(name, moov), short]),
  ]),
];

test("A2: one sample that is said to be larger than the file hides none of those behind it", async () => {
  const sizesAt = moovAt + moov.indexOf("stsz") + 16;
  const file = changed(clip, sizesAt + 4 * 50, 0x00300000);
  const reader = { sizeBytes: async () => file.length, read: async (from: number, to: number) => file.subarray(from, to) };
  expect(await inspect(reader, { signal: new AbortController().signal, depth: "whole" })).toMatchObject({
    ms: 8000,
    isComplete: false,
  });
});

test("A2: a clip that has a second index in a place where only some look is refused, and costs nothing", async () => {
  const files = new Map([...TWICE.map(([, file], at) => [`/${at}`, file] as const), ["/once", clip]]);
  const server = openTwoFaced((request, { path }) => answerBytes(request, files.get(path) ?? clip, "video/mp4"));
  onTestFinished(() => server.stop());
  const harness = await openHarness({ env: { GENROUTER_MEDIA__ALLOW: server.host } });
  onTestFinished(() => harness.close());
  const answerTo = async (path: string) => {
    const input = { prompt: "an edit", resolution: "480p", video_url: `${server.url}${path}` };
    const { status, text } = await harness.ask("POST", "/v1/generations", { body: { model: "vidmodel-2.5", input } });
    return [status, text.includes("its index is not one of a real clip")];
  };
  expect(await answerTo("/once")).toEqual([202, false]);
  const answers: unknown[] = [];
  for (const [at, [what]] of TWICE.entries()) answers.push([what, ...(await answerTo(`/${at}`))]);
  expect(answers).toEqual(TWICE.map(([what]) => [what, 422, true]));
});
