// Ledger verification through the operator API: a viewer runs it while the service works, and it finds planted violations.
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import type { VerificationResult, VerificationView } from "../../src/console/operator-dto.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { type Harness, openHarness } from "../harness.ts";
import { type Operators, openOperators } from "./operators.ts";

let harness: Harness;
let users: Operators;
let dir: string;
beforeAll(async () => {
  dir = freshDir();
  harness = await openHarness({ dir, factor: 1000 });
  users = await openOperators(harness);
});
afterAll(async () => {
  await harness.close();
  dropDirs();
});

const view = async (method: "GET" | "POST"): Promise<VerificationView> =>
  (await users.ask("viewer", method, "verification")).reported as unknown as VerificationView;
/** Runs a new verification to its end. */
const proved = async (): Promise<VerificationResult> => {
  await view("POST");
  return harness.eventually(async () => {
    const { running, last } = await view("GET");
    return running === null && last;
  }, "the verification");
};

const submitted = () => harness.submit("vidmodel-2.0-mini", { prompt: "a kite", resolution: "480p", duration: 4 });

test("a second request joins the running verification, submissions continue, and all 13 invariants hold", async () => {
  for (let n = 0; n < 5; n += 1) await harness.until((await submitted()).id);
  expect(await view("GET")).toMatchObject({ running: null, invariants: 13 });
  const [first, second] = [await view("POST"), await view("POST")];
  expect(second.running?.startedAtMs).toBe(first.running?.startedAtMs ?? -1);
  const { id } = await submitted();
  const done = await harness.eventually(async () => {
    const { running, last } = await view("GET");
    return running === null && last;
  });
  expect(done.startedAtMs).toBe(first.running?.startedAtMs ?? -1);
  expect(done).toMatchObject({ by: "viewer@example.com", fault: null });
  expect(done.done).toBe(done.of);
  expect(done.results.map(({ invariant, ok }) => [invariant, ok])).toEqual(Array.from({ length: 13 }, (_, n) => [n + 1, true]));
  for (const { balanceCredits, transferCredits } of done.sums) expect(balanceCredits).toBe(transferCredits);
  expect(done.transfers).toBeGreaterThan(10);
  await harness.until(id);
});

test("reports credits without a transfer with their row, and the sums show the amount", async () => {
  const db = new Database(join(dir, "genrouter.db"));
  // The harness may write at the same time.
  db.run("PRAGMA busy_timeout = 5000");
  const trigger =
    db.query<{ sql: string }, []>("SELECT sql FROM sqlite_schema WHERE name = 'balance_follows_transfer'").get()?.sql ?? "";
  // In one transaction, because the service writes meanwhile and its own transfers need the trigger.
  const move = db.transaction((credits: number) => {
    db.run("DROP TRIGGER balance_follows_transfer");
    db.run("UPDATE balance SET available_credits = available_credits + ?1 WHERE account_seq = ?2", [
      credits,
      harness.tenant.accountSeq,
    ]);
    db.run(trigger);
  });
  move.immediate(100);
  const broken = await proved();
  move.immediate(-100);
  db.close();
  expect(broken.results.filter(({ ok }) => !ok).map(({ invariant }) => invariant)).toContain(1);
  expect(JSON.stringify(broken.results[0]?.offending)).toContain("the incoming credits differ from the balances and charges");
  const [all] = broken.sums;
  expect((all?.balanceCredits ?? 0) - (all?.transferCredits ?? 0)).toBe(100);
  expect((await proved()).results.every(({ ok }) => ok)).toBe(true);
});

test("returns the error of a verification that cannot run, without a result", async () => {
  const operating = await harness.components.operating();
  const { createLedgerVerification } = await import("../../src/console/operator/ledger-verification.ts");
  const { createParallelReads } = await import("../../src/store/sqlite/verify/parallel.ts");
  const { show, begin } = createLedgerVerification({ ...operating, long: createParallelReads(join(dir, "gone.db")) });
  await begin({ who: { email: "ada@example.com" } });
  const last = await harness.eventually(async () => (await show()).last);
  expect(last.fault).not.toBeNull();
  expect(last.results).toEqual([]);
});

test("lists orphans since a valid duration only, and the service page shows the state of the service", async () => {
  expect((await users.ask("viewer", "GET", "orphans?since=24h")).status).toBe(200);
  expect((await users.ask("viewer", "GET", "orphans?since=1y")).status).toBe(400);
  expect((await users.ask("viewer", "GET", "service")).reported).toMatchObject({
    ...{
      mode: "test",
      ready: true,
      faults: [],
      parked: [],
      restored: null,
      backup: { dir: null, lastMs: null, running: null, ended: null },
    },
    url: harness.url,
  });
});
