// Tests files of rare formats and unusual transfers, which words in the prompt select.
import { afterAll, beforeAll, expect, test } from "bun:test";
import * as zlib from "node:zlib";
import { FAULTS, type FaultName } from "../../src/simulator/faults.ts";
import { OTHER_KINDS, type OtherKind } from "../../src/simulator/rare-formats.ts";
import { type Bed, namesOf, openBed, raw } from "./fixture.ts";

let bed: Bed;
beforeAll(async () => {
  bed = await openBed();
});
afterAll(() => bed.simulator.stop());

const fileOf = async (prompt: string, endpoint = "maker/picture"): Promise<string> =>
  (await bed.files("fal", endpoint, { prompt, duration: 3 }))[0] ?? "";

/** The first bytes of a file of each kind, in Latin-1, and their offset. */
const BEGINS: Record<OtherKind, readonly [at: number, text: string]> = {
  gif: [0, "GIF89a"],
  "moving-gif": [0, "GIF89a"],
  bmp: [0, "BM"],
  avif: [4, "ftypavif"],
  heic: [4, "ftypheic"],
  tiff: [0, "II*"],
  jxl: [0, "\xff\n"],
  svg: [0, "<?xml"],
  glb: [0, "glTF"],
  mov: [4, "ftypqt"],
  mkv: [0, "\x1aE\xdf\xa3"],
  webm: [0, "\x1aE\xdf\xa3"],
  "webm-vp8": [0, "\x1aE\xdf\xa3"],
  flac: [0, "fLaC"],
  opus: [0, "OggS"],
  m4a: [4, "ftypM4A"],
  aac: [0, "\xff\xf1"],
  "sound-mp4": [4, "ftyp"],
  "sound-webm": [0, "\x1aE\xdf\xa3"],
  "streamed-wav": [0, "RIFF\x24\xf0\xff\x7fWAVE"],
};
test("delivers every rare format by its word, with its content type and file extension", async () => {
  expect(Object.keys(BEGINS).sort()).toEqual(namesOf("kind") as string[]);
  for (const [kind, [at, begins]] of Object.entries(BEGINS)) {
    const { mime, extension } = OTHER_KINDS[kind as OtherKind];
    const endpoint = mime.startsWith("video/") ? "maker/video" : mime.startsWith("audio/") ? "maker/speech" : "maker/picture";
    const url = await fileOf(`a kite [sim:${kind}]`, endpoint);
    expect(url).toEndWith(`.${extension}`);
    const answer = await fetch(url);
    expect([kind, answer.status, answer.headers.get("content-type")]).toEqual([kind, 200, mime]);
    const text = Buffer.from(await answer.bytes()).toString("latin1");
    expect(text.slice(at, at + begins.length)).toBe(begins);
  }
});

const UNPACK: Record<string, (bytes: Uint8Array) => Uint8Array> = {
  gzip: (bytes) => zlib.gunzipSync(bytes),
  deflate: (bytes) => zlib.inflateSync(bytes),
  br: (bytes) => zlib.brotliDecompressSync(bytes),
  zstd: (bytes) => zlib.zstdDecompressSync(bytes),
};
for (const [coding, unpack] of Object.entries(UNPACK))
  test(`${coding} sends the file compressed, with the Content-Length of the compressed bytes`, async () => {
    const plain = await (await fetch(await fileOf("a kite [sim:bmp]"))).bytes();
    const answer = await fetch(await fileOf(`a kite [sim:bmp] [sim:${coding}]`), { decompress: false });
    const packed = await answer.bytes();
    expect(answer.headers.get("content-encoding")).toBe(coding);
    expect(answer.headers.get("content-length")).toBe(String(packed.length));
    expect(unpack(packed).length).toBe(plain.length);
  });

test("misnamed-coding and wrong-type send false headers, and no-length omits Content-Length", async () => {
  const headersOf = async (words: string) => (await fetch(await fileOf(`a kite ${words}`), { decompress: false })).headers;
  expect((await headersOf("[sim:misnamed-coding]")).get("content-encoding")).toBe("aws-chunked");
  expect((await headersOf("[sim:wrong-type]")).get("content-type")).toBe("application/octet-stream");
  expect((await headersOf("[sim:no-length]")).get("content-length")).toBeNull();
  bed.simulator.script({ fault: "misnamed-coding", coding: "br" });
  expect((await headersOf("")).get("content-encoding")).toBe("br");
  bed.simulator.clearScript();
});

test("slow-file sends the file after the configured delay", async () => {
  const { pathname } = new URL(await fileOf("a kite [sim:slow-file=5000]"));
  const asked = raw(bed.simulator, "GET", pathname);
  while (bed.clock.waiting() === 0) await Bun.sleep(1);
  bed.clock.pass(5000);
  expect((await asked).how).toBe("answered");
});

test("covers every transfer fault", () => {
  const tried: FaultName[] = ["gzip", "deflate", "br", "zstd", "misnamed-coding", "wrong-type", "no-length", "slow-file"];
  expect([...tried].sort()).toEqual(namesOf("transfer"));
  expect(FAULTS.gzip.stage).toBe("transfer");
});
