// Uploaded files in backups: stored bytes are copied and restored, and bytes in a bucket are listed as left out.

import { Database } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { restoreBackup } from "../../src/backup/restore.ts";
import { pathOfFile } from "../../src/files/local.ts";
import { sampleBytes, uploaded } from "../api/upload-requests.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { backUp, openOn, quiet } from "./fixture.ts";

afterAll(dropDirs);

test("a restored backup serves the uploaded files that it contains, and contains none that was deleted", async () => {
  const data = freshDir();
  const harness = await openOn(data);
  const kept = await uploaded(harness, await sampleBytes(harness, "picture.png?width=20&height=20"));
  const deleted = await uploaded(harness, await sampleBytes(harness, "picture.png?width=21&height=21"));
  const blobOf = async (id: string) => (await harness.store.uploadedFile(id))?.blobId ?? "";
  const [blob, deletedBlob] = [await blobOf(kept.id), await blobOf(deleted.id)];
  await harness.request("DELETE", `/v1/files/${deleted.id}`);
  const { key } = harness.tenant;
  await harness.crash();

  const { path } = backUp(data, freshDir());
  expect(existsSync(join(path, "uploads", pathOfFile(blob, 1)))).toBe(true);
  expect(existsSync(join(path, "uploads", pathOfFile(deletedBlob, 1)))).toBe(false);
  const restored = join(freshDir(), "data");
  restoreBackup({ path, to: restored, dryRun: false, networkDisk: false }, quiet);
  const again = await openOn(restored);
  const response = await fetch(`${again.url}/v1/files/${kept.id}/content`, { headers: { authorization: `Bearer ${key}` } });
  expect([response.status, Bun.SHA256.hash(await response.bytes(), "hex")]).toEqual([200, kept.sha256]);
  await again.close();
});

test("a backup names the number of uploaded files that are in the bucket", async () => {
  const data = freshDir();
  const harness = await openOn(data);
  await uploaded(harness, await sampleBytes(harness, "picture.png?width=20&height=20"));
  await harness.crash();
  const db = new Database(join(data, "genrouter.db"));
  db.run("UPDATE upload_blob SET object = '1-abc'");
  db.close();
  const { leftOut } = backUp(data, freshDir(), { filesStore: "s3" });
  expect(leftOut).toContainEqual({
    what: "1 uploaded files",
    why: "they are in the bucket, which must be backed up separately",
  });
});
