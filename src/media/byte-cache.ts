// Caches the bytes read from a file: 256 KiB in memory, the rest on disk.
import type { Incoming } from "../files/port.ts";

/** Most files that are only measured are smaller than this or declare their properties within it. */
const MEMORY_BYTES = 256 * 1024;

type Piece = { start: number; end: number; isOnDisk: boolean; at: number };

export type ByteCache = {
  /** Adds bytes at offset `start` of the file. */
  add(start: number, bytes: Uint8Array): Promise<void>;
  /** The end of the contiguous cached range that begins at `start`; `start` itself if that byte is not cached. */
  knownTo(start: number): number;
  /** Returns cached bytes. @throws Error if a byte of the range is not cached */
  read(start: number, end: number): Promise<Uint8Array>;
  /** The bytes from offset 0 that are held in memory; empty if offset 0 is not in memory. */
  beginning(): Uint8Array;
  discard(): Promise<void>;
};

/** @param spool opens the temporary file when the memory limit is first exceeded */
export const createByteCache = (spool: () => Promise<Incoming>): ByteCache => {
  let memory = new Uint8Array(32 * 1024);
  let inMemory = 0;
  let incoming: Incoming | undefined;
  let onDisk = 0;
  const pieces: Piece[] = [];

  const note = (start: number, end: number, isOnDisk: boolean, at: number) => {
    const last = pieces.at(-1);
    const follows = last && last.end === start && last.isOnDisk === isOnDisk && last.at + last.end - last.start === at;
    if (follows) last.end = end;
    else pieces.push({ start, end, isOnDisk, at });
  };
  const pieceAt = (place: number) => pieces.find(({ start, end }) => start <= place && place < end);
  const keepInMemory = (start: number, bytes: Uint8Array) => {
    if (inMemory + bytes.length > memory.length) {
      const larger = new Uint8Array(Math.min(MEMORY_BYTES, Math.max(memory.length * 2, inMemory + bytes.length)));
      larger.set(memory.subarray(0, inMemory));
      memory = larger;
    }
    memory.set(bytes, inMemory);
    note(start, start + bytes.length, false, inMemory);
    inMemory += bytes.length;
  };
  const partOf = async ({ start, isOnDisk, at }: Piece, from: number, to: number): Promise<Uint8Array> => {
    const [first, last] = [at + from - start, at + to - start];
    return isOnDisk && incoming ? Bun.file(incoming.path).slice(first, last).bytes() : memory.subarray(first, last);
  };
  const knownTo = (start: number): number => {
    let end = start;
    for (let piece = pieceAt(end); piece; piece = pieceAt(end)) end = piece.end;
    return end;
  };
  return {
    knownTo,
    add: async (start, bytes) => {
      const freeBytes = onDisk > 0 ? 0 : Math.min(bytes.length, MEMORY_BYTES - inMemory);
      if (freeBytes > 0) keepInMemory(start, bytes.subarray(0, freeBytes));
      if (freeBytes === bytes.length) return;
      incoming ??= await spool();
      const rest = bytes.subarray(freeBytes);
      await incoming.write(rest);
      note(start + freeBytes, start + bytes.length, true, onDisk);
      onDisk += rest.length;
    },
    read: async (start, end) => {
      const whole = new Uint8Array(end - start);
      for (let at = start; at < end; ) {
        const piece = pieceAt(at);
        if (!piece) throw new Error(`byte ${at} is not known`);
        const part = await partOf(piece, at, Math.min(end, piece.end));
        if (part.length === 0) throw new Error("a piece on disk is shorter than it was written");
        if (at === start && part.length === end - start) return part;
        whole.set(part, at - start);
        at += part.length;
      }
      return whole;
    },
    beginning: () => {
      const first = pieces[0];
      return first && first.start === 0 && !first.isOnDisk ? memory.subarray(0, first.end) : memory.subarray(0, 0);
    },
    discard: async () => incoming?.discard(),
  };
};
