// A bucket that fails for two minutes, in every way there is, loses no result: each is served throughout, and arrives afterwards.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generationId } from "../../../src/domain/ids.ts";
import type { GenerationRecord } from "../../../src/domain/types.ts";
import { createSpool } from "../../../src/files/inline-spool.ts";
import { createLocalStorage, pathOfFile } from "../../../src/files/local.ts";
import { createS3Storage } from "../../../src/files/s3/s3-storage.ts";
import { testClock } from "../../clock.ts";
import { type Harness, openHarness } from "../../harness.ts";
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
  rmSync(dir, { recursive: true, force: true });
});

/** 8 MB is the limit of one request: with a little more a file goes in two parts, with 20 MB in three. */
const LARGE_BYTES = 20 * 1024 * 1024 + 17;

let made = 0;
/** The store by itself, with files of any size: generations that have all succeeded. */
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
    tell: (event, fields) => void lines.push({ event, fields }),
    recordOf: async (id) => records.get(id),
    linkS: 3600,
  });
  const keep = async (bytes: Buffer, atMs = clock.nowMs()): Promise<string> => {
    // Not by the process's own count, which other tests may have moved on for days.
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
      if (performance.now() > endMono) throw new Error(`${what} did not come about: ${JSON.stringify(lines)}`);
  };
  const isLocal = (id: string) => existsSync(join(dir, "files", pathOfFile(id, 1)));
  return { ...kept, records, keep, lines, isLocal, eventually };
};

describe("two minutes of trouble while generations succeed", () => {
  const TROUBLES: Record<string, (asked: Asked) => Failure | undefined> = {
    "no answer at all": () => "hang",
    "500 InternalError": () => ({ status: 500, code: "InternalError" }),
    "503 SlowDown": () => ({ status: 503, code: "SlowDown" }),
    "uploads cut in the middle": ({ method }) => (method === "PUT" ? "cut" : undefined),
    "done, and the answer lost": ({ method }) => (method === "PUT" || method === "POST" ? "reset" : undefined),
    "200, and nothing kept": () => "lose",
    "403 AccessDenied": () => ({ status: 403, code: "AccessDenied" }),
  };
  /** What a start writes to see whether it may is deleted again: trouble that comes in between is told of by itself. */
  const isTried = () => bucket.seen.some(({ method }) => method === "DELETE");
  const lived = async (harness: Harness, begin: () => void | Promise<void>, end: () => void | Promise<void>) => {
    await begin();
    const fromMs = clock.nowMs();
    const ids: string[] = [];
    while (clock.nowMs() < fromMs + 120_000) {
      const { id, status } = await harness.until((await harness.submit("sim-image-1", { prompt: `picture ${ids.length}` })).id);
      expect(status).toBe("succeeded");
      ids.push(id);
      for (const each of ids) {
        const answered = await harness.ask("GET", `/v1/generations/${each}/content`);
        // What arrived in spite of it is answered from there; everything else from disk.
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
      const there = await fetch((await harness.ask("GET", `/v1/generations/${id}/content`)).headers.get("location") ?? "");
      expect(there.status).toBe(200);
    }
    expect(bucket.uploads.size).toBe(0);
    return ids;
  };

  test.each(Object.keys(TROUBLES))(
    "%s",
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
      const told = harness.lines.filter(({ event }) => /^(object storage|file not)/.test(event));
      expect(JSON.stringify(told)).not.toMatch(/s3cr3t|AKIDTEST|127\.0\.0\.1|Signature=/);
      // Told when it begins and when it is over, not at every try; a bucket that works by halves once in each minute.
      const minutes = Math.floor((clock.nowMs() - fromMs) / 60_000) + 1;
      if (name === "200, and nothing kept" || name === "done, and the answer lost")
        expect(told.filter(({ event }) => event === "object storage unavailable").length).toBeLessThanOrEqual(minutes);
      else
        expect(told.map(({ event }) => event)).toEqual([
          name.startsWith("403") ? "object storage access denied" : "object storage unavailable",
          "object storage recovered",
        ]);
      await harness.close();
    },
    60_000,
  );

  test("nobody listens", async () => {
    const harness = await openHarness({ dir, clock, env: bucket.settings });
    await harness.eventually(isTried, "the trial of the start");
    await lived(harness, bucket.away, bucket.back);
    const told = harness.lines.filter(({ event }) => event.startsWith("object storage"));
    expect(told.map(({ event }) => event)).toEqual(["object storage unavailable", "object storage recovered"]);
    expect(told[0]?.fields.reason).toContain("served from there");
    await harness.close();
  }, 60_000);
});

describe("a large file", () => {
  const TROUBLES: Record<string, (seen: number, asked: Asked) => Failure | undefined> = {
    "a part that fails once": (seen, { query }) =>
      query.has("partNumber") && seen === 2 ? { status: 503, code: "SlowDown" } : undefined,
    "a part that fails for good": (seen, { query }) =>
      query.get("partNumber") === "2" && seen < 12 ? { status: 500, code: "InternalError" } : undefined,
    "a part cut in the middle": (seen, { query }) => (query.has("partNumber") && seen < 12 ? "cut" : undefined),
    "the end that is told as 200 with an error": (seen, { method, query }) =>
      method === "POST" && query.has("uploadId") && seen < 12 ? "lie" : undefined,
    "the end that was done and its answer lost": (seen, { method, query }) =>
      method === "POST" && query.has("uploadId") && seen < 12 ? "reset" : undefined,
    "the beginning that was done and its answer lost": (seen, { method, query }) =>
      method === "POST" && query.has("uploads") && seen < 4 ? "reset" : undefined,
    "giving up that fails, too": (seen, { method, query }) =>
      seen < 12 && (query.get("partNumber") === "3" || (method === "DELETE" && query.has("uploadId")))
        ? { status: 500, code: "InternalError" }
        : undefined,
    "an object that is lost after its success": (seen, { method, query }) =>
      method === "POST" && query.has("uploadId") && seen < 12 ? "lose" : undefined,
  };
  test.each(Object.keys(TROUBLES))(
    "arrives whole, with no part left behind, after %s",
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

  test("whose upload a process did not live to end is begun anew by the next one, and what was begun is given up", async () => {
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

  test("that a process saw arrive and did not live to delete is not sent a second time", async () => {
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

  test("whose bytes on disk are not the ones that were recorded is not moved, told once, and holds nobody up", async () => {
    const store = await openStore();
    await bucket.away();
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

test("files of an hour, found at a start in many directories, all arrive", async () => {
  await bucket.away();
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

test("a right that is missing is told once and with what to do, and tried again now and then", async () => {
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
