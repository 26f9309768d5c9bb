// Builder of an MP4 file with one sound track, box by box.
import { be32, box } from "../corpus/recipe.ts";

export const be16 = (value: number) => Buffer.of(value >> 8, value & 255);
export const zeros = (length: number) => Buffer.alloc(length);
export const times = (count: number, part: Uint8Array) => Buffer.concat(Array<Uint8Array>(count).fill(part));

export const full = (name: string, ...parts: Uint8Array[]) => box(name, zeros(4), ...parts);
export const soundEntry = (name: string, version: number, rate: number, ...more: Uint8Array[]) =>
  box(name, zeros(6), be16(1), be16(version), zeros(6), be16(1), be16(16), zeros(4), be16(rate), zeros(2), ...more);
export const tablesOf = (entry: Uint8Array, stts: Uint8Array, stsz: Uint8Array, samples: number, at: number) =>
  box(
    "stbl",
    ...[full("stsd", be32(1), entry), full("stts", stts), full("stsz", stsz)],
    ...[full("stsc", be32(1), be32(1), be32(samples), be32(1)), full("stco", be32(1), be32(at))],
  );
export const movieOf = (rate: number, tables: Uint8Array, ...more: Uint8Array[]) =>
  box(
    "moov",
    full("mvhd", zeros(8), be32(1000), be32(0), be32(65_536), be16(256), zeros(70), be32(2)),
    box(
      "trak",
      full("tkhd", zeros(8), be32(1), zeros(68)),
      box(
        "mdia",
        full("mdhd", zeros(8), be32(rate), be32(0), be32(0x55c40000)),
        full("hdlr", zeros(4), Buffer.from("soun"), zeros(13)),
        box("minf", full("smhd", zeros(4)), box("dinf", full("dref", be32(1), box("url ", be32(1)))), tables),
      ),
    ),
    ...more,
  );
export const ftyp = box("ftyp", Buffer.from("isom\0\0\0\0isom"));
