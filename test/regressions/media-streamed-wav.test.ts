// Streamed WAV files, whose header is written before the length is known, are delivered and measured by their bytes.
import { expect, test } from "bun:test";
import { wav } from "../media/made.ts";
import { openDelivery, whole } from "./delivery.ts";

/** Two seconds of sound with the given lengths of the file and of its samples in the header. */
const streamed = (riff: number, samples: number): Uint8Array => {
  const bytes = wav(2);
  const view = new DataView(bytes.buffer);
  view.setUint32(4, riff, true);
  view.setUint32(40, samples, true);
  return bytes;
};
const LENGTHS: readonly [who: string, riff: number, samples: number][] = [
  ["sox", 0x7ffff024, 0x7ffff000],
  ["kyutai", 2_000_000_036, 2_000_000_000],
  ["ffmpeg to a pipe", 0xffffffff, 0xffffffff],
  ["a writer that leaves both lengths at 0", 0, 0],
  ["a writer that leaves the data length at 0", 32_036, 0],
  ["a writer that leaves the file length at 0", 0, 32_000],
  ["a writer that sets 2^31 - 1", 0x7fffffff, 0x7fffffff - 36],
  ["a writer that sets 2^31", 0x80000024, 0x80000000],
];
for (const [who, riff, samples] of LENGTHS)
  test(`delivers a WAV by ${who} without a valid length in its header, and measures it by its bytes`, async () => {
    const bytes = streamed(riff, samples);
    const delivery = await openDelivery("audio", () => whole(bytes));
    const shown = await delivery.order();
    expect(shown).toMatchObject({ status: "succeeded", cost_usd: 0.2, attempts: 1 });
    expect(delivery.fetched).toHaveLength(1);
    const content = await delivery.content(shown.id);
    expect(content.headers.get("content-type")).toBe("audio/wav");
    expect(await content.bytes()).toEqual(new Uint8Array(bytes));
    const record = await delivery.store.findGeneration(shown.id);
    expect(record?.output?.files[0]).toMatchObject({ durationMs: 2000 });
  });

test("does not charge for a WAV that is shorter than its header declares, and falls back to the next route", async () => {
  const bytes = wav(3).slice(0, -20_000);
  const delivery = await openDelivery("audio", () => whole(bytes));
  expect(await delivery.order()).toMatchObject({ status: "succeeded", cost_usd: 0.25, attempts: 2 });
});
