// Two minutes of bucket failures lose no result: each is served throughout and uploaded afterwards.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generationId } from "../../../src/domain/ids.ts";
import type { GenerationRecord } from "../../../src/domain/types.ts";
import { createSpool } from "../../../src/files/inline-spool.ts";
import { createLocalStorage, pathOfFile } from "../../../src/files/local.ts";
import { createS3Storage } from "../../../src/files/s3/s3-storage.ts";
import { casesOfShare } from "../../case-share.ts";
import { testClock } from "../../clock.ts";
import { type Harness, openHarness } from "../../harness.ts";
import { dropScratch } from "../../scratch.ts";
import { type Asked, type Failure, openTestBucket, type TestBucket } from "./bucket.ts";

let dir = "";
let clock: ReturnType<typeof testClock>;
let bucket: TestBucket;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "outage-"));
  clock = testClock(100);
  bucket = await openTestBucket(clock.nowMs);
});
afterEach(async () => {
  await bucket.close();
  clock.stop();
  dropScratch(dir);
});

/** One request uploads at most 8 MB: a slightly larger file has two parts, and one of 20 MB has three. */
const LARGE_BYTES = 20 * 1024 * 1024 + 17;

let made = 0;
/** The storage without the service, with files of any size of generations that have succeeded. */
const openStore = async (records = new Map<string, GenerationRecord>()) => {
  const lines: { event: string; fields: { reason?: string; error_code?: string } }[] = [];
  const local = await createLocalStorage(join(dir, "files"));
  const { settings: s } = bucket;
  const of = (key: string) => s[`GENROUTER_S3__${key}`] ?? "";
  const kept = createS3Storage({
    settings: {
      endpoint: of("ENDPOINT"),
      region: of("REGION"),
      bucket: of("BUCKET"),
      prefix: "",
      access_key: of("ACCESS_KEY"),
      secret_key: of("SECRET_KEY"),
    },
    moves: true,
    shared: false,
    local,
    spool: await createSpool(join(dir, "spool"), clock.nowMs),
    clock,
    chance: () => 0.5,
    report: (event, fields) => void lines.push({ event, fields }),
    reportedFaults: new Set(),
    recordOf: async (id) => records.get(id),
    linkS: 3600,
  });
  const keep = async (bytes: Buffer, atMs = clock.nowMs()): Promise<string> => {
    // Does not use the counter of the process, which other tests may have advanced by days.
    const seq = (atMs - Date.UTC(2026, 0, 1)) * 4096 + ++made;
    const id = generationId(seq);
    const sha256 = Bun.SHA256.hash(bytes, "hex");
    const file = { n: 1, sha256, bytes: bytes.length, mime: "video/mp4" };
    const output = { kind: "video", files: [file] };
    records.set(id, { seq, id, status: "succeeded", output, filesExpiredAtMs: null } as unknown as GenerationRecord);
    const incoming = await kept.files.receive(id, 1);
    await incoming.write(bytes);
    await incoming.keep(file);
    return id;
  };
  const eventually = async (look: () => boolean, what: string) => {
    for (const endMono = performance.now() + 20_000; !look(); await Bun.sleep(2))
      if (performance.now() > endMono) throw new Error(`timed out waiting for ${what}: ${JSON.stringify(lines)}`);
  };
  const isLocal = (id: string) => existsSync(join(dir, "files", pathOfFile(id, 1)));
  return { ...kept, records, keep, lines, isLocal, eventually };
};

/** The names of the failures, or of a part of them. */
const casesOf = (troubles: object): string[] => casesOfShare("failures of a bucket", Object.keys(troubles), (name) => name);

describe("two minutes of bucket failures while generations succeed", () => {
  const TROUBLES: Record<string, (asked: Asked) => Failure | undefined> = {
    "a bucket that does not respond": () => "hang",
    "status 500 InternalError": () => ({ status: 500, code: "InternalError" }),
    "status 503 SlowDown": () => ({ status: 503, code: "SlowDown" }),
    "uploads that are cut in the middle": ({ method }) => (method === "PUT" ? "cut" : undefined),
    "uploads whose response is lost": ({ method }) => (method === "PUT" || method === "POST" ? "reset" : undefined),
    "status 200 without storing the object": () => "lose",
    "status 403 AccessDenied": () => ({ status: 403, code: "AccessDenied" }),
  };
  /**
   * The service deletes the objects of its start checks: one of results, one of uploads. A failure during a check would be reported
   * separately.
   */
  const isTried = () => new Set(bucket.seen.flatMap(({ method, key }) => (method === "DELETE" ? [key] : []))).size === 2;
  const lived = async (harness: Harness, begin: () => void | Promise<void>, end: () => void | Promise<void>) => {
    await begin();
    const fromMs = clock.nowMs();
    const ids: string[] = [];
    while (clock.nowMs() < fromMs + 120_000) {
      const { id, status } = await harness.until((await harness.submit("sim-image-1", { prompt: `picture ${ids.length}` })).id);
      expect(status).toBe("succeeded");
      ids.push(id);
      for (const each of ids) {
        const answered = await harness.request("GET", `/v1/generations/${each}/content`);
        // Files that were uploaded despite the failures are served from the bucket, all others from disk.
        const link = answered.headers.get("location");
        expect([each, link === null ? answered.status : (await fetch(link)).status]).toEqual([each, 200]);
      }
    }
    await end();
    const uploaded = () =>
      harness.waiting()?.files === 0 && ids.every((id) => !existsSync(join(dir, "files", pathOfFile(id, 1))));
    await harness.eventually(uploaded, `the move of ${ids.length} results`);
    for (const id of ids) {
      const files = (await harness.store.findGeneration(id))?.output?.files ?? [];
      expect(files.length).toBeGreaterThan(0);
      for (const { n, sha256 } of files)
        expect([id, Bun.SHA256.hash(bucket.objects.get(`${id}/${n}`)?.bytes ?? "", "hex")]).toEqual([id, sha256]);
      const there = await fetch((await harness.request("GET", `/v1/generations/${id}/content`)).headers.get("location") ?? "");
      expect(there.status).toBe(200);
    }
    expect(bucket.uploads.size).toBe(0);
    return ids;
  };

  test.each(casesOf(TROUBLES))(
    "serves every result during %s and uploads it afterwards",
    async (name) => {
      const harness = await openHarness({ dir, clock, env: bucket.settings });
      await harness.eventually(isTried, "the trial of the start");
      const [trouble, fromMs] = [TROUBLES[name], clock.nowMs()];
      await lived(
        harness,
        () => {
          bucket.fail = (asked) => trouble?.(asked);
        },
        () => {
          bucket.fail = () => undefined;
        },
      );
      const reported = harness.lines.filter(({ event }) => /^(object storage|file not)/.test(event));
      expect(JSON.stringify(reported)).not.toMatch(/s3cr3t|AKIDTEST|127\.0\.0\.1|Signature=/);
      // Reported at the start and at the end, not at every attempt; a partly working bucket at most once a minute.
      const minutes = Math.floor((clock.nowMs() - fromMs) / 60_000) + 1;
      if (name === "status 200 without storing the object" || name === "uploads whose response is lost")
        expect(reported.filter(({ event }) => event === "object storage unavailable").length).toBeLessThanOrEqual(minutes);
      else
        expect(reported.map(({ event }) => event)).toEqual([
          name.startsWith("status 403") ? "object storage access denied" : "object storage unavailable",
          "object storage recovered",
        ]);
      await harness.close();
    },
    60_000,
  );

  test("serves every result while the bucket refuses connections and uploads it afterwards", async () => {
    const harness = await openHarness({ dir, clock, env: bucket.settings });
    await harness.eventually(isTried, "the trial of the start");
    await lived(harness, bucket.interrupt, bucket.back);
    const reported = harness.lines.filter(({ event }) => event.startsWith("object storage"));
    expect(reported.map(({ event }) => event)).toEqual(["object storage unavailable", "object storage recovered"]);
    expect(reported[0]?.fields.reason).toContain("served from there");
    await harness.close();
  }, 60_000);
});

describe("a large file", () => {
  const TROUBLES: Record<string, (seen: number, asked: Asked) => Failure | undefined> = {
    "a part that fails once": (seen, { query }) =>
      query.has("partNumber") && seen === 2 ? { status: 503, code: "SlowDown" } : undefined,
    "a part that fails repeatedly": (seen, { query }) =>
      query.get("partNumber") === "2" && seen < 12 ? { status: 500, code: "InternalError" } : undefined,
    "a part that is cut in the middle": (seen, { query }) => (query.has("partNumber") && seen < 12 ? "cut" : undefined),
    "a completion that returns 200 with an error": (seen, { method, query }) =>
      method === "POST" && query.has("uploadId") && seen < 12 ? "lie" : undefined,
    "a completion whose response is lost": (seen, { method, query }) =>
      method === "POST" && query.has("uploadId") && seen < 12 ? "reset" : undefined,
    "a start of the upload whose response is lost": (seen, { method, query }) =>
      method === "POST" && query.has("uploads") && seen < 4 ? "reset" : undefined,
    "an abort of the upload that fails, too": (seen, { method, query }) =>
      seen < 12 && (query.get("partNumber") === "3" || (method === "DELETE" && query.has("uploadId")))
        ? { status: 500, code: "InternalError" }
        : undefined,
    "an object that is lost after its completion": (seen, { method, query }) =>
      method === "POST" && query.has("uploadId") && seen < 12 ? "lose" : undefined,
  };
  test.each(casesOf(TROUBLES))(
    "is uploaded whole after %s, without a part left in the bucket",
    async (name) => {
      const store = await openStore();
      let seen = 0;
      bucket.fail = (asked) => TROUBLES[name]?.(asked.key.startsWith("gen_") || asked.key === "" ? ++seen : 0, asked);
      const bytes = randomBytes(LARGE_BYTES);
      const id = await store.keep(bytes);
      await store.eventually(() => !store.isLocal(id), "the move");
      expect(bucket.objects.get(`${id}/1`)?.bytes.equals(bytes)).toBe(true);
      expect(bucket.uploads.size).toBe(0);
      await store.stop();
    },
    60_000,
  );

  test("is uploaded again by the next process after its process stopped mid-upload, and the first upload is aborted", async () => {
    const first = await openStore();
    bucket.fail = ({ query }) => (query.get("partNumber") === "2" ? "hang" : undefined);
    const bytes = randomBytes(LARGE_BYTES);
    const id = await first.keep(bytes);
    await first.eventually(() => bucket.seen.at(-1)?.query.get("partNumber") === "2", "the second part");
    await first.stop();
    expect([bucket.uploads.size, first.isLocal(id)]).toEqual([1, true]);
    bucket.fail = () => undefined;
    const next = await openStore(first.records);
    next.begin();
    await next.eventually(() => !next.isLocal(id), "the move");
    expect(bucket.objects.get(`${id}/1`)?.bytes.equals(bytes)).toBe(true);
    expect(bucket.uploads.size).toBe(0);
    await next.stop();
  }, 60_000);

  test("is not uploaded again when a process stopped between the upload and the removal of the local file", async () => {
    const first = await openStore();
    const id = await first.keep(randomBytes(LARGE_BYTES));
    await first.eventually(() => bucket.objects.size === 1, "the upload");
    await first.stop();
    expect(first.isLocal(id)).toBe(true);
    const sent = bucket.received();
    const next = await openStore(first.records);
    next.begin();
    await next.eventually(() => !next.isLocal(id), "the move");
    expect(bucket.received() - sent).toBeLessThan(1000);
    await next.stop();
  }, 60_000);

  test("is reported once, not uploaded, and blocks no other file when its bytes differ from the recorded hash", async () => {
    const store = await openStore();
    await bucket.interrupt();
    const id = await store.keep(randomBytes(LARGE_BYTES));
    await Bun.write(join(dir, "files", pathOfFile(id, 1)), randomBytes(LARGE_BYTES));
    const other = await store.keep(Buffer.from("small"));
    await bucket.back();
    await store.eventually(() => !store.isLocal(other), "the other's move");
    clock.skip(600_000);
    expect(store.isLocal(id)).toBe(true);
    expect([bucket.objects.has(`${id}/1`), bucket.uploads.size]).toEqual([false, 0]);
    expect(store.lines.filter(({ event }) => event === "file not uploaded").length).toBe(1);
    await store.stop();
  }, 60_000);
});

test("uploads all files of an hour that a start finds in many directories", async () => {
  await bucket.interrupt();
  const first = await openStore();
  const ids: string[] = [];
  for (let minute = 0; minute < 60; minute += 1) {
    const atMs = clock.nowMs() + minute * 60_000;
    ids.push(await first.keep(Buffer.from(`result ${minute}`), atMs), await first.keep(Buffer.from(`another ${minute}`), atMs));
  }
  await first.stop();
  expect((await (await createLocalStorage(join(dir, "files"))).homes()).length).toBeGreaterThan(10);
  await bucket.back();
  const next = await openStore(first.records);
  next.begin();
  await next.eventually(() => ids.every((id) => !next.isLocal(id)), "the move");
  expect([...bucket.objects.keys()].filter((key) => key.startsWith("gen_")).sort()).toEqual(ids.map((id) => `${id}/1`).sort());
  expect(await (await createLocalStorage(join(dir, "files"))).homes()).toEqual([]);
  await next.stop();
}, 60_000);

test("reports a missing permission once with a remedy, and retries at long intervals", async () => {
  bucket.fail = () => ({ status: 403, code: "AccessDenied" });
  const store = await openStore();
  const ids = await Promise.all(Array.from({ length: 20 }, (_, i) => store.keep(Buffer.from(`result ${i}`))));
  await store.eventually(() => store.lines.length > 0, "the event");
  for (let minute = 0; minute < 20; minute += 1) {
    clock.skip(60_000);
    await Bun.sleep(5);
  }
  expect(store.lines.map(({ event }) => event)).toEqual(["object storage access denied"]);
  expect(store.lines[0]?.fields.reason).toContain("deploy/S3.md");
  expect(bucket.seen.length).toBeLessThan(40);
  expect(store.waiting()).toMatchObject({ files: 20 });
  bucket.fail = () => undefined;
  await store.eventually(() => ids.every((id) => !store.isLocal(id)), "the move");
  await store.stop();
}, 60_000);
