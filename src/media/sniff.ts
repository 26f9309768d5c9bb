// What a file is by its first bytes, whatever its name or its server says; and whether it seems to be all there.
import { type ByteReader, latin1 } from "./bytes.ts";

/** `movie`: ISO media files and QuickTime; `matroska`: WebM too. Whether these hold pictures or only sound, their tracks say. */
export type Container = "picture" | "movie" | "matroska" | "sound";
export type Sniffed = { container: Container; mime: string };

/** Brands of still pictures in the same boxes as films. */
const STILL_BRANDS = /^(heic|heix|heim|heis|hevc|hevx|mif1|msf1|avif|avis|jxl |crx )$/;

/** Names the kind of a file from at least its first 16 bytes; undefined for everything else, pages and scripts included. */
export const sniff = (bytes: Uint8Array): Sniffed | undefined => {
  if (bytes.length < 16) return undefined;
  const [a = 0, b = 0, c = 0, d = 0] = bytes;
  const text = latin1(bytes.subarray(0, 16));
  const [four, name, form] = [text.slice(0, 4), text.slice(4, 8), text.slice(8, 12)];
  if (text.startsWith("\x89PNG\r\n\x1a\n")) return { container: "picture", mime: "image/png" };
  if (a === 0xff && b === 0xd8 && c === 0xff) return { container: "picture", mime: "image/jpeg" };
  if (four === "RIFF" && form === "WEBP") return { container: "picture", mime: "image/webp" };
  if (/^GIF8[79]a/.test(text)) return { container: "picture", mime: "image/gif" };
  if (/^(RIFF|RF64|BW64)$/.test(four) && form === "WAVE") return { container: "sound", mime: "audio/wav" };
  if (name === "ftyp") {
    if (STILL_BRANDS.test(form)) return undefined;
    return { container: "movie", mime: form === "qt  " ? "video/quicktime" : "video/mp4" };
  }
  // QuickTime files older than `ftyp`.
  if (/^(moov|mdat|wide|free)$/.test(name)) return { container: "movie", mime: "video/quicktime" };
  if (a === 0x1a && b === 0x45 && c === 0xdf && d === 0xa3) return { container: "matroska", mime: "video/webm" };
  if (four === "OggS") return { container: "sound", mime: "audio/ogg" };
  if (four === "fLaC") return { container: "sound", mime: "audio/flac" };
  if (four.startsWith("ID3")) return { container: "sound", mime: "audio/mpeg" };
  if (a === 0xff && (b & 0xf6) === 0xf0) return { container: "sound", mime: "audio/aac" };
  // Frame sync, a layer, a bit rate and a sampling rate that exist.
  if (a === 0xff && (b & 0xe0) === 0xe0 && (b & 6) !== 0 && (c & 0xf0) !== 0xf0 && (c & 0x0c) !== 0x0c)
    return { container: "sound", mime: "audio/mpeg" };
  return undefined;
};

const le32 = (bytes: Uint8Array, at: number) => new DataView(bytes.buffer, bytes.byteOffset).getUint32(at, true);

/** Last bytes looked at for the mark that ends a picture; some writers pad after it. */
const TAIL_BYTES = 4096;

/** Top-level boxes of a movie must end where the file ends; of many fragments the first thousands say enough. */
const MOST_BOXES = 20_000;

const moviesEnd = async (file: ByteReader, size: number): Promise<boolean> => {
  let at = 0;
  for (let box = 0; at + 8 <= size && box < MOST_BOXES; box++) {
    const header = await file.read(at, Math.min(size, at + 16));
    const view = new DataView(header.buffer, header.byteOffset, header.length);
    let length = view.getUint32(0);
    if (length === 0) return true;
    if (length === 1) length = header.length < 16 ? 0 : Number(view.getBigUint64(8));
    if (length < 8) return false;
    at += length;
  }
  return at <= size;
};

/**
 * Whether a stored file is whole, as far as its own structure tells: a download may be cut short without the connection
 * saying so. Kinds without such structure (MP3) pass.
 */
export const isWhole = async (file: ByteReader, mime: string): Promise<boolean> => {
  const size = await file.sizeBytes();
  if (mime === "image/png" || mime === "image/jpeg") {
    const tail = await file.read(Math.max(0, size - TAIL_BYTES), size);
    // Compressed data of a JPEG never holds this mark; of a PNG it holds the four letters by chance once in a million files.
    return Buffer.from(tail).includes(mime === "image/png" ? "IEND" : Buffer.of(0xff, 0xd9));
  }
  if (mime === "image/webp") return le32(await file.read(0, 12), 4) + 8 <= size + 1;
  if (mime === "audio/wav") {
    const length = le32(await file.read(0, 12), 4);
    // Writers that stream leave the length at 0 or at its greatest.
    return length === 0 || length >= 0x7fffffff || length + 8 <= size + 1;
  }
  return mime === "video/mp4" || mime === "video/quicktime" ? moviesEnd(file, size) : true;
};
