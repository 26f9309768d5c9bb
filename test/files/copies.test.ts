// Copies of pinned inputs on a node: the node deletes the copies that it downloaded.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInputCopies } from "../../src/files/input-copies.ts";
import { createLocalStorage, type LocalFiles } from "../../src/files/local.ts";

let dir = "";
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "copies-"));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const keep = async (local: LocalFiles, id: string, n: number): Promise<void> => {
  const incoming = await local.receive(id, n);
  await incoming.write(Buffer.from("a clip"));
  await incoming.keep();
};
const [OVER, RUNNING] = ["gen_0over", "gen_0running"];
const copy = (n: number) => ({ n, sha256: "", mime: "video/mp4" });

test("deletes the local copies of completed generations and keeps all others", async () => {
  const local = await createLocalStorage(join(dir, "shared"));
  const bucket = await createLocalStorage(join(dir, "bucket"));
  for (const [id, n] of [
    [OVER, 2],
    [RUNNING, 1],
  ] as const) {
    await keep(local, id, n);
    await keep(bucket, id, n);
  }
  const copies = createInputCopies(local, bucket, () => 0);
  await copies.sweep(async (id) => id === OVER);
  expect(await local.open(OVER, 2)).toBeUndefined();
  expect(await copies.open(RUNNING, copy(1))).toBeDefined();
  // The copies in the bucket are shared. One node deletes them when no attempt is watched any more.
  expect(await bucket.open(OVER, 2)).toBeDefined();
});

test("keeps the copies of a single node without a bucket until they are removed", async () => {
  const local = await createLocalStorage(join(dir, "alone"));
  await keep(local, OVER, 1);
  const copies = createInputCopies(local, null, () => 0);
  await copies.sweep(async () => true);
  expect(await copies.has(OVER, copy(1))).toBe(true);
  await copies.remove(OVER, [1]);
  expect(await copies.has(OVER, copy(1))).toBe(false);
});
