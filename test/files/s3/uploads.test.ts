// Uploaded files in a bucket: complete before the response, served and taken by every node, and deleted with their last file.
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { newId } from "../../../src/domain/ids.ts";
import { messageOf } from "../../api/harness.ts";
import { append, created, head } from "../../api/tus-requests.ts";
import { sampleBytes, sendFile, uploaded } from "../../api/upload-requests.ts";
import type { Failure } from "./bucket.ts";
import { type Nodes, openNodes } from "./nodes.ts";

setDefaultTimeout(60_000);

let nodes: Nodes;
beforeEach(async () => {
  nodes = await openNodes();
});
afterEach(() => nodes.close());

const objects = () => [...nodes.bucket.objects.keys()].filter((key) => key.startsWith("uploads/blob_"));
/** Files below the directory of uploads. */
const onDisk = () =>
  readdirSync(join(nodes.dir, "uploads"), { recursive: true, encoding: "utf8" }).filter((name) => name.includes("."));

test.each([true, false])("a file is in the bucket and on no disk when it is answered (several nodes: %p)", async (shared) => {
  const harness = await nodes.open({ shared });
  const bytes = await sampleBytes(nodes, "picture.png?width=30&height=30");
  const file = await uploaded(harness, bytes);
  const { blobId, object } = (await harness.store.uploadedFile(file.id)) ?? {};
  expect(object).toBe(`1-${file.sha256.slice(0, 32)}`);
  expect(objects()).toEqual([`uploads/${blobId}/${object}`]);
  expect(Bun.SHA256.hash(nodes.bucket.objects.get(objects()[0] ?? "")?.bytes ?? "", "hex")).toBe(file.sha256);
  expect(onDisk()).toEqual([]);
  // Identical bytes are sent to the bucket once.
  await uploaded(harness, bytes);
  expect(objects().length).toBe(1);
});

test("a file of a lost node is served by the next one, taken as an input, and deleted from the bucket", async () => {
  const first = await nodes.open();
  const file = await uploaded(first, await sampleBytes(nodes, "picture.png?width=30&height=30"));
  const { key } = first.tenant;
  await nodes.crash(first);
  for (const own of ["files", "spool", "uploads"]) rmSync(join(nodes.dir, own), { recursive: true, force: true });
  const second = await nodes.open();
  const answered = await second.request("GET", `/v1/files/${file.id}/content`, { key });
  expect(answered.status).toBe(302);
  const whole = await fetch(answered.headers.get("location") ?? "");
  expect(whole.headers.get("content-type")).toBe("image/png");
  expect(Bun.SHA256.hash(await whole.bytes(), "hex")).toBe(file.sha256);

  const body = { model: "sim-edit-1", input: { prompt: "in oil", image_url: file.id } };
  const submitted = await second.request("POST", "/v1/generations", { key, body });
  expect(submitted.status).toBe(202);
  const ended = await second.until(String(submitted.body.id), undefined, key);
  expect(ended.status).toBe("succeeded");
  // A result of the service in the bucket is read from there.
  const again = { model: "sim-edit-1", input: { prompt: "in ink", image_url: ended.output?.urls[0] ?? "" } };
  const next = await second.request("POST", "/v1/generations", { key, body: again });
  expect([next.status, (await second.until(String(next.body.id), undefined, key)).status]).toEqual([202, "succeeded"]);

  expect((await second.request("DELETE", `/v1/files/${file.id}`, { key })).status).toBe(200);
  await second.components.sweep();
  expect(objects()).toEqual([]);
});

test("a file that the bucket refuses is answered 503, leaves nothing and counts against no quota", async () => {
  const harness = await nodes.open();
  const bytes = await sampleBytes(nodes, "picture.png?width=30&height=30");
  nodes.bucket.fail = ({ method, key }) =>
    method === "PUT" && key.startsWith("uploads/blob_") ? { status: 403, code: "AccessDenied" } : undefined;
  const answered = await sendFile(harness, { body: bytes });
  expect(answered.status).toBe(503);
  expect(messageOf(answered)).toContain("no space for the file at present");
  expect(await harness.store.uploadedBytes(harness.tenant.accountSeq)).toBe(0);
  expect((await harness.request("GET", "/v1/files")).body.data).toEqual([]);
  nodes.bucket.fail = () => undefined;
  await harness.components.sweep();
  expect(objects()).toEqual([]);
  expect(onDisk()).toEqual([]);
  nodes.clock.skip(120_000);
  await harness.eventually(async () => (await sendFile(harness, { body: bytes })).status === 201, "an accepted upload");
});

test("the bytes of an upload that a crash interrupted are deleted from the bucket, although the key may not list it", async () => {
  const harness = await nodes.open();
  const kept = nodes.bucket.objects;
  const file = await uploaded(harness, await sampleBytes(nodes, "picture.png?width=30&height=30"));
  const { accountSeq } = harness.tenant;
  const content = { sha256: "c".repeat(64), bytes: 4, mime: "image/png", kind: "image" } as const;
  const [atMs, blobId, object] = [nodes.clock.nowMs(), newId("blob"), "1-cccc"];
  const begun = {
    accountSeq,
    fileId: newId("file"),
    blobId,
    content,
    object,
    quotaBytes: 1e9,
    maxFiles: 10,
    atMs,
    expiresAtMs: atMs + 1,
  };
  expect(await harness.components.post({ mutation: "begin-upload", ...begun })).toEqual({ kind: "reserved" });
  const [stored = ""] = objects();
  kept.set(`uploads/${blobId}/${object}`, kept.get(stored) as never);
  nodes.bucket.fail = ({ method, query }) =>
    method === "GET" && query.has("list-type") ? { status: 403, code: "AccessDenied" } : undefined;
  nodes.clock.skip(3_700_000);
  await harness.components.sweep();
  expect(objects()).toEqual([stored]);
  expect((await harness.request("GET", `/v1/files/${file.id}`)).status).toBe(200);
});

test("a part that the bucket does not return is read again, and an upload whose part cannot be read is completed later", async () => {
  const harness = await nodes.open();
  const clip = await sampleBytes(nodes, "clip.mp4?seconds=4&width=64&height=48");
  let failures = 0;
  const failNext = (count: number, how: Failure) => {
    failures = count;
    nodes.bucket.fail = ({ method, isLink }) => {
      if (method !== "GET" || !isLink || failures === 0) return undefined;
      failures -= 1;
      return how;
    };
  };
  for (const how of ["cut", { status: 503, code: "SlowDown" }, { status: 404, code: "NoSuchKey" }] as const) {
    const path = await created(harness, clip.length);
    await append(harness, path, 0, clip.subarray(0, 1000));
    failNext(1, how);
    expect((await append(harness, path, 1000, clip.subarray(1000))).headers.get("genrouter-file")).toMatch(/^file_/);
    expect(failures).toBe(0);
  }
  const path = await created(harness, clip.length);
  await append(harness, path, 0, clip.subarray(0, 1000));
  failNext(3, { status: 503, code: "SlowDown" });
  const answered = await append(harness, path, 1000, clip.subarray(1000));
  expect([answered.status, messageOf(answered)]).toEqual([503, expect.stringContaining("complete it later with HEAD")]);
  const file = (await head(harness, path)).headers.get("genrouter-file");
  expect((await harness.request("GET", `/v1/files/${file}`)).body).toMatchObject({ sha256: Bun.SHA256.hash(clip, "hex") });
});

test("the parts of a completed upload are deleted by their names, without a list of the bucket", async () => {
  const harness = await nodes.open();
  const clip = await sampleBytes(nodes, "clip.mp4?seconds=4&width=64&height=48");
  const path = await created(harness, clip.length);
  const size = Math.ceil(clip.length / 20);
  for (let at = 0; at + size < clip.length; at += size) await append(harness, path, at, clip.subarray(at, at + size));
  expect(objects().length).toBe(19);
  const asked = { lists: 0, deletions: 0 };
  nodes.bucket.fail = ({ method, query }) => {
    if (method === "GET" && query.has("list-type")) asked.lists += 1;
    if (method === "DELETE") asked.deletions += 1;
    return undefined;
  };
  const last = await append(harness, path, 19 * size, clip.subarray(19 * size));
  expect(last.headers.get("genrouter-file")).toMatch(/^file_/);
  await harness.eventually(() => objects().length === 1, "the deleted parts");
  expect(asked).toEqual({ lists: 0, deletions: 20 });
  await harness.eventually(async () => (await harness.countRows()).resumable_part === 0, "the deleted rows");
});

test("files of a node without a bucket are moved when it gets one", async () => {
  const before = await nodes.open({ shared: false, env: { GENROUTER_FILES__STORE: "local", GENROUTER_S3__BUCKET: "" } });
  const file = await uploaded(before, await sampleBytes(nodes, "picture.png?width=30&height=30"));
  const { key } = before.tenant;
  expect(onDisk().length).toBe(1);
  await nodes.crash(before);
  const after = await nodes.open({ shared: false });
  await after.eventually(() => onDisk().length === 0, "the moved file");
  expect(objects().length).toBe(1);
  const answered = await after.request("GET", `/v1/files/${file.id}/content`, { key });
  expect(answered.status).toBe(302);
  expect(Bun.SHA256.hash(await (await fetch(answered.headers.get("location") ?? "")).bytes(), "hex")).toBe(file.sha256);
});
