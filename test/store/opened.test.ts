// The checker is called at the end of every test that has a store: stores are opened in one way, and that way verifies.
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

test("no test opens a store that is not verified when it is closed", () => {
  const openers: string[] = [];
  // Not those in texts: scripts that run in processes of their own, which end by a kill or a full disk.
  // Nor benches: they fill a directory for the service, and have the command verify it when the service has ended. Nor what costs are measured
  // on, which is a program, too: it verifies its books itself, before they go.
  const others = ["test/bench/", "test/capacity/fixtures.ts"];
  for (const path of new Glob("test/**/*.ts").scanSync({ cwd: root }))
    for (const line of readFileSync(join(root, path), "utf8").split("\n"))
      if (!others.some((one) => path.startsWith(one)) && /^import .*\bopenSqlite(Store|Here)\b/.test(line)) openers.push(path);
  expect([...new Set(openers)]).toEqual(["test/store/open-store.ts"]);
});

test.each(["a file", "a directory"])("a store on %s whose books are wrong fails its test at the end", async (where) => {
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
