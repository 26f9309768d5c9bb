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

const ANSWER =
  "INSERT INTO attempt_answer (generation_seq, attempt_no, results) SELECT generation_seq, attempt_no, '[]' FROM attempt";
const WORDS = {
  check: "CHECK constraint failed",
  unique: (columns: string) => `UNIQUE constraint failed: ${columns}`,
  drop: (trigger: string) => `DROP TRIGGER ${trigger}`,
};
/** Guards of tables that PostgreSQL does not have. */
const OWN: [fault: string, sql: string][] = [
  ["the request of a generation cannot be deleted", "DELETE FROM generation_request"],
  ["the answer of a provider cannot be deleted", `${ANSWER}; DELETE FROM attempt_answer`],
  ["the answer of a provider is immutable until it is erased", `${ANSWER}; UPDATE attempt_answer SET failure = NULL`],
];
test.each(guards(WORDS))("%s (%#)", (fault, sql) => {
  expect(() => db.run(sql)).toThrow(fault);
});
test.each(OWN)("%s, in a table of SQLite only (%#)", (fault, sql) => {
  expect(() => db.run(sql)).toThrow(fault);
});
