// Tests of decoding compressed responses that were not requested: within a size bound, by content and not only by header.
import { describe, expect, test } from "bun:test";
import * as zlib from "node:zlib";
import { decoded, Undecodable } from "../../src/http-client/content-encoding.ts";

const JSON_TEXT = Buffer.from(
  JSON.stringify({ id: "job-1", words: Array.from({ length: 400 }, (_, at) => `word ${at * 7919}`) }),
);
/** Incompressible bytes, the same in every run. */
const noise = (bytes: number): Uint8Array => {
  const made = Buffer.alloc(bytes);
  for (let at = 0, state = 1; at < bytes; at++) {
    state = (state * 48271) % 2147483647;
    made[at] = state >> 8;
  }
  return made;
};
const plainFiles: Record<string, Uint8Array> = {
  json: JSON_TEXT,
  "json, tiny": Buffer.from("{}"),
  html: Buffer.from("<!doctype html><title>502</title>"),
  png: Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), noise(5000)]),
  jpeg: Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0]), noise(5000)]),
  mp4: Buffer.concat([Buffer.from([0, 0, 0, 0x18]), Buffer.from("ftypisom"), noise(5000)]),
  wav: Buffer.concat([Buffer.from("RIFF"), noise(5000)]),
  mp3: Buffer.concat([Buffer.from([0xff, 0xfb, 0x90, 0x64]), noise(5000)]),
  webm: Buffer.concat([Buffer.from([0x1a, 0x45, 0xdf, 0xa3]), noise(5000)]),
  empty: Buffer.alloc(0),
};
const packers: Record<string, (bytes: Uint8Array) => Uint8Array> = {
  gzip: (bytes) => zlib.gzipSync(bytes),
  "x-gzip": (bytes) => zlib.gzipSync(bytes),
  deflate: (bytes) => zlib.deflateSync(bytes),
  "deflate, without its header": (bytes) => zlib.deflateRawSync(bytes),
  br: (bytes) => zlib.brotliCompressSync(bytes),
  zstd: (bytes) => zlib.zstdCompressSync(bytes),
};

const inPieces = async function* (bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
};
const readAll = async (bytes: Uint8Array, header: string | null, most = 1 << 20, size = 1000) => {
  const { codings, chunks } = await decoded(inPieces(bytes, size), header, most);
  const read: Uint8Array[] = [];
  for await (const chunk of chunks) read.push(chunk);
  return { codings, bytes: Buffer.concat(read) };
};
const refusalOf = async (work: Promise<unknown>): Promise<Undecodable> => {
  const fault = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(fault instanceof Undecodable)) throw new Error(`expected an Undecodable error, got ${String(fault)}`);
  return fault;
};

describe("decodes a compressed body", () => {
  for (const [name, pack] of Object.entries(packers))
    for (const size of [1, 7, 100_000])
      test(`encoded as ${name}, read in chunks of ${size} bytes`, async () => {
        const { codings, bytes } = await readAll(pack(JSON_TEXT), name.split(",")[0] ?? "", 1 << 20, size);
        expect(bytes).toEqual(JSON_TEXT);
        expect(codings).toHaveLength(1);
      });
  test("encoded twice, in the order that the header lists", async () => {
    const twice = zlib.gzipSync(zlib.brotliCompressSync(JSON_TEXT));
    expect(await readAll(twice, "br, gzip")).toEqual({ codings: ["gzip", "br"], bytes: JSON_TEXT });
    expect(await readAll(zlib.gzipSync(zlib.gzipSync(JSON_TEXT)), "gzip")).toEqual({
      codings: ["gzip", "gzip"],
      bytes: JSON_TEXT,
    });
  });
  test("in gzip or zstd, which it detects by content, even if the header is missing or wrong", async () => {
    for (const header of [null, "identity", "br", "utf-8"]) {
      expect((await readAll(zlib.gzipSync(JSON_TEXT), header)).bytes).toEqual(JSON_TEXT);
      expect((await readAll(zlib.zstdCompressSync(JSON_TEXT), header)).bytes).toEqual(JSON_TEXT);
    }
  });
  test("that consists of several gzip members, as a flushed stream does", async () => {
    const half = JSON_TEXT.length >> 1;
    const members = [zlib.gzipSync(JSON_TEXT.subarray(0, half)), zlib.gzipSync(JSON_TEXT.subarray(half))];
    expect((await readAll(Buffer.concat(members), "gzip")).bytes).toEqual(JSON_TEXT);
  });
});

describe("leaves a plain body unchanged", () => {
  const headers = [
    "gzip",
    "deflate",
    "br",
    "zstd",
    "aws-chunked",
    "base64",
    "utf-8",
    "none",
    "binary",
    "identity",
    "br, gzip",
    null,
  ];
  for (const [name, file] of Object.entries(plainFiles))
    for (const header of headers)
      test(`${name} with the header Content-Encoding: ${header}`, async () => {
        for (const size of [3, 100_000]) {
          const read = await readAll(file, header, 1 << 20, size);
          expect(read.codings).toEqual([]);
          expect(read.bytes.equals(file)).toBe(true);
        }
      });
});

describe("the decoded size limit", () => {
  for (const [name, pack] of Object.entries(packers))
    test(`stops a ${name} decompression bomb`, async () => {
      const header = name.split(",")[0] ?? "";
      const bomb = pack(Buffer.alloc(8 << 20));
      expect(bomb.length).toBeLessThan(1 << 20);
      const { chunks } = await decoded(inPieces(bomb, 100_000), header, 1 << 20);
      let came = 0;
      const fault = await refusalOf(
        (async () => {
          for await (const chunk of chunks) came += chunk.length;
        })(),
      );
      expect(fault.isTooLarge).toBe(true);
      expect(came).toBeLessThanOrEqual(1 << 20);
    });
  test("stops a decompression bomb inside another one", async () => {
    const bomb = zlib.gzipSync(zlib.gzipSync(Buffer.alloc(64 << 20)));
    expect((await refusalOf(readAll(bomb, "gzip", 1 << 20))).isTooLarge).toBe(true);
  });
  test("accepts a body of exactly the limit and rejects one byte more", async () => {
    expect((await readAll(zlib.gzipSync(JSON_TEXT), "gzip", JSON_TEXT.length)).bytes).toEqual(JSON_TEXT);
    expect((await refusalOf(readAll(zlib.gzipSync(JSON_TEXT), "gzip", JSON_TEXT.length - 1))).isTooLarge).toBe(true);
  });
});

describe("a broken or unfinished body", () => {
  for (const [name, pack] of Object.entries(packers))
    test(`that is truncated ${name} is rejected as undecodable`, async () => {
      const packed = pack(JSON_TEXT);
      const cut = packed.subarray(0, packed.length - 20);
      expect((await refusalOf(readAll(cut, name.split(",")[0] ?? ""))).isTooLarge).toBe(false);
    });
  test("passes on the error of a broken connection", async () => {
    const packed = zlib.gzipSync(noise(100_000));
    const breaks = async function* () {
      yield packed.subarray(0, 50_000);
      throw new Error("reset");
    };
    const { chunks } = await decoded(breaks(), "gzip", 1 << 20);
    const work = (async () => {
      for await (const _ of chunks);
    })();
    expect(work).rejects.toThrow("reset");
    await work.catch(() => {});
  });
  test("releases its source when the reader stops, compressed or plain", async () => {
    for (const [bytes, header] of [
      [zlib.gzipSync(noise(1_000_000)), "gzip"],
      [noise(1_000_000), null],
    ] as const) {
      const { promise: isLetGo, resolve } = Promise.withResolvers<boolean>();
      const source = async function* () {
        try {
          yield* inPieces(bytes, 1000);
        } finally {
          resolve(true);
        }
      };
      const { chunks } = await decoded(source(), header, 1 << 24);
      for await (const _ of chunks) break;
      expect(await isLetGo).toBe(true);
    }
  });
});
