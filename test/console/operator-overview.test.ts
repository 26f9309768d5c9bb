// Overview of the service: figures that equal the ledger, comparisons by period, and what needs attention.
import { afterAll, afterEach, beforeEach, expect, test } from "bun:test";
import { catalogueOver } from "../../catalogue/load.ts";
import type { OverviewPeriod, OverviewView } from "../../src/console/operator-dto.ts";
import { DAY_MS } from "../../src/domain/calendar.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { type Harness, openHarness } from "../harness.ts";
import { sampleCatalogue } from "../sample/catalogue.ts";
import { buy, foreignMutation } from "../store/purchases.ts";
import { type Operators, openOperators } from "./operators.ts";
import { openVisitor, type Visitor } from "./signed-in.ts";

const MODEL = "vidmodel-2.0-mini";
const INPUT = { resolution: "480p", duration: 4 };
/** Two routes of the model have a cost; that of the dearer one is above its price. */
const COSTS: Readonly<Record<string, string>> = { [`${MODEL}/fal`]: "0.01", [`${MODEL}/replicate`]: "9.5" };
const catalogue = catalogueOver(
  sampleCatalogue().models.map((model) => ({
    ...model,
    routes: model.routes.map((route) => {
      const usd = COSTS[route.id];
      return usd === undefined ? route : { ...route, cost: [{ when: {}, usd }] };
    }),
  })),
);

let harness: Harness;
let users: Operators;
let viewer: Visitor;
beforeEach(async () => {
  harness = await openHarness({ dir: freshDir(), factor: 1000, catalogue });
  users = await openOperators(harness);
  ({ viewer } = users);
});
afterEach(() => harness.close());
afterAll(dropDirs);

const view = async (period: OverviewPeriod): Promise<OverviewView> => {
  // The figures are read again after five seconds.
  harness.clock.skip(6_000);
  const { status, text } = await viewer.ask("GET", `/console/api/operator/overview?period=${period}`);
  expect(status).toBe(200);
  return JSON.parse(text) as OverviewView;
};
const run = async (prompt: string): Promise<string> => {
  const { id } = await harness.submit(MODEL, { ...INPUT, prompt });
  await harness.until(id);
  return id;
};
/** What the ledger says of some generations: captured credits, and the costs that their plans froze. */
const ledgerOf = async (ids: readonly string[]) => {
  const sums = { succeeded: 0, failed: 0, chargedCredits: 0, costMicroUsd: 0, uncostedCredits: 0 };
  for (const id of ids) {
    const found = await harness.store.findGeneration(id);
    const transfers = await harness.store.transfersOf(found?.seq ?? 0);
    const captured = transfers.filter(({ kind }) => kind === "capture").reduce((sum, { credits }) => sum + credits, 0);
    sums[captured > 0 ? "succeeded" : "failed"] += 1;
    sums.chargedCredits += captured;
    const route = (await harness.store.attemptsOf(found?.seq ?? 0)).find(({ state }) => state === "delivered")?.route.routeId;
    const usd = COSTS[route ?? ""];
    if (captured > 0 && usd === undefined) sums.uncostedCredits += captured;
    // 4 seconds at the rate of the catalogue.
    else if (captured > 0) sums.costMicroUsd += Math.round(4 * Number(usd) * 1_000_000);
  }
  return sums;
};

test("figures of each period equal the transfers of the ledger, and compare with the days before", async () => {
  const earlier = [await run("a kite of yesterday")];
  expect((await view("today")).current).toEqual(await ledgerOf(earlier));
  harness.clock.skip(DAY_MS);
  const ids = [
    await run("a red kite"),
    // The second route delivers, at a loss.
    await run("a red kite [sim:fal:fail-later]"),
    await run("[sim:refuse] something"),
  ];
  const today = await view("today");
  expect(today.current).toEqual(await ledgerOf(ids));
  expect([today.current.succeeded, today.current.failed]).toEqual([2, 1]);
  expect(today.current.costMicroUsd / 10_000).toBeGreaterThan(today.current.chargedCredits);
  expect(today.previous).toEqual(await ledgerOf(earlier));
  expect(today.reasons).toEqual([{ code: "input_refused", count: 1 }]);
  expect(today.steps).toHaveLength(24);
  expect(today.steps.reduce((sum, { succeeded, failed }) => sum + succeeded + failed, 0)).toBe(3);

  const week = await view("7d");
  expect(week.current).toEqual(await ledgerOf([...earlier, ...ids]));
  expect(week.steps.map(({ succeeded, failed }) => succeeded + failed)).toEqual([0, 0, 0, 0, 0, 1, 3]);
  harness.clock.skip(7 * DAY_MS);
  // The session has ended meanwhile.
  viewer = await openVisitor(harness, "viewer", null, "later@example.com");
  const later = await view("7d");
  expect([later.current.succeeded + later.current.failed, later.previous]).toEqual([0, week.current]);
  expect((await view("30d")).current).toEqual(week.current);
  expect((await view("30d")).steps).toHaveLength(30);
});

test("names the queue, routes that are down, routes that can lose money, refunds to decide and orphans", async () => {
  const before = await view("today");
  expect(before).toMatchObject({ parked: 0, undecided: 0, ready: true, faults: [], warnings: [] });
  expect(before.losing).toEqual([
    { id: `${MODEL}/replicate`, leastPercent: expect.any(Number), mostPercent: expect.any(Number) },
  ]);
  expect(before.losing[0]?.leastPercent).toBeLessThan(0);
  const { id } = await harness.submit(MODEL, { ...INPUT, prompt: "a kite [late-ms 9000000]" });
  const tenant = await harness.newTenant(0);
  await buy(harness.store, tenant.accountSeq, "overview", 1000);
  await harness.store.commit([foreignMutation("re_overview", "overview", 460)]);
  await users.ask("operator", "POST", `routes/${encodeURIComponent(`${MODEL}/fal`)}/switch`, { reason: "too slow" });
  const after = await view("today");
  expect(after).toMatchObject({
    undecided: 1,
    queue: { oldestMs: (await harness.store.findGeneration(id))?.createdAtMs ?? null },
  });
  expect(after.queue.queued + after.queue.running).toBe(1);
  expect(after.routes.off).toBe(before.routes.off + 1);
  await users.ask("operator", "POST", `routes/${encodeURIComponent(`${MODEL}/fal`)}/switch`, { reason: null });
  expect(await harness.eventually(async () => (await view("today")).orphans)).toEqual({ count: 0, credits: 0 });
  await harness.until(id).catch(() => undefined);
});

test("rejects an unknown period and a member", async () => {
  expect(await users.ask("viewer", "GET", "overview?period=year")).toMatchObject({
    status: 400,
    reported: { error: { message: "period: one of today, 7d, 30d." } },
  });
  expect((await users.ask("member", "GET", "overview")).status).toBe(403);
});
