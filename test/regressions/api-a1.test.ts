// Fault A1: the length of an MP3 was believed from its first frame or its header.
import { expect, test } from "bun:test";
import { mp3 } from "../media/made.ts";
import { FRAME_MS, mp3Of, submitBoth } from "./measured.ts";

/** Length of sound in a refusal: `is 60.192 s long in all`. */
const lengthIn = (message: string): number => Number(/is ([\d.]+) s/.exec(message)?.[1] ?? Number.NaN);

const LONG: readonly (readonly [what: string, bytes: Uint8Array, seconds: number])[] = [
  ["twelve of 5 s joined", Buffer.concat(Array<Uint8Array>(12).fill(mp3(5))), 12 * 209 * 0.024],
  ["120 s that begin loud and go on quietly", mp3Of([320, 100], [32, 4494]), (4594 * FRAME_MS) / 1000],
  ["40 s that begin quietly and go on loud", mp3Of([32, 200], [320, 1331]), (1531 * FRAME_MS) / 1000],
];
for (const [what, bytes, seconds] of LONG)
  test(`A1: an MP3 of ${what} is refused at the limit by the length of its frames`, async () => {
    for (const { status, message } of await submitBoth("audio_urls", bytes)) {
      expect(status).toBe(422);
      expect(Math.abs(lengthIn(message) - seconds)).toBeLessThan(0.03);
    }
  });

const TAKEN: readonly (readonly [what: string, bytes: Uint8Array])[] = [
  ["29 s that begin in silence and go on loud", mp3Of([32, 300], [320, 810])],
  ["29 s that begin loud and go on in silence", mp3Of([320, 300], [32, 810])],
];
for (const [what, bytes] of TAKEN)
  test(`A1: an MP3 of ${what} is taken`, async () => {
    for (const { status, message } of await submitBoth("audio_urls", bytes)) expect([status, message]).toEqual([202, ""]);
  });
