// Guards of the SQLite schema: it rejects SQL that would break an invariant.

import type { Database } from "bun:sqlite";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openWriter } from "../../src/store/sqlite/open.ts";
import { guards, makeRows } from "./guards.ts";
import { openHere } from "./open-store.ts";

const dir = mkdtempSync(join(tmpdir(), "store-"));
const path = join(dir, "genrouter.db");
let db: Database;
beforeAll(async () => {
  const store = await openHere({ path, mode: "test" });
  await makeRows(store);
  await store.close();
});
beforeEach(() => {
  db = openWriter(path);
  db.run("BEGIN");
});
afterEach(() => {
  db.run("ROLLBACK");
  db.close();
});
afterAll(() => rmSync(dir, { recursive: true }));

const WORDS = {
  check: "CHECK constraint failed",
  unique: (columns: string) => `UNIQUE constraint failed: ${columns}`,
  drop: (trigger: string) => `DROP TRIGGER ${trigger}`,
};
test.each(guards(WORDS))("%s (%#)", (fault, sql) => {
  expect(() => db.run(sql)).toThrow(fault);
});
