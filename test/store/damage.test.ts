// Corruption checks before the first write: a damaged page, a missing write-ahead log.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { closeSync, cpSync, existsSync, mkdtempSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StoreDamaged } from "../../src/store/sqlite/errors.ts";
import { openSqliteReads } from "../../src/store/sqlite/reads.ts";
import { dropScratch } from "../scratch.ts";
import { admit, openAccount } from "./fixture.ts";
import { openDirectory } from "./open-store.ts";

let base: string;
const dir = () => join(base, "data");
const copy = () => join(base, "copy");
const log = (of: string) => join(of, "genrouter.db-wal");
const mark = (of: string) => join(of, "log-in-use");
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "damage-"));
});
afterEach(() => dropScratch(base));

const PAGE = 4096;

test("detects a damaged page before any write, also a page that no start would read", async () => {
  await (await openDirectory({ dir: dir(), mode: "test" })).close();
  const file = openSync(join(dir(), "genrouter.db"), "r+");
  writeSync(file, new Uint8Array(PAGE).fill(0xa5), 0, PAGE, PAGE * 26);
  closeSync(file);
  const fault = await openDirectory({ dir: dir(), mode: "test" }).catch((thrown: unknown) => thrown);
  expect(fault).toBeInstanceOf(StoreDamaged);
  expect(String(fault)).toMatch(/genrouter\.db is damaged \([^\n]+\): restore a backup; nothing was changed$/);
});

/** Copies the directory of a running store, which is what a kill would leave. */
const killed = async (): Promise<void> => {
  const store = await openDirectory({ dir: dir(), mode: "test" });
  await admit(store, await openAccount(store, 1000));
  cpSync(dir(), copy(), { recursive: true });
  await store.close();
};

test("rejects writers and readers while the write-ahead log of a killed process is missing", async () => {
  await killed();
  renameSync(log(copy()), join(base, "moved"));
  for (const open of [() => openDirectory({ dir: copy(), mode: "test" }), () => openSqliteReads(copy())]) {
    const fault = await Promise.resolve(open()).catch((thrown: unknown) => thrown);
    expect(fault).toBeInstanceOf(StoreDamaged);
    expect(String(fault)).toMatch(/genrouter\.db-wal is missing .* put it back, or restore a backup/);
  }
  renameSync(join(base, "moved"), log(copy()));
  const store = await openDirectory({ dir: copy(), mode: "test" });
  expect(await store.unfinished(0, 9)).toHaveLength(1);
  await store.close();
});

test("removes the write-ahead log and its marker on close, and opens again", async () => {
  await killed();
  expect([existsSync(log(dir())), existsSync(mark(dir()))]).toEqual([false, false]);
  await (await openDirectory({ dir: dir(), mode: "test" })).close();
});

test("opens after another program has checkpointed the log and the marker is removed", async () => {
  await killed();
  rmSync(log(copy()));
  rmSync(mark(copy()));
  await (await openDirectory({ dir: copy(), mode: "test" })).close();
});
