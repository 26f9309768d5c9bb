// Detects the format of a file by its first bytes, regardless of name and headers.
import { latin1 } from "./byte-source.ts";

/**
 * `movie`: ISO media files and QuickTime; `matroska` includes WebM. The tracks determine whether these contain pictures or only
 * sound.
 */
export type Container = "picture" | "movie" | "matroska" | "sound";
export type Sniffed = { container: Container; mime: string };

/** Brands of still pictures in ISO media files. */
const STILL_BRANDS = /^(heic|heix|heim|heis|hevc|hevx|mif1|msf1|avif|avis|jxl |crx )$/;

/** Detects the format from at least the first 16 bytes; undefined for any other content, including pages and scripts. */
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
  // QuickTime files that predate `ftyp`.
  if (/^(moov|mdat|wide|free)$/.test(name)) return { container: "movie", mime: "video/quicktime" };
  if (a === 0x1a && b === 0x45 && c === 0xdf && d === 0xa3) return { container: "matroska", mime: "video/webm" };
  if (four === "OggS") return { container: "sound", mime: "audio/ogg" };
  if (four === "fLaC") return { container: "sound", mime: "audio/flac" };
  if (four.startsWith("ID3")) return { container: "sound", mime: "audio/mpeg" };
  if (a === 0xff && (b & 0xf6) === 0xf0) return { container: "sound", mime: "audio/aac" };
  // Frame sync, and a valid layer, bit rate and sampling rate.
  if (a === 0xff && (b & 0xe0) === 0xe0 && (b & 6) !== 0 && (c & 0xf0) !== 0xf0 && (c & 0x0c) !== 0x0c)
    return { container: "sound", mime: "audio/mpeg" };
  return undefined;
};
