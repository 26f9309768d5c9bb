// A clip whose timestamps do not begin at 0 is billed only for the time that it plays.
import { expect, test } from "bun:test";
import { openDelivery, whole } from "./delivery.ts";
import { clipFrom, submitBoth } from "./measured.ts";

const CLIPS = [
  ["mp4", 3600, "an MP4 after an empty edit of one hour"],
  ["webm", 5, "a WebM with a timestamp offset"],
  ["fragments", 12, "a fragmented MP4 with a timestamp offset"],
] as const;
for (const [container, fromS, what] of CLIPS)
  test(`quotes the same price for ${what} as for the same clip without it`, async () => {
    const plain = await submitBoth("video_urls", await clipFrom(container, 0, 6));
    const offset = await submitBoth("video_urls", await clipFrom(container, fromS, 6));
    expect(plain.map(({ status }) => status)).toEqual([202, 202]);
    expect(offset).toEqual(plain);
  });

for (const container of ["mp4", "webm", "fragments"] as const)
  test(`accepts ${container} input of exactly 30 s and rejects 31 s at the limit of 30 s, with or without an offset`, async () => {
    for (const fromS of [0, 7]) {
      for (const { status, message } of await submitBoth("video_urls", await clipFrom(container, fromS, 30)))
        expect([status, message]).toEqual([202, ""]);
      for (const { status, message } of await submitBoth("video_urls", await clipFrom(container, fromS, 31))) {
        expect(status).toBe(422);
        expect(message).toContain("input.video_urls");
      }
    }
  });

for (const [container, fromS, what] of CLIPS)
  test(`delivers ${what} and reports only the played time as its duration`, async () => {
    const bytes = await clipFrom(container, fromS, 6);
    const delivery = await openDelivery("video", () => whole(bytes));
    const shown = await delivery.order();
    expect(shown).toMatchObject({ status: "succeeded", attempts: 1, output: { duration_s: expect.closeTo(6, 2) } });
  });
