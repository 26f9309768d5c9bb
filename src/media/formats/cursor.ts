// A sliding window over a file, read from front to back in growing pieces.
//
// Reads inside the window are synchronous.
import { joined } from "../../collections/chunks.ts";
import { type ByteReader, Unreadable } from "../byte-source.ts";

/** The first piece is small, because the next read may be elsewhere. Sequential reads double the size of the piece. */
const MIN_PIECE_BYTES = 64 * 1024;
const MAX_PIECE_BYTES = 4 * 1024 * 1024;
/** Maximum size of the window, which bounds the index of a clip. */
export const MAX_WINDOW_BYTES = 32 * 1024 * 1024;

export type Cursor = {
  readonly sizeBytes: number;
  /** The window: bytes of the file from offset `start`. */
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly start: number;
  has(at: number, length: number): boolean;
  /**
   * Loads `length` bytes from `at` into the window. If the file ends earlier, returns false and leaves the window unchanged.
   * @throws Unreadable
   */
  load(at: number, length: number): Promise<boolean>;
  /** Returns a range without copying it; the whole range must be in the window. */
  part(at: number, length: number): Uint8Array;
};

const EMPTY: Uint8Array = new Uint8Array(0);
const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);

export const createCursor = async (file: ByteReader): Promise<Cursor> => {
  const sizeBytes = await file.sizeBytes();
  let piece = MIN_PIECE_BYTES / 2;
  const cursor = {
    sizeBytes,
    bytes: EMPTY,
    view: viewOf(EMPTY),
    start: 0,
    has: (at: number, length: number) => at >= cursor.start && at + length <= cursor.start + cursor.bytes.length,
    part: (at: number, length: number) => cursor.bytes.subarray(at - cursor.start, at - cursor.start + length),
    load: async (at: number, length: number) => {
      if (cursor.has(at, length)) return true;
      if (!(at >= 0) || at + length > sizeBytes) return false;
      if (length > MAX_WINDOW_BYTES) throw new Unreadable(`its index is larger than ${MAX_WINDOW_BYTES / 1024 / 1024} MiB`);
      const end = cursor.start + cursor.bytes.length;
      const isNext = at >= cursor.start && at <= end + piece;
      piece = isNext ? Math.min(MAX_PIECE_BYTES, piece * 2) : MIN_PIECE_BYTES;
      const kept = at >= cursor.start && at < end ? cursor.bytes.subarray(at - cursor.start) : EMPTY;
      const from = at + kept.length;
      const fresh = await file.read(from, Math.min(sizeBytes, Math.max(at + length, from + piece)));
      cursor.bytes = kept.length === 0 ? fresh : joined([kept, fresh]);
      cursor.view = viewOf(cursor.bytes);
      cursor.start = at;
      return cursor.has(at, length);
    },
  };
  return cursor;
};
