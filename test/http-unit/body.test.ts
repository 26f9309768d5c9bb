// Tests of the body size limit (§8): accepts 1 MiB, rejects one byte more and keeps the connection open.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { connect } from "node:net";
import { BODY_AT_MOST_BYTES } from "../../src/http/body.ts";
import { errorOf, type Harness, openHarness } from "./harness.ts";
import { talk } from "./raw.ts";

let harness: Harness;
beforeAll(async () => {
  harness = await openHarness();
});
afterAll(() => harness[Symbol.asyncDispose]());

const ofBytes = (bytes: number): Uint8Array => {
  const frame = '{"model":"m","input":{"prompt":""}}';
  return Buffer.from(`{"model":"m","input":{"prompt":"${"x".repeat(bytes - frame.length)}"}}`);
};
const chunked = (bytes: Uint8Array): ReadableStream<Uint8Array> => {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(at, at + 65_536));
      at += 65_536;
    },
  });
};

for (const [way, send] of [
  ["with Content-Length", (bytes: Uint8Array) => bytes],
  ["in chunks", chunked],
] as const) {
  test(`accepts a body of exactly 1,048,576 bytes ${way}`, async () => {
    expect((await harness.submit(send(ofBytes(BODY_AT_MOST_BYTES)))).status).toBe(202);
  });
  test.each([BODY_AT_MOST_BYTES + 1, 3_000_000])(`rejects a body of %d bytes ${way} with 413`, async (bytes) => {
    const error = await errorOf(await harness.submit(send(ofBytes(bytes))));
    expect(error).toMatchObject({ status: 413, code: "body_too_large" });
  });
}

test("rejects an endless chunked body with 413", async () => {
  let sent = 0;
  const endless = new ReadableStream<Uint8Array>({
    pull(controller) {
      sent += 65_536;
      if (sent > 64 * 1_048_576) return controller.close();
      controller.enqueue(new Uint8Array(65_536));
    },
  });
  expect((await errorOf(await harness.submit(endless))).status).toBe(413);
});

test("keeps the connection usable after a body that is too large, with Content-Length or in chunks", async () => {
  const over = "x".repeat(BODY_AT_MOST_BYTES + 1);
  const head = `POST /v1/generations HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${harness.key}\r\n`;
  const last = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  const byLength = await talk(harness.url, [`${head}Content-Length: ${over.length}\r\n\r\n${over}`, last]);
  expect(byLength.statuses).toEqual([413, 200]);
  const inChunks = await talk(harness.url, [
    `${head}Transfer-Encoding: chunked\r\n\r\n${over.length.toString(16)}\r\n${over}\r\n0\r\n\r\n`,
    last,
  ]);
  expect(inChunks.statuses).toEqual([413, 200]);
});

test("returns 401 for a missing key before it reads the body", async () => {
  const response = await harness.call("/v1/generations", { method: "POST", body: chunked(ofBytes(3_000_000)), key: null });
  expect((await errorOf(response)).status).toBe(401);
});

test("logs no failed request when the client disconnects in the middle of a body", async () => {
  const { hostname, port } = new URL(harness.url);
  const before = harness.lines.filter((line) => line.event === "request completed").length;
  const socket = connect(Number(port), hostname);
  await new Promise<void>((resolve) => socket.once("connect", () => resolve()));
  const head = `POST /v1/generations HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${harness.key}\r\n`;
  await new Promise<void>((resolve) => socket.write(`${head}Content-Length: 100\r\n\r\n{"model"`, () => resolve()));
  // When a later request has its response, the server has begun to read this body.
  await harness.call("/healthz");
  socket.destroy();
  const isOver = () => harness.lines.filter((line) => line.event === "request completed").length > before;
  for (let turn = 0; turn < 200 && !isOver(); turn++) await Bun.sleep(10);
  expect(isOver()).toBe(true);
  expect(harness.lines.filter((line) => line.event === "request failed")).toEqual([]);
});
