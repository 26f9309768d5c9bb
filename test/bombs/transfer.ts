// Files that are small when sent and exceed memory when decompressed, compressed once or several times.
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import type { Bomb } from "./bomb.ts";
import { fill, join, of, type Piece, text, zeros } from "./bytes.ts";

const MIB = 1024 * 1024;
/** Created at the first request: none takes a second. */
const once = (make: () => Uint8Array): (() => Uint8Array) => {
  let made: Uint8Array | undefined;
  return () => {
    made ??= make();
    return made;
  };
};
const gzip = once(() => gzipSync(zeros(16 * MIB), { level: 9 }));
const gzipTwice = once(() => gzipSync(gzip(), { level: 9 }));
const br = once(() => brotliCompressSync(zeros(16 * MIB), { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }));
const zstd = once(() => zstdCompressSync(zeros(16 * MIB)));
const deflate = once(() => deflateSync(zeros(16 * MIB), { level: 9 }));
const PNG_HEAD = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");
const pictureOf = once(() => gzipSync(join(PNG_HEAD, zeros(16 * MIB)), { level: 9 }));
/** Concatenated gzip members are one file. */
const members = (bytes: number, member: Uint8Array): Piece[] => [fill(member, Math.min(bytes, 4 * MIB))];

const made = (name: string, encoding: string, make: (bytes: number) => Piece[]): Bomb => ({
  name: `transfer, ${name}`,
  field: "video",
  mime: "video/mp4",
  encoding,
  make,
});
export const TRANSFER: readonly Bomb[] = [
  made("gzip of zeros", "gzip", (bytes) => members(bytes, gzip())),
  made("gzip of gzip", "gzip", (bytes) => members(bytes, gzipTwice())),
  made("gzip said twice", "gzip, gzip", () => [gzipTwice()]),
  made("many names of gzip", Array.from({ length: 40 }, () => "gzip").join(", "), () => [gzip()]),
  made("brotli of zeros", "br", () => [br()]),
  made("zstd of zeros", "zstd", (bytes) => members(bytes, zstd())),
  made("deflate of zeros", "deflate", () => [deflate()]),
  made("what is no gzip", "gzip", (bytes) => [fill(text("not gzip at all "), bytes)]),
  made("a gzip that is cut", "gzip", () => [gzip().subarray(0, 4000)]),
  made("the heads of members", "gzip", (bytes) => [
    fill(of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0), bytes),
  ]),
  { ...made("a picture of 16 MiB", "gzip", () => [pictureOf()]), field: "image", mime: "image/png" },
];
