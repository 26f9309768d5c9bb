// Tests the bombs: their number and size, lazy layout, determinism, and the comparison of waits with a control.
import { expect, test } from "bun:test";
import { BOMBS, piecesOf, throwsOf } from "./all.ts";
import { fill, sizeOf, slice, text } from "./bytes.ts";
import { compare } from "./polling.ts";

const MIB = 1024 * 1024;

test("there are more than 50 bombs with unique names, each smaller than 65 MiB", () => {
  expect(new Set(BOMBS.map(({ name }) => name)).size).toBe(BOMBS.length);
  expect(BOMBS.length).toBeGreaterThan(50);
  for (const [index, { name }] of BOMBS.entries())
    for (const bytes of [1024, MIB, 64 * MIB - 4096])
      for (const isCut of [false, true]) {
        const size = sizeOf(piecesOf({ index, bytes, isCut, hasRanges: false }));
        expect([name, size > 0 && size < 65 * MIB]).toEqual([name, true]);
      }
});

test("reads the same bytes of a repeated part from every offset", () => {
  const pieces = [text("head"), fill(text("abc"), 300_000), text("tail")];
  const whole = slice(pieces, 0, sizeOf(pieces));
  expect(Buffer.from(whole.subarray(0, 10)).toString()).toBe("headabcabc");
  for (const start of [0, 3, 5, 65_539, 131_071, 299_999, 300_003])
    expect(slice(pieces, start, start + 5)).toEqual(whole.subarray(start, start + 5));
});

test("throws the same bombs for the same seed, and each bomb once before any repeats", () => {
  const some = (seed: number) =>
    throwsOf(seed)
      .take(5 + BOMBS.length)
      .toArray();
  expect(some(1)).toEqual(some(1));
  expect(some(1)).not.toEqual(some(2));
  expect(
    new Set(
      some(1)
        .slice(5)
        .map(({ index }) => index),
    ).size,
  ).toBe(BOMBS.length);
});

test("compare reports only the wait beyond that of a control at the same time", () => {
  const control = [10, 400, 10].map((ms, n) => ({ atMs: n * 1000, ms }));
  expect(compare([{ atMs: 1000, ms: 420 }], control, 0).longerMs).toBe(20);
  expect(compare([{ atMs: 4000, ms: 420 }], control, 1)).toMatchObject({
    longerMs: 420,
    unanswered: 1,
    worstMs: 420,
    controlWorstMs: 400,
  });
});
