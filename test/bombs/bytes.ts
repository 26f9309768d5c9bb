// Pieces of bombs: repeated parts that take no memory until they are served.

/** Bytes, or the same bytes repeated. */
export type Piece = Uint8Array | { repeat: Uint8Array; times: number };

/** A repeated part is expanded to this size, so that it is copied in large pieces. */
const BLOCK_BYTES = 64 * 1024;

export const text = (words: string): Uint8Array => Buffer.from(words, "latin1");
const number =
  (bytes: number, write: (to: Buffer, value: number) => void) =>
  (value: number): Uint8Array => {
    const made = Buffer.alloc(bytes);
    write(made, value);
    return made;
  };
export const u16 = number(2, (to, value) => to.writeUInt16BE(value & 0xffff));
export const u32 = number(4, (to, value) => to.writeUInt32BE(value >>> 0));
export const le16 = number(2, (to, value) => to.writeUInt16LE(value & 0xffff));
export const le32 = number(4, (to, value) => to.writeUInt32LE(value >>> 0));
export const u64 = (value: bigint): Uint8Array => {
  const made = Buffer.alloc(8);
  made.writeBigUInt64BE(BigInt.asUintN(64, value));
  return made;
};
export const zeros = (bytes: number): Uint8Array => Buffer.alloc(bytes);
export const of = (...bytes: number[]): Uint8Array => Buffer.from(bytes);
export const join = (...parts: readonly Uint8Array[]): Uint8Array => Buffer.concat(parts);

/** Repeats the part as often as it fits into `bytes`, at least once. */
export const fill = (part: Uint8Array, bytes: number): Piece => ({
  repeat: part,
  times: Math.max(1, Math.floor(bytes / part.length)),
});

export const sizeOf = (pieces: readonly Piece[]): number =>
  pieces.reduce((sum, piece) => sum + (piece instanceof Uint8Array ? piece.length : piece.repeat.length * piece.times), 0);

/** Copies the piece's bytes from `from` on into `to`. */
const copyInto = (to: Uint8Array, piece: Piece, from: number): void => {
  if (piece instanceof Uint8Array) {
    to.set(piece.subarray(from, from + to.length));
    return;
  }
  const { repeat } = piece;
  const block = Buffer.alloc(repeat.length * Math.max(1, Math.ceil(BLOCK_BYTES / repeat.length)), repeat);
  for (let at = 0; at < to.length; ) {
    const within = (from + at) % repeat.length;
    const part = block.subarray(within, Math.min(block.length, within + to.length - at));
    to.set(part, at);
    at += part.length;
  }
};

/** The bytes from `start` up to, but not including, `end`. */
export const slice = (pieces: readonly Piece[], start: number, end: number): Uint8Array<ArrayBuffer> => {
  const made = new Uint8Array(Math.max(0, end - start));
  let at = 0;
  for (const piece of pieces) {
    const length = sizeOf([piece]);
    const [from, to] = [Math.max(start, at), Math.min(end, at + length)];
    if (from < to) copyInto(made.subarray(from - start, to - start), piece, from - at);
    at += length;
  }
  return made;
};
