// Result files are delivered if their server's Content-Encoding does not match the bytes.
import { expect, test } from "bun:test";
import { jpeg, png } from "../media/made.ts";
import { openDelivery, whole } from "./delivery.ts";

for (const coding of [
  "aws-chunked",
  "base64",
  "utf-8",
  "none",
  "gzip",
  "br",
  "deflate",
  "zstd",
  "gzip, aws-chunked",
  "x-unheard-of",
])
  test(`delivers an uncompressed picture served with Content-Encoding ${coding} unchanged after one download`, async () => {
    const bytes = await png(40, 30);
    const delivery = await openDelivery("image", () => whole(bytes, { "content-encoding": coding }));
    const shown = await delivery.order();
    expect(shown).toMatchObject({ status: "succeeded", cost_usd: 0.2, attempts: 1, output: { width: 40, height: 30 } });
    const content = await delivery.content(shown.id);
    expect([content.headers.get("content-type"), content.headers.get("content-encoding")]).toEqual(["image/png", null]);
    expect(await content.bytes()).toEqual(new Uint8Array(bytes));
    expect(delivery.fetched).toHaveLength(1);
  });

test("decompresses a file whose Content-Encoding names gzip beside a coding that is not supported", async () => {
  const bytes = await jpeg(40, 30);
  const delivery = await openDelivery("image", () =>
    whole(Bun.gzipSync(new Uint8Array(bytes)), { "content-encoding": "aws-chunked,gzip" }),
  );
  const shown = await delivery.order();
  expect(shown).toMatchObject({ status: "succeeded", attempts: 1 });
  expect(await (await delivery.content(shown.id)).bytes()).toEqual(new Uint8Array(bytes));
});
