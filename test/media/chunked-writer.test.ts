// Pieces of a file: few calls while it is small, one for each piece once it is large or drips in.
import { expect, test } from "bun:test";
import { gathering } from "../../src/media/chunked-writer.ts";

/** Writes pieces. @returns how many each call was handed, and what was kept of the whole. */
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

test("a small file is written in one call and kept to be measured", async () => {
  expect(await written(2, 50_000)).toEqual({ calls: [2], isKept: true });
});

test("a large one is written in one call up to its first MiB, then piece by piece", async () => {
  expect(await written(20, 65_536)).toEqual({ calls: [17, 1, 1, 1], isKept: false });
});

test("one that drips in is never handed on by more pieces than a call takes", async () => {
  const { calls, isKept } = await written(150_000, 1);
  expect([Math.max(...calls) <= 1_000, calls.length, isKept]).toEqual([true, 149_001, false]);
});
