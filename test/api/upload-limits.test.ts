// Limits of uploaded files: bytes and files of an account, and rows of deleted files.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dropScratch } from "../scratch.ts";
import { codeOf, messageOf, openApiHarness } from "./harness.ts";
import { append, create, created } from "./tus-requests.ts";
import { type FileResource, sampleBytes, sendFile, uploaded } from "./upload-requests.ts";

const dir = mkdtempSync(join(tmpdir(), "upload-limits-"));
let picture: Uint8Array;
let clip: Uint8Array;

beforeAll(async () => {
  const harness = await openApiHarness({ factor: 0 });
  picture = await sampleBytes(harness, "picture.png?width=40&height=30");
  clip = await sampleBytes(harness, "clip.mp4?seconds=4&width=64&height=48");
  await harness.close();
});
afterAll(() => dropScratch(dir));

test("an account stores at most its quota, and identical bytes count once", async () => {
  const quota = await openApiHarness({ env: { GENROUTER_LIMITS__UPLOAD_QUOTA_BYTES: String(picture.length + 10) } });
  try {
    const { id } = await uploaded(quota, picture);
    await uploaded(quota, picture);
    const other = await sampleBytes(quota, "picture.png?width=40&height=30&seed=9");
    const answered = await sendFile(quota, { body: other });
    expect([answered.status, codeOf(answered)]).toEqual([409, "upload_quota_exceeded"]);
    expect(messageOf(answered)).toContain(`stores ${picture.length} bytes`);
    for (const file of (await quota.request("GET", "/v1/files")).body.data as FileResource[])
      expect((await quota.request("DELETE", `/v1/files/${file.id}`)).status).toBe(200);
    expect((await quota.request("GET", `/v1/files/${id}`)).status).toBe(404);
    await uploaded(quota, other);
  } finally {
    await quota.close();
  }
});

test("an account has at most so many files, identical ones and open uploads included", async () => {
  const few = await openApiHarness({ env: { GENROUTER_LIMITS__UPLOAD_FILES: "3" } });
  try {
    const { id } = await uploaded(few, picture);
    await uploaded(few, picture);
    const path = await created(few, clip.length);
    for (const answered of [await sendFile(few, { body: picture }), await create(few, clip.length)]) {
      expect([answered.status, codeOf(answered)]).toEqual([409, "upload_quota_exceeded"]);
      expect(messageOf(answered)).toContain("The account has 3 files with its open uploads; limits.upload_files is 3.");
    }
    expect((await append(few, path, 0, clip)).headers.get("genrouter-file")).toMatch(/^file_/);
    expect((await few.request("DELETE", `/v1/files/${id}`)).status).toBe(200);
    await uploaded(few, picture);
    expect((await sendFile(few, { body: picture })).status).toBe(409);
  } finally {
    await few.close();
  }
});

test("the rows of deleted and expired files are removed a day later", async () => {
  const still = await openApiHarness({ dir: mkdtempSync(join(dir, "rows-")), factor: 0 });
  try {
    const rows = async () => {
      const { uploaded_file: files, upload_blob: blobs } = await still.countRows();
      return [files, blobs];
    };
    const ids = [(await uploaded(still, picture)).id, (await uploaded(still, picture)).id, (await uploaded(still, clip)).id];
    for (const id of ids) expect((await still.request("DELETE", `/v1/files/${id}`)).status).toBe(200);
    await still.components.sweep();
    expect(await rows()).toEqual([3, 2]);
    // The cursor of a page is valid for a day after its file was deleted.
    expect((await still.request("GET", `/v1/files?after=${ids[0]}`)).status).toBe(200);
    still.clock.skip(86_400_001);
    await still.components.sweep();
    expect(await rows()).toEqual([0, 0]);
    expect((await still.request("GET", `/v1/files?after=${ids[0]}`)).status).toBe(400);
    await uploaded(still, picture);
    still.clock.skip(7 * 86_400_000);
    await still.components.sweep();
    expect(await rows()).toEqual([1, 1]);
    still.clock.skip(86_400_001);
    await still.components.sweep();
    expect(await rows()).toEqual([0, 0]);
  } finally {
    await still.close();
  }
});
