// verify finds a planted violation of each clause of the thirteen invariants, and reports no other invariant.
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openWriter } from "../../src/store/sqlite/open.ts";
import { openSqliteReads } from "../../src/store/sqlite/reads.ts";
import { CHECKS, verifyAll } from "../../src/store/sqlite/verify/all.ts";
import { makeWorld } from "./every-row-fixture.ts";
import { NOW_MS, violations } from "./fixture.ts";
import { PLANTS_OF_MONEY } from "./violations.ts";
import { PLANTS_OF_DELIVERIES } from "./violations-deliveries.ts";
import { PLANTS_OF_LIFE } from "./violations-lifecycle.ts";

const PLANTS = [...PLANTS_OF_MONEY, ...PLANTS_OF_LIFE, ...PLANTS_OF_DELIVERIES];
const dir = mkdtempSync(join(tmpdir(), "store-"));
const made = join(dir, "genrouter.db");
let copies = 0;
beforeAll(() => makeWorld(made));
afterAll(() => rmSync(dir, { recursive: true }));

type Guard = { type: "index" | "trigger"; name: string; sql: string };

/** Copies the fixture, drops its guards, runs the SQL, restores the guards that still fit, and returns the violations. */
const brokenBy = async (sql: string, nowMs: number | null = NOW_MS + 5000) => {
  const place = join(dir, `copy-${++copies}`);
  mkdirSync(place);
  const path = join(place, "genrouter.db");
  copyFileSync(made, path);
  const db = new Database(path);
  const guards = db
    .query<Guard, []>("SELECT type, name, sql FROM sqlite_schema WHERE type IN ('index', 'trigger') AND sql IS NOT NULL")
    .all();
  for (const { type, name } of guards) db.run(`DROP ${type} "${name}"`);
  db.run("PRAGMA foreign_keys = 0");
  db.run("PRAGMA ignore_check_constraints = 1");
  if (sql) db.run(sql);
  for (const guard of guards) {
    try {
      db.run(guard.sql);
    } catch {
      // An index that the planted rows violate stays dropped, and invariant 12 reports it.
    }
  }
  db.close();
  const reads = await openSqliteReads(place);
  const broken = await violations(reads, nowMs);
  await reads.close();
  rmSync(place, { recursive: true });
  return broken;
};

test("reports no violation when guards are dropped and restored and nothing is planted", async () => {
  expect(await brokenBy("")).toEqual([]);
});

describe("verify finds", () => {
  test.each(PLANTS)("$invariant: $what", async ({ invariant, fault, sql, also = [] }) => {
    const broken = await brokenBy(sql);
    const found = broken.find((result) => result.invariant === invariant);
    expect(found?.offending.map((row) => row.fault)).toContain(fault);
    expect(broken.map((result) => result.invariant)).toEqual([invariant, ...also].sort((a, b) => a - b));
  });

  test("12: a writing connection that does not sync each commit", () => {
    const db = openWriter(made);
    expect(verifyAll(db, null).filter(({ ok }) => !ok)).toEqual([]);
    db.run("PRAGMA synchronous = 1; PRAGMA foreign_keys = 0");
    const broken = verifyAll(db, null).filter(({ ok }) => !ok);
    expect(broken.flatMap(({ offending }) => offending)).toEqual([
      { fault: "foreign keys are off" },
      { fault: "the writer does not synchronize each commit to the disk", synchronous: "1" },
    ]);
    db.close();
  });

  test("a planted violation of every clause", () => {
    const planted = new Set([
      ...PLANTS.map(({ fault }) => fault),
      ...["foreign keys are off", "the writer does not synchronize each commit to the disk"],
      // A note beside the result, tested below.
      "generations were accepted by a build that stored no expected delivery; they are not compared",
    ]);
    const clauses = CHECKS.flatMap((one) => one.clauses.flatMap(({ faults }) => faults));
    expect(clauses.filter((fault) => !planted.has(fault))).toEqual([
      // Tested below: a damaged page, and a newer schema.
      "the file is damaged",
      "the schema version is unknown",
    ]);
    expect(CHECKS.map(({ invariant }) => invariant)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
  });
});

test("counts generations without a stored expected delivery in a note, not as a violation", async () => {
  const place = join(dir, "earlier");
  mkdirSync(place);
  copyFileSync(made, join(place, "genrouter.db"));
  const db = new Database(join(place, "genrouter.db"));
  const guards = db
    .query<Guard, []>("SELECT name, sql FROM sqlite_schema WHERE name IN ('generation_terms_immutable', 'generation_final')")
    .all();
  for (const { name } of guards) db.run(`DROP TRIGGER ${name}`);
  db.run(
    "UPDATE generation SET expected_delivery = NULL WHERE seq IN (SELECT seq FROM generation WHERE status = 'succeeded' LIMIT 2)",
  );
  for (const { sql } of guards) db.run(sql);
  db.close();
  const reads = await openSqliteReads(place);
  const all = await reads.verify(null);
  expect(all.filter(({ ok }) => !ok)).toEqual([]);
  expect(all.find(({ invariant }) => invariant === 13)).toEqual({
    ...{ invariant: 13, name: "delivered as ordered", ok: true, offending: [] },
    note: "2 generations were accepted by a build that stored no expected delivery; they are not compared",
  });
  await reads.close();
});

test("ignores overdue deadlines while the service is not running", async () => {
  const sql = `UPDATE snapshot SET deadline_at_ms = ${NOW_MS - 60_000} WHERE generation_seq = (SELECT max(seq) FROM generation WHERE status = 'running')`;
  expect(await brokenBy(sql, null)).toEqual([]);
  expect((await brokenBy(sql)).map(({ invariant }) => invariant)).toEqual([9]);
});

test("reports at most twenty rows of an invariant", async () => {
  const rows = Array.from({ length: 50 }, (_, i) => `(${i + 1}, 1, 0, 1, 'queued', '{}')`).join(",");
  const broken = await brokenBy(`INSERT INTO generation_event VALUES ${rows}`);
  expect(broken.find(({ invariant }) => invariant === 11)?.offending).toHaveLength(20);
});

test("reports every violated clause, even when another clause has more than twenty rows", async () => {
  // Thirty generations without a first event precede one whose events return to an earlier status.
  const gaps = Array.from({ length: 30 }, (_, i) => `(${i + 1}, 2, 0, 1, 'queued', '{}')`);
  const back = [`(31, 1, 0, 1, 'running.polling', '{}')`, `(31, 2, 0, 1, 'queued', '{}')`];
  const broken = await brokenBy(`INSERT INTO generation_event VALUES ${[...gaps, ...back].join(",")};
    INSERT INTO snapshot VALUES (31, 2, 'queued', NULL, NULL, NULL, '{}')`);
  const reported = broken.find(({ invariant }) => invariant === 10)?.offending ?? [];
  expect(reported).toHaveLength(20);
  expect(reported.filter(({ fault }) => String(fault).startsWith("the versions of the events have a gap"))).not.toEqual([]);
  expect(reported.find(({ fault }) => String(fault).startsWith("the events return"))).toMatchObject({ generation_seq: 31 });
});

test("reports a damaged page as a violation instead of throwing", async () => {
  const place = join(dir, "damaged");
  mkdirSync(place);
  const path = join(place, "genrouter.db");
  copyFileSync(made, path);
  const db = new Database(path, { readonly: true });
  const root =
    db.query<{ rootpage: number }, []>("SELECT rootpage FROM sqlite_schema WHERE name = 'generation_event'").get()?.rootpage ?? 0;
  db.close();
  const bytes = new Uint8Array(await Bun.file(path).arrayBuffer());
  bytes.fill(0xff, (root - 1) * 4096, root * 4096);
  await Bun.write(path, bytes);
  const reads = await openSqliteReads(place);
  const results = await reads.verify(null);
  const broken = results.filter(({ ok }) => !ok).map(({ invariant }) => invariant);
  expect(broken).toContain(12);
  expect(broken).toContain(10);
  expect(results.find(({ invariant }) => invariant === 12)?.offending.map(({ fault }) => fault)).toContain("the file is damaged");
  await reads.close();
});

test("reports the schema version of a newer release as unknown", () => {
  const path = join(dir, "newer.db");
  copyFileSync(made, path);
  const db = openWriter(path);
  db.run("PRAGMA user_version = 99");
  const broken = verifyAll(db, null).filter(({ ok }) => !ok);
  expect(broken.flatMap(({ offending }) => offending)).toEqual([{ fault: "the schema version is unknown", user_version: 99 }]);
  db.close();
});
