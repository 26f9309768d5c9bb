// Archives in a bucket: equal to those of a directory, complete or absent, never overwritten, and every change is found.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { createSpool } from "../../src/files/inline-spool.ts";
import { createLocalStorage } from "../../src/files/local.ts";
import type { ArchiveObjects } from "../../src/files/s3/archive-objects.ts";
import { createS3Storage } from "../../src/files/s3/s3-storage.ts";
import { checkArchive } from "../../src/store/archive/check.ts";
import { ArchiveError, manifestName, SEGMENTS } from "../../src/store/archive/format.ts";
import { archive } from "../../src/store/archive/write.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import {
  bucket,
  bytesIn,
  clock,
  faultsOf,
  isPut,
  keepsBooksInBucket,
  namesIn,
  PREFIX,
  segmentsIn,
  settingsOf,
  storageOf,
  useBucket,
} from "./bucket-books.ts";
import { BEFORE_MS, type Books, fileBooks, LATER_BEFORE_MS } from "./fixture.ts";

afterAll(dropDirs);
useBucket();

describe("SQLite", () => keepsBooksInBucket(fileBooks));

describe("an upload", () => {
  let books: Books;
  beforeAll(async () => {
    books = await fileBooks();
  });
  afterAll(() => books.drop());

  test("that is interrupted at any request leaves no archive, and the next one sends only what is missing", async () => {
    const storage = await storageOf(books);
    await archive(books.place, storage, BEFORE_MS, BEFORE_MS);
    const whole = bytesIn(storage);
    const requests = bucket.seen.length;
    expect(requests).toBeGreaterThan(whole.size * 3 - 3);
    for (let end = 0; end < requests; end += 1) {
      bucket.objects.clear();
      bucket.seen.length = 0;
      bucket.fail = () => (bucket.seen.length > end ? { status: 403, code: "AccessDenied" } : undefined);
      await expect(archive(books.place, storage, BEFORE_MS, BEFORE_MS)).rejects.toThrow(/^the bucket returned 403/);
      bucket.fail = () => undefined;
      const [there, isComplete] = [bucket.objects.size, bytesIn(storage).has(manifestName(1))];
      bucket.seen.length = 0;
      if (isComplete) expect((await archive(books.place, storage, BEFORE_MS, BEFORE_MS)).manifest).toBeNull();
      else {
        await expect(checkArchive(storage)).rejects.toThrow(ArchiveError);
        await archive(books.place, storage, BEFORE_MS, BEFORE_MS);
      }
      expect(bytesIn(storage)).toEqual(whole);
      expect(bucket.seen.filter(isPut).length).toBe(whole.size - there);
    }
  }, 60_000);

  test("retries after a short bucket failure of any kind, and fails when the failure lasts", async () => {
    const storage = await storageOf(books);
    await archive(books.place, storage, BEFORE_MS, BEFORE_MS);
    const whole = bytesIn(storage);
    for (const failure of ["cut", "reset", "lose", { status: 503, code: "SlowDown" }] as const) {
      bucket.objects.clear();
      const failed = new Set<string>();
      bucket.fail = (asked) => {
        if (!isPut(asked) || failed.has(asked.key)) return undefined;
        failed.add(asked.key);
        return failure;
      };
      await archive(books.place, storage, BEFORE_MS, BEFORE_MS);
      expect([failure, bytesIn(storage)]).toEqual([failure, whole]);
      expect(failed.size).toBeGreaterThan(3);
    }
    bucket.objects.clear();
    bucket.fail = (asked) => (isPut(asked) ? { status: 503, code: "SlowDown" } : undefined);
    await expect(archive(books.place, storage, BEFORE_MS, BEFORE_MS)).rejects.toThrow("the bucket returned 503 SlowDown");
    expect(
      bucket.seen
        .filter(isPut)
        .slice(-5)
        .every(({ key }) => key === bucket.seen.at(-1)?.key),
    ).toBe(true);
  });

  test("never overwrites other bytes under a name, and accepts the same content with another compression", async () => {
    const storage = await storageOf(books);
    await archive(books.place, storage, BEFORE_MS, BEFORE_MS);
    const [name = "", other = ""] = segmentsIn(storage);
    const kept = bucket.objects.get(name);
    const packed = bucket.objects.get(other);
    if (!kept || !packed) throw new Error("there are no segments");
    // As after an interruption before the manifest.
    bucket.objects.delete(storage.below + manifestName(1));
    const again = gzipSync(Bun.gunzipSync(new Uint8Array(packed.bytes)), { level: 1 });
    bucket.objects.set(other, { ...packed, bytes: again, headers: {} });
    for (const bytes of [Buffer.from("other"), Buffer.concat([kept.bytes, kept.bytes]), gzipSync("other\n")]) {
      bucket.objects.set(name, { ...kept, bytes });
      await expect(archive(books.place, storage, BEFORE_MS, BEFORE_MS)).rejects.toThrow(
        /(cannot be unpacked|is larger than its content can be|does not have the content).*nothing was written over it: look at it, delete it/,
      );
      expect(bucket.objects.get(name)?.bytes).toBe(bytes);
    }
    bucket.objects.delete(name);
    await archive(books.place, storage, BEFORE_MS, BEFORE_MS);
    expect(bucket.objects.get(other)?.bytes).toBe(again);
    expect(await faultsOf(storage)).toEqual([]);
  });

  test("of a large segment uses multipart requests, and the next one aborts the parts of a killed upload", async () => {
    const storage = await storageOf(books);
    const [name, bytes] = [`${SEGMENTS}/large.ndjson.gz`, randomBytes(20 * 1024 * 1024 + 3)];
    bucket.fail = ({ query }) => (query.get("partNumber") === "3" ? { status: 403, code: "AccessDenied" } : undefined);
    await expect(storage.keep(name, bytes)).rejects.toThrow(/the access key lacks a permission/);
    expect([bucket.uploads.size, namesIn(storage, SEGMENTS)]).toEqual([0, []]);
    // A killed process could not abort its parts.
    bucket.uploads.set("left", { key: storage.below + name, parts: new Map(), headers: {} });
    bucket.fail = () => undefined;
    expect(await storage.keep(name, bytes)).toBe(true);
    expect([bucket.uploads.size, bytes.equals((await storage.read(name, bytes.length)) as Uint8Array)]).toEqual([0, true]);
    expect(await storage.read(name, bytes.length - 1)).toBe("larger");
    const received = bucket.received();
    expect([await storage.keep(name, bytes), await storage.keep(name, randomBytes(10)), bucket.received()]).toEqual([
      ...[true, false, received],
    ]);
  });

  test.each(["known", "ignored", "refused"] as const)(
    "keeps the manifest of a concurrent command when conditional writes of the bucket are %s",
    async (conditions) => {
      bucket.conditions = conditions;
      const [one, other] = [await storageOf(books), await storageOf(books)];
      const both = await Promise.allSettled([
        archive(books.place, one, BEFORE_MS, BEFORE_MS),
        archive(books.place, other, BEFORE_MS, BEFORE_MS + 1),
      ]);
      expect(both.filter(({ status }) => status === "fulfilled").length).toBeGreaterThan(0);
      for (const ended of both)
        if (ended.status === "rejected")
          expect(String(ended.reason)).toMatch(/has been made meanwhile: another command archives/);
      expect(await faultsOf(one)).toEqual([]);
      expect(namesIn(one, "manifest")).toEqual([one.below + manifestName(1)]);
      const before = bytesIn(one).get(manifestName(1));
      if (conditions === "known") expect(both.map(({ status }) => status)).toContain("rejected");
      expect(await one.complete(manifestName(1), Buffer.from("{}"))).toBe(false);
      expect(bytesIn(one).get(manifestName(1))).toBe(before);
    },
  );

  test("is rejected when a lifecycle rule would delete the archive soon, and accepted when it deletes it years later", async () => {
    const storage = await storageOf(books);
    bucket.expires = (key) => (key.startsWith(PREFIX) ? new Date(Date.now() + 10 * 86_400_000) : undefined);
    await expect(archive(books.place, storage, BEFORE_MS, BEFORE_MS)).rejects.toThrow(
      /a rule of the bucket \(lifecycle\) deletes it on 20\d\d-\d\d-\d\d: let the rule leave archive\/ alone/,
    );
    await expect(checkArchive(storage)).rejects.toThrow(ArchiveError);
    bucket.expires = () => new Date(Date.now() + 3650 * 86_400_000);
    await archive(books.place, storage, BEFORE_MS, BEFORE_MS);
    expect(await faultsOf(storage)).toEqual([]);
    bucket.expires = () => new Date(Date.now() + 86_400_000);
    expect(await faultsOf(storage)).toEqual([expect.stringMatching(/^a rule of the bucket \(lifecycle\) deletes it on/)]);
  });
});

describe("verification of an archive in a bucket", () => {
  let books: Books;
  beforeAll(async () => {
    books = await fileBooks();
  });
  afterAll(() => books.drop());
  const made = async (): Promise<ArchiveObjects> => {
    const storage = await storageOf(books);
    await archive(books.place, storage, BEFORE_MS, BEFORE_MS);
    await archive(books.place, storage, LATER_BEFORE_MS, LATER_BEFORE_MS);
    return storage;
  };

  test("finds a changed, missing or enlarged object although its metadata matches", async () => {
    const storage = await made();
    const others: [bytes: Buffer | undefined, RegExp][] = [
      [Buffer.alloc(5_000_000), /is larger than its content can be/],
      // A small object that unpacks to far more than permitted: unpacking stops early.
      [gzipSync(Buffer.alloc(500_000)), /cannot be unpacked/],
      [undefined, /is not there/],
    ];
    const names = segmentsIn(storage);
    expect(names.length).toBeGreaterThan(others.length * 3);
    for (const [at, name] of names.entries()) {
      const kept = bucket.objects.get(name);
      if (!kept) throw new Error("it is gone");
      const bytes = Buffer.from(kept.bytes);
      bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
      bucket.objects.set(name, { ...kept, bytes });
      expect((await faultsOf(storage)).join()).toMatch(/cannot be unpacked|does not have the content/);
      // Each check reads everything, so each object gets one of the other kinds of damage, and each kind occurs several times.
      const [other, fault] = others[at % others.length] ?? [undefined, /^$/];
      bucket.objects.delete(name);
      if (other) bucket.objects.set(name, { ...kept, bytes: other });
      expect((await faultsOf(storage)).join()).toMatch(fault);
      bucket.objects.set(name, kept);
    }
    expect(await faultsOf(storage)).toEqual([]);
  });

  test("finds a changed manifest and a missing earlier manifest", async () => {
    const storage = await made();
    const name = storage.below + manifestName(1);
    const kept = bucket.objects.get(name);
    if (!kept) throw new Error("it is gone");
    bucket.objects.set(name, { ...kept, bytes: Buffer.from(kept.bytes.toString().replace(/"madeAtMs": \d+/, '"madeAtMs": 1')) });
    expect(await faultsOf(storage)).toEqual(["the previous manifest is missing or was changed"]);
    bucket.objects.delete(name);
    expect(await faultsOf(storage)).toContain("the previous manifest is missing or was changed");
  });

  test("passes unchanged after the end of retention, which removes result files only", async () => {
    const storage = await made();
    const whole = bytesIn(storage);
    const kept = createS3Storage({
      ...{ settings: settingsOf(), moves: true, shared: true, local: await createLocalStorage(freshDir()), clock, linkS: 600 },
      ...{
        spool: await createSpool(freshDir(), clock.nowMs),
        chance: () => 0.5,
        report: () => undefined,
        reportedFaults: new Set(),
      },
      recordOf: async () => undefined,
    });
    const results = ["1", "1-aa"].map((object) => `${PREFIX}gen_1/${object}`);
    for (const name of results) bucket.objects.set(name, { bytes: Buffer.from("result"), headers: {} });
    await kept.files.remove("gen_1");
    await kept.stop();
    expect(results.filter((name) => bucket.objects.has(name))).toEqual([]);
    expect(bytesIn(storage)).toEqual(whole);
  });

  test("reads every page of a long list, and rejects a truncated list", async () => {
    const storage = await made();
    bucket.pageKeys = 1;
    expect((await storage.list()).sort()).toEqual([manifestName(1), manifestName(2)]);
    bucket.fail = ({ query }) => (query.has("continuation-token") ? "lie" : undefined);
    await expect(storage.list()).rejects.toThrow("the bucket's list ended early");
  });
});
