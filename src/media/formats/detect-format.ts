// Detects the format of a file by its first bytes, regardless of name and headers.
import { latin1 } from "../byte-source.ts";

export type Format =
  | "png"
  | "jpeg"
  | "webp"
  | "gif"
  | "bmp"
  | "heif"
  | "jxl"
  | "tiff"
  | "svg"
  | "glb"
  | "mp4"
  | "matroska"
  | "avi"
  | "ogg"
  | "wav"
  | "wave64"
  | "aiff"
  | "flac"
  | "adts"
  | "mpeg"
  | "id3";

/** Sufficient for every format except SVG, whose root may follow long comments. */
export const SNIFFED_BYTES = 4096;

/** Brands of still pictures and picture sequences in ISO media files. */
const STILL_BRANDS = /^(heic|heix|heim|heis|hevc|hevx|mif1|mif2|msf1|avif|avis|avio)$/;
/** The first 12 bytes of Wave64. */
export const WAVE64_ID = "riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb";

/** Checks an MPEG audio header: frame sync, and valid version, layer, bit rate and sampling rate. */
export const isMpegSound = (a: number, b: number, c: number): boolean =>
  a === 0xff && (b & 0xe0) === 0xe0 && (b & 0x18) !== 0x08 && (b & 6) !== 0 && (c & 0xf0) !== 0xf0 && (c & 0x0c) !== 0x0c;

/** Checks an ADTS header: 12 bits of sync, layer 0 and a valid sampling rate. */
export const isAdts = (a: number, b: number, c: number): boolean => a === 0xff && (b & 0xf6) === 0xf0 && ((c >> 2) & 15) < 13;

/** Offset after white space, declarations and comments; -1 if they do not end within the text. */
export const afterPreamble = (text: string): number => {
  let at = text.startsWith("\ufeff") || text.startsWith("ï»¿") ? (text.startsWith("ï»¿") ? 3 : 1) : 0;
  for (let step = 0; step < 64; step++) {
    while (at < text.length && " \t\r\n".includes(text.charAt(at))) at++;
    const close = text.startsWith("<?", at) ? "?>" : text.startsWith("<!--", at) ? "-->" : text.startsWith("<!", at) ? ">" : "";
    if (close === "") return at;
    const end = text.indexOf(close, at);
    if (end < 0) return -1;
    at = end + close.length;
  }
  return -1;
};

/** Offset of the SVG root element; -1 if the file is not an SVG. */
export const drawingRoot = (bytes: Uint8Array): number => {
  const text = latin1(bytes);
  const at = afterPreamble(text);
  return at >= 0 && /^<(svg:)?svg[\s>/]/i.test(text.slice(at, at + 9)) ? at : -1;
};

const boxed = (name: string, form: string): Format | undefined => {
  if (name === "ftyp") return STILL_BRANDS.test(form) ? "heif" : "mp4";
  if (name === "JXL ") return "jxl";
  // QuickTime files that predate `ftyp`, and parts of a fragmented stream.
  return /^(moov|mdat|wide|free|skip|pnot|styp|moof|sidx)$/.test(name) ? "mp4" : undefined;
};

/**
 * The format of a file by its first bytes (at least 16, unless the file is shorter). Undefined for any other content, including
 * pages and scripts.
 */
export const formatOf = (bytes: Uint8Array): Format | undefined => {
  if (bytes.length < 16) return undefined;
  const [a = 0, b = 0, c = 0, d = 0] = bytes;
  const text = latin1(bytes.subarray(0, 16));
  const [four, form] = [text.slice(0, 4), text.slice(8, 12)];
  if (text.startsWith("\x89PNG\r\n\x1a\n")) return "png";
  if (a === 0xff && b === 0xd8 && c === 0xff) return "jpeg";
  if (/^(RIFF|RIFX|RF64|BW64)$/.test(four)) return { WEBP: "webp", WAVE: "wav", "AVI ": "avi" }[form] as Format | undefined;
  if (/^GIF8[79]a/.test(text)) return "gif";
  if (four === "II*\0" || four === "MM\0*" || four === "II+\0" || four === "MM\0+") return "tiff";
  if (four === "glTF") return "glb";
  if (four === "FORM" && /^AIF[FC]$/.test(form)) return "aiff";
  if (a === 0x1a && b === 0x45 && c === 0xdf && d === 0xa3) return "matroska";
  if (four === "OggS") return "ogg";
  if (four === "fLaC") return "flac";
  if (four.startsWith("ID3")) return "id3";
  if (text.startsWith(WAVE64_ID)) return "wave64";
  if (a === 0xff && b === 0x0a) return "jxl";
  const box = boxed(text.slice(4, 8), form);
  if (box) return box;
  if (isAdts(a, b, c)) return "adts";
  if (isMpegSound(a, b, c)) return "mpeg";
  // The reserved bytes are zero, and the second header has a valid size.
  if (four.startsWith("BM") && text.slice(6, 10) === "\0\0\0\0" && bytes[15] === 0) return "bmp";
  return drawingRoot(bytes) >= 0 ? "svg" : undefined;
};
