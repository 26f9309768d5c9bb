// The bombs are what they say: many kinds, laid out only as they are sent, the same for the same seed; and a wait is held against its control.
import { expect, test } from "bun:test";
import { BOMBS, piecesOf, throwsOf } from "./all.ts";
import { fill, sizeOf, slice, text } from "./bytes.ts";
import { compare } from "./polling.ts";

const MIB = 1024 * 1024;

test("there are more than 50 of them, each of a name of its own, at most 65 MiB large", () => {
  expect(new Set(BOMBS.map(({ name }) => name)).size).toBe(BOMBS.length);
  expect(BOMBS.length).toBeGreaterThan(50);
  for (const [index, { name }] of BOMBS.entries())
    for (const bytes of [1024, MIB, 64 * MIB - 4096])
      for (const isCut of [false, true]) {
        const size = sizeOf(piecesOf({ index, bytes, isCut, hasRanges: false }));
        expect([name, size > 0 && size < 65 * MIB]).toEqual([name, true]);
      }
});

test("a part that repeats is the same wherever it is read from", () => {
  const pieces = [text("head"), fill(text("abc"), 300_000), text("tail")];
  const whole = slice(pieces, 0, sizeOf(pieces));
  expect(Buffer.from(whole.subarray(0, 10)).toString()).toBe("headabcabc");
  for (const start of [0, 3, 5, 65_539, 131_071, 299_999, 300_003])
    expect(slice(pieces, start, start + 5)).toEqual(whole.subarray(start, start + 5));
});

test("the same seed throws the same, and each bomb before any comes again", () => {
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

test("only what others wait longer than a control at the same time is told", () => {
  const control = [10, 400, 10].map((ms, n) => ({ atMs: n * 1000, ms }));
  expect(compare([{ atMs: 1000, ms: 420 }], control, 0).longerMs).toBe(20);
  expect(compare([{ atMs: 4000, ms: 420 }], control, 1)).toMatchObject({
    longerMs: 420,
    unanswered: 1,
    worstMs: 420,
    controlWorstMs: 400,
  });
});
