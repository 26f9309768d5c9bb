// Audio with duplicated headers, chunks or stream beginnings has the length that decoders play.
import { expect, test } from "bun:test";
import { inspect } from "../../src/media/formats/inspect.ts";
import { wav } from "../media/made.ts";

const lengthOf = async (bytes: Uint8Array) => {
  const file = { sizeBytes: async () => bytes.length, read: async (from: number, to: number) => bytes.subarray(from, to) };
  return (await inspect(file, { signal: new AbortController().signal, depth: "whole" })).ms;
};

const whole = Buffer.from(wav(12));
const DATA_AT = 36;
const before = (more: Buffer) => Buffer.concat([whole.subarray(0, DATA_AT), more, whole.subarray(DATA_AT)]);
const chunk = (name: string, contents: Buffer) => {
  const head = Buffer.alloc(8);
  head.write(name, "latin1");
  head.writeUInt32LE(contents.length, 4);
  return Buffer.concat([head, contents]);
};
/** A second format chunk with four times the sample rate. */
const faster = Buffer.from(whole.subarray(20, 36));
faster.writeUInt32LE(32_000, 4);
/** 64-bit lengths in a WAV that is not RF64. */
const long = Buffer.alloc(28);
long.writeBigUInt64LE(16_000n, 8);
const unknown = before(chunk("ds64", long));
unknown.writeUInt32LE(0xffff_ffff, unknown.indexOf("data") + 4);

test.each([
  ["unchanged", whole],
  ["with a second format chunk", before(chunk("fmt ", faster))],
  ["with a short data chunk before", before(chunk("data", Buffer.alloc(1000)))],
  ["with a ds64 chunk", unknown],
])("a WAV of 12 s is measured with 12 s: %s", async (_, bytes) => {
  expect(await lengthOf(bytes)).toBe(12_000);
});

/** An Ogg page without a checksum, which these tests do not need. */
const page = (serial: number, flags: number, granule: number, packets: Buffer[]) => {
  const head = Buffer.alloc(27 + packets.length);
  head.write("OggS", "latin1");
  head[5] = flags;
  head.writeBigUInt64LE(BigInt(granule), 6);
  head.writeUInt32LE(serial, 14);
  head[26] = packets.length;
  for (const [n, packet] of packets.entries()) head[27 + n] = packet.length;
  return Buffer.concat([head, ...packets]);
};
const opusHead = Buffer.from("OpusHead\x01\x01\0\0\x80\xbb\0\0\0\0\0", "latin1");
/** 50 packets of 20 ms, which make one page. */
const second = Array.from({ length: 50 }, () => Buffer.of(0x08 | 0x90, 1, 2, 3));

test("an Opus page with a wrong begin-of-stream flag does not shorten the length", async () => {
  const pages = Array.from({ length: 12 }, (_, n) => page(7, n === 3 ? 2 : 0, (n + 1) * 48_000, second));
  const file = (marked: boolean) =>
    Buffer.concat([
      page(7, 2, 0, [opusHead]),
      page(7, 0, 0, [Buffer.from("OpusTags\0\0\0\0\0\0\0\0", "latin1")]),
      ...pages.map((one, n) => (marked || n !== 3 ? one : page(7, 0, 4 * 48_000, second))),
    ]);
  const plain = await lengthOf(file(false));
  expect(plain).toBeGreaterThan(5000);
  expect(await lengthOf(file(true))).toBe(plain);
});

test("chained Opus streams have the sum of their lengths for any pre-skip", async () => {
  const late = Buffer.from(opusHead);
  late.writeUInt16LE(65_535, 10);
  const tags = Buffer.from("OpusTags\0\0\0\0\0\0\0\0", "latin1");
  const links = Array.from({ length: 12 }, (_, n) => [
    ...(n % 2
      ? [page(7, 2, 0, [n === 1 ? opusHead : late]), page(7, 0, 0, [tags])]
      : [page(7, 2, 0, [n === 0 ? opusHead : late])]),
    page(7, 0, 0, second),
  ]);
  const single = await lengthOf(Buffer.concat([page(7, 2, 0, [opusHead]), page(7, 0, 0, [tags]), page(7, 0, 0, second)]));
  expect(await lengthOf(Buffer.concat(links.flat()))).toBe((single ?? 0) * 12);
});
