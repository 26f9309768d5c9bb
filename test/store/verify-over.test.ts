// verifyOver, which streams its rows, finds every planted violation that SQLite's own verification finds.
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Value } from "../../src/store/sql/sql-program.ts";
import { checksOf } from "../../src/store/sql/verify/checks.ts";
import { chains, runnable, type Seen, verifyOver } from "../../src/store/sql/verify/run-async.ts";
import { SQLITE } from "../../src/store/sqlite/sql-program.ts";
import { verifyAll } from "../../src/store/sqlite/verify/all.ts";
import type { CheckResult } from "../../src/store/store.ts";
import { makeWorld } from "./every-row-fixture.ts";
import { NOW_MS } from "./fixture.ts";
import { PLANTS_OF_MONEY } from "./violations.ts";
import { PLANTS_OF_DELIVERIES } from "./violations-deliveries.ts";
import { PLANTS_OF_LIFE } from "./violations-lifecycle.ts";

/** The clauses of invariant 12 about the file apply to SQLite only. */
const PLANTS = [...PLANTS_OF_MONEY, ...PLANTS_OF_LIFE, ...PLANTS_OF_DELIVERIES].filter(({ invariant }) => invariant < 12);
/** verifyOver walks chains in another order, so it may report the other one of two transfers that do not follow. */
const ofRows = (results: CheckResult[]) =>
  results
    .filter(({ invariant }) => invariant < 12)
    .map((result) => ({
      ...result,
      offending: result.offending.map((row) => JSON.stringify({ ...row, transfer_no: null })).sort(),
    }));
const CHECKS = checksOf(runnable, { 1: [chains] });

const dir = mkdtempSync(join(tmpdir(), "store-"));
let db: Database;
beforeAll(async () => {
  const path = join(dir, "genrouter.db");
  await makeWorld(path);
  db = new Database(path);
  const guards = "SELECT type, name FROM sqlite_schema WHERE type = 'trigger' OR sql LIKE 'CREATE UNIQUE INDEX%'";
  for (const { type, name } of db.query<{ type: string; name: string }, []>(guards).all()) db.run(`DROP ${type} ${name}`);
  db.run("PRAGMA foreign_keys = 0; PRAGMA ignore_check_constraints = 1");
});
afterAll(() => {
  db.close();
  rmSync(dir, { recursive: true });
});

const seenAt = (nowMs: number | null): Seen => ({
  rows: async function* <Row>(sql: string, ...values: Value[]) {
    yield* db.query<Row, typeof values>(sql).iterate(...values);
  },
  words: SQLITE,
  nowMs,
  reasonOf: (fault) => (fault instanceof Error ? fault.message : String(fault)),
});

test.each([null, NOW_MS + 5000])("finds no violation in a complete fixture at %p", async (nowMs) => {
  const reported: string[] = [];
  const results = await verifyOver(CHECKS, seenAt(nowMs), (done, of, soFar) => reported.push(`${done}/${of} ${soFar.length}`));
  expect(results.filter(({ ok }) => !ok)).toEqual([]);
  expect(results.map(({ invariant }) => invariant)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
  const all = CHECKS.flatMap(({ clauses }) => clauses).length;
  expect([reported[0], reported.at(-1)]).toEqual([`1/${all} 0`, `${all}/${all} 13`]);
});

test("finds every planted violation with the same rows as the SQLite verification", async () => {
  for (const { sql, fault } of PLANTS) {
    db.run("BEGIN");
    db.run(sql);
    const results = await verifyOver(CHECKS, seenAt(NOW_MS + 5000));
    expect(results.flatMap(({ offending }) => offending.map((row) => row.fault))).toContain(fault);
    expect(ofRows(results)).toEqual(ofRows(verifyAll(db, NOW_MS + 5000)));
    db.run("ROLLBACK");
  }
}, 60_000);

test("reports a clause whose query fails, and runs the other clauses", async () => {
  db.run("BEGIN");
  db.run("DROP TABLE purchase_adjustment");
  const broken = (await verifyOver(CHECKS, seenAt(null))).filter(({ ok }) => !ok);
  expect(broken.map(({ invariant }) => invariant)).toEqual([1]);
  expect(broken[0]?.offending[0]).toEqual({
    fault: "the check did not finish",
    detail: "no such table: purchase_adjustment",
  });
  db.run("ROLLBACK");
});
