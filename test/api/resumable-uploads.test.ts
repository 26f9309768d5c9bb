// Resumable uploads over real HTTP: each rule of tus 1.0, limits, quota, expiry and the file at the end.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Harness } from "../harness.ts";
import { dropScratch } from "../scratch.ts";
import { codeOf, messageOf, openApiHarness } from "./harness.ts";
import { APPEND, append, beginAppend, create, created, head, offsetOf, TUS, terminate, UPLOADS } from "./tus-requests.ts";
import { sampleBytes } from "./upload-requests.ts";

const MOST_BYTES = 2_000_000;
const DAY_MS = 86_400_000;
const dir = mkdtempSync(join(tmpdir(), "resumable-"));
let harness: Harness;
let clip: Uint8Array;

beforeAll(async () => {
  harness = await openApiHarness({ dir, factor: 1, env: { GENROUTER_LIMITS__UPLOAD_BYTES: String(MOST_BYTES) } });
  clip = await sampleBytes(harness, "clip.mp4?seconds=4&width=64&height=48");
});
afterAll(async () => {
  await harness.close();
  dropScratch(dir);
});

/** Parts on disk, stored or being received. */
const parts = (): string[] =>
  readdirSync(join(dir, "upload-parts"), { recursive: true, encoding: "utf8" }).filter((name) => /blob_[^/]*\.\d/.test(name));
/** Parts that are being received. */
const receiving = (): string[] => readdirSync(join(dir, "upload-parts", "incoming"));
const used = (accountSeq = harness.tenant.accountSeq) => harness.store.uploadedBytes(accountSeq);
const sum = (bytes: Uint8Array, algorithm: "md5" | "sha1" | "sha256" = "sha1") =>
  `${algorithm} ${new Bun.CryptoHasher(algorithm).update(bytes).digest("base64")}`;

test("OPTIONS names version, extensions, algorithms and the maximum size, without a key", async () => {
  for (const path of [UPLOADS, `${UPLOADS}/upl_x`]) {
    const { status, headers } = await harness.request("OPTIONS", path, { key: null });
    expect(status).toBe(204);
    expect(headers.get("tus-version")).toBe("1.0.0");
    expect(headers.get("tus-resumable")).toBe("1.0.0");
    expect(headers.get("tus-extension")).toBe("creation,expiration,termination,checksum");
    expect(headers.get("tus-checksum-algorithm")).toBe("md5,sha1,sha256");
    expect(headers.get("tus-max-size")).toBe(String(MOST_BYTES));
  }
});

test("an upload in two pieces becomes the same file as POST /v1/files makes", async () => {
  const clip = await sampleBytes(harness, "clip.mp4?seconds=4&width=80&height=60");
  const half = Math.floor(clip.length / 2);
  const before = await used();
  const path = await created(harness, clip.length, undefined, { "upload-metadata": "filename Y2xpcC5tcDQ=,draft" });
  expect(path).toMatch(/^\/v1\/files\/uploads\/upl_[0-9a-z]{26}$/);
  expect(await used()).toBe(before + clip.length);
  const first = await append(harness, path, 0, clip.subarray(0, half));
  expect([first.status, first.headers.get("upload-offset")]).toEqual([204, String(half)]);
  const between = await head(harness, path);
  expect(between.status).toBe(200);
  expect(between.headers.get("upload-length")).toBe(String(clip.length));
  expect(between.headers.get("upload-metadata")).toBe("filename Y2xpcC5tcDQ=,draft");
  expect(between.headers.get("cache-control")).toBe("no-store");
  expect(between.headers.get("genrouter-file")).toBeNull();
  const expiresInMs = Date.parse(between.headers.get("upload-expires") ?? "") - harness.clock.nowMs();
  expect(Math.abs(expiresInMs - DAY_MS)).toBeLessThan(600_000);
  const id = path.slice(UPLOADS.length + 1);
  const shown = await harness.request("GET", path);
  expect(shown.body).toEqual({ id, object: "upload", offset: half, length: clip.length });

  const last = await append(harness, path, half, clip.subarray(half));
  expect([last.status, last.headers.get("upload-offset")]).toEqual([204, String(clip.length)]);
  const file = last.headers.get("genrouter-file") ?? "";
  expect(last.headers.get("location")).toBe(`/v1/files/${file}`);
  expect((await harness.request("GET", path)).body).toEqual({
    ...{ id, object: "upload", offset: clip.length, length: clip.length, file },
  });
  expect((await head(harness, path)).headers.get("genrouter-file")).toBe(file);
  expect((await harness.request("GET", `/v1/files/${file}`)).body).toMatchObject({
    ...{ kind: "video", content_type: "video/mp4", bytes: clip.length, sha256: Bun.SHA256.hash(clip, "hex") },
    ...{ width: 80, height: 60 },
  });
  expect(await used()).toBe(before + clip.length);
  await harness.components.sweep();
  expect(parts()).toEqual([]);
  // The response of the last PATCH may be lost; the client repeats it without bytes.
  const again = await append(harness, path, clip.length, new Uint8Array());
  expect([again.status, again.headers.get("genrouter-file")]).toEqual([204, file]);
  expect((await append(harness, path, 0, clip)).status).toBe(409);
  expect((await terminate(harness, path)).status).toBe(409);
});

test("identical bytes of a finished file are stored once, whichever way they came", async () => {
  const { key, accountSeq } = await harness.newTenant();
  for (let n = 0; n < 2; n += 1) {
    const path = await created(harness, clip.length, key);
    expect((await append(harness, path, 0, clip, {}, key)).headers.get("genrouter-file")).toMatch(/^file_/);
  }
  expect(await used(accountSeq)).toBe(clip.length);
});

describe("rejects, and changes nothing:", () => {
  const CREATIONS: [what: string, headers: Record<string, string>, status: number, says: string][] = [
    ["no version", { "tus-resumable": "" }, 412, "Tus-Resumable: must be 1.0.0."],
    ["another version", { "tus-resumable": "0.2.2" }, 412, "Tus-Resumable: must be 1.0.0."],
    ["no length", { "upload-length": "" }, 400, "Upload-Length: must be a whole number"],
    ["a negative length", { "upload-length": "-1" }, 400, "Upload-Length: must be a whole number"],
    ["a length that is no number", { "upload-length": "1e3" }, 400, "Upload-Length: must be a whole number"],
    ["an empty file", { "upload-length": "0" }, 400, "the file is empty"],
    ["a length over the limit", { "upload-length": String(MOST_BYTES + 1) }, 413, "limits.upload_bytes"],
    ["a deferred length", { "upload-defer-length": "1" }, 400, "Upload-Defer-Length: is not supported"],
    ["metadata that is not Base64", { "upload-metadata": "filename a-b" }, 400, "Upload-Metadata: must be pairs"],
    ["a name given twice", { "upload-metadata": "a YQ==,a YQ==" }, 400, "is given twice"],
    ["long metadata", { "upload-metadata": `a ${"YWFh".repeat(1100)}` }, 400, "at most 4096 characters"],
  ];
  test.each(CREATIONS)("a creation with %s", async (_, headers, status, says) => {
    const before = await used();
    const answered = await create(harness, 100, undefined, headers);
    expect([answered.status, messageOf(answered)]).toEqual([status, expect.stringContaining(says) as never]);
    expect(answered.headers.get("tus-resumable")).toBe("1.0.0");
    if (status === 412) expect(answered.headers.get("tus-version")).toBe("1.0.0");
    if (status === 413) expect(answered.headers.get("tus-max-size")).toBe(String(MOST_BYTES));
    expect(await used()).toBe(before);
  });

  test("a creation with a body", async () => {
    const sent = { headers: { ...APPEND, "upload-length": "5" }, body: "bytes" };
    const answered = await harness.request("POST", UPLOADS, sent);
    expect([answered.status, messageOf(answered)]).toEqual([400, expect.stringContaining("takes no body") as never]);
  });

  const APPENDS: [what: string, offset: number, headers: Record<string, string>, bytes: number, status: number, says: string][] =
    [
      ["an offset behind", 0, {}, 10, 409, "continues at 40"],
      ["an offset ahead", 41, {}, 10, 409, "continues at 40"],
      ["no offset", 40, { "upload-offset": "" }, 10, 400, "Upload-Offset: must be a whole number"],
      ["another type", 40, { "content-type": "application/octet-stream" }, 10, 415, "Content-Type: must be"],
      ["another version", 40, { "tus-resumable": "2.0.0" }, 10, 412, "Tus-Resumable"],
      ["more bytes than announced", 40, {}, 61, 413, "at most 60 bytes follow the offset"],
      ["an unknown algorithm", 40, { "upload-checksum": "crc32 AAAAAA==" }, 10, 400, "the algorithms are md5,sha1,sha256"],
      ["a digest of another length", 40, { "upload-checksum": "sha1 AAAA" }, 10, 400, "Upload-Checksum: must be sha1"],
      ["the checksum of other bytes", 40, { "upload-checksum": sum(Buffer.from("x")) }, 10, 460, "bytes were discarded"],
    ];
  test.each(APPENDS)("an append with %s", async (_, offset, headers, bytes, status, says) => {
    const path = await created(harness, 100);
    await append(harness, path, 0, new Uint8Array(40));
    const answered = await append(harness, path, offset, new Uint8Array(bytes), headers);
    expect([answered.status, messageOf(answered)]).toEqual([status, expect.stringContaining(says) as never]);
    expect(answered.headers.get("tus-resumable")).toBe("1.0.0");
    expect(await offsetOf(harness, path)).toBe(40);
    await terminate(harness, path);
  });

  test("more bytes than announced without Content-Length", async () => {
    const path = await created(harness, 100);
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        controller.enqueue(new Uint8Array(101));
        controller.close();
      },
    });
    const headers = { ...APPEND, authorization: `Bearer ${harness.tenant.key}`, "upload-offset": "0" };
    expect((await fetch(harness.url + path, { method: "PATCH", headers, body })).status).toBe(413);
    expect(await offsetOf(harness, path)).toBe(0);
    await terminate(harness, path);
  });

  test("uploads of another account and unknown ones, with the same 404", async () => {
    const path = await created(harness, 100);
    const { key } = await harness.newTenant();
    for (const [at, as] of [
      [path, key],
      [`${UPLOADS}/upl_0`, harness.tenant.key],
    ] as const) {
      const answers = [
        await harness.request("GET", at, { key: as }),
        await append(harness, at, 0, new Uint8Array(1), {}, as),
        await harness.request("DELETE", at, { key: as, headers: TUS }),
      ];
      for (const answered of answers)
        expect([answered.status, messageOf(answered)]).toEqual([404, "No upload with this id on the account."]);
      expect((await head(harness, at, as)).status).toBe(404);
    }
    expect(await offsetOf(harness, path)).toBe(0);
    await terminate(harness, path);
  });

  test("a request without a key, and changes with a key that can only read", async () => {
    const path = await created(harness, 100);
    const reader = await harness.newTenant(1000, "read");
    expect((await harness.request("HEAD", path, { key: null, headers: TUS })).status).toBe(401);
    expect((await create(harness, 100, reader.key)).status).toBe(403);
    expect((await append(harness, path, 0, new Uint8Array(1), {}, reader.key)).status).toBe(403);
    await terminate(harness, path);
  });

  test("a creation of an account that cannot pay the cheapest job", async () => {
    const { key } = await harness.newTenant(0);
    expect((await create(harness, 100, key)).status).toBe(402);
  });
});

describe("a broken connection", () => {
  test("keeps the bytes received before it, and the rest continues behind them", async () => {
    const path = await created(harness, clip.length);
    const sending = await beginAppend(harness, path, { offset: 0, length: clip.length }, clip.subarray(0, 1000));
    await harness.eventually(() => receiving().length === 1, "the part that is being received");
    sending.end();
    await harness.eventually(async () => (await offsetOf(harness, path)) === 1000, "the kept bytes");
    const rest = await append(harness, path, 1000, clip.subarray(1000));
    const file = rest.headers.get("genrouter-file");
    const { body } = await harness.request("GET", `/v1/files/${file}`);
    expect(body.sha256).toBe(Bun.SHA256.hash(clip, "hex"));
  });

  test("discards the bytes of a request with a checksum, which cannot be verified", async () => {
    const path = await created(harness, clip.length);
    const length = clip.length;
    const headers = `Upload-Checksum: ${sum(clip)}\r\n`;
    const sending = await beginAppend(harness, path, { offset: 0, length, headers }, clip.subarray(0, 1000));
    await harness.eventually(() => receiving().length === 1, "the part that is being received");
    sending.end();
    await harness.eventually(() => receiving().length === 0, "the discarded part");
    expect(await offsetOf(harness, path)).toBe(0);
    for (const algorithm of ["md5", "sha1"] as const) {
      const [from, to] = algorithm === "md5" ? [0, 500] : [500, 900];
      const bytes = clip.subarray(from, to);
      expect((await append(harness, path, from, bytes, { "upload-checksum": sum(bytes, algorithm) })).status).toBe(204);
    }
    const rest = clip.subarray(900);
    const done = await append(harness, path, 900, rest, { "upload-checksum": sum(rest, "sha256") });
    expect(done.headers.get("genrouter-file")).toMatch(/^file_/);
  });
});

test("a second request is answered 423 while one appends", async () => {
  const path = await created(harness, clip.length);
  const sending = await beginAppend(harness, path, { offset: 0, length: clip.length }, clip.subarray(0, 10));
  await harness.eventually(() => receiving().length === 1, "the part that is being received");
  const second = await append(harness, path, 0, clip);
  expect([second.status, codeOf(second)]).toEqual([423, "concurrency_limit"]);
  sending.write(clip.subarray(10));
  await harness.eventually(() => sending.received().includes("HTTP/1.1 204"), "the response of the first request");
  expect((await head(harness, path)).headers.get("genrouter-file")).toMatch(/^file_/);
  sending.end();
});

test("a request whose client has sent nothing for 5 s is interrupted by the next one, which continues behind its bytes", async () => {
  const path = await created(harness, clip.length);
  const dead = await beginAppend(harness, path, { offset: 0, length: clip.length }, clip.subarray(0, 10));
  await harness.eventually(() => receiving().length === 1, "the part that is being received");
  expect((await append(harness, path, 0, clip)).status).toBe(423);
  harness.clock.skip(5_000);
  // The dead request had stored nothing yet, so this one finds another offset and the client reads it again.
  expect((await append(harness, path, 0, clip)).status).toBe(409);
  expect(await offsetOf(harness, path)).toBe(10);
  expect((await append(harness, path, 10, clip.subarray(10))).headers.get("genrouter-file")).toMatch(/^file_/);
  dead.end();
});

test("POST with X-HTTP-Method-Override appends and terminates", async () => {
  const path = await created(harness, 100);
  const headers = { ...APPEND, "upload-offset": "0", "x-http-method-override": "PATCH" };
  const appended = await harness.request("POST", path, { headers, body: "bytes" });
  expect([appended.status, appended.headers.get("upload-offset")]).toEqual([204, "5"]);
  expect((await harness.request("POST", path, { headers: { ...TUS, "x-http-method-override": "GET" } })).status).toBe(400);
  const ended = await harness.request("POST", path, { headers: { ...TUS, "x-http-method-override": "DELETE" } });
  expect(ended.status).toBe(204);
});

test("a file that cannot be read ends the upload with 422 and releases its quota", async () => {
  const before = await used();
  const noise = Buffer.alloc(5000, 7);
  const path = await created(harness, noise.length);
  const answered = await append(harness, path, 0, noise);
  expect([answered.status, codeOf(answered)]).toEqual([422, "invalid_input"]);
  expect(messageOf(answered)).toContain("the media cannot be read");
  expect((await head(harness, path)).status).toBe(422);
  expect((await append(harness, path, noise.length, new Uint8Array())).status).toBe(422);
  expect((await harness.request("GET", path)).body.error).toEqual({ code: "invalid_input", message: messageOf(answered) });
  expect(await used()).toBe(before);
});

test("DELETE deletes the bytes and releases the quota; the upload is 410 then", async () => {
  const before = await used();
  const path = await created(harness, clip.length);
  await append(harness, path, 0, clip.subarray(0, 100));
  expect((await terminate(harness, path)).status).toBe(204);
  expect(await used()).toBe(before);
  expect((await head(harness, path)).status).toBe(410);
  expect((await append(harness, path, 100, clip)).status).toBe(410);
  expect((await terminate(harness, path)).status).toBe(410);
  await harness.components.sweep();
  expect(parts()).toEqual([]);
});

test("a request that appends to a terminated upload is answered 410, and leaves nothing", async () => {
  const path = await created(harness, clip.length);
  const sending = await beginAppend(harness, path, { offset: 0, length: clip.length }, clip.subarray(0, 10));
  await harness.eventually(() => receiving().length === 1, "the part that is being received");
  expect((await terminate(harness, path)).status).toBe(204);
  sending.write(clip.subarray(10));
  await harness.eventually(() => sending.received().includes("HTTP/1.1 410"), "the response");
  sending.end();
  expect(receiving()).toEqual([]);
});

describe("limits of an account", () => {
  test("at most 5 open uploads, also if they are created concurrently", async () => {
    const { key } = await harness.newTenant();
    const answers = await Promise.all(Array.from({ length: 9 }, () => create(harness, 10, key)));
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([201, 201, 201, 201, 201, 429, 429, 429, 429]);
    const refused = answers.find(({ status }) => status === 429);
    expect(messageOf(refused as never)).toContain("has 5 open uploads");
    const path = answers.find(({ status }) => status === 201)?.headers.get("location") ?? "";
    expect((await harness.request("DELETE", path, { key, headers: TUS })).status).toBe(204);
    expect((await create(harness, 10, key)).status).toBe(201);
  });

  test("the quota counts announced sizes, and no race of uploads and files passes it", async () => {
    const quotaBytes = clip.length * 3;
    const small = await openApiHarness({ env: { GENROUTER_LIMITS__UPLOAD_QUOTA_BYTES: String(quotaBytes) } });
    try {
      const answers = await Promise.all(Array.from({ length: 5 }, () => create(small, clip.length)));
      expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, 409, 409]);
      expect(codeOf(answers.find(({ status }) => status === 409) as never)).toBe("upload_quota_exceeded");
      expect(await small.store.uploadedBytes(small.tenant.accountSeq)).toBe(quotaBytes);
      // The quota is full, and each of the three open uploads can still become a file.
      const paths = answers.flatMap(({ status, headers }) => (status === 201 ? [headers.get("location") ?? ""] : []));
      const whole = await Promise.all(
        paths.map(async (path, seed) => {
          const bytes = Buffer.concat([clip, Buffer.alloc(0)]);
          bytes[bytes.length - 1] = seed;
          return append(small, path, 0, bytes);
        }),
      );
      expect(whole.map(({ status }) => status)).toEqual([204, 204, 204]);
      expect(await small.store.uploadedBytes(small.tenant.accountSeq)).toBe(quotaBytes);
    } finally {
      await small.close();
    }
  });

  test("PATCH is outside of the rate limit, and every other method is inside", async () => {
    const slow = await openApiHarness({ env: { GENROUTER_LIMITS__BURST_PER_S: "3" }, factor: 0 });
    try {
      const path = await created(slow, 100);
      for (let n = 0; n < 10; n += 1) expect((await append(slow, path, n, new Uint8Array(1))).status).toBe(204);
      expect([(await head(slow, path)).status, (await head(slow, path)).status]).toEqual([200, 200]);
      expect((await head(slow, path)).status).toBe(429);
      expect((await terminate(slow, path)).status).toBe(429);
      expect((await create(slow, 100)).status).toBe(429);
      expect((await append(slow, path, 10, new Uint8Array(1))).status).toBe(204);
    } finally {
      await slow.close();
    }
  });
});

test("an upload expires after 24 hours: 410, quota and bytes are released, and the row is forgotten a day later", async () => {
  const home = mkdtempSync(join(tmpdir(), "resumable-"));
  const still = await openApiHarness({ dir: home, factor: 0 });
  const left = () =>
    readdirSync(join(home, "upload-parts"), { recursive: true, encoding: "utf8" }).filter((name) => /blob_[^/]*\.\d/.test(name));
  try {
    const path = await created(still, 100);
    await append(still, path, 0, new Uint8Array(40));
    still.clock.skip(DAY_MS - 1);
    await still.components.sweep();
    expect(await offsetOf(still, path)).toBe(40);
    still.clock.skip(1);
    expect((await head(still, path)).status).toBe(410);
    expect((await append(still, path, 40, new Uint8Array(60))).status).toBe(410);
    expect([left().length, await still.store.uploadedBytes(still.tenant.accountSeq)]).toEqual([1, 100]);
    await still.components.sweep();
    expect([left().length, await still.store.uploadedBytes(still.tenant.accountSeq)]).toEqual([0, 0]);
    expect((await head(still, path)).status).toBe(410);
    still.clock.skip(DAY_MS + 1);
    await still.components.sweep();
    expect((await head(still, path)).status).toBe(404);
  } finally {
    await still.close();
    dropScratch(home);
  }
});
