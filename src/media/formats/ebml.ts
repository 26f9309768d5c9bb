// Parses EBML elements of Matroska: ids, sizes and values.
import { Unreadable } from "../byte-source.ts";
import type { Cursor } from "./cursor.ts";

export const ID = {
  header: 0x1a45dfa3,
  docType: 0x4282,
  segment: 0x18538067,
  info: 0x1549a966,
  scale: 0x2ad7b1,
  duration: 0x4489,
  tracks: 0x1654ae6b,
  track: 0xae,
  trackNumber: 0xd7,
  trackType: 0x83,
  codec: 0x86,
  codecPrivate: 0x63a2,
  codecDelay: 0x56aa,
  defaultDuration: 0x23e383,
  video: 0xe0,
  pixelWidth: 0xb0,
  pixelHeight: 0xba,
  displayWidth: 0x54b0,
  displayHeight: 0x54ba,
  displayUnit: 0x54b2,
  audio: 0xe1,
  rate: 0xb5,
  playedRate: 0x78b5,
  channels: 0x9f,
  bitDepth: 0x6264,
  overlay: 0x6fab,
  translate: 0x6624,
  additionMapping: 0x41e4,
  encodings: 0x6d80,
  encoding: 0x6240,
  compression: 0x5034,
  algorithm: 0x4254,
  stripped: 0x4255,
  scope: 0x5032,
  encodingType: 0x5033,
  void: 0xec,
  checksum: 0xbf,
  cluster: 0x1f43b675,
  clusterTime: 0xe7,
  simpleBlock: 0xa3,
  group: 0xa0,
  block: 0xa1,
  blockDuration: 0x9b,
  discardPadding: 0x75a2,
  trackScale: 0x23314f,
  seekHead: 0x114d9b74,
  seek: 0x4dbb,
  seekId: 0x53ab,
  seekPosition: 0x53ac,
} as const;

/** `end` is undefined if the writer did not know the size. */
export type Element = { id: number; start: number; end: number | undefined };

/** Maximum header: an id of 4 bytes and a size of 8. */
export const MAX_HEADER_BYTES = 12;

/**
 * Parses a variable-length integer at `at`. `value` excludes the length marker and is undefined if all bits are ones (unknown
 * size).
 */
export const variable = (bytes: Uint8Array, at: number): { length: number; value: number | undefined } | undefined => {
  const first = bytes[at] ?? 0;
  const length = Math.clz32(first) - 23;
  if (first === 0 || at + length > bytes.length) return undefined;
  let value = first & (0xff >> length);
  let isUnknown = value === 0xff >> length;
  for (let n = 1; n < length; n++) {
    const byte = bytes[at + n] ?? 0;
    value = value * 256 + byte;
    isUnknown &&= byte === 0xff;
  }
  return { length, value: isUnknown ? undefined : value };
};

/** Parses the element header at offset `at` of the bytes; positions are relative to `base`. */
export const elementAt = (bytes: Uint8Array, at: number, base = 0): Element | undefined => {
  const idBytes = Math.clz32(bytes[at] ?? 0) - 23;
  if (idBytes > 4 || at + idBytes >= bytes.length) return undefined;
  let id = 0;
  for (let n = 0; n < idBytes; n++) id = id * 256 + (bytes[at + n] ?? 0);
  const size = variable(bytes, at + idBytes);
  if (!size) return undefined;
  const start = base + at + idBytes + size.length;
  return { id, start, end: size.value === undefined ? undefined : start + size.value };
};

/** Maximum number of sibling elements; a track has dozens. */
const MAX_CHILDREN = 2000;

/**
 * Parses consecutive elements in memory. @throws Unreadable if there are too many, or if `isWhole` is set and they do not fill
 * the bytes
 */
export const elementsIn = (bytes: Uint8Array, isWhole = false): { id: number; content: Uint8Array }[] => {
  const found: { id: number; content: Uint8Array }[] = [];
  for (let at = 0; at < bytes.length; ) {
    const element = elementAt(bytes, at);
    if (!element || element.end === undefined || element.end > bytes.length) {
      // Decoders continue after an element that they cannot parse.
      if (isWhole) throw new Unreadable("its index is not one of a real file");
      break;
    }
    if (found.length >= MAX_CHILDREN) throw new Unreadable("its index is not one of a real file");
    found.push({ id: element.id, content: bytes.subarray(element.start, element.end) });
    at = element.end;
  }
  return found;
};

export const uintOf = (content: Uint8Array): number => content.subarray(0, 8).reduce((sum, byte) => sum * 256 + byte, 0);

/** A signed big-endian integer. */
export const intOf = (content: Uint8Array): number => {
  const bits = content.subarray(0, 8).length * 8;
  return (content[0] ?? 0) < 128 ? uintOf(content) : uintOf(content) - 2 ** bits;
};

export const floatOf = (content: Uint8Array): number => {
  const view = new DataView(content.buffer, content.byteOffset, content.length);
  return content.length === 8 ? view.getFloat64(0) : content.length === 4 ? view.getFloat32(0) : 0;
};

/** Parses the element at a file offset; undefined at the end of the file. */
export const elementOf = async (cursor: Cursor, at: number): Promise<Element | undefined> => {
  const length = Math.min(MAX_HEADER_BYTES, cursor.sizeBytes - at);
  if (length < 2 || (!cursor.has(at, length) && !(await cursor.load(at, length)))) return undefined;
  return elementAt(cursor.bytes, at - cursor.start, cursor.start);
};
