// Credits in the console API: access to one account, purchases within the limits, receipts and the ledger.
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import type { Bought, CreditsView, LedgerRowsPage, PurchaseView } from "../../src/console/credits-dto.ts";
import { type Harness, openHarness, type Tenant } from "../harness.ts";
import { openVisitor, type Reply, type Visitor } from "./signed-in.ts";

let harness: Harness;
let tenant: Tenant;
let other: Tenant;
let me: Visitor;
let them: Visitor;
let operator: Visitor;
let viewer: Visitor;
beforeAll(async () => {
  harness = await openHarness();
  operator = await openVisitor(harness, "operator", null);
  viewer = await openVisitor(harness, "viewer", null);
});
beforeEach(async () => {
  tenant = await harness.newTenant(1000);
  other = await harness.newTenant(7700);
  me = await openVisitor(harness, "member", tenant);
  them = await openVisitor(harness, "member", other);
});
afterAll(() => harness.close());

const get = (who: Visitor, path: string): Promise<Reply> => who.ask("GET", `/console/api${path}`);
const post = (who: Visitor, path: string, body?: unknown): Promise<Reply> => who.ask("POST", `/console/api${path}`, body);
const creditsOf = async (who: Visitor, query = "") => (await get(who, `/credits${query}`)).reported as unknown as CreditsView;
const rowsOf = async (who: Visitor, query = "") =>
  ((await get(who, `/ledger${query}`)).reported as unknown as LedgerRowsPage).rows;
const buy = async (usd: number, who = me) =>
  ((await post(who, "/purchases", { amount_usd: usd })).reported as unknown as Bought).id;
const end = (id: string, how: "pay" | "cancel", who = me) => post(who, `/purchases/${id}/test`, { how });
/** Expects an error with its status and message. */
const no = async (reply: Promise<Reply>, status: number, says: string) => {
  const { status: was, reported } = await reply;
  expect({ status: was, message: (reported.error as { message?: string } | undefined)?.message }).toEqual({
    ...{ status, message: expect.stringContaining(says) },
  });
};

test("returns the balance, the held credits, the packs and how credits are bought", async () => {
  expect(await creditsOf(me)).toEqual({
    account: { id: tenant.accountId, name: "tenant", paused: false },
    balanceCredits: 1000,
    heldCredits: 0,
    availableCredits: 1000,
    owedCredits: 0,
    low: { thresholdCredits: 500, isDefault: true, isLow: false },
    spend: { alertCredits: null, monthSpentCredits: 0, isReached: false },
    buying: {
      ...{ provider: "test", mayBuy: true, leastUsd: 10, mostUsd: 5000 },
      packsUsd: [10, 25, 50, 100, 250, 500, 1000, 2500, 5000],
    },
  });
});

test("a member gets 404 for other accounts and their purchases; operators and viewers can read every account", async () => {
  const query = `?account=${other.accountId}`;
  const id = await buy(10);
  for (const path of ["/credits", "/ledger", "/ledger.csv", "/purchases"])
    await no(get(me, path + query), 404, `There is no account ${other.accountId}.`);
  for (const path of ["low", "spend-alert"])
    await no(post(me, `/credits/${path}${query}`, { usd: 1 }), 404, `There is no account ${other.accountId}.`);
  await no(get(them, `/purchases/${id}`), 404, `There is no purchase ${id}.`);
  for (const path of ["look", "checkout", "cancel"])
    await no(post(them, `/purchases/${id}/${path}`), 404, `There is no purchase ${id}.`);
  await no(end(id, "pay", them), 404, `There is no purchase ${id}.`);
  for (const who of [operator, viewer]) {
    expect(await creditsOf(who, query)).toMatchObject({ balanceCredits: 7700, buying: { mayBuy: false } });
    expect(await rowsOf(who, query)).toHaveLength(1);
    expect((await get(who, `/purchases/${id}`)).reported).toMatchObject({ id, accountName: "tenant" });
    await no(get(who, "/credits"), 404, "Your user has no account; choose one.");
  }
});

test("a viewer can change nothing, and no user can end the checkout of another account", async () => {
  const looker = await openVisitor(harness, "viewer", tenant);
  await no(post(looker, "/purchases", { amount_usd: 10 }), 403, "read access only");
  for (const path of ["low", "spend-alert"]) await no(post(looker, `/credits/${path}`, { usd: 3 }), 403, "read access only");
  const id = await buy(10);
  await no(end(id, "pay", looker), 403, "read access only");
  await no(post(looker, `/purchases/${id}/cancel`), 403, "read access only");
  await no(post(await openVisitor(harness, "operator", other), `/purchases/${id}/cancel`), 403, "another account's");
  await no(end(id, "pay", await openVisitor(harness, "operator", other)), 403, "another account's");
  expect((await get(me, `/purchases/${id}`)).reported).toMatchObject({ state: "open", receipt: null });
});

test("rejects a change without the CSRF token of the session or from another origin", async () => {
  const order = { amount_usd: 10 };
  await no(me.ask("POST", "/console/api/purchases", order, { "x-csrf-token": them.csrf }), 403, "load it again");
  for (const headers of [{ origin: "https://evil.example" }, { "sec-fetch-site": "cross-site" }])
    await no(me.ask("POST", "/console/api/purchases", order, headers as Record<string, string>), 403, "another site");
  expect((await get(me, "/purchases")).reported.purchases).toEqual([]);
});

test.each([10, 11, 4999, 5000])("a purchase of %d USD is credited once, with a receipt", async (usd) => {
  const id = await buy(usd);
  expect((await end(id, "pay")).status).toBe(200);
  expect((await end(id, "pay")).reported).toMatchObject({
    ...{ id, state: "paid", credits: usd * 100, provider: "test", invoice: null, accountName: "tenant" },
    receipt: expect.stringMatching(/^R-\d{6}$/),
  });
  expect(await creditsOf(me)).toMatchObject({ balanceCredits: 1000 + usd * 100 });
  expect((await rowsOf(me))[0]).toMatchObject({ kind: "topup", purchaseId: id, changeCredits: usd * 100 });
});

test.each([9, 5001, 10.5, -10, 0])("rejects a purchase of %d USD", async (usd) => {
  await no(post(me, "/purchases", { amount_usd: usd }), 400, "amount_usd: expected a whole number from 10 to 5,000");
  expect((await get(me, "/purchases")).reported.purchases).toEqual([]);
});

test("lists purchases in pages, newest first", async () => {
  type Page = { purchases: PurchaseView[]; next: string | null };
  const ids: string[] = [];
  for (let i = 0; i < 23; i++) {
    const id = await buy(10);
    ids.unshift(id);
    await end(id, i % 2 ? "pay" : "cancel");
  }
  const first = (await get(me, "/purchases")).reported as unknown as Page;
  const rest = (await get(me, `/purchases?before=${first.next}`)).reported as unknown as Page;
  expect([...first.purchases, ...rest.purchases].map(({ id }) => id)).toEqual(ids);
  expect(rest.next).toBeNull();
  expect(first.purchases.slice(0, 2).map(({ state }) => state)).toEqual(["expired", "paid"]);
});

test("reports a low balance below the threshold of the account, or else the default of the service", async () => {
  const low = async (usd: number | null) =>
    (await post(me, "/credits/low", { usd })).reported.low as unknown as CreditsView["low"];
  expect(await low(10)).toEqual({ thresholdCredits: 1000, isDefault: false, isLow: false });
  expect(await low(11)).toEqual({ thresholdCredits: 1100, isDefault: false, isLow: true });
  expect(await low(0)).toEqual({ thresholdCredits: 0, isDefault: false, isLow: false });
  expect(await low(null)).toEqual({ thresholdCredits: 500, isDefault: true, isLow: false });
  for (const usd of [-1, 1.5, 1_000_001])
    await no(post(me, "/credits/low", { usd }), 400, "usd: expected a whole number from 0 to 1,000,000");
  const changed = await post(operator, `/credits/low?account=${other.accountId}`, { usd: 100 });
  expect(changed.reported).toMatchObject({ low: { isLow: true } });
});

test("sets and removes the spend alert, and shows the spend of the month and whether it has reached the amount", async () => {
  const spend = async (who: Visitor, usd: number | null, query = "") =>
    (await post(who, `/credits/spend-alert${query}`, { usd })).reported.spend as unknown as CreditsView["spend"];
  // 15 seconds of video cost more than a dollar.
  const body = { model: "vidmodel-2.0-fast", input: { prompt: "a kite", resolution: "720p", duration: 15 } };
  const { id } = (await harness.request("POST", "/v1/generations", { key: tenant.key, body })).body;
  const { cost_usd } = await harness.until(String(id), undefined, tenant.key);
  const monthSpentCredits = Math.round(Number(cost_usd) * 100);
  expect(monthSpentCredits).toBeGreaterThan(100);
  expect(await spend(me, 100)).toEqual({ alertCredits: 10_000, monthSpentCredits, isReached: false });
  expect(await spend(me, 1)).toEqual({ alertCredits: 100, monthSpentCredits, isReached: true });
  expect((await creditsOf(me)).spend.isReached).toBe(true);
  expect(await spend(me, null)).toMatchObject({ alertCredits: null, isReached: false });
  for (const usd of [0, -1, 1.5, 1_000_001])
    await no(
      post(me, "/credits/spend-alert", { usd }),
      400,
      "usd: expected a whole number from 1 to 1,000,000, or null for no alert",
    );
  await no(post(me, "/credits/spend-alert", { usd: "5" }), 400, "usd");
  await no(post(me, "/credits/spend-alert", {}), 400, "usd");
  expect(await spend(operator, 7, `?account=${other.accountId}`)).toMatchObject({ alertCredits: 700 });
  expect((await creditsOf(them)).spend.alertCredits).toBe(700);
});

test("cancels an abandoned checkout, which then cannot be paid, and refuses to cancel a paid purchase", async () => {
  const id = await buy(10);
  expect((await post(me, `/purchases/${id}/cancel`)).reported).toMatchObject({ id, state: "expired" });
  expect((await post(me, `/purchases/${id}/cancel`)).reported).toMatchObject({ id, state: "expired" });
  await no(end(id, "pay"), 409, "This checkout has expired");
  await no(post(me, `/purchases/${id}/checkout`), 409, "This checkout has expired");
  const paid = await buy(10);
  await end(paid, "pay");
  await no(post(me, `/purchases/${paid}/cancel`), 409, "This purchase was paid, so it cannot be canceled.");
  await no(post(me, "/purchases/pur_none/cancel"), 404, "There is no purchase pur_none.");
  expect(await creditsOf(me)).toMatchObject({ balanceCredits: 2000 });
});

test("the receipt of a purchase names no seller without settings", async () => {
  const id = await buy(10);
  expect((await get(me, `/purchases/${id}`)).reported).toMatchObject({ id, seller: null });
});

test("filters the ledger by kind and time, and names the invalid filter", async () => {
  const count = async (query: string) => (await rowsOf(me, `?${query}`)).length;
  const atMs = harness.clock.nowMs();
  expect([await count("kind=topup"), await count("kind=capture"), await count("kind=")]).toEqual([1, 0, 1]);
  expect([await count(`from=${atMs + 1000}`), await count(`to=${atMs + 1000}`)]).toEqual([0, 1]);
  await no(get(me, "/ledger?kind=gift"), 400, "kind: choose topup, hold, capture, release, adjust");
  await no(get(me, "/ledger?from=yesterday"), 400, "from: a time is milliseconds since 1970");
  await no(get(me, "/ledger?before=x"), 400, "before: expected the value from the previous page");
});

test("names the CSV after its account and day", async () => {
  const { headers, text } = await get(me, "/ledger.csv");
  expect(headers.get("content-type")).toBe("text/csv; charset=utf-8");
  expect(headers.get("content-disposition")).toMatch(
    new RegExp(`^attachment; filename="ledger-${tenant.accountId}-\\d{4}-\\d\\d-\\d\\d\\.csv"$`),
  );
  expect(text.split("\r\n")).toHaveLength(3);
});
