// The length of an MP3 is the sum of its frames, not a value of its first frame or its header.
import { expect, test } from "bun:test";
import { mp3 } from "../media/made.ts";
import { FRAME_MS, mp3Of, submitBoth } from "./measured.ts";

/** The length in an error message such as `is 60.192 s long in all`. */
const lengthIn = (message: string): number => Number(/is ([\d.]+) s/.exec(message)?.[1] ?? Number.NaN);

const LONG: readonly (readonly [what: string, bytes: Uint8Array, seconds: number])[] = [
  ["twelve joined parts of 5 s", Buffer.concat(Array<Uint8Array>(12).fill(mp3(5))), 12 * 209 * 0.024],
  ["120 s with a high bit rate first and a low one after it", mp3Of([320, 100], [32, 4494]), (4594 * FRAME_MS) / 1000],
  ["40 s with a low bit rate first and a high one after it", mp3Of([32, 200], [320, 1331]), (1531 * FRAME_MS) / 1000],
];
for (const [what, bytes, seconds] of LONG)
  test(`rejects an MP3 of ${what} and reports the length of its frames`, async () => {
    for (const { status, message } of await submitBoth("audio_urls", bytes)) {
      expect(status).toBe(422);
      expect(Math.abs(lengthIn(message) - seconds)).toBeLessThan(0.03);
    }
  });

const TAKEN: readonly (readonly [what: string, bytes: Uint8Array])[] = [
  ["29 s with a low bit rate first and a high one after it", mp3Of([32, 300], [320, 810])],
  ["29 s with a high bit rate first and a low one after it", mp3Of([320, 300], [32, 810])],
];
for (const [what, bytes] of TAKEN)
  test(`accepts an MP3 of ${what}`, async () => {
    for (const { status, message } of await submitBoth("audio_urls", bytes)) expect([status, message]).toEqual([202, ""]);
  });
