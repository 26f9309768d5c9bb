// Interfaces and helpers for reading the bytes of an untrusted file.
import { joined } from "../collections/chunks.ts";

/** A file with random access. `start` and `end` are in bytes; `end` is exclusive and at most the size. */
export interface ByteReader {
  sizeBytes(): Promise<number>;
  /** Returns exactly the requested bytes. @throws Unreadable */
  read(start: number, end: number): Promise<Uint8Array>;
}

/** The file cannot be read as its expected kind. The message is written by genrouter and may be shown to the client. */
export class Unreadable extends Error {}

/** Runs reads one after the other, so that each read finds the bytes that earlier reads fetched. */
export const inTurn = (): (<T>(work: () => Promise<T>) => Promise<T>) => {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(work, work);
    last = mine.catch(() => {});
    return mine;
  };
};

/** Decodes bytes as Latin-1, one character for each byte. */
export const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");

/** Returns a range of a file that is held in memory as several chunks. The bytes are copied only if the range spans chunks. */
export const rangeOf = (chunks: readonly Uint8Array[], start: number, end: number): Uint8Array => {
  const parts: Uint8Array[] = [];
  let at = 0;
  for (const chunk of chunks) {
    const [from, to] = [Math.max(start - at, 0), Math.min(end - at, chunk.length)];
    if (from < to) parts.push(chunk.subarray(from, to));
    at += chunk.length;
  }
  return joined(parts);
};

/**
 * Frees the memory of a body chunk immediately, because a body has thousands of chunks and garbage collection may come late. A
 * chunk that shares its buffer with other views is left unchanged.
 */
export const giveBack = ({ buffer, byteLength }: Uint8Array): void => {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
};
