// Store contract of usage: rolled-up totals equal a recount of the generations.
import { expect, test } from "bun:test";
import { DAY_MS, dayOf, medianWaitMs, waitBucket } from "../../../src/domain/calendar.ts";
import {
  type OutcomeGrouping,
  type OutcomeRow,
  USAGE_GROUPINGS,
  type UsageGrouping,
  type UsageRow,
} from "../../../src/store/store.ts";
import type { Stage } from "../conformance.ts";
import {
  admit,
  admitMutation,
  capturedMutation,
  commitOne,
  NOW_MS,
  openAccount,
  releasedMutation,
  startedMutation,
  stepMutation,
  submittedAt,
  succeed,
  topUp,
} from "../fixture.ts";

const WHEN = { fromDay: dayOf(NOW_MS) - 1, toDay: dayOf(NOW_MS) + 30, accountId: null } as const;

export const usagePromises = (stage: Stage): void => {
  /** Generations of two accounts over several days: every third one fails, every seventh one stays open. */
  const live = async () => {
    const { store, account } = stage;
    const other = await openAccount(store, 10_000);
    await topUp(store, account.seq, 10_000);
    const ids: string[] = [];
    for (let n = 0; n < 40; n++) {
      const createdAtMs = NOW_MS + Math.floor(n / 8) * DAY_MS + n * 1000;
      const of = n % 4 === 0 ? other : account;
      const model = n % 2 === 0 ? "vidmodel-2.0" : "vidmodel-2.0-fast";
      const mutation = await admit(store, of, { ...submittedAt(createdAtMs), model });
      ids.push(mutation.id);
      const atMs = createdAtMs + 500 * 2 ** (n % 12);
      if (n % 7 === 0) continue;
      if (n % 3 === 0) await store.commit([releasedMutation(mutation.seq, 1, { atMs })]);
      else await store.commit([startedMutation(mutation), { ...capturedMutation(mutation.seq, 2, 1, 75), atMs }]);
    }
    // Neither a step to running nor a top-up counts as an end.
    const last = await admit(store, account);
    await store.commit([
      stepMutation(last.seq, 1, { status: "running", deadline: { kind: "slot", n: 0, dueAtMs: NOW_MS + 9000 } }),
    ]);
    return { ids, other };
  };
  const rollUp = async (limit: number) => {
    for (let behind = await stage.store.usageBehind(); behind > 0; behind = await stage.store.usageBehind())
      expect(await commitOne(stage.store, { mutation: "roll-up-usage", limit })).toMatchObject({ kind: "done" });
  };
  const keyOf = async (accountId: string) => (await stage.store.keys(accountId))[0]?.id ?? "";
  /** The same totals, counted from the generations alone. */
  const recount = async (ids: readonly string[], by: UsageGrouping, accountId: string | null): Promise<UsageRow[]> => {
    const rows = new Map<string, UsageRow>();
    for (const id of ids) {
      const one = await stage.store.findGeneration(id);
      if (!one || one.completedAtMs === null || (accountId !== null && one.accountId !== accountId)) continue;
      const of = { day: dayOf(one.completedAtMs), model: one.model, account: one.accountId, key: await keyOf(one.accountId) }[by];
      const waitMs = one.completedAtMs - one.createdAtMs;
      const name = `${of} ${waitBucket(waitMs)}`;
      const row = rows.get(name) ?? { of, wait: waitBucket(waitMs), succeeded: 0, failed: 0, chargedCredits: 0, waitMs: 0 };
      row.succeeded += one.status === "succeeded" ? 1 : 0;
      row.failed += one.status === "failed" ? 1 : 0;
      row.chargedCredits += one.costCredits ?? 0;
      row.waitMs += waitMs;
      rows.set(name, row);
    }
    return [...rows.values()];
  };
  const sorted = (rows: readonly UsageRow[]) =>
    rows.toSorted((a, b) => (a.of === b.of ? a.wait - b.wait : String(a.of) < String(b.of) ? -1 : 1));

  test.each([1, 7, 1000])("equals a recount of the generations when %d transfers are rolled up at a time", async (limit) => {
    const { store } = stage;
    const { ids, other } = await live();
    expect(await store.usage({ ...WHEN, by: "day" })).toEqual([]);
    await rollUp(limit);
    for (const by of USAGE_GROUPINGS)
      for (const accountId of [null, other.id]) {
        const reported = await store.usage({ ...WHEN, accountId, by });
        expect(reported.length).toBeGreaterThan(1);
        expect(sorted(reported)).toEqual(sorted(await recount(ids, by, accountId)));
      }
    // A further roll-up adds nothing.
    const before = await store.usage({ ...WHEN, by: "key" });
    await commitOne(store, { mutation: "roll-up-usage", limit });
    expect(await store.usage({ ...WHEN, by: "key" })).toEqual(before);
  });

  test("counts a generation that ends between two roll-ups once, in the next roll-up", async () => {
    const { store, account } = stage;
    const first = await live();
    await commitOne(store, { mutation: "roll-up-usage", limit: 30 });
    const more = await admit(store, account);
    await store.commit([startedMutation(more), { mutation: "roll-up-usage", limit: 5 }, capturedMutation(more.seq, 2, 1, 75)]);
    await rollUp(11);
    expect(sorted(await store.usage({ ...WHEN, by: "model" }))).toEqual(
      sorted(await recount([...first.ids, more.id], "model", null)),
    );
  });

  test("by day and group adds up to the usage of each group, and filters by model and key select their part", async () => {
    const { store, account } = stage;
    const { ids, other } = await live();
    await rollUp(1000);
    const keyId = await keyOf(account.id);
    for (const [by, of] of [
      ["model", ["vidmodel-2.0", "vidmodel-2.0-fast"]],
      ["account", [account.id, other.id]],
      ["key", [keyId, await keyOf(other.id)]],
    ] as const) {
      const rows = await store.usageByDay({ ...WHEN, by }, of);
      expect(new Set(rows.map((row) => row.of))).toEqual(new Set(of));
      for (const name of of) {
        const charged = (all: readonly { of: string | number; chargedCredits: number }[]) =>
          all.filter((row) => row.of === name).reduce((sum, { chargedCredits }) => sum + chargedCredits, 0);
        expect([name, charged(rows)]).toEqual([name, charged(await recount(ids, by, null))]);
        const alone = await store.usageByDay({ ...WHEN, by }, [name]);
        expect(alone).toEqual(rows.filter((row) => row.of === name));
      }
    }
    expect(await store.usageByDay({ ...WHEN, by: "model" }, [])).toEqual([]);
    const fast = await store.usage({ ...WHEN, by: "model", model: "vidmodel-2.0-fast" });
    expect(fast).toEqual((await store.usage({ ...WHEN, by: "model" })).filter(({ of }) => of === "vidmodel-2.0-fast"));
    const ofKey = await store.usage({ ...WHEN, by: "day", keyId });
    expect(ofKey).toEqual(await store.usage({ ...WHEN, by: "day", accountId: account.id }));
    expect(await store.usage({ ...WHEN, by: "day", keyId, accountId: other.id })).toEqual([]);
    expect(await store.usage({ ...WHEN, by: "day", model: "none" })).toEqual([]);
  });

  const HOUR_MS = 3_600_000;
  const HOURS = { fromHour: Math.floor(NOW_MS / HOUR_MS) - 24, toHour: Math.floor(NOW_MS / HOUR_MS) + 24 * 30 } as const;
  /** The same outcomes, counted from the generations, the delivering attempts and the plans. */
  const recountOutcomes = async (ids: readonly string[], by: OutcomeGrouping, costs: ReadonlyMap<string, number>) => {
    const rows = new Map<string, OutcomeRow>();
    for (const id of ids) {
      const one = await stage.store.findGeneration(id);
      if (!one || one.completedAtMs === null) continue;
      const delivered = (await stage.store.attemptsOf(one.seq)).find(({ state }) => state === "delivered");
      const hour = Math.floor(one.completedAtMs / HOUR_MS);
      const of = { hour, day: dayOf(one.completedAtMs), route: delivered?.route.routeId ?? "" }[by];
      const outcome = one.status === "succeeded" ? "succeeded" : (one.error?.code ?? "");
      const none = { of, outcome, generations: 0, chargedCredits: 0, costMicroUsd: 0, uncostedCredits: 0 };
      const row = rows.get(`${of} ${outcome}`) ?? none;
      rows.set(`${of} ${outcome}`, row);
      row.generations += 1;
      row.chargedCredits += one.costCredits ?? 0;
      row.costMicroUsd += costs.get(id) ?? 0;
      row.uncostedCredits += costs.has(id) ? 0 : (one.costCredits ?? 0);
    }
    const name = ({ of, outcome }: OutcomeRow) => `${of} ${outcome}`;
    return [...rows.values()].sort((a, b) => (name(a) < name(b) ? -1 : 1));
  };

  test.each([1, 7, 1000])(
    "outcomes by hour, day and route equal a recount when %d transfers are rolled up at a time",
    async (limit) => {
      const { store, account } = stage;
      const { ids } = await live();
      // The costs are those of the plan at the submission; two plans differ in nothing else.
      const costs = new Map<string, number>();
      for (const costMicroUsd of [412_345, 598_000]) {
        const { plan } = admitMutation(account);
        const priced = plan.map((route) => (route.routeId === "a" ? { ...route, costMicroUsd } : route));
        const { id } = await succeed(store, account, { ...submittedAt(NOW_MS + costMicroUsd), plan: priced });
        costs.set(id, costMicroUsd);
      }
      await rollUp(limit);
      for (const by of ["hour", "day", "route"] as const)
        expect(await store.outcomes({ ...HOURS, by })).toEqual(await recountOutcomes([...ids, ...costs.keys()], by, costs));
      expect((await store.outcomes({ ...HOURS, by: "route" })).map(({ outcome }) => outcome)).toEqual(["timed_out", "succeeded"]);
      const { fromHour } = HOURS;
      expect(await store.outcomes({ fromHour, toHour: fromHour + 1, by: "hour" })).toEqual([]);
    },
  );

  test("returns only the requested days", async () => {
    const { store } = stage;
    await live();
    await rollUp(1000);
    const day = dayOf(NOW_MS) + 1;
    const rows = await store.usage({ fromDay: day, toDay: day, accountId: null, by: "day" });
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.every(({ of }) => of === day)).toBe(true);
  });

  test("sums held and charged credits of a key over the last thirty days", async () => {
    const { store, account } = stage;
    const [key] = await store.keys(account.id);
    const done = await admit(store, account);
    await store.commit([startedMutation(done), capturedMutation(done.seq, 2, 1, 75)]);
    await admit(store, account);
    await rollUp(100);
    const spent = async (atMs: number) => (await store.keySpend(atMs)).get(key?.id ?? "")?.last30Credits;
    expect(await spent(NOW_MS)).toBe(185);
    expect(await spent(NOW_MS + 29 * DAY_MS)).toBe(185);
    expect(await spent(NOW_MS + 30 * DAY_MS)).toBe(110);
  });

  test("returns a median wait in the bucket of the true median", () => {
    expect(medianWaitMs(new Map())).toBeNull();
    const counts = new Map<number, number>();
    const waits = Array.from({ length: 501 }, (_, n) => 700 + n * n);
    for (const ms of waits) counts.set(waitBucket(ms), (counts.get(waitBucket(ms)) ?? 0) + 1);
    const median = medianWaitMs(counts) ?? 0;
    expect(waitBucket(median)).toBe(waitBucket(waits[250] ?? 0));
    expect(Math.abs(median - (waits[250] ?? 0)) / median).toBeLessThan(0.05);
  });
};
