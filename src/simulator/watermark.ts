// Writes a mark into a file where decoders skip it.
//
// No two jobs therefore deliver the same bytes.
import { pngChunk } from "./picture.ts";

export type FileFormat = "png" | "jpeg" | "webp" | "mp4" | "mp3" | "wav" | "flac" | "opus";

/** Content types of the simulated results. */
export const MIME: Readonly<Record<FileFormat, string>> = {
  png: "image/png",
  jpeg: "image/jpeg",
  webp: "image/webp",
  mp4: "video/mp4",
  mp3: "audio/mpeg",
  wav: "audio/wav",
  flac: "audio/flac",
  opus: "audio/ogg",
};

const concat = (...parts: Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(parts));
const ascii = (text: string) => new TextEncoder().encode(text);
const u32 = (n: number, little = false) => {
  const out = new Uint8Array(4);
  new DataView(out.buffer).setUint32(0, n, little);
  return out;
};

/** A RIFF file with one more chunk at its end and a corrected total length. */
const withRiffChunk = (bytes: Uint8Array, type: string, payload: Uint8Array): Uint8Array => {
  const even = bytes.length % 2 === 0 ? bytes : concat(bytes, Uint8Array.of(0));
  const padding = new Uint8Array(payload.length % 2);
  const out = concat(even, ascii(type), u32(payload.length, true), payload, padding);
  out.set(u32(out.length - 8, true), 4);
  return out;
};

/** The marker and the stream information of a FLAC file, which more blocks of metadata follow. */
const FLAC_HEAD_BYTES = 42;

const OGG_CRC = Uint32Array.from({ length: 256 }, (_, n) => {
  let sum = n << 24;
  for (let bit = 0; bit < 8; bit++) sum = sum & 0x8000_0000 ? (sum << 1) ^ 0x04c1_1db7 : sum << 1;
  return sum >>> 0;
});
const oggSum = (page: Uint8Array): number => {
  let sum = 0;
  for (const byte of page) sum = ((sum << 8) ^ (OGG_CRC[((sum >>> 24) ^ byte) & 255] ?? 0)) >>> 0;
  return sum;
};
/** An Ogg file of one stream with another serial number. */
const withSerial = (bytes: Uint8Array, serial: number): Uint8Array => {
  const out = Uint8Array.from(bytes);
  const view = new DataView(out.buffer);
  for (let at = 0; at + 27 <= out.length; ) {
    const pieces = out[at + 26] ?? 0;
    const length = out.subarray(at + 27, at + 27 + pieces).reduce((sum, piece) => sum + piece, 27 + pieces);
    view.setUint32(at + 14, serial, true);
    view.setUint32(at + 22, 0, true);
    view.setUint32(at + 22, oggSum(out.subarray(at, at + length)), true);
    at += length;
  }
  return out;
};

/** The same file with `mark` (ASCII, at most 100 characters) inside; decoding and measurements do not change. */
export const stamp = (bytes: Uint8Array, format: FileFormat, mark: string): Uint8Array => {
  const note = ascii(mark);
  switch (format) {
    case "png":
      return concat(bytes.subarray(0, -12), pngChunk("tEXt", ascii(`Comment\0${mark}`)), bytes.subarray(-12));
    case "jpeg":
      return concat(bytes.subarray(0, 2), Uint8Array.of(0xff, 0xfe, 0, note.length + 2), note, bytes.subarray(2));
    case "webp":
      return withRiffChunk(bytes, "mark", note);
    case "wav":
      return withRiffChunk(bytes, "mark", note);
    case "flac": {
      // An application block, whose content starts with a registered id.
      const content = concat(ascii("mark"), note);
      const block = concat(Uint8Array.of(2, 0, 0, content.length), content);
      return concat(bytes.subarray(0, FLAC_HEAD_BYTES), block, bytes.subarray(FLAC_HEAD_BYTES));
    }
    case "opus":
      return withSerial(bytes, Bun.hash.crc32(note));
    case "mp4":
      return concat(bytes, u32(8 + note.length), ascii("free"), note);
    case "mp3": {
      // An ID3v2 header with one comment frame; lengths below 128 need no 7-bit encoding.
      const frame = concat(ascii("TXXX"), u32(note.length + 2), new Uint8Array(4), note);
      return concat(ascii("ID3"), Uint8Array.of(3, 0, 0, 0, 0, 0, frame.length), frame, bytes);
    }
  }
};
