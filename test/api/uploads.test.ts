// Uploaded files over real HTTP: upload, list, read, download and delete; bodies that break off or lie; limits.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { newId } from "../../src/domain/ids.ts";
import { pathOfFile } from "../../src/files/local.ts";
import type { Harness } from "../harness.ts";
import { dropScratch } from "../scratch.ts";
import { codeOf, messageOf, openApiHarness } from "./harness.ts";
import { beginUpload, FILE_PART, type FileResource, FORM, formOf, sampleBytes, sendFile, uploaded } from "./upload-requests.ts";

const MOST_BYTES = 2_000_000;
const dir = mkdtempSync(join(tmpdir(), "uploads-"));
let harness: Harness;
let picture: Uint8Array;
let clip: Uint8Array;
let voice: Uint8Array;

beforeAll(async () => {
  harness = await openApiHarness({ dir, factor: 1, env: { GENROUTER_LIMITS__UPLOAD_BYTES: String(MOST_BYTES) } });
  picture = await sampleBytes(harness, "picture.png?width=40&height=30");
  clip = await sampleBytes(harness, "clip.mp4?seconds=4&width=64&height=48");
  voice = await sampleBytes(harness, "voice.mp3?seconds=2");
});
afterAll(async () => {
  await harness.close();
  dropScratch(dir);
});

/** Names below the directory of uploads: stored blobs, and parts that are being received. */
const onDisk = (): string[] =>
  readdirSync(join(dir, "uploads"), { recursive: true, encoding: "utf8" }).filter((name) => /blob_[^/]*\.\d/.test(name));
const parts = (): string[] => readdirSync(join(dir, "uploads", "incoming"));

describe("POST /v1/files", () => {
  test("stores a picture that is sent as a form, and returns its measurements", async () => {
    const form = new FormData();
    form.append("file", new Blob([Buffer.from(picture)], { type: "image/png" }), "kitten.png");
    const answered = await sendFile(harness, { body: form });
    expect(answered.status).toBe(201);
    const file = answered.body as unknown as FileResource;
    expect(file).toEqual({
      id: expect.stringMatching(/^file_[0-9a-z]{26}$/) as never,
      object: "file",
      ...{ kind: "image", content_type: "image/png", bytes: picture.length, sha256: Bun.SHA256.hash(picture, "hex") },
      ...{ width: 40, height: 30, duration_s: null },
      url: expect.stringContaining(`/files/${file.id}/1.png?exp=`) as never,
      created_at: expect.any(String) as never,
      expires_at: expect.any(String) as never,
    });
    expect(Date.parse(file.expires_at) - Date.parse(file.created_at)).toBe(7 * 86_400_000);
    expect(answered.headers.get("location")).toBe(`/v1/files/${file.id}`);
  });

  test("stores raw bytes, and goes by them whatever Content-Type says", async () => {
    for (const type of ["video/mp4", "image/png", "application/octet-stream", undefined]) {
      const { status, body } = await sendFile(harness, { body: clip, ...(type ? { type } : {}) });
      expect([status, body.kind, body.content_type]).toEqual([201, "video", "video/mp4"]);
      expect([body.width, body.height]).toEqual([64, 48]);
      expect(Math.abs(Number(body.duration_s) - 4)).toBeLessThan(0.05);
    }
    const { body } = await sendFile(harness, { body: voice });
    expect([body.kind, body.content_type, body.width, body.height]).toEqual(["audio", "audio/mpeg", null, null]);
    expect(Math.abs(Number(body.duration_s) - 2)).toBeLessThan(0.1);
  });

  test("stores identical bytes of an account once, under an id for each upload", async () => {
    const bytes = await sampleBytes(harness, "picture.png?width=9&height=9&seed=77");
    await harness.components.sweep();
    const before = onDisk().length;
    const [one, two] = [await uploaded(harness, bytes), await uploaded(harness, bytes)];
    expect(two.id).not.toBe(one.id);
    expect(two.sha256).toBe(one.sha256);
    expect(onDisk().length).toBe(before + 1);
    const concurrent = await sampleBytes(harness, "picture.png?width=9&height=9&seed=78");
    const several = await Promise.all([1, 2, 3].map(() => uploaded(harness, concurrent)));
    expect(new Set(several.map(({ id }) => id)).size).toBe(3);
    await harness.components.sweep();
    expect(onDisk().length).toBe(before + 2);
  });

  const REFUSED: [what: string, body: () => Uint8Array | string, type: string | undefined, status: number, says: string][] = [
    ["an empty body", () => "", undefined, 400, "The file is empty"],
    ["an empty part", () => formOf([[FILE_PART, ""]]), FORM, 400, "The file is empty"],
    ["a form without a boundary", () => formOf([[FILE_PART, picture]]), "multipart/form-data", 400, "boundary"],
    [
      "a form with two files",
      () => formOf([[FILE_PART, picture], [FILE_PART, picture]]), // biome-ignore format: one row
      FORM,
      400,
      "this one has two",
    ],
    ["a form without a file", () => formOf([]), FORM, 400, "this one has none"],
    [
      "a form with another field",
      () => formOf([['Content-Disposition: form-data; name="purpose"', "vision"]]),
      FORM,
      400,
      '"purpose" is not taken',
    ],
    ["a form that ends inside its file", () => formOf([[FILE_PART, picture]], ""), FORM, 400, "last boundary is missing"],
    ["a page", () => "<!doctype html><html><body>Not found</body></html>", "image/png", 422, "the media cannot be read: it is"],
    ["JSON", () => '{"error":"no such file"}', "application/json", 422, "the media cannot be read: it is"],
    ["noise", () => Buffer.alloc(5000, 7), "video/mp4", 422, "the media cannot be read"],
    ["a clip that breaks off", () => clip.subarray(0, 600), "video/mp4", 422, "the media cannot be read"],
    ["a header of a picture of 2^62 pixels", () => hugePng(), "image/png", 422, "2147483647 x 2147483647 pixels"],
    ["a raw body over the limit", () => Buffer.alloc(MOST_BYTES + 1), "image/png", 413, "limits.upload_bytes"],
    [
      "a file over the limit in a form",
      () => formOf([[FILE_PART, Buffer.alloc(MOST_BYTES + 1)]]),
      FORM,
      413,
      "limits.upload_bytes",
    ],
  ];
  test.each(REFUSED)("rejects %s, and stores nothing", async (_, body, type, status, says) => {
    const before = await harness.store.uploadedBytes(harness.tenant.accountSeq);
    const answered = await sendFile(harness, { body: body(), ...(type ? { type } : {}) });
    expect(answered.status).toBe(status);
    expect(messageOf(answered)).toContain(says);
    expect(await harness.store.uploadedBytes(harness.tenant.accountSeq)).toBe(before);
    expect(parts()).toEqual([]);
  });

  test("rejects a body without Content-Length at the first byte over the limit", async () => {
    let sent = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        sent += 65_536;
        controller.enqueue(Buffer.alloc(65_536));
        if (sent > 50 * MOST_BYTES) controller.close();
      },
    });
    expect(await sendFile(harness, { body: endless, type: "video/mp4" })).toMatchObject({ status: 413 });
    expect(sent).toBeLessThan(20 * MOST_BYTES);
    expect(parts()).toEqual([]);
  });

  test.each([
    ["raw bytes", "Content-Type: image/png\r\nContent-Length: 5000", () => picture.subarray(0, 50)],
    ["a form", `Content-Type: ${FORM}\r\nContent-Length: 5000`, () => formOf([[FILE_PART, picture.subarray(0, 50)]], "")],
    ["chunks", "Content-Type: image/png\r\nTransfer-Encoding: chunked", () => Buffer.from("40\r\nabc")],
  ])("stores nothing if the connection breaks inside %s", async (_, head, bytes) => {
    const before = onDisk().length;
    const upload = await beginUpload(harness, head, bytes());
    await harness.eventually(() => parts().length === 1, "the file that is being received");
    upload.end();
    await harness.eventually(() => parts().length === 0, "the discarded file");
    expect(onDisk().length).toBe(before);
  });

  test("receives a bounded number of files of an account at a time", async () => {
    const head = "Content-Type: image/png\r\nContent-Length: 5000";
    const open = await Promise.all([1, 2, 3, 4].map(() => beginUpload(harness, head, picture.subarray(0, 50))));
    await harness.eventually(() => parts().length === 4, "four files that are being received");
    const answered = await sendFile(harness, { body: picture });
    expect([answered.status, codeOf(answered)]).toEqual([429, "concurrency_limit"]);
    const other = await harness.newTenant();
    expect((await sendFile(harness, { body: picture, key: other.key })).status).toBe(201);
    for (const one of open) one.end();
    await harness.eventually(() => parts().length === 0, "the discarded files");
    expect((await sendFile(harness, { body: picture })).status).toBe(201);
  });

  test("answers 402 before it reads anything if the account cannot pay the cheapest job", async () => {
    const { key } = await harness.newTenant(0);
    const answered = await sendFile(harness, { body: Buffer.alloc(MOST_BYTES + 1), key });
    expect([answered.status, codeOf(answered)]).toEqual([402, "insufficient_credits"]);
    expect(messageOf(answered)).toContain("must be available to upload files and 0.00 USD is");
  });

  test("answers 401 without a key and 403 with a key that can only read", async () => {
    expect((await sendFile(harness, { body: picture, key: null })).status).toBe(401);
    const reader = await harness.newTenant(1000, "read");
    const answered = await sendFile(harness, { body: picture, key: reader.key });
    expect([answered.status, codeOf(answered)]).toEqual([403, "generation_not_enabled"]);
  });
});

describe("the files of an account", () => {
  test("are listed newest first in pages, and only to their account", async () => {
    const { key } = await harness.newTenant();
    const ids: string[] = [];
    for (let seed = 1; seed <= 5; seed += 1)
      ids.unshift((await uploaded(harness, await sampleBytes(harness, `picture.png?width=8&height=8&seed=${seed}`), key)).id);
    const page = async (query: string) => (await harness.request("GET", `/v1/files${query}`, { key })).body;
    const first = await page("?limit=2");
    expect(first).toMatchObject({ object: "list", data: [{ id: ids[0] }, { id: ids[1] }], has_more: true, next: ids[1] });
    const second = await page(`?limit=2&after=${ids[1]}`);
    expect(second).toMatchObject({ data: [{ id: ids[2] }, { id: ids[3] }], has_more: true, next: ids[3] });
    // A cursor stays valid when its file is deleted.
    expect((await harness.request("DELETE", `/v1/files/${ids[3]}`, { key })).status).toBe(200);
    expect(await page(`?limit=2&after=${ids[3]}`)).toMatchObject({ data: [{ id: ids[4] }], has_more: false, next: null });
    const other = await harness.newTenant();
    expect((await harness.request("GET", "/v1/files", { key: other.key })).body).toEqual({
      ...{ object: "list", data: [], has_more: false, next: null },
    });
    expect((await harness.request("GET", `/v1/files?after=${ids[0]}`, { key: other.key })).status).toBe(400);
  });

  test.each(["?limit=0", "?limit=101", "?limit=x", "?after=nothing", "?before=1"])("rejects the list with %s", async (query) => {
    const answered = await harness.request("GET", `/v1/files${query}`);
    expect([answered.status, codeOf(answered)]).toEqual([400, "invalid_request"]);
  });

  test("are served whole and in ranges, by key and by link, with their type", async () => {
    const file = await uploaded(harness, clip);
    const own = new URL(file.url);
    for (const [path, key] of [
      [`/v1/files/${file.id}/content`, harness.tenant.key],
      [own.pathname + own.search, null],
    ] as const) {
      const get = (headers: Record<string, string> = {}, method = "GET") =>
        fetch(harness.url + path, { method, headers: { ...(key ? { authorization: `Bearer ${key}` } : {}), ...headers } });
      const whole = await get();
      expect([whole.status, whole.headers.get("content-type")]).toEqual([200, "video/mp4"]);
      expect(Bun.SHA256.hash(await whole.bytes(), "hex")).toBe(file.sha256);
      expect(whole.headers.get("content-disposition")).toContain(`${file.id}.mp4`);
      const part = await get({ range: "bytes=4-9" });
      expect([part.status, part.headers.get("content-range")]).toEqual([206, `bytes 4-9/${clip.length}`]);
      expect(await part.bytes()).toEqual(new Uint8Array(clip.subarray(4, 10)));
      expect((await get({ range: `bytes=${clip.length}-` })).status).toBe(416);
      expect((await get({ "if-none-match": `"${file.sha256}"` })).status).toBe(304);
      expect((await get({}, "HEAD")).headers.get("content-length")).toBe(String(clip.length));
    }
  });

  test("have links that a change of one character or an hour makes invalid", async () => {
    const file = await uploaded(harness, picture);
    const own = new URL(file.url);
    const at = (path: string) => harness.request("GET", path, { key: null });
    expect((await at(own.pathname + own.search.replace(/sig=./, "sig=!"))).status).toBe(403);
    const other = await uploaded(harness, picture);
    expect((await at(own.pathname.replace(file.id, other.id) + own.search)).status).toBe(403);
    expect((await at(`/files/${file.id}/2${own.search}`)).status).toBe(403);
    harness.clock.skip(3_700_000);
    expect((await at(own.pathname + own.search)).status).toBe(403);
    const { body } = await harness.request("GET", `/v1/files/${file.id}`);
    const again = new URL(String(body.url));
    expect((await at(again.pathname + again.search)).status).toBe(200);
  });

  test("are unknown to other accounts, like ids that do not exist", async () => {
    const file = await uploaded(harness, picture);
    const { key } = await harness.newTenant();
    for (const path of [`/v1/files/${file.id}`, `/v1/files/${file.id}/content`, "/v1/files/file_0", "/v1/files/x"]) {
      const answered = await harness.request("GET", path, { key });
      expect([answered.status, codeOf(answered), messageOf(answered)]).toEqual([
        404,
        "not_found",
        "No file with this id on the account.",
      ]);
    }
    expect((await harness.request("DELETE", `/v1/files/${file.id}`, { key })).status).toBe(404);
    expect((await harness.request("GET", `/v1/files/${file.id}`)).status).toBe(200);
  });

  test("are gone after DELETE, with their bytes when no other file has the same", async () => {
    const bytes = await sampleBytes(harness, "picture.png?width=11&height=11&seed=5");
    const { id } = await uploaded(harness, bytes);
    await harness.components.sweep();
    const before = onDisk().length;
    const { id: second } = await uploaded(harness, bytes);
    const remove = (file: string) => harness.request("DELETE", `/v1/files/${file}`);
    expect(await remove(id)).toMatchObject({ status: 200, body: { id, object: "file", deleted: true } });
    await harness.components.sweep();
    expect(onDisk().length).toBe(before);
    expect((await harness.request("GET", `/v1/files/${second}/content`)).status).toBe(200);
    expect((await remove(second)).status).toBe(200);
    await harness.components.sweep();
    expect(onDisk().length).toBe(before - 1);
    expect((await remove(second)).status).toBe(404);
    expect((await harness.request("GET", `/v1/files/${id}`)).status).toBe(404);
  });
});

test("a file expires after its retention, and its bytes are deleted", async () => {
  const home = mkdtempSync(join(tmpdir(), "uploads-"));
  const short = await openApiHarness({ dir: home, factor: 0, env: { GENROUTER_LIMITS__UPLOAD_RETENTION_S: "100" } });
  try {
    const { id } = await uploaded(short, picture);
    const stored = () =>
      readdirSync(join(home, "uploads"), { recursive: true, encoding: "utf8" }).filter((name) => /\.1$/.test(name));
    short.clock.skip(99_000);
    await short.components.sweep();
    expect((await short.request("GET", `/v1/files/${id}`)).status).toBe(200);
    expect((await short.request("GET", "/v1/files")).body.data).toMatchObject([{ id }]);
    short.clock.skip(1_000);
    expect((await short.request("GET", `/v1/files/${id}`)).status).toBe(404);
    expect((await short.request("GET", "/v1/files")).body).toMatchObject({ data: [], has_more: false });
    expect(stored().length).toBe(1);
    await short.components.sweep();
    expect(stored()).toEqual([]);
    expect(short.lines.filter(({ event }) => event === "expired uploads deleted")).toEqual([
      { event: "expired uploads deleted", fields: { count: 1 } },
    ]);
    expect(await short.store.uploadedBytes(short.tenant.accountSeq)).toBe(0);
  } finally {
    await short.close();
    dropScratch(home);
  }
});

test("an upload that a crash interrupted is given up after an hour, with its bytes and its share of the quota", async () => {
  const { accountSeq } = await harness.newTenant();
  const content = { sha256: "c".repeat(64), bytes: 4, mime: "image/png", kind: "image" } as const;
  const blobId = newId("blob");
  const atMs = harness.clock.nowMs();
  const ids = { accountSeq, fileId: newId("file"), blobId, maxFiles: 10 };
  const begun = { mutation: "begin-upload", ...ids, content, object: null, quotaBytes: 10, atMs, expiresAtMs: atMs + 1 } as const;
  expect(await harness.components.post(begun)).toEqual({ kind: "reserved" });
  // The process ended after the bytes got their name and before the file was named.
  const path = join(dir, "uploads", pathOfFile(blobId, 1));
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, "left");
  await harness.components.sweep();
  expect([existsSync(path), await harness.store.uploadedBytes(accountSeq)]).toEqual([true, 4]);
  harness.clock.skip(3_700_000);
  await harness.components.sweep();
  expect([existsSync(path), await harness.store.uploadedBytes(accountSeq)]).toEqual([false, 0]);
  const late = { mutation: "finish-upload", ...ids, atMs, expiresAtMs: atMs + 1 } as const;
  expect(await harness.components.post(late)).toEqual({ kind: "gone" });
});

test("a stored file that the disk has lost is answered 404 and logged", async () => {
  const file = await uploaded(harness, await sampleBytes(harness, "picture.png?width=12&height=12&seed=3"));
  const blob = (await harness.store.uploadedFile(file.id))?.blobId ?? "";
  const path = join(dir, "uploads", blob.slice(0, 10), `${blob}.1`);
  expect(existsSync(path)).toBe(true);
  rmSync(path);
  const answered = await harness.request("GET", `/v1/files/${file.id}/content`);
  expect([answered.status, messageOf(answered)]).toEqual([404, "The stored file is missing. The operator has been notified."]);
  expect(harness.lines.filter(({ event }) => event === "file missing").map(({ fields }) => fields.file_id)).toEqual([file.id]);
});

/** A PNG whose header states 2^31-1 by 2^31-1 pixels. */
function hugePng(): Uint8Array {
  const bytes = Buffer.from(picture);
  bytes.writeUInt32BE(2_147_483_647, 16);
  bytes.writeUInt32BE(2_147_483_647, 20);
  return bytes;
}
