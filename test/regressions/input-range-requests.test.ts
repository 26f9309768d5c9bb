// Input files over 256 KiB are measured identically from servers with and without range requests.
import { expect, test } from "bun:test";
import { oddFile } from "../../src/simulator/prebuilt-files.ts";
import { mp4 } from "../media/made.ts";
import { clipFrom, mp3Of, submitBoth } from "./measured.ts";

const FILES: readonly (readonly [
  what: string,
  field: "video_urls" | "audio_urls",
  make: () => Promise<Uint8Array> | Uint8Array,
])[] = [
  ["a WebM of 600 KiB", "video_urls", () => clipFrom("webm", 0, 6, 4000)],
  ["a WebM of 6 MiB with an offset", "video_urls", () => clipFrom("webm", 9, 6, 40_000)],
  ["an MP4 whose index is at its end", "video_urls", () => mp4({ seconds: 6, index: "end", frameBytes: 5000 })],
  ["an MP4 of many fragments", "video_urls", () => mp4({ seconds: 28, index: "fragments", frameBytes: 2000 })],
  ["an MP3 of 400 KiB", "audio_urls", () => mp3Of([256, 500])],
];
for (const [what, field, make] of FILES)
  test(`measures ${what} identically from servers with and without range requests`, async () => {
    const bytes = await make();
    expect(bytes.length).toBeGreaterThan(256 * 1024);
    const [withRanges, without] = await submitBoth(field, bytes);
    expect(withRanges).toMatchObject({ status: 202, message: "" });
    expect(withRanges).toEqual(without);
  });

test("rejects overlong AAC over 256 KiB with the same error from servers with and without range requests", async () => {
  const frames = oddFile("aac");
  const long = Buffer.concat(Array<Uint8Array>(1500).fill(frames));
  const [withRanges, without] = await submitBoth("audio_urls", long);
  expect([withRanges?.status, without?.status]).toEqual([422, 422]);
  expect(withRanges?.message).toContain("at most 30 s");
  expect(withRanges).toEqual(without);
});
