// Chunked writer: one write for a small file, one write per chunk for a large or slow one.
import { expect, test } from "bun:test";
import { gathering } from "../../src/media/chunked-writer.ts";

/** Writes chunks. @returns the number of chunks in each write call, and whether the whole file was kept in memory. */
const written = async (pieces: number, bytesEach: number) => {
  const calls: number[] = [];
  const bytes: number[] = [];
  const kept = gathering({
    write: async (...chunks) => {
      calls.push(chunks.length);
      for (const chunk of chunks) bytes.push(...chunk.subarray(0, 1));
    },
  });
  for (let n = 0; n < pieces; n += 1) await kept.write(new Uint8Array(bytesEach).fill(n % 251));
  const whole = await kept.end();
  expect(bytes).toEqual(Array.from({ length: pieces }, (_, n) => n % 251));
  return { calls, isKept: whole !== undefined };
};

test("writes a small file in one call and keeps its bytes for measurement", async () => {
  expect(await written(2, 50_000)).toEqual({ calls: [2], isKept: true });
});

test("writes a large file in one call up to its first MiB, then chunk by chunk", async () => {
  expect(await written(20, 65_536)).toEqual({ calls: [17, 1, 1, 1], isKept: false });
});

test("passes at most 1,000 chunks to one write call when a body arrives byte by byte", async () => {
  const { calls, isKept } = await written(150_000, 1);
  expect([Math.max(...calls) <= 1_000, calls.length, isKept]).toEqual([true, 149_001, false]);
});
