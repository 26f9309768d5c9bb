// Each of the twelve invariants is found broken when it is: one planted violation or more for each.
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteHere } from "../../src/store/sqlite/here.ts";
import { openSqliteReads } from "../../src/store/sqlite/reads.ts";
import { admit, NOW_MS, openAccount, releasedDeed, startedDeed, stepDeed, succeed, violations } from "./scene.ts";

const dir = mkdtempSync(join(tmpdir(), "store-"));
const made = join(dir, "genrouter.db");
let copies = 0;

/** A world with every kind of generation in it: succeeded twice, failed after two attempts, running, queued. */
beforeAll(async () => {
  const store = await openSqliteHere({ path: made, mode: "test", nowMs: NOW_MS });
  const account = await openAccount(store, 5000);
  const other = await openAccount(store, 500);
  await succeed(store, account, { idempotencyKey: "k1" });
  await succeed(store, other, { idempotencyKey: "k1" });
  const failed = await admit(store, account);
  await store.commit([
    startedDeed(failed),
    stepDeed(failed.seq, 2, { attemptChanges: [{ n: 1, state: "failed" }] }),
    startedDeed(failed, 3, 2, "b"),
    releasedDeed(failed.seq, 4, { attemptChanges: [{ n: 2, state: "capped" }] }),
  ]);
  await store.commit([startedDeed(await admit(store, account, { idempotencyKey: "k2" }))]);
  await admit(store, account);
  await store.commit([
    { deed: "credit", accountSeq: 2, kind: "adjust", credits: -900, note: "dispute", reference: "d", atMs: NOW_MS },
  ]);
  expect(await violations(store)).toEqual([]);
  await store.close();
  // A second opening, so that there are two epochs to confuse.
  const again = await openSqliteHere({ path: made, mode: "test", nowMs: NOW_MS });
  await succeed(again, account);
  await again.close();
});
afterAll(() => rmSync(dir, { recursive: true }));

/** Copies the world, takes its guards away, runs the SQL on it and says which invariants are then broken. */
const brokenBy = async (sql: string, nowMs: number | null = NOW_MS + 5000) => {
  const place = join(dir, `copy-${++copies}`);
  mkdirSync(place);
  const path = join(place, "genrouter.db");
  copyFileSync(made, path);
  const db = new Database(path);
  for (const { name } of db.query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'trigger'").all())
    db.run(`DROP TRIGGER ${name}`);
  db.run("DROP INDEX generation_key; DROP INDEX movement_once; DROP INDEX attempt_job; PRAGMA foreign_keys = 0;");
  db.run("PRAGMA ignore_check_constraints = 1");
  if (sql) db.run(sql);
  db.close();
  const reads = await openSqliteReads(place);
  const broken = await violations(reads, nowMs);
  await reads.close();
  return broken;
};

const ENDED = "(SELECT min(seq) FROM generation WHERE status = 'succeeded')";
const FAILED = "(SELECT seq FROM generation WHERE status = 'failed')";
const RUNNING = "(SELECT seq FROM generation WHERE status = 'running')";
const QUEUED = "(SELECT seq FROM generation WHERE status = 'queued')";

test("without its guards and with nothing planted the world is whole", async () => {
  expect(await brokenBy("")).toEqual([]);
});

describe("verify finds", () => {
  test.each<[invariant: number, what: string, sql: string]>([
    [1, "a movement that was changed", "UPDATE movement SET credits = credits + 1 WHERE kind = 'topup' AND account_seq = 1"],
    [1, "a note that was changed", "UPDATE movement SET note = 'gift' WHERE kind = 'topup' AND account_seq = 1"],
    [
      1,
      "a movement that was taken out",
      "DELETE FROM movement WHERE seq = (SELECT max(seq) FROM movement WHERE account_seq = 1)",
    ],
    [1, "a balance that no movement explains", "UPDATE account SET available_credits = available_credits + 100 WHERE seq = 1"],
    [1, "charges that no capture explains", "UPDATE account SET charged_credits = charged_credits + 1 WHERE seq = 1"],
    [1, "a debt that was forgiven by hand", "UPDATE account SET owed_credits = 0 WHERE seq = 2"],
    [1, "a credit that is not its movement", "UPDATE credit SET asked_credits = 4000, moved_credits = 4000 WHERE seq = 1"],
    [
      2,
      "a hold that is not the reserve of what is in progress",
      `UPDATE generation SET reserved_credits = 200 WHERE seq = ${QUEUED}`,
    ],
    [2, "a wrong number in progress", "UPDATE account SET in_progress = 9 WHERE seq = 1"],
    [
      3,
      "a settlement of a generation that goes on",
      `UPDATE movement SET generation_seq = ${RUNNING} WHERE kind = 'release' AND generation_seq = ${FAILED}`,
    ],
    [3, "a generation without a hold", `DELETE FROM movement WHERE kind = 'hold' AND generation_seq = ${QUEUED}`],
    [
      3,
      "a second capture",
      `INSERT INTO movement SELECT 999, account_seq, 999, kind, credits, from_side, to_side, generation_seq, attempt_n,
       available_after, held_after, at_ms, epoch, hash, note FROM movement WHERE kind = 'capture' AND generation_seq = ${ENDED}`,
    ],
    [4, "a charge that is not the attempt's price", `UPDATE attempt SET price_credits = 74 WHERE seq = ${ENDED}`],
    [4, "a delivered attempt of a failed generation", `UPDATE attempt SET state = 'delivered' WHERE seq = ${FAILED} AND n = 1`],
    [4, "a quote that is not the cheapest price", `UPDATE generation SET quoted_credits = 1 WHERE seq = ${QUEUED}`],
    [4, "a route dearer than was allowed", `UPDATE submission SET max_cost_credits = 100 WHERE seq = ${QUEUED}`],
    [5, "a submission that is gone", `DELETE FROM submission WHERE seq = ${QUEUED}`],
    [5, "an id that is not the row's", `UPDATE generation SET id = 'gen_00000000000' || substr(id, 16) WHERE seq = ${QUEUED}`],
    [
      5,
      "an end that the journal does not know",
      `UPDATE journal SET state_after = 'running.polling' WHERE seq = ${ENDED} AND version = 2`,
    ],
    [6, "two generations of one key", "UPDATE generation SET idempotency_key = 'k1' WHERE idempotency_key = 'k2'"],
    [6, "a body hash that is none", `UPDATE generation SET body_hash = 'Z' WHERE seq = ${QUEUED}`],
    [7, "a job that two attempts own", "UPDATE attempt SET job_id = 'same' WHERE n = 1"],
    [7, "a reference of another generation", `UPDATE attempt SET ref = 'x' || ref WHERE seq = ${RUNNING}`],
    [7, "a job without a request written before it", `DELETE FROM attempt_request WHERE seq = ${RUNNING}`],
    [8, "an attempt left open by the end", `UPDATE attempt SET state = 'accepted' WHERE seq = ${FAILED} AND n = 2`],
    [8, "an end without a time", `UPDATE attempt SET ended_at_ms = NULL WHERE seq = ${FAILED} AND n = 2`],
    [9, "a generation that nothing will move", `DELETE FROM command WHERE seq = ${RUNNING}`],
    [9, "a parked generation", `UPDATE snapshot SET state = 'running.parked' WHERE seq = ${RUNNING}`],
    [9, "a command of an ended generation", `INSERT INTO command VALUES (${ENDED}, 'attempt', 1, ${NOW_MS})`],
    [9, "an overdue command", `UPDATE command SET due_at_ms = ${NOW_MS - 60_000} WHERE seq = ${RUNNING}`],
    [9, "a deadline that is far beyond every limit", `UPDATE command SET due_at_ms = ${NOW_MS * 2} WHERE seq = ${RUNNING}`],
    [9, "a generation that is too old", `UPDATE generation SET wait_ends_at_ms = ${NOW_MS - 9_000_000} WHERE seq = ${QUEUED}`],
    [10, "a gap in the versions", `DELETE FROM journal WHERE seq = ${FAILED} AND version = 2`],
    [10, "a snapshot of another version", `UPDATE snapshot SET version = 7 WHERE seq = ${RUNNING}`],
    [10, "a history that goes back", `UPDATE journal SET state_after = 'succeeded' WHERE seq = ${FAILED} AND version = 2`],
    [10, "attempts that are not numbered from 1", `UPDATE attempt SET n = 5 WHERE seq = ${RUNNING}`],
    [10, "a number of attempts that the routes do not explain", `UPDATE generation SET attempts = 3 WHERE seq = ${FAILED}`],
    [10, "two attempts under way", `UPDATE attempt SET state = 'accepted' WHERE seq = ${FAILED}`],
    [10, "a message after the end", `UPDATE generation SET message = 'Confirming.' WHERE seq = ${ENDED}`],
    [10, "an end before the beginning", `UPDATE generation SET completed_at_ms = created_at_ms - 1 WHERE seq = ${ENDED}`],
    [
      11,
      "a movement of another account",
      `UPDATE movement SET account_seq = 2 WHERE kind = 'hold' AND generation_seq = ${QUEUED}`,
    ],
    [11, "a submission with another account's key", `UPDATE submission SET key_seq = 2 WHERE seq = ${QUEUED}`],
    [11, "a journal of nothing", "INSERT INTO journal VALUES (1, 1, 0, 1, 'queued', '{}')"],
    [11, "a key that is stored itself", "UPDATE api_key SET start = 'gr_test_' || hash WHERE seq = 1"],
    [12, "a reference to a row that is not there", "UPDATE api_key SET account_seq = 77 WHERE seq = 2"],
    [10, "a number of attempts below none", `UPDATE generation SET attempts = -1 WHERE seq = ${QUEUED}`],
    [12, "a write by an owner that never was", "UPDATE movement SET epoch = 9 WHERE seq = 1"],
    [
      12,
      "a write by an owner after its successor's",
      "UPDATE movement SET epoch = 1 WHERE seq = (SELECT max(seq) FROM movement)",
    ],
    [12, "an opening that is missing", "DELETE FROM owner WHERE epoch = 1"],
    [12, "a rollback journal instead of a log", "PRAGMA journal_mode = delete"],
  ])("invariant %i broken by %s", async (invariant, _what, sql) => {
    const broken = await brokenBy(sql);
    const found = broken.find((result) => result.invariant === invariant);
    expect(found?.offending.length ?? 0).toBeGreaterThan(0);
    expect(found?.offending[0]).toMatchObject({ fault: expect.any(String) });
  });
});

test("what is overdue does not count while the service is not running", async () => {
  const sql = `UPDATE command SET due_at_ms = ${NOW_MS - 60_000} WHERE seq = ${RUNNING}`;
  expect(await brokenBy(sql, null)).toEqual([]);
  expect((await brokenBy(sql)).map(({ invariant }) => invariant)).toEqual([9]);
});

test("at most twenty rows of an invariant are told", async () => {
  const rows = Array.from({ length: 50 }, (_, i) => `(${i + 1}, 1, 0, 1, 'queued', '{}')`).join(",");
  const broken = await brokenBy(`INSERT INTO journal VALUES ${rows}`);
  expect(broken.find(({ invariant }) => invariant === 11)?.offending).toHaveLength(20);
});

test("a damaged page is an answer, not a crash", async () => {
  const place = join(dir, "damaged");
  mkdirSync(place);
  const path = join(place, "genrouter.db");
  copyFileSync(made, path);
  const db = new Database(path, { readonly: true });
  const root =
    db.query<{ rootpage: number }, []>("SELECT rootpage FROM sqlite_schema WHERE name = 'journal'").get()?.rootpage ?? 0;
  db.close();
  const bytes = new Uint8Array(await Bun.file(path).arrayBuffer());
  bytes.fill(0xff, (root - 1) * 4096, root * 4096);
  await Bun.write(path, bytes);
  const reads = await openSqliteReads(place);
  const broken = (await reads.verify(null)).filter(({ ok }) => !ok).map(({ invariant }) => invariant);
  expect(broken).toContain(12);
  expect(broken).toContain(10);
  await reads.close();
});
