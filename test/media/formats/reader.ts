// In-memory files as parsers read them, with an optional count of reads.
import { type ByteReader, Unreadable } from "../../../src/media/byte-source.ts";

export const inMemory = (bytes: Uint8Array): ByteReader => ({
  sizeBytes: async () => bytes.length,
  read: async (start, end) => {
    if (start < 0 || start > end || end > bytes.length) throw new Unreadable("a read past the end");
    return bytes.subarray(start, end);
  },
});

export const counted = (bytes: Uint8Array): ByteReader & { reads: () => number; readBytes: () => number } => {
  const file = inMemory(bytes);
  let [reads, readBytes] = [0, 0];
  return {
    sizeBytes: file.sizeBytes,
    read: (start, end) => {
      reads++;
      readBytes += end - start;
      return file.read(start, end);
    },
    reads: () => reads,
    readBytes: () => readBytes,
  };
};
