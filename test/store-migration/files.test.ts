// Store migration uploads result files to the bucket: it skips files that are there and resumes after bucket errors.
import { afterAll, afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createLocalStorage, pathOfFile } from "../../src/files/local.ts";
import { runHere } from "../cli/captured.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { openTestBucket, type TestBucket } from "../files/s3/bucket.ts";
import { postgresReason } from "../postgres/binaries.ts";
import { admit, capturedMutation, openAccount, PRICES, startedMutation, submittedAt } from "../store/fixture.ts";
import { openDirectory } from "../store/open-store.ts";
import { deletion, upload } from "../store/uploads.ts";
import { makeDatabase, type TestDatabase } from "./database.ts";

const moving = test.skipIf(postgresReason !== undefined);

let bucket: TestBucket;
let database: TestDatabase;
beforeEach(async () => {
  if (postgresReason !== undefined) return;
  bucket = await openTestBucket(Date.now);
  database = await makeDatabase();
});
afterEach(async () => {
  await bucket?.close();
  await database?.drop();
});
afterAll(dropDirs);

const WEEK_MS = 604_800_000;
const KEPT = 5;

/** Creates a directory with stored files and one file past its retention. @returns the ids; the last is the expired one. */
const keepFiles = async (dir: string): Promise<string[]> => {
  const store = await openDirectory({ dir, mode: "test" });
  const account = await openAccount(store, 5000);
  const local = await createLocalStorage(join(dir, "files"));
  const ids: string[] = [];
  const startMs = Date.now() - 1000;
  for (let n = 0; n <= KEPT; n += 1) {
    const atMs = n < KEPT ? startMs : startMs - WEEK_MS - 60_000;
    const mutation = await admit(store, account, submittedAt(atMs));
    const bytes = new TextEncoder().encode(`film ${n}`);
    const file = await local.receive(mutation.id, 1);
    await file.write(bytes);
    await file.keep();
    const files = [{ n: 1, sha256: Bun.SHA256.hash(bytes, "hex"), bytes: bytes.length, mime: "video/mp4" }];
    const ended = capturedMutation(mutation.seq, 2, 1, PRICES.a);
    const output = { kind: "video", width: 1280, height: 720, durationMs: 5000, hasAudio: true, files } as const;
    await store.commit([
      startedMutation(mutation),
      { ...ended, atMs, settlement: { kind: "capture", n: 1, credits: PRICES.a, output, filesExpireAtMs: atMs + WEEK_MS } },
    ]);
    ids.push(mutation.id);
  }
  await store.close();
  return ids;
};
const migrate = async (dir: string) => {
  const { exit, out, err } = await runHere(["migrate-store", "--data", dir, "--to", database.url, "--json"], bucket.settings);
  return {
    exit: exit as number,
    reported: out === "" ? JSON.parse(err.trim().split("\n").at(-1) ?? "{}") : JSON.parse(out),
    err,
  };
};
const puts = () => bucket.seen.filter(({ method, key }) => method === "PUT" && key.startsWith("gen_")).map(({ key }) => key);

moving("uploads stored files with their headers, leaves out expired ones, and keeps the files of the directory", async () => {
  const dir = freshDir();
  const ids = await keepFiles(dir);
  const { exit, reported, err } = await migrate(dir);
  expect([exit, reported]).toMatchObject([0, { moved: true, files: { in_bucket: KEPT, missing: [] } }]);
  expect(err).toMatch(/^result files {2}\[/m);
  expect([...bucket.objects.keys()].toSorted()).toEqual(
    ids
      .slice(0, KEPT)
      .map((id) => `${id}/1`)
      .toSorted(),
  );
  expect(bucket.objects.get(`${ids[0]}/1`)).toMatchObject({
    bytes: Buffer.from("film 0"),
    headers: { "content-type": "video/mp4", "content-disposition": expect.stringContaining(`${ids[0]}`) },
  });
  for (const id of ids) expect(existsSync(join(dir, "files", pathOfFile(id, 1)))).toBe(true);
});

moving("uploads the stored bytes of uploaded files, and leaves out those of deleted files", async () => {
  const dir = freshDir();
  const store = await openDirectory({ dir, mode: "test" });
  const account = await openAccount(store, 0);
  const local = await createLocalStorage(join(dir, "uploads"));
  const blobs: string[] = [];
  for (const name of ["kept", "deleted"]) {
    const bytes = new TextEncoder().encode(name);
    const content = { sha256: Bun.SHA256.hash(bytes, "hex"), bytes: bytes.length, mime: "image/png" };
    const { id, blobId } = await upload(store, account.seq, name, content);
    const file = await local.receive(blobId, 1);
    await file.write(bytes);
    await file.keep();
    if (name === "deleted") await store.commit([deletion(account.seq, id)]);
    blobs.push(blobId);
  }
  await store.close();
  expect(await migrate(dir)).toMatchObject({ exit: 0, reported: { moved: true, files: { in_bucket: 1, missing: [] } } });
  expect([...bucket.objects.keys()]).toEqual([`uploads/${blobs[0]}/1`]);
  expect(bucket.objects.get(`uploads/${blobs[0]}/1`)?.bytes).toEqual(Buffer.from("kept"));
});

moving("stops before the end when the bucket rejects a file, and sends only missing files when it is resumed", async () => {
  const dir = freshDir();
  const ids = await keepFiles(dir);
  const last = `${ids[KEPT - 1]}/1`;
  bucket.fail = ({ method, key }) => (method === "PUT" && key === last ? { status: 403, code: "AccessDenied" } : undefined);
  expect(await migrate(dir)).toMatchObject({
    exit: 1,
    reported: {
      error: {
        code: "bucket_fault",
        message: expect.stringMatching(/the access key lacks a permission.* run the same command to finish the migration$/),
      },
    },
  });
  expect(bucket.objects.size).toBeGreaterThan(0);
  const before = new Set(bucket.objects.keys());
  bucket.fail = () => undefined;
  bucket.seen.length = 0;
  expect(await migrate(dir)).toMatchObject({ exit: 0, reported: { moved: true, resumed: true } });
  expect(puts().filter((key) => before.has(key))).toEqual([]);
  expect(bucket.objects.size).toBe(KEPT);
});

moving("reports each missing or damaged file by its id, and uploads the others", async () => {
  const dir = freshDir();
  const [gone = "", damaged = ""] = await keepFiles(dir);
  rmSync(join(dir, "files", pathOfFile(gone, 1)));
  await Bun.write(join(dir, "files", pathOfFile(damaged, 1)), "FILM 1");
  const { exit, reported } = await migrate(dir);
  expect([exit, reported.moved, reported.files.in_bucket]).toEqual([0, true, KEPT - 2]);
  expect(reported.files.missing.toSorted((a: { why: string }, b: { why: string }) => (a.why < b.why ? -1 : 1))).toEqual([
    { id: gone, n: 1, why: "it is not on disk" },
    { id: damaged, n: 1, why: "the file has other bytes than it had" },
  ]);
});
