// Pictures with many pixels or much metadata are accepted as inputs and delivered as results.
import { expect, test } from "bun:test";
import { type Harness, openHarness } from "../harness.ts";
import { jpeg } from "../media/made.ts";
import { openDelivery, whole } from "./delivery.ts";
import { largePng, notedJpeg } from "./pictures.ts";

const SIZES: readonly (readonly [number, number])[] = [
  [16_384, 16_384],
  [30_000, 20_000],
  [65_000, 300],
];
for (const [width, height] of SIZES)
  test(`delivers a result of ${width} by ${height} pixels and reports its size`, async () => {
    const bytes = largePng(width, height);
    const delivery = await openDelivery("image", () => whole(bytes));
    const shown = await delivery.order();
    expect(shown).toMatchObject({ status: "succeeded", cost_usd: 0.2, attempts: 1, output: { width, height } });
    expect(await (await delivery.content(shown.id)).bytes()).toEqual(new Uint8Array(bytes));
  });

for (const kilobytes of [300, 1200, 5000])
  test(`delivers a result with ${kilobytes} kB of metadata before its picture and reports its size`, async () => {
    const bytes = notedJpeg(await jpeg(640, 360), kilobytes * 1000);
    const delivery = await openDelivery("image", () => whole(bytes));
    const shown = await delivery.order();
    expect(shown).toMatchObject({ status: "succeeded", attempts: 1, output: { width: 640, height: 360 } });
    expect(await (await delivery.content(shown.id)).bytes()).toEqual(new Uint8Array(bytes));
  });

/** A file server with or without support for range requests. */
const serving = (bytes: Uint8Array, hasRanges: boolean) =>
  Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      const asked = /^bytes=(\d+)-(\d+)$/.exec(request.headers.get("range") ?? "");
      if (!hasRanges || !asked) return new Response(new Uint8Array(bytes));
      const [from, to] = [Number(asked[1]), Math.min(bytes.length - 1, Number(asked[2]))];
      const headers = { "content-range": `bytes ${from}-${to}/${bytes.length}` };
      return new Response(new Uint8Array(bytes.subarray(from, to + 1)), { status: 206, headers });
    },
  });
const submitPicture = async (bytes: Uint8Array, hasRanges: boolean): Promise<{ status: number; message: string }> => {
  const server = serving(bytes, hasRanges);
  const harness: Harness = await openHarness({ env: { GENROUTER_MEDIA__ALLOW: server.url.host }, factor: 0 });
  try {
    const input = { prompt: "a kite", image_url: `${server.url.origin}/picture`, duration: 4 };
    const { status, body } = await harness.request("POST", "/v1/generations", { body: { model: "vidmodel-2.0", input } });
    return { status, message: (body.error as { message: string } | undefined)?.message ?? "" };
  } finally {
    await harness.close();
    await server.stop(true);
  }
};

for (const hasRanges of [true, false]) {
  const how = hasRanges ? "with" : "without";
  test(`accepts an input of 16384 by 16384 pixels from a server ${how} range requests and rejects a larger one with the limit`, async () => {
    expect(await submitPicture(largePng(16_384, 16_384), hasRanges)).toEqual({ status: 202, message: "" });
    const refused = await submitPicture(largePng(20_000, 20_000), hasRanges);
    expect(refused.status).toBe(422);
    for (const named of ["input.image_url", "20000 x 20000", "268435456"]) expect(refused.message).toContain(named);
  });
  test(`accepts an input with 300 kB of metadata before its picture from a server ${how} range requests`, async () => {
    expect(await submitPicture(notedJpeg(await jpeg(640, 360), 300_000), hasRanges)).toEqual({ status: 202, message: "" });
  });
}
