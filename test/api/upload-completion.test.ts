// The completion of resumable uploads while other requests and other nodes complete the same upload.

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newId } from "../../src/domain/ids.ts";
import type { Mutation } from "../../src/domain/mutations.ts";
import type { BeginUpload } from "../../src/domain/upload-mutations.ts";
import type { Store } from "../../src/store/store.ts";
import type { Harness } from "../harness.ts";
import { dropScratch } from "../scratch.ts";
import { codeOf, messageOf, openApiHarness } from "./harness.ts";
import { append, created, head } from "./tus-requests.ts";
import { sampleBytes } from "./upload-requests.ts";

const dir = mkdtempSync(join(tmpdir(), "completion-"));
let harness: Harness;
let clip: Uint8Array;
/** Runs before a resumable upload reserves the bytes of its file. */
let beforeFile: (begin: BeginUpload) => Promise<void> = async () => undefined;

const isFileOfUpload = (mutation: Mutation): mutation is BeginUpload =>
  mutation.mutation === "begin-upload" && mutation.resumableId !== undefined;
const around = (store: Store): Store => ({
  ...store,
  commit: async (mutations) => {
    const begin = (mutations as readonly Mutation[]).find(isFileOfUpload);
    if (begin) await beforeFile(begin);
    return store.commit(mutations);
  },
});

beforeAll(async () => {
  harness = await openApiHarness({ dir, around, factor: 1 });
  clip = await sampleBytes(harness, "clip.mp4?seconds=4&width=64&height=48");
});
beforeEach(() => {
  beforeFile = async () => undefined;
});
afterAll(async () => {
  await harness.close();
  dropScratch(dir);
});

/** Stored parts on disk. */
const parts = (): string[] =>
  readdirSync(join(dir, "upload-parts"), { recursive: true, encoding: "utf8" }).filter((name) => /blob_[^/]*\.1$/.test(name));

test("a HEAD and a PATCH that arrive during the completion wait for it, and return the file", async () => {
  const path = await created(harness, clip.length);
  const { promise: isCompleting, resolve: begun } = Promise.withResolvers<void>();
  const { promise: mayComplete, resolve: complete } = Promise.withResolvers<void>();
  beforeFile = async () => {
    begun();
    await mayComplete;
  };
  const whole = append(harness, path, 0, clip);
  await isCompleting;
  const waiting = [head(harness, path), head(harness, path), append(harness, path, clip.length, new Uint8Array(0))];
  // They have reached the service when a later request is answered.
  await harness.request("GET", path);
  complete();
  const file = (await whole).headers.get("genrouter-file");
  expect(file).toMatch(/^file_/);
  const answers = await Promise.all(waiting);
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 204]);
  expect(answers.map(({ headers }) => headers.get("genrouter-file"))).toEqual([file, file, file]);
  expect(answers.map(({ headers }) => headers.get("upload-offset"))).toEqual(Array(3).fill(String(clip.length)));
});

test("a completion that another node has finished first returns the file of that node", async () => {
  const path = await created(harness, clip.length);
  const other = newId("file");
  beforeFile = async ({ mutation, ...begin }) => {
    beforeFile = async () => undefined;
    const theirs = { ...begin, fileId: other, blobId: newId("blob") };
    const [reserved] = await harness.store.commit([{ mutation, ...theirs }]);
    if (reserved?.kind === "reserved") await harness.store.commit([{ ...theirs, mutation: "finish-upload" }]);
  };
  const answered = await append(harness, path, 0, clip);
  expect([answered.status, answered.headers.get("genrouter-file")]).toEqual([204, other]);
  expect((await head(harness, path)).headers.get("genrouter-file")).toBe(other);
});

test.each(["damaged", "lost"])(
  "an upload with a part that the disk has %s ends with server_error, and becomes no file",
  async (how) => {
    const path = await created(harness, clip.length);
    await append(harness, path, 0, clip.subarray(0, 1000));
    await harness.eventually(() => parts().length === 1, "the only part");
    const [part = ""] = parts();
    const place = join(dir, "upload-parts", part);
    if (how === "lost") rmSync(place);
    else writeFileSync(place, Buffer.from(clip.subarray(0, 1000)).fill((clip[500] ?? 0) ^ 1, 500, 501));
    const answered = await append(harness, path, 1000, clip.subarray(1000));
    expect([answered.status, codeOf(answered)]).toEqual([500, "server_error"]);
    expect(messageOf(answered)).toContain("has lost a part of the upload");
    expect((await head(harness, path)).status).toBe(500);
    await harness.components.sweep();
    expect(parts()).toEqual([]);
  },
);
