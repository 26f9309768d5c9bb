// `genrouter verify` on a directory in use, on copies with and without the write-ahead log, and where it cannot write.
import { Database } from "bun:sqlite";
import { afterAll, afterEach, beforeEach, expect, test } from "bun:test";
import { copyFileSync, existsSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { run } from "../../src/cli/program.ts";
import { createTerminal } from "../../src/cli/terminal.ts";
import type { Store } from "../../src/store/store.ts";
import { openAccount, succeed } from "../store/fixture.ts";
import { openDirectory } from "../store/open-store.ts";
import { runHere } from "./captured.ts";
import { dropDirs, freshDir } from "./fresh-dir.ts";

/** Each test has its own directory in use, because tests run in any order and some close it. */
let dir: string;
let store: Store;
let isOpen: boolean;
const close = async () => {
  if (!isOpen) return;
  isOpen = false;
  await store.close();
};
beforeEach(async () => {
  dir = freshDir();
  store = await openDirectory({ dir, mode: "test" });
  isOpen = true;
  await succeed(store, await openAccount(store, 5000));
});
afterEach(close);
afterAll(dropDirs);

const verify = async (of: string): Promise<{ exit: number; invariants: number[] }> => {
  const { exit, out, err } = await runHere(["verify", "--json", "--data", of]);
  expect(err).toBe("");
  const { ok, checks } = JSON.parse(out);
  expect(ok).toBe(exit === 0);
  return { exit, invariants: checks.map(({ invariant }: { invariant: number }) => invariant) };
};
const ALL = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13];

const copyOf = (keeps: (name: string) => boolean): string => {
  const copy = freshDir();
  for (const name of readdirSync(dir).filter((each) => /^(genrouter\.db|log-in-use)/.test(each) && keeps(each)))
    copyFileSync(join(dir, name), join(copy, name));
  return copy;
};

test("verify passes for a directory in use while a writer continues, and for a copy with its write-ahead log", async () => {
  expect(existsSync(join(dir, "genrouter.db-wal"))).toBe(true);
  const running = verify(dir);
  await succeed(store, await openAccount(store, 5000));
  expect(await running).toEqual({ exit: 0, invariants: ALL });
  expect(await verify(copyOf((name) => !name.endsWith("-shm")))).toEqual({ exit: 0, invariants: ALL });
});

test("verify exits with 2 for a copy of a directory in use without its write-ahead log", async () => {
  const { exit, err } = await runHere(["verify", "--data", copyOf((name) => !/-(wal|shm)$/.test(name))]);
  expect([exit as number, err]).toEqual([
    2,
    expect.stringMatching(/genrouter\.db-wal is missing and held the last commits: put it back/),
  ]);
});

test("verify passes for a copy without a write-ahead log when the store was closed", async () => {
  await close();
  expect(await verify(copyOf((name) => name === "genrouter.db"))).toEqual({ exit: 0, invariants: ALL });
});

test("verify exits with 78 and a remedy when SQLite cannot write beside the database", async () => {
  await close();
  const copy = copyOf((name) => name === "genrouter.db");
  // SQLite cannot create the index of the write-ahead log, as on a read-only disk; this holds for root too.
  symlinkSync(join(copy, "no such directory", "x"), join(copy, "genrouter.db-shm"));
  const { exit, out, err } = await runHere(["verify", "--json", "--data", copy]);
  expect([exit as number, out]).toEqual([78, ""]);
  expect(JSON.parse(err).error).toEqual({
    code: "directory_unusable",
    message: expect.stringMatching(/cannot be read .*copy the directory .*--data/),
  });
});

test("verify exits with 1 for a violation although its output pipe is broken", async () => {
  const unheard = createTerminal({}, () => {
    throw Object.assign(new Error("broken pipe"), { code: "EPIPE" });
  });
  const verdict = () => run(["verify", "--data", dir], unheard, {});
  expect(await verdict()).toBe(0);
  await close();
  const db = new Database(join(dir, "genrouter.db"));
  db.run("DROP TRIGGER balance_follows_transfer");
  db.run("UPDATE balance SET available_credits = available_credits + 1");
  db.close();
  expect(await verdict()).toBe(1);
});
