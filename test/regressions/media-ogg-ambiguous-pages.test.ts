// Ogg files with ambiguous pages: measured as ffmpeg plays them, or unmeasurable.
import { expect, test } from "bun:test";
import { pageSum } from "../../src/media/formats/ogg-sum.ts";
import { le32, put } from "../corpus/recipe.ts";
import { kept, lookAtLength as look } from "./counted.ts";

const pagesOf = (bytes: Buffer): Buffer[] => {
  const pages: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += pages.at(-1)?.length ?? bytes.length) {
    const pieces = bytes.readUInt8(at + 26);
    const length = bytes.subarray(at + 27, at + 27 + pieces).reduce((sum, piece) => sum + piece, 27 + pieces);
    pages.push(bytes.subarray(at, at + length));
  }
  return pages;
};
const withSum = (page: Buffer) => put(page, 22, le32(pageSum(page)));
const piecesOf = (length: number) => Buffer.concat([Buffer.alloc(Math.floor(length / 255), 255), Buffer.of(length % 255)]);

type Page = { serial?: number; flags?: number; granule?: number; n?: number };
const page = (packets: Uint8Array[], { serial = 7, flags = 0, granule = 0, n = 0 }: Page, table?: Uint8Array) => {
  const pieces = table ?? Buffer.concat(packets.map(({ length }) => piecesOf(length)));
  const place = Buffer.alloc(8);
  place.writeBigInt64LE(BigInt(granule));
  const head = [
    Buffer.from("OggS\0", "latin1"),
    Buffer.of(flags),
    place,
    le32(serial),
    le32(n),
    le32(0),
    Buffer.of(pieces.length),
  ];
  return withSum(Buffer.concat([...head, pieces, ...packets]));
};

const opus = Buffer.concat([Buffer.of(0x78), Buffer.alloc(299, 0x80)]);
const opusHead = Buffer.concat([Buffer.from("OpusHead\x01\x01\0\0", "latin1"), le32(48_000), Buffer.alloc(3)]);
const opusTags = Buffer.concat([Buffer.from("OpusTags", "latin1"), le32(0), le32(0)]);
const begin = [page([opusHead], { flags: 2 }), page([opusTags], { n: 1 })];

test("an Ogg file with pages hidden inside a page with a wrong checksum has no measured length", async () => {
  expect(pagesOf(kept("opusenc.opus")).every((each) => withSum(each).equals(each))).toBe(true);
  const pages = [0, 1, 2].map((n) => page(Array<Uint8Array>(50).fill(opus), { n: 2 + n, granule: (n + 1) * 50 * 960 }));
  expect(await look(Buffer.concat([...begin, ...pages]))).toBe(3000);
  const [first = opus, ...others] = pages;
  const hidden = others.map((each) => put(page([each], { serial: 99, granule: -1 }), 22, le32(0xdead_beef)));
  expect(await look(Buffer.concat([...begin, first, ...hidden]))).toBe("none");
});

test("packets that continue in a page without the continuation flag have no measured length", async () => {
  const halves = (flags: number) =>
    Array.from({ length: 100 }, (_, n) => [
      page([opus.subarray(0, 255)], { n: 2 + n * 2, granule: -1 }, Buffer.of(255)),
      page([opus.subarray(255)], { n: 3 + n * 2, granule: (n + 1) * 960, flags }, Buffer.of(45)),
    ]).flat();
  expect(await look(Buffer.concat([...begin, ...halves(1)]))).toBe(2000);
  expect(await look(Buffer.concat([...begin, ...halves(0)]))).toBe("none");
});

test("FLAC in Ogg has the same length for any announced number of headers", async () => {
  const bytes = kept("flac.oga");
  const [first = bytes, ...others] = pagesOf(bytes);
  const bodyAt = 27 + first.readUInt8(26);
  const many = withSum(put(first, bodyAt + 7, Buffer.of(0, 200)));
  expect(await look(Buffer.concat([many, ...others]))).toBe(await look(bytes));
});

/** Packs numbers of the given bit counts, lowest bit first. */
const bitsOf = (...numbers: [value: number, count: number][]) => {
  const bits = numbers.flatMap(([value, count]) => Array.from({ length: count }, (_, n) => (n < 31 ? (value >> n) & 1 : 0)));
  const bytes = Buffer.alloc(Math.ceil(bits.length / 8));
  for (const [n, bit] of bits.entries()) bytes[n >> 3] = (bytes[n >> 3] ?? 0) | (bit << (n & 7));
  return bytes;
};
const zeros = (...counts: number[]): [number, number][] => counts.map((count) => [0, count]);
test("the Vorbis block size follows the modes as parsed from the beginning of the setup header", async () => {
  const name = (n: number) => Buffer.concat([Buffer.of(n), Buffer.from("vorbis")]);
  const rate = le32(44_100);
  const ident = Buffer.concat([name(1), le32(0), Buffer.of(1), rate, le32(0), le32(64_000), le32(0), Buffer.of(0xd6, 1)]);
  const notes = Buffer.concat([name(3), le32(4), Buffer.from("test"), le32(0), Buffer.of(1)]);
  // One mode with long blocks. A parser that reads from the end finds two, because of an unused byte of a submap.
  const setup = Buffer.concat([
    name(5),
    bitsOf(
      ...zeros(8),
      ...([
        [0x564342, 24],
        [1, 16],
        [2, 24],
      ] as [number, number][]),
      ...zeros(1, 1, 5, 5, 4),
      ...zeros(6, 16, 6),
      ...([[1, 16]] as [number, number][]),
      ...zeros(5, 2),
      ...([[4, 4]] as [number, number][]),
      ...zeros(6, 16, 24, 24, 24, 6, 8, 3, 1),
      ...zeros(6, 16),
      ...([
        [1, 1],
        [1, 4],
      ] as [number, number][]),
      ...zeros(1, 2, 4),
      ...([[0x80, 8]] as [number, number][]),
      ...zeros(8, 8, 8, 8, 8, 6),
      ...([[1, 1]] as [number, number][]),
      ...zeros(16, 16, 8),
      ...([[1, 1]] as [number, number][]),
    ),
  ]);
  const sound = [1, 2].map((n) =>
    page(Array<Uint8Array>(200).fill(Buffer.of(0)), { n: 1 + n, granule: n * 200 * 4096, flags: n === 2 ? 4 : 0 }),
  );
  const file = Buffer.concat([page([ident], { flags: 2 }), page([notes, setup], { n: 1 }), ...sound]);
  expect(await look(file)).toBe(Math.round((399 * 4096) / 44.1));
});
