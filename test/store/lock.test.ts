// A store that lost its lock or its database file writes nothing more and reports why.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { copyFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StoreUnknown } from "../../src/domain/commit-errors.ts";
import type { Store } from "../../src/store/store.ts";
import { dropScratch } from "../scratch.ts";
import { NOW_MS, openAccount } from "./fixture.ts";
import { openDirectory } from "./open-store.ts";

let dir: string;
let store: Store;
const at = (name: string) => join(dir, name);
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "store-"));
  store = await openDirectory({ dir, mode: "test" });
  await openAccount(store, 100);
});
afterEach(() => dropScratch(dir));

const beat = (): Promise<unknown> =>
  store.commit([{ mutation: "beat", atMs: NOW_MS }]).then(
    () => "written",
    (fault: unknown) => fault,
  );

test.each<[what: string, why: RegExp, mishap: () => void]>([
  [
    "its lock file was removed",
    /lock\.db was removed or replaced: the directory may have another owner/,
    () => rmSync(at("lock.db")),
  ],
  [
    "its lock file was replaced",
    /lock\.db was removed or replaced/,
    () => {
      renameSync(at("lock.db"), at("lock.old"));
      writeFileSync(at("lock.db"), "");
    },
  ],
  [
    "a backup was renamed over its database",
    /genrouter\.db was removed or replaced: what is written would be lost/,
    () => {
      copyFileSync(at("genrouter.db"), at("backup.db"));
      renameSync(at("backup.db"), at("genrouter.db"));
    },
  ],
])("writes nothing and reports why when %s", async (_what, why, mishap) => {
  expect(await beat()).toBe("written");
  mishap();
  const fault = await beat();
  expect(fault).toBeInstanceOf(StoreUnknown);
  expect(String(fault)).toMatch(why);
  await store.close();
});

test("detects that the lock of its own process is gone", async () => {
  const locks = (globalThis as { genrouterLocks?: Map<string, { close(): void }> }).genrouterLocks;
  const lock = locks?.get(at("lock.db"));
  expect(lock).toBeDefined();
  locks?.delete(at("lock.db"));
  expect(String(await beat())).toMatch(/the lock of .* is gone/);
  lock?.close();
  await store.close();
});
