// Uploads whose client sends almost nothing: they end after a minute and free their places.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Harness } from "../harness.ts";
import { dropScratch } from "../scratch.ts";
import { openApiHarness } from "./harness.ts";
import { beginAppend, created, head, offsetOf } from "./tus-requests.ts";
import { beginUpload, FILE_PART, FORM, formOf, sampleBytes, sendFile } from "./upload-requests.ts";

const dir = mkdtempSync(join(tmpdir(), "slow-"));
let harness: Harness;
let picture: Uint8Array;

beforeAll(async () => {
  harness = await openApiHarness({ dir, factor: 0 });
  picture = await sampleBytes(harness, "picture.png?width=40&height=30");
});
afterAll(async () => {
  await harness.close();
  dropScratch(dir);
});

const receiving = (folder: string): string[] => readdirSync(join(dir, folder, "incoming"));

type Sending = Awaited<ReturnType<typeof beginUpload>>;
/** Lets the time pass, and sends a byte every 50 s, until the responses arrive. */
const sendSlowly = async (sending: readonly Sending[]): Promise<void> =>
  void (await harness.eventually(() => {
    const open = sending.filter(({ received }) => !received().includes("\r\n\r\n"));
    harness.clock.skip(50_000);
    for (const one of open) one.write(Buffer.from("0"));
    return open.length === 0;
  }, "the responses"));

test.each([
  ["raw bytes", "Content-Type: image/png\r\nContent-Length: 5000", () => picture.subarray(0, 50)],
  ["a form", `Content-Type: ${FORM}\r\nContent-Length: 5000`, () => formOf([[FILE_PART, picture.subarray(0, 50)]], "")],
  ["chunks", "Content-Type: image/png\r\nTransfer-Encoding: chunked", () => Buffer.from("1388\r\nabc")],
])("%s that arrive at a byte in 50 s end with 408, and the account can upload again", async (_, headers, bytes) => {
  const open = await Promise.all([1, 2, 3, 4].map(() => beginUpload(harness, headers, bytes())));
  await harness.eventually(() => receiving("uploads").length === 4, "four files that are being received");
  expect((await sendFile(harness, { body: picture })).status).toBe(429);
  await sendSlowly(open);
  for (const one of open) {
    expect(one.received()).toContain("HTTP/1.1 408");
    expect(one.received()).toContain('"code":"invalid_request"');
    expect(one.received()).toContain("less than 4096 bytes per second for a minute");
    one.end();
  }
  expect(receiving("uploads")).toEqual([]);
  expect((await sendFile(harness, { body: picture })).status).toBe(201);
});

test("a PATCH that is too slow ends with 503, and the upload continues behind the bytes that arrived", async () => {
  const path = await created(harness, picture.length);
  const sending = await beginAppend(harness, path, { offset: 0, length: picture.length }, picture.subarray(0, 20));
  await harness.eventually(() => receiving("upload-parts").length === 1, "the part that is being received");
  await harness.eventually(() => {
    harness.clock.skip(20_000);
    return sending.received().includes("\r\n\r\n");
  }, "the response");
  expect(sending.received()).toContain("HTTP/1.1 503");
  expect(sending.received()).toContain("continue at the offset that HEAD returns");
  sending.end();
  expect((await head(harness, path)).status).toBe(200);
  expect(await offsetOf(harness, path)).toBe(20);
});
