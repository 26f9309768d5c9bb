// Verification of a large file on several threads: same result, progress for each clause, and an error when it cannot finish.
import { Database } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { DATABASE_FILE } from "../../src/store/sqlite/open.ts";
import { openSqliteReads } from "../../src/store/sqlite/reads.ts";
import { CLAUSES } from "../../src/store/sqlite/verify/all.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { openAccount, succeed } from "./fixture.ts";
import { openDirectory } from "./open-store.ts";

afterAll(dropDirs);

const written = async (): Promise<string> => {
  const dir = freshDir();
  const store = await openDirectory({ dir, mode: "test" });
  const account = await openAccount(store, 5000);
  for (let n = 0; n < 5; n += 1) await succeed(store, account);
  await store.close();
  return dir;
};

const verdicts = async (dir: string) => {
  const [here, threads] = await Promise.all([openSqliteReads(dir), openSqliteReads(dir, { largeBytes: 0 })]);
  const reported: string[] = [];
  const seen = {
    here: await here.verify(null),
    threads: await threads.verify(null, (done, of) => reported.push(`${done}/${of}`)),
  };
  await Promise.all([here.close(), threads.close()]);
  return { ...seen, reported };
};

test("returns the same result on several threads as on one, and reports each clause", async () => {
  const { here, threads, reported } = await verdicts(await written());
  expect(threads.every(({ ok }) => ok)).toBe(true);
  expect(threads).toEqual(here);
  expect(reported).toEqual(CLAUSES.map((_, at) => `${at + 1}/${CLAUSES.length}`));
});

test("finds the same offending rows on several threads as on one", async () => {
  const dir = await written();
  const db = new Database(join(dir, DATABASE_FILE));
  db.run("DROP TRIGGER balance_follows_transfer");
  db.run("UPDATE balance SET available_credits = available_credits + 7");
  db.close();
  const { here, threads } = await verdicts(dir);
  expect(here.filter(({ ok }) => !ok).map(({ invariant }) => invariant)).toContain(1);
  expect(threads).toEqual(here);
});

test("rejects when the file is removed before the verification", async () => {
  const dir = await written();
  const reads = await openSqliteReads(dir, { largeBytes: 0 });
  rmSync(join(dir, DATABASE_FILE));
  await expect(reads.verify(null)).rejects.toThrow("a thread that verifies stopped");
  await reads.close();
});
