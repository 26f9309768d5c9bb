// Resumable uploads over three nodes that share PostgreSQL and a bucket: every request may reach another node.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync } from "node:fs";
import { connect } from "../../src/store/postgres/connections.ts";
import { append, beginAppend, created, head, offsetOf, TUS, terminate } from "../api/tus-requests.ts";
import { sampleBytes } from "../api/upload-requests.ts";
import type { Harness } from "../harness.ts";
import { type HarnessOfNodes, openHarnessOfNodes } from "../harness-nodes.ts";
import { postgresReason } from "../postgres/binaries.ts";

setDefaultTimeout(60_000);
if (postgresReason !== undefined) process.stdout.write(`skipped: resumable uploads on three nodes (${postgresReason})\n`);

describe.skipIf(postgresReason !== undefined)("on three nodes", () => {
  let nodes: HarnessOfNodes;
  let clip: Uint8Array;
  beforeAll(async () => {
    // At real speed, so that no lock expires while a test runs.
    nodes = await openHarnessOfNodes(3, { factor: 1 });
    clip = await sampleBytes(nodes, "clip.mp4?seconds=4&width=64&height=48");
  });
  afterAll(() => nodes.close());

  /** A node, with the tenant of all of them. */
  const nodeOf = (n: number) => ({ url: nodes.each[n]?.nodeUrl ?? "", tenant: nodes.tenant });
  /** Whether a request holds the lock of an upload; read without a request, which would take it. */
  const isLocked = async (path: string): Promise<boolean> => {
    const line = await connect({ url: nodes.databaseUrl, prepare: true });
    const { rows } = await line.send<{ n: number }>(
      "SELECT 1 AS n FROM resumable_upload WHERE id = $1 AND lock_id IS NOT NULL",
      path.split("/").at(-1) ?? "",
    );
    line.close();
    return rows.length > 0;
  };
  /** Names of files that a node is receiving. */
  const receiving = ({ dataDir }: Harness): string[] =>
    readdirSync(dataDir, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".part"));
  const used = () => nodes.store.uploadedBytes(nodes.tenant.accountSeq);

  test("the pieces of an upload reach all nodes in turn, and become one whole file", async () => {
    const path = await created(nodes, clip.length);
    const size = Math.ceil(clip.length / 7);
    let file: string | null = null;
    for (let at = 0; at < clip.length; at += size) {
      const answered = await append(nodeOf((at / size) % 3), path, at, clip.subarray(at, at + size));
      expect([answered.status, answered.text]).toEqual([204, ""]);
      file = answered.headers.get("genrouter-file");
    }
    const { body } = await nodes.request("GET", `/v1/files/${file}`);
    expect(body).toMatchObject({ bytes: clip.length, sha256: Bun.SHA256.hash(clip, "hex") });
    expect((await head(nodes, path)).headers.get("genrouter-file")).toBe(file);
    const content = await nodes.request("GET", `/v1/files/${file}/content`);
    expect(content.status).toBe(200);
    for (const { components } of nodes.each) await components.sweep();
    expect(await nodes.store.removableParts(nodes.clock.nowMs(), 10)).toEqual([]);
    expect((await nodes.countRows()).resumable_part).toBe(0);
  });

  test("while a node receives bytes, another answers 423, and the first continues", async () => {
    const path = await created(nodes, clip.length);
    const first = await beginAppend(nodeOf(0), path, { offset: 0, length: clip.length }, clip.subarray(0, 10));
    await nodes.eventually(() => isLocked(path), "the lock of the first node");
    expect((await append(nodeOf(2), path, 0, clip)).status).toBe(423);
    first.write(clip.subarray(10));
    await nodes.eventually(() => first.received().includes("HTTP/1.1 204"), "the response of the first node");
    first.end();
    expect((await head(nodes, path)).headers.get("genrouter-file")).toMatch(/^file_/);
  });

  test("bytes before a broken connection are kept for the other nodes", async () => {
    const path = await created(nodes, clip.length);
    const sending = await beginAppend(nodeOf(0), path, { offset: 0, length: clip.length }, clip.subarray(0, 1000));
    // The lock is taken before the body is read, and bytes that are unread when the connection breaks are lost.
    await nodes.eventually(() => nodes.each[0] && receiving(nodes.each[0]).length > 0, "the part that is being received");
    sending.end();
    await nodes.eventually(async () => (await offsetOf(nodes, path)) === 1000, "the kept bytes");
    // The offset is stored before the lock of the broken request is released; until then another node answers 423.
    await nodes.eventually(async () => !(await isLocked(path)), "the release of the lock");
    const rest = await append(nodeOf(2), path, 1000, clip.subarray(1000));
    expect(rest.headers.get("genrouter-file")).toMatch(/^file_/);
  });

  test("another node continues behind the bytes of a dead connection 7 s after the last one, and not while bytes arrive", async () => {
    const path = await created(nodes, clip.length);
    const first = await beginAppend(nodeOf(0), path, { offset: 0, length: clip.length }, clip.subarray(0, 100));
    await nodes.eventually(() => isLocked(path), "the lock of the first node");
    for (let at = 100; at < 600; at += 100) {
      nodes.clock.skip(3_000);
      // A pause of 3 s stores the bytes before it.
      await nodes.eventually(async () => (await offsetOf(nodes, path)) >= at, "the stored bytes");
      first.write(clip.subarray(at, at + 100));
      await nodes.eventually(() => nodes.each[0] && receiving(nodes.each[0]).length > 0, "the next part");
    }
    expect((await append(nodeOf(2), path, 500, clip.subarray(500))).status).toBe(423);
    nodes.clock.skip(3_000);
    await nodes.eventually(async () => (await offsetOf(nodes, path)) === 600, "the last bytes");
    nodes.clock.skip(4_000);
    const rest = await append(nodeOf(2), path, 600, clip.subarray(600));
    expect(rest.headers.get("genrouter-file")).toMatch(/^file_/);
    first.end();
  });

  test("a lock that a node left expires, and the upload continues at another node", async () => {
    const path = await created(nodes, clip.length);
    const uploadId = path.split("/").at(-1) ?? "";
    const atMs = nodes.clock.nowMs();
    const lock = { mutation: "lock-resumable-upload", uploadId, lockId: "lock_left", atMs, untilMs: atMs + 30_000 } as const;
    expect(await nodes.components.post(lock)).toEqual({ kind: "locked" });
    nodes.clock.skip(30_000);
    const answered = await append(nodeOf(2), path, 0, clip);
    expect(answered.headers.get("genrouter-file")).toMatch(/^file_/);
    // The former holder can append nothing any more.
    const part = { id: "blob_late", firstByte: 0, bytes: 1, sha256: "0".repeat(64), object: null };
    const late = { mutation: "begin-upload-part", uploadId, lockId: "lock_left", part, atMs, untilMs: atMs } as const;
    expect(await nodes.components.post(late)).toEqual({ kind: "gone" });
  });

  test("concurrent creations on all nodes pass neither 5 open uploads nor the quota", async () => {
    const before = await used();
    const key = nodes.tenant.key;
    const headers = { ...TUS, authorization: `Bearer ${key}`, "upload-length": "100" };
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, n) => fetch(`${nodeOf(n % 3).url}/v1/files/uploads`, { method: "POST", headers })),
    );
    const open = answers.filter(({ status }) => status === 201);
    expect(open.length).toBe(5);
    expect(answers.filter(({ status }) => status === 429).length).toBe(7);
    expect(await used()).toBe(before + 500);
    for (const { headers: sent } of open) expect((await terminate(nodes, sent.get("location") ?? "")).status).toBe(204);
    expect(await used()).toBe(before);
  });
});
