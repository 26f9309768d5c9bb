// Expensive MP4s: boxes, tracks, tables, fragments and indexes that are repeated, nested, too large or truncated.
import type { Bomb } from "./bomb.ts";
import { fill, join, type Piece, sizeOf, text, u16, u32, u64, zeros } from "./bytes.ts";

const box = (name: string, ...parts: readonly Uint8Array[]): Uint8Array => {
  const body = join(...parts);
  return join(u32(8 + body.length), text(name), body);
};
const full = (name: string, ...parts: readonly Uint8Array[]): Uint8Array => box(name, u32(0), ...parts);
/** A box around pieces that are not expanded. */
const around = (name: string, head: Uint8Array, ...pieces: readonly Piece[]): Piece[] => [
  join(u32(8 + head.length + sizeOf(pieces)), text(name), head),
  ...pieces,
];
/** Nested boxes: each encloses the one before it. */
const within = (names: readonly (readonly [name: string, before: Uint8Array])[], pieces: readonly Piece[]): Piece[] => {
  let inner: Piece[] = [...pieces];
  for (const [name, before] of names.toReversed()) inner = around(name, before, ...inner);
  return inner;
};

const NONE = zeros(0);
const ftyp = box("ftyp", text("isom"), u32(0), text("isommp42"));
const mvhd = full("mvhd", u32(0), u32(0), u32(1000), u32(4000), zeros(80));
const tkhdOf = (width: number, height: number) =>
  full("tkhd", u32(0), u32(0), u32(1), u32(0), u32(4000), zeros(52), u16(width), u16(0), u16(height), u16(0));
const tkhd = tkhdOf(320, 240);
const mdhdOf = (scale: number, length: number) => full("mdhd", u32(0), u32(0), u32(scale), u32(length), u32(0x55c40000));
const mdhd = mdhdOf(1000, 4000);
const hdlr = full("hdlr", u32(0), text("vide"), zeros(12), text("\0"));
const avcC = box("avcC", Buffer.from([1, 66, 0, 30, 255, 225, 0, 4, 0x67, 66, 0, 30, 1, 0, 2, 0x68, 0xce]));
const avc1 = box("avc1", ...[zeros(6), u16(1), zeros(16), u16(320), u16(240), zeros(50), avcC]);
const stsd = full("stsd", u32(1), avc1);
const mdat = box("mdat", zeros(64));

const TRACK = [
  ["moov", mvhd],
  ["trak", tkhd],
  ["mdia", join(mdhd, hdlr)],
  ["minf", NONE],
  ["stbl", stsd],
] as const;
const moovOf = (...tables: readonly Piece[]): Piece[] => [ftyp, ...within(TRACK, tables), mdat];
/** Tables of one sample, except for the given ones. */
const plain = (...but: readonly string[]): Uint8Array[] =>
  [
    full("stts", u32(1), u32(4), u32(1000)),
    full("stsc", u32(1), u32(1), u32(4), u32(1)),
    full("stsz", u32(0), u32(4), u32(16), u32(16), u32(16), u32(16)),
    full("stco", u32(1), u32(64)),
  ].filter((table) => !but.includes(Buffer.from(table.subarray(4, 8)).toString()));
/** A table with as many rows as fit. */
const tableOf = (name: string, row: Uint8Array, bytes: number, before: Uint8Array = NONE): Piece[] => {
  const rows = Math.max(1, Math.floor(bytes / row.length));
  return around(name, join(u32(0), before, u32(rows)), { repeat: row, times: rows });
};
/** A table that declares more rows than a file can contain. */
const claims = (name: string, before: Uint8Array = NONE) => full(name, before, u32(0xffff_ffff), zeros(64));
const track = box(
  "trak",
  ...[tkhd, box("mdia", mdhd, hdlr, box("minf", box("stbl", stsd, full("stts", u32(1), u32(1), u32(1)))))],
);
/** Boxes nested as deep as `bytes` allows, each with its size. */
const nested = (names: readonly string[], bytes: number): Uint8Array => {
  const depth = Math.floor(bytes / 8);
  const made = Buffer.alloc(depth * 8);
  for (let n = 0; n < depth; n += 1) {
    made.writeUInt32BE((depth - n) * 8, n * 8);
    made.write(names[n % names.length] ?? "moov", n * 8 + 4, "latin1");
  }
  return made;
};
const DEEPEST = 4 * 1024 * 1024;
const moof = box("moof", full("mfhd", u32(1)), box("traf", full("tfhd", u32(1)), full("trun", u32(0))));
const moofOf = (...runs: readonly Piece[]): Piece[] => [
  ...around("moof", full("mfhd", u32(1)), ...around("traf", full("tfhd", u32(1)), ...runs)),
  mdat,
];
const mvex = box("mvex", full("trex", u32(1), u32(1), u32(1000), u32(16), u32(0)));
const fragmented = (...rest: readonly Piece[]): Piece[] => [
  ftyp,
  ...within([["moov", mvhd]], [box("trak", tkhd, box("mdia", mdhd, hdlr, box("minf", box("stbl", stsd, ...plain())))), mvex]),
  ...rest,
];

const MADE: Record<string, (bytes: number) => Piece[]> = {
  tracks: (bytes) => [ftyp, ...around("moov", mvhd, fill(track, bytes)), mdat],
  "tracks of one byte": (bytes) => [ftyp, ...around("moov", mvhd, fill(box("trak", zeros(1)), bytes)), mdat],
  "stts of ones": (bytes) => moovOf(...tableOf("stts", join(u32(1), u32(1)), bytes), ...plain("stts")),
  "stts of nothing": (bytes) => moovOf(...tableOf("stts", join(u32(0), u32(0)), bytes), ...plain("stts")),
  "stts of the most": (bytes) => moovOf(...tableOf("stts", join(u32(0xffff_ffff), u32(1)), bytes), ...plain("stts")),
  "stts that says more than there is": () => moovOf(claims("stts"), ...plain("stts")),
  "ctts of ones": (bytes) => moovOf(...plain(), ...tableOf("ctts", join(u32(1), u32(0x8000_0000)), bytes)),
  "ctts that says more than there is": () => moovOf(...plain(), claims("ctts")),
  "stsz of sizes": (bytes) => moovOf(...plain("stsz"), ...tableOf("stsz", u32(1), bytes, u32(0))),
  "stsz of one size for 4 billion": () =>
    moovOf(...plain("stsz", "stts"), full("stsz", u32(1), u32(0xffff_ffff)), full("stts", u32(1), u32(0xffff_ffff), u32(1))),
  "stsz of the largest": (bytes) => moovOf(...plain("stsz"), ...tableOf("stsz", u32(0xffff_ffff), bytes, u32(0))),
  "stco of places": (bytes) => moovOf(...plain("stco"), ...tableOf("stco", u32(64), bytes)),
  "co64 of far places": (bytes) => moovOf(...plain("stco"), ...tableOf("co64", u64(0x7fff_ffff_ffff_ffffn), bytes)),
  "co64 that says more than there is": () => moovOf(...plain("stco"), claims("co64")),
  "stsc of chunks": (bytes) => moovOf(...plain("stsc"), ...tableOf("stsc", join(u32(1), u32(0xffff_ffff), u32(1)), bytes)),
  "stss of keys": (bytes) => moovOf(...plain(), ...tableOf("stss", u32(1), bytes)),
  "sdtp and padding": (bytes) => moovOf(...plain(), ...around("sdtp", u32(0), fill(zeros(1024), bytes))),
  "elst of edits": (bytes) => [
    ftyp,
    ...within(
      [
        ["moov", mvhd],
        ["trak", tkhd],
      ],
      [
        ...within([["edts", NONE]], tableOf("elst", join(u32(1), u32(0), u32(65536)), bytes)),
        box("mdia", mdhd, hdlr, box("minf", box("stbl", stsd, ...plain()))),
      ],
    ),
    mdat,
  ],
  "elst of extremes": (bytes) => [
    ftyp,
    ...within(
      [
        ["moov", mvhd],
        ["trak", tkhd],
      ],
      [
        ...within([["edts", NONE]], tableOf("elst", join(u32(0xffff_ffff), u32(0xffff_fffe), u32(0x7fff_ffff)), bytes)),
        box("mdia", mdhd, hdlr, box("minf", box("stbl", stsd, ...plain()))),
      ],
    ),
    mdat,
  ],
  "boxes in boxes": (bytes) => [ftyp, nested(["moov", "trak", "mdia", "minf", "stbl"], Math.min(bytes, DEEPEST))],
  "meta in meta": (bytes) => [ftyp, nested(["moov", "udta", "meta", "ilst", "meta"], Math.min(bytes, DEEPEST))],
  "ilst of items": (bytes) => [
    ftyp,
    ...within(
      [
        ["moov", mvhd],
        ["udta", NONE],
        ["meta", u32(0)],
      ],
      around("ilst", NONE, fill(box("\u00a9nam", box("data", u32(1), u32(0), text("x"))), bytes)),
    ),
    mdat,
  ],
  "free boxes of nothing": (bytes) => [ftyp, fill(box("free"), bytes), ...moovOf(...plain())],
  "uuid boxes": (bytes) => [ftyp, fill(box("uuid", zeros(16)), bytes)],
  "boxes of a size below their own": (bytes) => [ftyp, fill(join(u32(4), text("free")), bytes)],
  "boxes up to the end": (bytes) => [ftyp, fill(join(u32(0), text("moov")), bytes)],
  "boxes of 64-bit sizes": (bytes) => [ftyp, fill(join(u32(1), text("free"), u64(16n)), bytes)],
  "a box larger than any file": (bytes) => [ftyp, join(u32(1), text("moov"), u64(0x7fff_ffff_ffff_fff0n)), fill(mvhd, bytes)],
  "an index behind its media": (bytes) => [
    ftyp,
    ...around("mdat", NONE, fill(zeros(4096), bytes)),
    ...moovOf(...plain()).slice(1),
  ],
  "fragments of nothing": (bytes) => fragmented(fill(join(moof, box("mdat")), bytes)),
  "runs of nothing": (bytes) => fragmented(...moofOf(fill(full("trun", u32(0)), bytes))),
  "a run of samples": (bytes) =>
    fragmented(
      ...moofOf(
        ...around("trun", join(u32(0x0000_0300), u32(Math.max(1, Math.floor(bytes / 8)))), fill(join(u32(1), u32(1)), bytes)),
      ),
    ),
  "a run that says more than there is": (bytes) =>
    fragmented(fill(join(...(moofOf(full("trun", u32(0xffff_ffff))) as Uint8Array[])), Math.min(bytes, DEEPEST))),
  "sidx of itself": (bytes) =>
    fragmented(
      ...around(
        "sidx",
        join(u32(0), u32(1), u32(1000), u32(0), u32(0), u16(0), u16(65_535)),
        fill(join(u32(0x8000_0001), u32(1), u32(0)), Math.min(bytes, 65_535 * 12)),
      ),
    ),
  "sidx of segments, again and again": (bytes) =>
    fragmented(
      fill(full("sidx", u32(1), u32(1000), u32(0), u32(0), u16(0), u16(1), u32(0x7fff_ffff), u32(0xffff_ffff), u32(0)), bytes),
    ),
  "mfra of random places": (bytes) =>
    fragmented(...around("mfra", NONE, ...tableOf("tfra", zeros(11), bytes, join(u32(1), u32(0))))),
  "trex of tracks": (bytes) => [
    ftyp,
    ...around("moov", mvhd, ...around("mvex", NONE, fill(full("trex", u32(1), u32(1), u32(1), u32(1), u32(1)), bytes))),
  ],
  "pssh of keys": (bytes) => [ftyp, ...around("moov", mvhd, fill(full("pssh", zeros(16), u32(0)), bytes))],
  "entries of one track": (bytes) => [
    ftyp,
    ...within(
      [
        ["moov", mvhd],
        ["trak", tkhd],
        ["mdia", join(mdhd, hdlr)],
        ["minf", NONE],
        ["stbl", NONE],
      ],
      [...around("stsd", join(u32(0), u32(0xffff)), fill(avc1, bytes)), ...plain()],
    ),
    mdat,
  ],
  "a clock of nothing": () => [
    ftyp,
    ...within(
      [
        ["moov", mvhd],
        ["trak", tkhd],
        ["mdia", join(mdhdOf(0, 0xffff_ffff), hdlr)],
        ["minf", NONE],
        ["stbl", stsd],
      ],
      plain(),
    ),
    mdat,
  ],
  "a clock that is too slow": () => [
    ftyp,
    ...within(
      [
        ["moov", mvhd],
        ["trak", tkhdOf(65_535, 65_535)],
        ["mdia", join(mdhdOf(1, 0xffff_ffff), hdlr)],
        ["minf", NONE],
        ["stbl", stsd],
      ],
      [full("stts", u32(1), u32(0xffff_ffff), u32(0xffff_ffff)), ...plain("stts")],
    ),
    mdat,
  ],
};

export const MP4: readonly Bomb[] = Object.entries(MADE).map(([name, make]) => ({
  name: `mp4, ${name}`,
  field: "video",
  mime: "video/mp4",
  make,
}));
