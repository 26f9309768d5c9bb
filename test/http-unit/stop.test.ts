// Tests of listening and stopping: exclusive use of the port, and completion of requests in progress.
import { describe, expect, test } from "bun:test";
import { keepFile, openHarness } from "./harness.ts";

describe("the HTTP server", () => {
  test("completes requests in progress and refuses new connections when it stops", async () => {
    const other = await openHarness();
    const { promise: mayFinish, resolve: finish } = Promise.withResolvers<void>();
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    other.onSubmit(async () => {
      begin();
      await mayFinish;
      return { record: other.addRecord(), replayed: false };
    });
    const underWay = other.submit('{"model":"m","input":{}}');
    await begun;
    const stopped = other.http.stop();
    const refused = await fetch(`${other.url}/healthz`, { headers: { connection: "close" } }).then(
      () => "answered",
      () => "refused",
    );
    expect(refused).toBe("refused");
    finish();
    expect((await underWay).status).toBe(202);
    await stopped;
    await other[Symbol.asyncDispose]();
  });

  test("does not wait for idle connections or for a request body that it did not read when it stops", async () => {
    for (const key of [null, "own"]) {
      const other = await openHarness();
      const body = "x".repeat(1_048_577);
      const response = await other.call("/v1/generations", { method: "POST", body, ...(key === null ? { key } : {}) });
      expect([401, 413]).toContain(response.status);
      await response.text();
      await other[Symbol.asyncDispose]();
    }
  });

  test("rejects listen() when the address is in use", async () => {
    await using holder = await openHarness();
    const other = await openHarness();
    await expect(other.http.listen({ host: "127.0.0.1", port: Number(new URL(holder.url).port) })).rejects.toThrow();
    await other[Symbol.asyncDispose]();
  });

  test("completes a download in progress when it stops", async () => {
    const other = await openHarness();
    const bytes = new Uint8Array(8 * 1_048_576).fill(7);
    const record = other.addRecord({
      status: "succeeded",
      costCredits: 1,
      completedAtMs: 1,
      output: { kind: "video", files: [{ n: 1, sha256: "ab", bytes: bytes.length, mime: "video/mp4" }] },
    });
    await keepFile(other.files, record.id, 1, bytes);
    const response = await other.call(`/v1/generations/${record.id}/content`);
    const stopped = other.http.stop();
    expect((await response.arrayBuffer()).byteLength).toBe(bytes.length);
    await stopped;
    await other[Symbol.asyncDispose]();
  });
});
