// Many idle connections and many unknown keys do not affect other clients and leave no memory.
import { heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { newApiKey } from "../../src/domain/ids.ts";
import { openHarness } from "../http-unit/harness.ts";

const CROWD = 2_000;

test("answers other clients while 2,000 connections are idle or have sent half a request", async () => {
  await using harness = await openHarness();
  const { hostname, port } = new URL(harness.url);
  const sockets: Socket[] = [];
  const said = [
    "",
    "GET /healthz HTTP/1.1\r\nHost: x\r\n",
    `POST /v1/generations HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${harness.key}\r\nContent-Length: 99\r\n\r\n{`,
  ];
  try {
    await Promise.all(
      Array.from({ length: CROWD }, (_, n) => {
        const socket = connect(Number(port), hostname);
        sockets.push(socket);
        socket.on("error", () => undefined);
        return new Promise<void>((resolve, reject) => {
          socket.once("connect", () => socket.write(said[n % said.length] || "\r\n", () => resolve()));
          socket.once("error", reject);
        });
      }),
    );
    const record = harness.addRecord();
    for (const path of ["/healthz", "/v1/models", `/v1/generations/${record.id}`])
      expect((await harness.call(path)).status).toBe(200);
    expect((await harness.submit('{"model":"m","input":{}}')).status).toBe(202);
    expect(harness.lines.filter(({ event }) => event === "request failed")).toEqual([]);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
});

test("10,000 requests with unknown or malformed keys leave no objects in memory", async () => {
  await using harness = await openHarness({ GENROUTER_LOG__LEVEL: "error" });
  const flood = async (count: number) => {
    for (let n = 0; n < count; n++) {
      const key = n % 2 === 0 ? newApiKey("test") : `gr_test_${String(n).padStart(49, "x")}`;
      const request = new Request(`${harness.url}/v1/generations/x`, { headers: { authorization: `Bearer ${key}` } });
      expect((await harness.http.handle(request)).status).toBe(401);
    }
    // The harness keeps the log lines, not the service.
    harness.lines.length = 0;
    Bun.gc(true);
    return heapStats().objectCount;
  };
  // The first thousand requests fill compiled code and caches.
  const before = await flood(1_000);
  const after = await flood(10_000);
  expect(after - before).toBeLessThan(2_000);
});
