// Every test opens its store through `open-store.ts`, which verifies the invariants on close.
import { Database } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Glob } from "bun";
import { openAccount } from "./fixture.ts";
import { openDirectory, openHere } from "./open-store.ts";

const root = resolve(import.meta.dir, "../..");
const dir = mkdtempSync(join(tmpdir(), "store-"));
afterAll(() => rmSync(dir, { recursive: true }));

test("no test imports a store opener that skips verification on close", () => {
  const openers: string[] = [];
  // Left out: scripts inside string literals, which run in processes that end by a kill or a full disk.
  // Also left out: benchmarks, which fill a directory and verify it by the command when the service has ended, and the cost
  // fixtures, which verify their own database before they delete it.
  const others = ["test/bench/", "test/capacity/fixtures.ts"];
  for (const path of new Glob("test/**/*.ts").scanSync({ cwd: root }))
    for (const line of readFileSync(join(root, path), "utf8").split("\n"))
      if (!others.some((one) => path.startsWith(one)) && /^import .*\bopenSqlite(Store|InProcess)\b/.test(line))
        openers.push(path);
  expect([...new Set(openers)]).toEqual(["test/store/open-store.ts"]);
});

test.each(["a file", "a directory"])("fails the test on close when a store on %s violates an invariant", async (where) => {
  const path = join(dir, "genrouter.db");
  const store = await (where === "a file" ? openHere({ path, mode: "test" }) : openDirectory({ dir, mode: "test" }));
  const { seq } = await openAccount(store, 100);
  const raw = new Database(path);
  raw.run("DROP TRIGGER balance_follows_transfer");
  raw.run("UPDATE balance SET available_credits = 101 WHERE account_seq = ?", [seq]);
  raw.close();
  const fault = await store.close().then(
    () => "closed",
    (reason: unknown) => String(reason),
  );
  expect(fault).toContain("conservation");
  rmSync(path);
});
