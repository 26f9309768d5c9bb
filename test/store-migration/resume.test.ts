// A service continues over a migrated store: unfinished generations, balances, row numbers and usage.
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { migrateStore } from "../../src/store/migrate-to-postgres/migrate.ts";
import { openPostgresStore } from "../../src/store/postgres/client.ts";
import type { Store } from "../../src/store/store.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { postgresReason } from "../postgres/binaries.ts";
import {
  admit,
  capturedMutation,
  commitOne,
  openAccount,
  PRICES,
  startedMutation,
  stepMutation,
  succeed,
  violations,
} from "../store/fixture.ts";
import { makeDatabase } from "./database.ts";
import { makeFullWorld } from "./fixture.ts";

const moving = test.skipIf(postgresReason !== undefined);

setDefaultTimeout(60_000);
afterAll(dropDirs);

const EVERYTHING = { accountSeq: null, fromMs: null, toMs: null, status: null, models: null, keyId: null, from: null } as const;

/** Ended generations and their cost, by the generations themselves and by usage. */
const endedIn = async (store: Store) => {
  const { found } = await store.generationsStep({ ...EVERYTHING, limit: 1000, maxExamined: 1000 });
  const ended = found.map(({ record }) => record).filter(({ completedAtMs }) => completedAtMs !== null);
  const usage = await store.usage({ fromDay: 0, toDay: 99_999, accountId: null, by: "day" });
  return {
    rows: [ended.length, ended.reduce((sum, { costCredits }) => sum + (costCredits ?? 0), 0)],
    usage: [
      usage.reduce((sum, { succeeded, failed }) => sum + succeeded + failed, 0),
      usage.reduce((sum, { chargedCredits }) => sum + chargedCredits, 0),
    ],
  };
};

const rollUp = async (store: Store): Promise<void> => {
  for (let behind = await store.usageBehind(); behind > 0; behind = await store.usageBehind())
    await commitOne(store, { mutation: "roll-up-usage", limit: 3 });
};

moving("continues unfinished generations after a migration, appends new rows, and counts each end once in usage", async () => {
  const [dir, database] = [freshDir(), await makeDatabase()];
  const account = await makeFullWorld(dir);
  const signal = new AbortController().signal;
  const { isMoved } = await migrateStore(
    { dir, networkDisk: false, url: database.url, signal, bringFiles: null },
    () => undefined,
  );
  expect(isMoved).toBe(true);

  const store = await openPostgresStore({ url: database.url, prepare: true, mode: "test" });
  const before = await endedIn(store);
  expect(before.rows[0]).toBeGreaterThan(before.usage[0] ?? 0);
  expect(await store.node?.takeOver(100)).toHaveLength(7);
  const [running] = (await store.unfinished(0, 100)).filter(({ status }) => status === "running").toReversed();
  if (!running) throw new Error("nothing was running");
  // This node charges a running generation that another node had submitted.
  const { version = 0 } = (await store.snapshotOf(running.seq)) ?? {};
  expect(await commitOne(store, capturedMutation(running.seq, version + 1, 1, PRICES.a))).toMatchObject({ kind: "stepped" });
  expect(await commitOne(store, stepMutation(running.seq, version + 2))).toMatchObject({ kind: "stale" });

  // The same idempotency key returns the same generation, a new one creates a new generation.
  const replay = await store.generationByKey(account.seq, "opening 0");
  expect(replay?.record.status).toBe("succeeded");
  const again = await store.commit([{ ...(await admit(store, account)), idempotencyKey: "opening 0" }]);
  expect(again[0]?.kind).not.toBe("admitted");
  await succeed(store, account);
  const other = await openAccount(store, 500);
  expect(other.seq).toBeGreaterThan(
    Math.max(...(await store.accounts()).map(({ seq }) => seq).filter((seq) => seq !== other.seq)),
  );
  const failed = await admit(store, other);
  await store.commit([startedMutation(failed)]);

  await rollUp(store);
  const after = await endedIn(store);
  expect(after.usage).toEqual(after.rows);
  expect(after.rows).toEqual([(before.rows[0] ?? 0) + 2, (before.rows[1] ?? 0) + 2 * PRICES.a]);
  expect(await violations(store, null)).toEqual([]);
  await store.close();

  // A second node takes over from the first one later.
  const next = await openPostgresStore({ url: database.url, prepare: true, mode: "test" });
  await next.node?.takeOver(100);
  expect((await next.unfinished(0, 100)).map(({ seq }) => seq)).toContain(failed.seq);
  expect(await violations(next, null)).toEqual([]);
  await next.close();
  await database.drop();
});
