// Detects encoded audio frames inside samples that are declared as PCM.
//
// Some decoders search for such frames and play them instead of the samples.
import { ac3Frame } from "./ac3-frame.ts";
import type { Cursor } from "./cursor.ts";
import { adtsFrame, mpegFrame } from "./mpeg-frame.ts";

const SEEN_BYTES = 64 * 1024;
/** This many consecutive frames do not occur in PCM samples by chance. */
const CHAIN = 3;
/** Sync words of DTS in its four forms, and the preamble of encoded audio in PCM streams (IEC 61937). */
const WORDS = new Set([0x7ffe_8001, 0xfe7f_0180, 0x1fff_e800, 0xff1f_00e8, 0x72f8_1f4e, 0xf872_4e1f]);

const swapped = (bytes: Uint8Array): Uint8Array => Buffer.from(bytes.subarray(0, bytes.length & ~1)).swap16();

const FRAMES: readonly ((bytes: Uint8Array, view: DataView, at: number) => { bytes: number } | undefined)[] = [
  (_, view, at) => mpegFrame(view.getUint32(at)),
  (bytes, _, at) => adtsFrame(bytes, at),
  (bytes, _, at) => ac3Frame(bytes, at),
];

const holdsFrames = (bytes: Uint8Array): boolean => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const isChain = (from: number, frameAt: (typeof FRAMES)[number]): boolean => {
    let at = from;
    for (let n = 0; n < CHAIN; n++) {
      const frame = at + 8 <= bytes.length ? frameAt(bytes, view, at) : undefined;
      if (!frame) return false;
      at += frame.bytes;
    }
    return true;
  };
  for (let at = 0; at + 8 <= bytes.length; at++) {
    if (WORDS.has(view.getUint32(at))) return true;
    const first = bytes[at];
    if ((first === 0xff || first === 0x0b) && FRAMES.some((frameAt) => isChain(at, frameAt))) return true;
  }
  return false;
};

/** Checks the samples in `length` bytes from offset `from`. */
export const beginsCoded = async (cursor: Cursor, from: number, length: number): Promise<boolean> => {
  const seen = Math.min(length, SEEN_BYTES, cursor.sizeBytes - from);
  if (seen < 8 || !(await cursor.load(from, seen))) return false;
  const bytes = cursor.part(from, seen);
  return holdsFrames(bytes) || holdsFrames(swapped(bytes));
};
