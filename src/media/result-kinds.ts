// Detects the kind of a result by its first bytes, and which orders it satisfies.
import type { MediaKind } from "../domain/types.ts";
import { latin1 } from "./byte-source.ts";
import { WAVE64_ID } from "./formats/detect-format.ts";
import { OGG_PICTURES } from "./formats/ogg-pictures.ts";
import { sniff } from "./sniff.ts";

export type HeaderBytes =
  | { sort: "file"; mime: string; answers: readonly MediaKind[] }
  /** Text that is not a media file: a page, JSON or an error. */
  | { sort: "words"; what: string }
  | { sort: "unknown" };

/** Sufficient to detect most kinds. Text and some kinds need up to `LONG_HEADER_BYTES`. */
export const HEADER_BYTES = 64;
export const LONG_HEADER_BYTES = 4096;

const IMAGE = ["image"] as const;
const VIDEO = ["video"] as const;
const AUDIO = ["audio"] as const;
/** Containers of pictures, of sound, or of both; only their tracks determine which. */
const EITHER = ["video", "audio"] as const;
/** Kinds of pictures that may be animated. */
const MOVING = ["image", "video"] as const;

type Signature = { at?: number; bytes: string; mime: string; answers: readonly MediaKind[] };

/** Kinds that are not measured, with bytes (Latin-1) that every file of the kind contains. */
const SIGNATURES: readonly Signature[] = [
  { bytes: "II*\0", mime: "image/tiff", answers: IMAGE },
  { bytes: "MM\0*", mime: "image/tiff", answers: IMAGE },
  { bytes: "II+\0", mime: "image/tiff", answers: IMAGE },
  { bytes: "MM\0+", mime: "image/tiff", answers: IMAGE },
  { bytes: "\0\0\0\x0cJXL \r\n\x87\n", mime: "image/jxl", answers: IMAGE },
  { bytes: "\xff\x0a", mime: "image/jxl", answers: IMAGE },
  { bytes: "\0\0\0\x0cjP  \r\n\x87\n", mime: "image/jp2", answers: IMAGE },
  { bytes: "\xff\x4f\xff\x51", mime: "image/j2c", answers: IMAGE },
  { bytes: "8BPS\0", mime: "image/vnd.adobe.photoshop", answers: IMAGE },
  { bytes: "v/1\x01", mime: "image/x-exr", answers: IMAGE },
  { bytes: "#?RADIANCE", mime: "image/vnd.radiance", answers: IMAGE },
  { bytes: "#?RGBE", mime: "image/vnd.radiance", answers: IMAGE },
  { bytes: "qoif", mime: "image/x-qoi", answers: IMAGE },
  { bytes: "DDS |\0\0\0", mime: "image/vnd-ms.dds", answers: IMAGE },
  { bytes: "\0\0\x01\0", mime: "image/vnd.microsoft.icon", answers: IMAGE },
  { bytes: "%PDF-", mime: "application/pdf", answers: IMAGE },
  { bytes: "%!PS-Adobe", mime: "application/postscript", answers: IMAGE },
  { bytes: "glTF", mime: "model/gltf-binary", answers: IMAGE },
  { bytes: "Kaydara FBX Binary", mime: "model/vnd.fbx", answers: IMAGE },
  { bytes: "ply\n", mime: "model/x-ply", answers: IMAGE },
  { bytes: "ply\r\n", mime: "model/x-ply", answers: IMAGE },
  // Scenes (USDZ) and archives of several files. Their contents are not inspected.
  { bytes: "PK\x03\x04", mime: "application/zip", answers: ["image", "audio"] },
  // Compressed vector graphics (SVGZ). A content coding of the transfer has been decoded before.
  { bytes: "\x1f\x8b\x08", mime: "application/gzip", answers: IMAGE },
  { bytes: "RF64", mime: "audio/wav", answers: AUDIO },
  { bytes: WAVE64_ID, mime: "audio/x-w64", answers: AUDIO },
  { bytes: "AIFF", at: 8, mime: "audio/aiff", answers: AUDIO },
  { bytes: "AIFC", at: 8, mime: "audio/aiff", answers: AUDIO },
  { bytes: "caff\0\x01", mime: "audio/x-caf", answers: AUDIO },
  { bytes: ".snd", mime: "audio/basic", answers: AUDIO },
  { bytes: "#!AMR", mime: "audio/amr", answers: AUDIO },
  { bytes: "MThd", mime: "audio/midi", answers: AUDIO },
  { bytes: "wvpk", mime: "audio/x-wavpack", answers: AUDIO },
  { bytes: "AVI ", at: 8, mime: "video/x-msvideo", answers: VIDEO },
  { bytes: "FLV\x01", mime: "video/x-flv", answers: VIDEO },
  { bytes: "\0\0\x01\xba", mime: "video/mpeg", answers: VIDEO },
  { bytes: "\0\0\x01\xb3", mime: "video/mpeg", answers: VIDEO },
  { bytes: "0&\xb2u\x8ef\xcf\x11", mime: "video/x-ms-asf", answers: EITHER },
];

/** Brands of ISO media files. The first match wins, regardless of other compatible brands. */
const BRANDS: readonly (readonly [brand: RegExp, mime: string, answers: readonly MediaKind[]])[] = [
  [/^avis$/, "image/avif", MOVING],
  [/^avif$/, "image/avif", IMAGE],
  [/^(heic|heix|heim|heis|hevc|hevx)$/, "image/heic", IMAGE],
  [/^jxl $/, "image/jxl", IMAGE],
  [/^crx $/, "image/x-canon-cr3", IMAGE],
  [/^(M4A |M4B |M4P |F4A )$/, "audio/mp4", AUDIO],
  [/^qt {2}$/, "video/quicktime", EITHER],
  [/^3g2/, "video/3gpp2", EITHER],
  [/^3g/, "video/3gpp", EITHER],
];

const isoKind = (text: string): HeaderBytes | undefined => {
  if (text.slice(4, 8) !== "ftyp") return undefined;
  const bytes = Buffer.from(text.slice(0, 4), "latin1").readUInt32BE();
  // Compatible brands follow the major brand.
  const others = text.slice(16, Math.min(bytes, LONG_HEADER_BYTES)).match(/[\s\S]{4}/g) ?? [];
  const own = text.slice(8, 12);
  const names = /^(mif1|msf1|miaf)$/.test(own) ? others : [own];
  for (const [brand, mime, answers] of BRANDS) if (names.some((name) => brand.test(name))) return { sort: "file", mime, answers };
  if (names !== others) return { sort: "file", mime: "video/mp4", answers: EITHER };
  return { sort: "file", mime: "image/heif", answers: IMAGE };
};

/** Distinguishes video from audio in a Matroska or Ogg container by identifiers near its beginning. */
const trackNames = (text: string, mime: string): HeaderBytes => {
  if (mime === "audio/ogg") {
    const hasPictures = OGG_PICTURES.some((code) => text.includes(code));
    return { sort: "file", mime: hasPictures ? "video/ogg" : mime, answers: EITHER };
  }
  return { sort: "file", mime: text.slice(0, HEADER_BYTES).includes("webm") ? mime : "video/x-matroska", answers: EITHER };
};

/** Animation is declared near the beginning of the file. */
const movesAtOnce = (text: string, mime: string): boolean =>
  mime === "image/gif" ||
  (mime === "image/png" && text.includes("acTL")) ||
  (mime === "image/webp" && text.slice(12, 16) === "VP8X" && (text.charCodeAt(20) & 2) !== 0);

/** Two letters are not sufficient to detect a bitmap, so the length of its second header is checked too. */
const BITMAP_HEADERS = ["\x0c", "\x28", "\x34", "\x38", "\x40", "\x6c", "\x7c"].map((length) => `${length}\0\0\0`);
const isBitmap = (text: string): boolean => text.startsWith("BM") && BITMAP_HEADERS.includes(text.slice(14, 18));

/** The packets of a transport stream begin with the same byte, 188 bytes apart. */
const isTransportStream = (text: string): boolean => text[0] === "G" && text[188] === "G" && text[376] === "G";

const measuredKind = (start: Uint8Array, text: string): HeaderBytes | undefined => {
  const sniffed = sniff(start);
  if (!sniffed) return undefined;
  const { container, mime } = sniffed;
  if (container === "picture") return { sort: "file", mime, answers: movesAtOnce(text, mime) ? MOVING : IMAGE };
  if (container === "matroska" || mime === "audio/ogg") return trackNames(text, mime);
  return { sort: "file", mime, answers: container === "movie" ? EITHER : AUDIO };
};

/** Detects the kind from the bytes alone. */
const named = (start: Uint8Array, text: string): HeaderBytes | undefined => {
  const iso = isoKind(text) ?? measuredKind(start, text);
  if (iso) return iso;
  for (const { bytes, at = 0, mime, answers } of SIGNATURES)
    if (text.startsWith(bytes, at)) return { sort: "file", mime, answers };
  if (isBitmap(text)) return { sort: "file", mime: "image/bmp", answers: IMAGE };
  return isTransportStream(text) ? { sort: "file", mime: "video/mp2t", answers: VIDEO } : undefined;
};

/** Text is UTF-8 without control characters, which other files contain. */
const isText = (start: Uint8Array): boolean => {
  try {
    // The last character may be truncated.
    const text = new TextDecoder("utf-8", { fatal: true }).decode(start.subarray(0, LONG_HEADER_BYTES), { stream: true });
    for (const character of text) if (character < " " && !"\t\n\f\r".includes(character)) return false;
    return true;
  } catch {
    return false;
  }
};

/** Constructs that XML allows before its first element. */
const XML_PROLOG = /^(?:\s+|<\?[^>]{0,1000}\?>|<!--[\s\S]{0,3000}?-->|<!DOCTYPE\s[^>[]{0,1000}(?:\[[^\]]{0,2000}\]\s*)?>)/i;
const firstElement = (text: string): string => {
  let rest = text;
  for (let found = XML_PROLOG.exec(rest); found; found = XML_PROLOG.exec(rest)) rest = rest.slice(found[0].length);
  return /^<([\w.:-]+)/.exec(rest)?.[1]?.toLowerCase() ?? "";
};

/** Text types that a provider can deliver as a result: shapes and scenes. */
const TEXT_CLAIM = /^model\/[a-z0-9][a-z0-9.+-]{0,80}$/;
/** Declared types that are accepted if the bytes are of no known kind. */
const CLAIM = /^(image|video|audio|model)\/[a-z0-9][a-z0-9.+-]{0,80}$/;

const ofClaim = (claim: string): HeaderBytes => {
  const family = claim.slice(0, claim.indexOf("/"));
  return { sort: "file", mime: claim, answers: family === "video" ? VIDEO : family === "audio" ? AUDIO : IMAGE };
};

const wordsOr = (text: string, claims: readonly string[]): HeaderBytes => {
  const begun = text.replace(/^\xef\xbb\xbf/, "").trimStart();
  if (begun.startsWith("<")) {
    const element = firstElement(begun);
    if (/^(?:svg|.{1,20}:svg)$/.test(element)) return { sort: "file", mime: "image/svg+xml", answers: IMAGE };
    return { sort: "words", what: /^(html|head|body|title|h1|p|center)$/.test(element) ? "a web page" : "XML" };
  }
  const claim = claims.find((one) => TEXT_CLAIM.test(one));
  const isJson = /^[{[]/.test(begun);
  if (claim !== undefined && (!isJson || /^model\/gltf/.test(claim))) return ofClaim(claim);
  return { sort: "words", what: isJson ? "JSON" : "text" };
};

/** Kinds that are detected by their bytes. A file that only declares one of these types is broken. */
const NAMED_KINDS = new Set([
  ...["image/png", "image/jpeg", "image/webp", "image/gif", "image/svg+xml", "image/heif"],
  ...["video/mp4", "video/webm", "video/x-matroska", "video/ogg", "video/mp2t"],
  ...["audio/mpeg", "audio/mp3", "audio/wav", "audio/x-wav", "audio/wave", "audio/ogg", "audio/flac", "audio/aac", "audio/webm"],
  ...["audio/opus", "audio/vorbis", "audio/x-m4a", "audio/m4a", "image/jpg"],
  ...["image/bmp", "image/x-ms-bmp", "image/svg"],
  ...SIGNATURES.map(({ mime }) => mime),
  ...BRANDS.map(([, mime]) => mime),
]);

const typeOf = (header: string): string => header.split(";")[0]?.trim().toLowerCase() ?? "";

/**
 * Detects the kind of a file from its first bytes.
 * @param start the whole file, or at least `HEADER_BYTES`; text needs `LONG_HEADER_BYTES`
 * @param claims the types that the server and the provider declare; used only for kinds that genrouter does not detect
 */
export const kindOfHeader = (start: Uint8Array, claims: readonly (string | null | undefined)[] = []): HeaderBytes => {
  const text = latin1(start.subarray(0, LONG_HEADER_BYTES));
  const found = text.length < 4 ? undefined : named(start, text);
  if (found) return found;
  const types = claims.flatMap((claim) => (claim ? [typeOf(claim)] : []));
  if (isText(start)) return wordsOr(text, types);
  const claim = types.find((type) => CLAIM.test(type) && !NAMED_KINDS.has(type));
  return claim === undefined ? { sort: "unknown" } : ofClaim(claim);
};

/** A binary file shorter than this contains at most a fragment of its header. A text model can be shorter. */
const MIN_BYTES = 64;

/** Reports whether a file of an unmeasured kind is too short to have content. */
export const isTooShort = (mime: string, bytes: number): boolean =>
  bytes < MIN_BYTES && (NAMED_KINDS.has(mime) || !TEXT_CLAIM.test(mime));

/** Reports whether the first bytes already determine that the file satisfies the order, so that no more bytes are needed. */
export const isClear = (look: HeaderBytes, kind: MediaKind): boolean =>
  look.sort === "file" && look.answers.includes(kind) && !/^(image\/heif|audio\/ogg)$/.test(look.mime);

/** The audio type of a container that holds only sound. */
export const soundOnly = (mime: string): string =>
  ({
    "video/mp4": "audio/mp4",
    "video/webm": "audio/webm",
    "video/x-matroska": "audio/x-matroska",
    "video/ogg": "audio/ogg",
    "video/3gpp": "audio/3gpp",
    "video/3gpp2": "audio/3gpp2",
    "video/x-ms-asf": "audio/x-ms-wma",
  })[mime] ?? mime;
