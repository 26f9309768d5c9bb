// Tests the ledger gauges: equal for every page size, and every imbalance is detected.

import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteReads } from "../../src/store/sqlite/reads.ts";
import type { GaugeReadings } from "../../src/telemetry/gauge-readings.ts";
import { createLedgerGauges } from "../../src/telemetry/ledger-gauges.ts";
import { openHarness } from "../harness.ts";
import { dropScratch } from "../scratch.ts";

const standingOver = (reads: GaugeReadings["reads"]): GaugeReadings => ({
  ...{ reads, nowMs: () => 0, isReady: () => true, routes: () => [] },
  ...{ databaseBytes: () => 0, lastBackupS: async () => 0, nodes: () => 1, stuck: () => 0, clockAheadS: () => 0 },
  webhookDelayS: () => 0,
  ...{
    disk: async () => undefined,
    bucket: () => ({ isAvailable: true, waiting: 0, setAside: 0 }),
    isStoreAvailable: () => true,
    whereReached: (ask) => ask(),
  },
  ...{ orphans: async () => [], isDiskFull: () => false },
});

/** Fills a directory with succeeded, failed, running and queued generations of two accounts. */
const fill = async (dir: string): Promise<void> => {
  const harness = await openHarness({ dir, env: { GENROUTER_LIMITS__MAX_RUNNING: "1" } });
  const other = await harness.newTenant(500);
  for (const prompt of ["a", "b [sim:fail]", "c", "d [sim:fal:fail]", "e"]) {
    const input = { prompt, resolution: "480p", duration: 4 };
    await harness.until((await harness.submit("vidmodel-2.0-fast", input)).id);
  }
  harness.simulator.script({ fault: "stuck", prompt: "stands" });
  for (let n = 0; n < 3; n += 1) await harness.submit("sim-image-1", { prompt: "stands" });
  await harness.request("POST", "/v1/generations", {
    key: other.key,
    body: { model: "sim-speech-1", input: { prompt: "stands" } },
  });
  await harness.eventually(() => harness.components.supervisor.counts().running === 1);
  await harness.crash();
};

/** Changes rows without the triggers that guard them. */
const change = (dir: string, sql: string): void => {
  const db = new Database(join(dir, "genrouter.db"));
  const triggers = db
    .query<{ name: string; sql: string }, []>("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
    .all();
  for (const { name } of triggers) db.run(`DROP TRIGGER ${name}`);
  db.run(sql);
  for (const trigger of triggers) db.run(trigger.sql);
  db.close();
};

const inside = async (then: (dir: string) => Promise<void>): Promise<void> => {
  const dir = mkdtempSync(join(tmpdir(), "books-"));
  try {
    await fill(dir);
    await then(dir);
  } finally {
    dropScratch(dir);
  }
};

test("returns the same gauges for every page size, equal to the sums of the tables", async () => {
  await inside(async (dir) => {
    const reads = await openSqliteReads(dir);
    const reported = [];
    for (const rows of [1, 2, 3, 1000]) {
      const books = createLedgerGauges(standingOver(reads), rows);
      const open = await books.open();
      reported.push([
        open?.status,
        [...(open?.reservedOf ?? [])],
        open?.oldestQueuedMs,
        await books.imbalanceCredits(),
        await books.filesBytes(),
      ]);
    }
    for (const one of reported) expect(one).toEqual(reported[0] as never);
    const [status, reserved, oldest, imbalance, bytes] = reported[0] as [object, [string, number][], number, number, number];
    expect(status).toEqual({ queued: 3, running: 1 });
    const db = new Database(join(dir, "genrouter.db"), { readonly: true });
    const figure = (sql: string) => Object.values(db.query<Record<string, number>, []>(sql).get() ?? {})[0];
    expect(reserved.reduce((sum, [, credits]) => sum + credits, 0)).toBe(figure("SELECT sum(held_credits) FROM balance") ?? -1);
    expect(reserved.map(([model]) => model).sort()).toEqual(["sim-image-1", "sim-speech-1"]);
    expect(oldest).toBe(figure("SELECT min(created_at_ms) FROM generation WHERE status = 'queued'") ?? -1);
    expect(bytes).toBe(figure("SELECT sum(f.value ->> 'bytes') FROM generation g, json_each(g.output, '$.files') f") ?? -1);
    expect(imbalance).toBe(0);
    db.close();
    await reads.close();
  });
});

const PLANTS: [what: string, sql: string, credits: number][] = [
  ["credits that came from nowhere", "UPDATE balance SET available_credits = available_credits + 7 WHERE account_seq = 1", 7],
  ["credits that are missing", "UPDATE balance SET available_credits = available_credits - 3 WHERE account_seq = 2", 3],
  [
    "a hold that was not released",
    "UPDATE balance SET held_credits = held_credits - 2, available_credits = available_credits + 2 WHERE account_seq = 1",
    2,
  ],
  [
    "a charge without a capture",
    "UPDATE balance SET charged_credits = charged_credits + 4, available_credits = available_credits - 4 WHERE account_seq = 1",
    4,
  ],
  ["a top-up in no balance", "UPDATE transfer SET credits = credits + 11 WHERE kind = 'topup' AND account_seq = 1", 11],
  [
    "a capture that no account was charged for",
    "UPDATE transfer SET credits = credits + 5 WHERE seq = (SELECT min(seq) FROM transfer WHERE kind = 'capture')",
    5,
  ],
];
test("detects every kind of imbalance with its exact size", async () => {
  await inside(async (dir) => {
    for (const [what, sql, credits] of PLANTS) {
      // Each imbalance is made in a separate copy.
      const copy = `${dir}-${credits}`;
      cpSync(dir, copy, { recursive: true });
      change(copy, sql);
      const reads = await openSqliteReads(copy);
      expect([what, await createLedgerGauges(standingOver(reads), 4).imbalanceCredits()]).toEqual([what, credits]);
      await reads.close();
      rmSync(copy, { recursive: true });
    }
  });
});

test("adds transfers made after a reading to the earlier sums", async () => {
  await inside(async (dir) => {
    const harness = await openHarness({ dir, factor: 0 });
    const books = createLedgerGauges(standingOver(harness.store), 3);
    expect(await books.imbalanceCredits()).toBe(0);
    await harness.newTenant(321);
    expect(await books.imbalanceCredits()).toBe(0);
    await harness.submit("sim-image-1", { prompt: "one more" }).catch(() => undefined);
    expect(await books.imbalanceCredits()).toBe(0);
    await harness.crash();
  });
});
