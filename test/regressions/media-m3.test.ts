// Fault M3: a clip whose clock does not begin at 0 was billed for the time before it.
import { expect, test } from "bun:test";
import { openDelivery, whole } from "./delivery.ts";
import { clipFrom, submitBoth } from "./measured.ts";

const CLIPS = [
  ["mp4", 3600, "an MP4 with an hour of empty edit before it"],
  ["webm", 5, "a WebM recorded with an offset"],
  ["fragments", 12, "an MP4 in fragments whose clock runs already"],
] as const;
for (const [container, fromS, what] of CLIPS)
  test(`M3: ${what} costs as input what the same clip from 0 costs`, async () => {
    const plain = await submitBoth("video_urls", await clipFrom(container, 0, 6));
    const offset = await submitBoth("video_urls", await clipFrom(container, fromS, 6));
    expect(plain.map(({ status }) => status)).toEqual([202, 202]);
    expect(offset).toEqual(plain);
  });

for (const container of ["mp4", "webm", "fragments"] as const)
  test(`M3: ${container} of exactly 30 s is taken at the limit of 30 s, and one of 31 s is refused, offset or not`, async () => {
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
  test(`M3: ${what} as a result is as long as it is shown`, async () => {
    const bytes = await clipFrom(container, fromS, 6);
    const delivery = await openDelivery("video", () => whole(bytes));
    const shown = await delivery.order();
    expect(shown).toMatchObject({ status: "succeeded", attempts: 1, output: { duration_s: expect.closeTo(6, 2) } });
  });
