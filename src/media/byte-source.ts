// Bytes of somebody else's file: how they are read, and what is said when they cannot be.

/** A file that can be read at any place. `start` and `end` in bytes, `end` exclusive and not past the size. */
export interface ByteReader {
  sizeBytes(): Promise<number>;
  /** Exactly the bytes asked for. @throws Unreadable */
  read(start: number, end: number): Promise<Uint8Array>;
}

/** The file cannot be read as what it should be. The message is our own sentence and may be shown to the caller. */
export class Unreadable extends Error {}

/** Orders reads one after the other, so that each sees what those before it have fetched. */
export const inTurn = (): (<T>(work: () => Promise<T>) => Promise<T>) => {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(work, work);
    last = mine.catch(() => {});
    return mine;
  };
};

/** Bytes as text, one character for each. */
export const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");

/** One buffer of several chunks. */
export const joined = (chunks: readonly Uint8Array[]): Uint8Array => {
  const whole = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
};

/** A part of a file that lies in memory in several chunks; copied only where it is not in one of them. */
export const rangeOf = (chunks: readonly Uint8Array[], start: number, end: number): Uint8Array => {
  const parts: Uint8Array[] = [];
  let at = 0;
  for (const chunk of chunks) {
    const [from, to] = [Math.max(start - at, 0), Math.min(end - at, chunk.length)];
    if (from < to) parts.push(chunk.subarray(from, to));
    at += chunk.length;
  }
  return parts.length === 1 && parts[0] ? parts[0] : joined(parts);
};

/**
 * Gives the memory of a piece of a body back at once, when nobody looks at it any more: the collector comes when it likes, and pieces come by
 * the thousand. What shares its memory with others is left alone.
 */
export const giveBack = ({ buffer, byteLength }: Uint8Array): void => {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
};
