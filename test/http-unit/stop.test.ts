// Promises of listening and stopping: the port is nobody else's, and who is being answered is answered to the end.
import { describe, expect, test } from "bun:test";
import { keepFile, openHarness } from "./harness.ts";

describe("stopping", () => {
  test("lets answers under way finish and refuses new connections", async () => {
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

  test("does not wait for connections that are idle, nor for a body that was answered before it was read", async () => {
    for (const key of [null, "own"]) {
      const other = await openHarness();
      const body = "x".repeat(1_048_577);
      const response = await other.call("/v1/generations", { method: "POST", body, ...(key === null ? { key } : {}) });
      expect([401, 413]).toContain(response.status);
      await response.text();
      await other[Symbol.asyncDispose]();
    }
  });

  test("an address that is taken is a rejection, not a crash", async () => {
    await using holder = await openHarness();
    const other = await openHarness();
    await expect(other.http.listen({ host: "127.0.0.1", port: Number(new URL(holder.url).port) })).rejects.toThrow();
    await other[Symbol.asyncDispose]();
  });

  test("lets a download that is under way finish", async () => {
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
