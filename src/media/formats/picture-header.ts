// Reads format and size of a PNG, JPEG, WebP, GIF or BMP header.
import { type ByteReader, Unreadable } from "../byte-source.ts";

// Safe in the main thread: each step reads a few bytes, the number of steps is bounded, and the file does not control any
// allocation.

export type PictureSize = { mime: string; width: number; height: number };
export type HeaderStep =
  | ({ kind: "size" } & PictureSize)
  /** The header continues at `at`; at least `bytes` bytes from there are needed, and more are accepted. */
  | { kind: "more"; at: number; bytes: number }
  /** Not one of the five formats, or a broken header. */
  | { kind: "none" };

export type PictureHeader = {
  /** Accepts bytes of the file from offset `at`: first the beginning, then the range that the previous step requested. */
  feed(bytes: Uint8Array, at: number): HeaderStep;
};

/** Sufficient for every header except that of JPEG, whose segments are walked. */
const FIRST_BYTES = 64;
/** Maximum number of segments and fill bytes in one JPEG; 4,096 segments hold up to 256 MiB of metadata. */
const MAX_STEPS = 4096;
/** Maximum bytes of the first EXIF directory that are read; orientation is near its start. */
const MAX_EXIF_BYTES = 4096;

const NONE: HeaderStep = { kind: "none" };
const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
const textAt = (bytes: Uint8Array, at: number, length: number) => String.fromCharCode(...bytes.subarray(at, at + length));
const sized = (mime: string, width: number, height: number): HeaderStep =>
  width > 0 && height > 0 ? { kind: "size", mime, width, height } : NONE;

const pngStep = (bytes: Uint8Array): HeaderStep => {
  const view = viewOf(bytes);
  // Apple's CgBI pictures have a chunk of 4 bytes before the header.
  const at = textAt(bytes, 12, 4) === "CgBI" ? 24 : 8;
  if (bytes.length < at + 16 || textAt(bytes, at + 4, 4) !== "IHDR") return NONE;
  return sized("image/png", view.getUint32(at + 8), view.getUint32(at + 12));
};

const webpStep = (bytes: Uint8Array): HeaderStep => {
  const form = textAt(bytes, 12, 4);
  if (bytes.length < 30) return NONE;
  const view = viewOf(bytes);
  const triple = (at: number) => view.getUint16(at, true) + (bytes[at + 2] ?? 0) * 65_536;
  if (form === "VP8X") return sized("image/webp", triple(24) + 1, triple(27) + 1);
  if (form === "VP8 " && triple(23) === 0x2a019d)
    return sized("image/webp", view.getUint16(26, true) & 0x3fff, view.getUint16(28, true) & 0x3fff);
  if (form !== "VP8L" || bytes[20] !== 0x2f) return NONE;
  const packed = view.getUint32(21, true);
  return sized("image/webp", (packed & 0x3fff) + 1, ((packed >>> 14) & 0x3fff) + 1);
};

const bmpStep = (bytes: Uint8Array): HeaderStep => {
  if (bytes.length < 26) return NONE;
  const view = viewOf(bytes);
  const headerBytes = view.getUint32(14, true);
  if (headerBytes === 12) return sized("image/bmp", view.getUint16(18, true), view.getUint16(20, true));
  if (headerBytes < 16 || headerBytes > 256) return NONE;
  // A negative height means that rows are stored from top to bottom.
  return sized("image/bmp", view.getInt32(18, true), Math.abs(view.getInt32(22, true)));
};

/** EXIF orientation (1 to 8) in the content of an APP1 segment, as far as it is loaded. */
const orientationIn = (app: Uint8Array): number => {
  if (app.length < 14 || textAt(app, 0, 6) !== "Exif\0\0") return 1;
  const tiff = app.subarray(6, 6 + MAX_EXIF_BYTES);
  const view = viewOf(tiff);
  const isLittle = textAt(tiff, 0, 2) === "II";
  const directory = view.getUint32(4, isLittle);
  if (directory + 2 > tiff.length) return 1;
  const entries = Math.min(view.getUint16(directory, isLittle), Math.floor((tiff.length - directory - 2) / 12));
  for (let n = 0; n < entries; n++) {
    const at = directory + 2 + n * 12;
    if (view.getUint16(at, isLittle) === 0x0112) return view.getUint16(at + 8, isLittle);
  }
  return 1;
};

const isFrameHeader = (marker: number) => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
/** Start of image, restart markers and bytes that are not a marker. */
export const hasNoContent = (marker: number) => marker <= 0x01 || (marker >= 0xd0 && marker <= 0xd8);

/** Walks the segments of a JPEG by their lengths. */
const openJpeg = (): PictureHeader => {
  let at = 2;
  let steps = 0;
  let orientation = 0;
  const feed = (bytes: Uint8Array, start: number): HeaderStep => {
    const view = viewOf(bytes);
    const has = (length: number) => at >= start && at + length <= start + bytes.length;
    while (steps++ < MAX_STEPS) {
      if (!has(4)) return { kind: "more", at, bytes: 4 };
      const from = at - start;
      const marker = bytes[from + 1] ?? 0;
      // If a segment is longer than it declares, decoders search for the next marker.
      const next = bytes.indexOf(0xff, from);
      if (next !== from) at = start + (next < 0 ? bytes.length : next);
      else if (marker === 0xff) at++;
      else if (hasNoContent(marker)) at += 2;
      else {
        const length = view.getUint16(from + 2);
        if (length < 2 || marker === 0xda || marker === 0xd9) return NONE;
        const wanted = isFrameHeader(marker)
          ? 9
          : marker === 0xe1 && orientation === 0
            ? Math.min(2 + length, MAX_EXIF_BYTES)
            : 4;
        if (!has(wanted)) return { kind: "more", at, bytes: wanted };
        if (isFrameHeader(marker)) {
          const [height, width] = [view.getUint16(from + 5), view.getUint16(from + 7)];
          // Orientations 5 to 8 are rotated by 90 degrees; sizes are as displayed.
          return orientation >= 5 ? sized("image/jpeg", height, width) : sized("image/jpeg", width, height);
        }
        const app = bytes.subarray(from + 4, from + 2 + length);
        if (marker === 0xe1 && orientation === 0 && textAt(app, 0, 4) === "Exif") orientation = orientationIn(app);
        at += 2 + length;
      }
    }
    return NONE;
  };
  return { feed };
};

const firstStep = (bytes: Uint8Array): HeaderStep => {
  if (textAt(bytes, 0, 8) === "\x89PNG\r\n\x1a\n") return pngStep(bytes);
  if (textAt(bytes, 0, 4) === "RIFF" && textAt(bytes, 8, 4) === "WEBP") return webpStep(bytes);
  if (textAt(bytes, 0, 2) === "BM") return bmpStep(bytes);
  if (!/^GIF8[79]a/.test(textAt(bytes, 0, 6)) || bytes.length < 10) return NONE;
  return sized("image/gif", viewOf(bytes).getUint16(6, true), viewOf(bytes).getUint16(8, true));
};

export const createPictureHeaderParser = (): PictureHeader => {
  const jpeg = openJpeg();
  let isJpeg = false;
  return {
    feed: (bytes, at) => {
      isJpeg ||= at === 0 && bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff;
      if (isJpeg) return jpeg.feed(bytes, at);
      return at === 0 ? firstStep(bytes) : NONE;
    },
  };
};

/** A read of a remote file costs a request, so each read is twice as large as the one before, up to a bound. */
const MIN_READ_BYTES = 32 * 1024;
const MAX_READ_BYTES = 1024 * 1024;
const MAX_READS = 64;

/** Reads format and size of a picture from its header, in pieces. @throws Unreadable if it is not one of the five formats */
export const readPictureHeader = async (file: ByteReader): Promise<PictureSize> => {
  const size = await file.sizeBytes();
  const header = createPictureHeaderParser();
  let step: HeaderStep = { kind: "more", at: 0, bytes: FIRST_BYTES };
  for (let reads = 0; step.kind === "more" && reads < MAX_READS; reads++) {
    const { at, bytes } = step;
    if (at > 0 && at + bytes > size) break;
    const ahead = Math.min(MAX_READ_BYTES, MIN_READ_BYTES * 2 ** reads);
    step = header.feed(await file.read(at, Math.min(size, at + Math.max(bytes, ahead))), at);
  }
  if (step.kind !== "size") throw new Unreadable("its header is not that of a PNG, JPEG, WebP, GIF or BMP picture");
  return { mime: step.mime, width: step.width, height: step.height };
};
