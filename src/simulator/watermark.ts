// Writes a mark into a file where decoders skip it.
//
// No two jobs therefore deliver the same bytes.
import { pngChunk } from "./picture.ts";

export type FileFormat = "png" | "jpeg" | "webp" | "mp4" | "mp3" | "wav";

/** Content types of the simulated results. */
export const MIME: Readonly<Record<FileFormat, string>> = {
  png: "image/png",
  jpeg: "image/jpeg",
  webp: "image/webp",
  mp4: "video/mp4",
  mp3: "audio/mpeg",
  wav: "audio/wav",
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
    case "mp4":
      return concat(bytes, u32(8 + note.length), ascii("free"), note);
    case "mp3": {
      // An ID3v2 header with one comment frame; lengths below 128 need no 7-bit encoding.
      const frame = concat(ascii("TXXX"), u32(note.length + 2), new Uint8Array(4), note);
      return concat(ascii("ID3"), Uint8Array.of(3, 0, 0, 0, 0, 0, frame.length), frame, bytes);
    }
  }
};
