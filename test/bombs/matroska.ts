// Expensive Matroska files: nested masters, unknown sizes, laces, tags, cues and empty clusters.
import type { Bomb } from "./bomb.ts";
import { fill, join, of, type Piece, sizeOf, text, u16, u32, u64, zeros } from "./bytes.ts";

const UNKNOWN = of(0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff);
const sized = (bytes: number): Uint8Array => join(of(0x01), u64(BigInt(bytes)).subarray(1));
const id = (hex: string): Uint8Array => Buffer.from(hex, "hex");
const short = (name: string, ...parts: readonly Uint8Array[]): Uint8Array => {
  const body = join(...parts);
  return join(id(name), body.length < 127 ? of(0x80 | body.length) : sized(body.length), body);
};
const around = (name: string, head: Uint8Array, ...pieces: readonly Piece[]): Piece[] => [
  join(id(name), sized(head.length + sizeOf(pieces)), head),
  ...pieces,
];
const [SEGMENT, INFO, TRACKS, CLUSTER, CUES, TAGS, SEEK_HEAD] = [
  "18538067",
  "1549a966",
  "1654ae6b",
  "1f43b675",
  "1c53bb6b",
  "1254c367",
  "114d9b74",
] as const;
const head = short("1a45dfa3", short("4282", text("webm")), short("4287", of(4)), short("4285", of(2)));
const info = short(INFO, short("2ad7b1", u32(1_000_000)), short("4489", Buffer.from([0x45, 0x7a, 0, 0])));
const entry = short(
  "ae",
  short("d7", of(1)),
  short("73c5", of(1)),
  short("83", of(1)),
  short("86", text("V_VP9")),
  short("e0", short("b0", u16(320)), short("ba", u16(240))),
);
const tracks = short(TRACKS, entry);
const block = (more: Uint8Array, flags = 0x80) => short("a3", of(0x81, 0, 0, flags), more);
const cluster = short(CLUSTER, short("e7", of(0)), block(of(1)));
const segmentOf = (...pieces: readonly Piece[]): Piece[] => [head, ...around(SEGMENT, join(info, tracks), ...pieces)];
/** Nested masters of unknown size, which end with the file. */
const unknown = (names: readonly string[], bytes: number): Uint8Array => {
  const one = join(...names.flatMap((name) => [id(name), UNKNOWN]));
  return Buffer.alloc(Math.max(1, Math.floor(bytes / one.length)) * one.length, one);
};
const DEEPEST = 4 * 1024 * 1024;
/** A lace of 256 empty frames. */
const lace = join(of(0xff), zeros(255));

const MADE: Record<string, (bytes: number) => Piece[]> = {
  "masters in masters of no known size": (bytes) => [head, unknown([SEGMENT, CLUSTER, "a0"], Math.min(bytes, DEEPEST))],
  "tags in tags": (bytes) => [...segmentOf(), join(id(TAGS), UNKNOWN), unknown(["7373", "67c8"], Math.min(bytes, DEEPEST))],
  "simple tags": (bytes) =>
    segmentOf(
      ...around(TAGS, zeros(0), fill(short("7373", short("67c8", short("45a3", text("A")), short("4487", text("b")))), bytes)),
      cluster,
    ),
  "clusters of nothing": (bytes) => segmentOf(fill(short(CLUSTER), bytes)),
  "clusters of empty blocks": (bytes) =>
    segmentOf(fill(short(CLUSTER, short("e7", of(0)), ...Array.from({ length: 50 }, () => block(zeros(0)))), bytes)),
  "blocks of one byte": (bytes) => segmentOf(...around(CLUSTER, short("e7", of(0)), fill(block(of(1)), bytes))),
  "blocks that go back in time": (bytes) =>
    segmentOf(...around(CLUSTER, short("e7", u64(0x7fff_ffff_ffffn)), fill(short("a3", of(0x81, 0x80, 0, 0x80), of(1)), bytes))),
  "laces of 256 frames": (bytes) => segmentOf(...around(CLUSTER, short("e7", of(0)), fill(block(lace, 0x82), bytes))),
  "laces of sizes below nothing": (bytes) =>
    segmentOf(...around(CLUSTER, short("e7", of(0)), fill(block(join(of(0xff, 0x80), Buffer.alloc(254, 0x80)), 0x86), bytes))),
  "groups of empty blocks": (bytes) =>
    segmentOf(
      ...around(CLUSTER, short("e7", of(0)), fill(short("a0", short("a1", of(0x81, 0, 0, 0)), short("9b", of(1))), bytes)),
    ),
  "cues of points": (bytes) =>
    segmentOf(
      cluster,
      ...around(
        CUES,
        zeros(0),
        fill(short("bb", short("b3", of(0)), short("b7", short("f7", of(1)), short("f1", of(0)))), bytes),
      ),
    ),
  "cues that point at themselves": (bytes) =>
    segmentOf(
      ...around(
        CUES,
        zeros(0),
        fill(
          short(
            "bb",
            short("b3", u32(0xffff_ffff)),
            short("b7", short("f7", of(1)), short("f1", u64(0n)), short("f0", u64(0xffff_ffffn))),
          ),
          bytes,
        ),
      ),
    ),
  "void of nothing": (bytes) => segmentOf(fill(of(0xec, 0x80), bytes), cluster),
  "entries of tracks": (bytes) => [head, ...around(SEGMENT, info, ...around(TRACKS, zeros(0), fill(entry, bytes)), cluster)],
  "seek heads to each other": (bytes) =>
    segmentOf(fill(short(SEEK_HEAD, short("4dbb", short("53ab", id(SEEK_HEAD)), short("53ac", of(0)))), bytes)),
  "attachments larger than any file": (bytes) =>
    segmentOf(fill(join(id("1941a469"), of(0x01, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)), Math.min(bytes, DEEPEST))),
  "a long kind of document": (bytes) => [
    join(id("1a45dfa3"), sized(bytes + 12), id("4282"), sized(bytes)),
    fill(text("webm"), bytes),
    ...segmentOf(cluster).slice(1),
  ],
  "headers again and again": (bytes) => [fill(head, bytes), ...segmentOf(cluster)],
  "sizes of one byte too many": (bytes) => [head, fill(join(id(SEGMENT), of(0x00, 0xff)), bytes)],
  "segments of no known size with clusters": (bytes) => [
    head,
    join(id(SEGMENT), UNKNOWN, info, tracks),
    fill(join(id(CLUSTER), UNKNOWN, short("e7", of(0)), block(of(1))), bytes),
  ],
};

export const MATROSKA: readonly Bomb[] = Object.entries(MADE).map(([name, make]) => ({
  name: `matroska, ${name}`,
  field: "video",
  mime: "video/webm",
  make,
}));
