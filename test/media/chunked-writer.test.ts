// Chunked writer: one write for a small file, one write per chunk for a large or slow one.
import { expect, test } from "bun:test";
import { gathering } from "../../src/media/chunked-writer.ts";

/** Writes chunks. @returns the number of chunks in each write call, and whether the whole file was kept in memory. */
const written = async (pieces: number, bytesEach: number, isAlone = false) => {
  const calls: number[] = [];
  const bytes: number[] = [];
  let isHeld = false;
  const take = (chunks: readonly Uint8Array[]) => {
    for (const chunk of chunks) bytes.push(...chunk.subarray(0, 1));
  };
  const incoming = {
    write: async (...chunks: readonly Uint8Array[]) => {
      calls.push(chunks.length);
      take(chunks);
    },
    hold: (chunks: readonly Uint8Array[]) => {
      isHeld = true;
      take(chunks);
    },
  };
  const kept = gathering(incoming, isAlone);
  for (let n = 0; n < pieces; n += 1) await kept.write(new Uint8Array(bytesEach).fill(n % 251));
  const whole = await kept.end();
  expect(bytes).toEqual(Array.from({ length: pieces }, (_, n) => n % 251));
  return { calls, isKept: whole !== undefined, isHeld };
};

test("writes a small file in one call and keeps its bytes for measurement", async () => {
  expect(await written(2, 50_000)).toEqual({ calls: [2], isKept: true, isHeld: false });
});

test("leaves a small file in memory until it is kept if it is the only one of its result", async () => {
  expect(await written(2, 50_000, true)).toEqual({ calls: [], isKept: true, isHeld: true });
});

test("writes a large file in one call up to its first MiB, then chunk by chunk", async () => {
  expect(await written(20, 65_536)).toEqual({ calls: [17, 1, 1, 1], isKept: false, isHeld: false });
});

test("passes at most 1,000 chunks to one write call when a body arrives byte by byte", async () => {
  const { calls, isKept } = await written(150_000, 1);
  expect([Math.max(...calls) <= 1_000, calls.length, isKept]).toEqual([true, 149_001, false]);
});
