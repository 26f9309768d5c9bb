// Background uploads to a bucket: results move there, stay reachable, are deleted in both places and survive restarts.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathOfFile } from "../../../src/files/local.ts";
import { openApiHarness } from "../../api/harness.ts";
import { testClock } from "../../clock.ts";
import type { GenerationResource, Harness, HarnessOptions, ParsedResponse } from "../../harness.ts";
import { dropScratch } from "../../scratch.ts";
import { openTestBucket, type TestBucket } from "./bucket.ts";

let dir = "";
let clock: ReturnType<typeof testClock>;
let bucket: TestBucket;
let harnesses: Harness[] = [];
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "moved-"));
  clock = testClock(100);
  bucket = await openTestBucket(clock.nowMs, "/base-path");
});
afterEach(async () => {
  for (const harness of harnesses.splice(0)) await harness.close();
  await bucket.close();
  clock.stop();
  dropScratch(dir);
});

const open = async (env: Record<string, string> = {}, more: HarnessOptions = {}): Promise<Harness> => {
  const harness = await openApiHarness({ dir, clock, ...more, env: { ...bucket.settings, ...env } });
  harnesses.push(harness);
  return harness;
};
const shut = async (harness: Harness) => {
  harnesses = harnesses.filter((each) => each !== harness);
  await harness.close();
};
const isLocal = (id: string, n = 1) => existsSync(join(dir, "files", pathOfFile(id, n)));
const follow = async (answered: ParsedResponse, init: RequestInit = {}) => {
  expect(answered.status).toBe(302);
  return fetch(answered.headers.get("location") ?? "", init);
};
const picture = async (harness: Harness): Promise<GenerationResource> =>
  harness.until((await harness.submit("sim-image-1", { prompt: "a robot" })).id);
/** Creates a picture that was served from disk before its upload starts. */
const pictureOnDisk = async (harness: Harness): Promise<GenerationResource & { before: ParsedResponse }> => {
  await bucket.interrupt();
  const shown = await picture(harness);
  const before = await harness.request("GET", `/v1/generations/${shown.id}/content`);
  expect(before.status).toBe(200);
  await bucket.back();
  clock.skip(3_600_000);
  return { ...shown, before };
};
const gone = (harness: Harness, id: string) =>
  harness.eventually(() => !isLocal(id) && !isLocal(id, 2) && harness.waiting()?.files === 0, "the move");

describe("a result that was uploaded to the bucket", () => {
  test("is stored under the name of its generation with its recorded hash and type, and removed from disk", async () => {
    const harness = await open({ GENROUTER_S3__PREFIX: "kunden/Küche (a)/" });
    const { id, output } = await picture(harness);
    await gone(harness, id);
    const record = await harness.store.findGeneration(id);
    const files = record?.output?.files ?? [];
    expect(files).toHaveLength(output?.urls.length ?? 0);
    await harness.eventually(
      () => ![...bucket.objects.keys()].some((key) => key.endsWith("genrouter-start")),
      "the end of the trial",
    );
    expect([...bucket.objects.keys()].sort()).toEqual(files.map(({ n }) => `kunden/Küche (a)/${id}/${n}`));
    for (const { n, sha256, mime } of files) {
      const kept = bucket.objects.get(`kunden/Küche (a)/${id}/${n}`);
      expect(Bun.SHA256.hash(kept?.bytes ?? "", "hex")).toBe(sha256);
      expect(kept?.headers["content-type"]).toBe(mime);
    }
    await harness.eventually(
      () => readdirSync(join(dir, "files")).sort().join() === "bucket.json,incoming",
      "the end of the directory",
    );
    expect(bucket.seen.filter(({ refused }) => refused !== undefined)).toEqual([]);
    expect([...bucket.objects.keys()].join()).not.toContain(harness.tenant.accountId);
  });

  test("returns a short-lived link with the headers of the local file, by key and by signed link", async () => {
    const harness = await open();
    const { id, output, before } = await pictureOnDisk(harness);
    const path = `/v1/generations/${id}/content`;
    await gone(harness, id);
    const own = new URL((await harness.show(id)).output?.urls[0] ?? "");
    expect(own.origin).toBe(harness.url);
    expect(new URL(output?.urls[0] ?? "").pathname).toBe(own.pathname);
    for (const [at, key] of [
      [path, harness.tenant.key],
      [own.pathname + own.search, null],
    ] as const) {
      const answered = await harness.request("GET", at, { key });
      expect(answered.headers.get("cache-control")).toBe("private, no-store");
      const there = await follow(answered);
      expect(there.status).toBe(200);
      for (const name of ["content-type", "content-disposition", "cache-control", "content-length"])
        expect([name, there.headers.get(name)]).toEqual([name, before.headers.get(name)]);
      expect(Bun.SHA256.hash(await there.bytes(), "hex")).toBe((before.headers.get("etag") ?? "").slice(1, -1));
      const part = await follow(answered, { headers: { range: "bytes=4-9" } });
      expect([part.status, (await part.bytes()).length, part.headers.get("content-range")]).toEqual([
        206,
        6,
        `bytes 4-9/${before.headers.get("content-length")}`,
      ]);
      const head = await follow(await harness.request("HEAD", at, { key }), { method: "HEAD" });
      expect([head.status, head.headers.get("content-length")]).toEqual([200, before.headers.get("content-length")]);
    }
    const known = await harness.request("GET", path, { headers: { "if-none-match": before.headers.get("etag") ?? "" } });
    expect(known.status).toBe(304);
    expect((await harness.request("GET", `/v1/generations/${id}/content/2`)).status).toBe(302);
  });

  test("has links that expire after limits.file_link_ttl_s, and not later than the signed link that led to them", async () => {
    const harness = await open({ GENROUTER_LIMITS__FILE_LINK_TTL_S: "1800" });
    const { id } = await picture(harness);
    await gone(harness, id);
    const keyed = await harness.request("GET", `/v1/generations/${id}/content`);
    const validS = ({ headers }: ParsedResponse) =>
      Number(new URL(headers.get("location") ?? "").searchParams.get("X-Amz-Expires"));
    expect(validS(keyed)).toBe(1800);
    const own = new URL((await harness.show(id)).output?.urls[0] ?? "");
    clock.skip(1_000_000);
    const late = await harness.request("GET", own.pathname + own.search, { key: null });
    expect(validS(late)).toBeLessThanOrEqual(800);
    clock.skip(1_000_000);
    expect((await follow(keyed)).status).toBe(403);
    expect(bucket.seen.at(-1)?.refused).toBe("AccessDenied");
    expect((await harness.request("GET", own.pathname + own.search, { key: null })).status).toBe(403);
  });

  test("is deleted from the bucket after its retention, and then reported as expired", async () => {
    const harness = await open({ GENROUTER_LIMITS__FILE_RETENTION_S: "3600" });
    const { id } = await picture(harness);
    await gone(harness, id);
    expect(bucket.objects.size).toBe(2);
    clock.skip(3_600_000);
    expect((await harness.request("GET", `/v1/generations/${id}/content`)).body).toMatchObject({
      error: { message: "files expired" },
    });
    await harness.components.sweep();
    expect(bucket.objects.size).toBe(0);
    expect((await harness.store.findGeneration(id))?.filesExpiredAtMs).not.toBeNull();
  });

  test("is marked as expired when a rule of the bucket has already deleted it", async () => {
    const harness = await open({ GENROUTER_LIMITS__FILE_RETENTION_S: "3600" });
    const { id } = await picture(harness);
    await gone(harness, id);
    bucket.objects.clear();
    clock.skip(3_600_000);
    await harness.components.sweep();
    expect((await harness.store.findGeneration(id))?.filesExpiredAtMs).not.toBeNull();
  });
});

test("a sweep ends at once and marks nothing while the bucket is unavailable, and the next sweep continues", async () => {
  const harness = await open({ GENROUTER_LIMITS__FILE_RETENTION_S: "3600" });
  const ids = [(await picture(harness)).id, (await picture(harness)).id];
  for (const id of ids) await gone(harness, id);
  clock.skip(3_600_000);
  await bucket.interrupt();
  expect(await harness.components.sweep().catch((fault: Error) => fault.constructor.name)).toBe("StorageUnavailable");
  for (const id of ids) expect((await harness.store.findGeneration(id))?.filesExpiredAtMs).toBeNull();
  expect(bucket.objects.size).toBe(4);
  await bucket.back();
  await harness.components.sweep();
  expect(bucket.objects.size).toBe(0);
  for (const id of ids) expect((await harness.store.findGeneration(id))?.filesExpiredAtMs).not.toBeNull();
});

test("uploads existing local files after a switch to the bucket, and keeps them reachable after a switch back to local storage", async () => {
  const local = await open({ GENROUTER_FILES__STORE: "local", GENROUTER_S3__BUCKET: "" });
  const { id } = await picture(local);
  await shut(local);
  const remote = await open();
  await gone(remote, id);
  expect(bucket.objects.size).toBe(2);
  await shut(remote);
  const back = await open({ GENROUTER_FILES__STORE: "local" });
  expect((await follow(await back.request("GET", `/v1/generations/${id}/content`, { key: local.tenant.key }))).status).toBe(200);
  const next = await picture(back);
  clock.skip(120_000);
  expect((await back.request("GET", `/v1/generations/${next.id}/content`)).status).toBe(200);
  expect(bucket.objects.size).toBe(2);
});

test("rejects a start with one sentence when the settings do not find the files in the bucket", async () => {
  await shut(await open());
  const faults = await Promise.all(
    [
      { GENROUTER_FILES__STORE: "local", GENROUTER_S3__BUCKET: "" },
      { GENROUTER_S3__PREFIX: "other/" },
      { GENROUTER_S3__BUCKET: "other" },
    ].map((env) =>
      open(env).then(
        () => "opened",
        (fault: Error) => `${fault.name} ${fault.message}`,
      ),
    ),
  );
  for (const fault of faults) {
    expect(fault).toContain('result files of this data directory are in bucket "results"');
    expect(fault).not.toContain("\n");
    expect(fault).not.toContain("s3cr3t");
  }
});

test("does not upload files of a generation that fails", async () => {
  const harness = await open({ GENROUTER_LIMITS__RESULT_DOWNLOAD_TIMEOUT_S: "60" });
  harness.simulator.script({ fault: "fail", prompt: "fails" });
  const { id, status } = await harness.until((await harness.submit("sim-image-1", { prompt: "fails" })).id);
  expect(status).toBe("failed");
  clock.skip(120_000);
  await harness.eventually(() => harness.waiting()?.files === 0);
  expect([...bucket.objects.keys()].filter((key) => key.includes(id))).toEqual([]);
});

test("serves a result from disk during its upload, and then redirects to the bucket", async () => {
  const harness = await open();
  // Delays the upload until one request was served from disk.
  await bucket.interrupt();
  const { id } = await picture(harness);
  const seen = new Set([(await harness.request("GET", `/v1/generations/${id}/content`)).status]);
  await bucket.back();
  clock.skip(3_600_000);
  while (isLocal(id)) {
    const answered = await harness.request("GET", `/v1/generations/${id}/content`);
    seen.add(answered.status);
  }
  seen.add((await harness.request("GET", `/v1/generations/${id}/content`)).status);
  expect([...seen]).toEqual([200, 302]);
});
