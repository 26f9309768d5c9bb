// Faults M8 and A2: files over 256 KiB were refused by servers with ranges and accepted by those without.
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
  ["an MP4 of a thousand fragments", "video_urls", () => mp4({ seconds: 28, index: "fragments", frameBytes: 2000 })],
  ["an MP3 of 400 KiB", "audio_urls", () => mp3Of([256, 500])],
];
for (const [what, field, make] of FILES)
  test(`M8: ${what} is measured alike from a server with ranges and from one without`, async () => {
    const bytes = await make();
    expect(bytes.length).toBeGreaterThan(256 * 1024);
    const [withRanges, without] = await submitBoth(field, bytes);
    expect(withRanges).toMatchObject({ status: 202, message: "" });
    expect(withRanges).toEqual(without);
  });

test("A2: AAC, FLAC, Ogg and M4A over 256 KiB are measured alike, and by their length refused alike", async () => {
  const frames = oddFile("aac");
  const long = Buffer.concat(Array<Uint8Array>(1500).fill(frames));
  const [withRanges, without] = await submitBoth("audio_urls", long);
  expect([withRanges?.status, without?.status]).toEqual([422, 422]);
  expect(withRanges?.message).toContain("at most 30 s");
  expect(withRanges).toEqual(without);
});
