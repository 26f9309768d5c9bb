// The console's answers about credits: one's own books and no others', buying within the limits, and what a purchase comes to.
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { openCredits } from "../../src/console/credits.ts";
import { openPurchases } from "../../src/console/purchases.ts";
import type { CreditsAsk } from "../../src/console/whose.ts";
import { readSettings } from "../../src/settings.ts";
import { type House, openHouse, type Tenant } from "../house.ts";

let house: House;
let tenant: Tenant;
let other: Tenant;
let credits: ReturnType<typeof openCredits>;
let purchases: ReturnType<typeof openPurchases>;
beforeAll(async () => {
  house = await openHouse();
  const { till, post } = house.rooms;
  const parts = { till, reads: house.store };
  credits = openCredits({ ...parts, post, clock: house.clock, settings: readSettings({}) });
  purchases = openPurchases(parts);
});
beforeEach(async () => {
  tenant = await house.newTenant(1000);
  other = await house.newTenant(7700);
});
afterAll(() => house.close());

type Role = CreditsAsk["who"]["role"];
/** A request of a person of the tenant's account, unless it is another's or nobody's. */
const as = (
  role: Role,
  more: { query?: Record<string, string>; id?: string; body?: unknown; accountId?: string | null } = {},
): CreditsAsk => ({
  params: more.id === undefined ? {} : { id: more.id },
  query: new URLSearchParams(more.query),
  body: more.body,
  who: { personId: "per_1", role, accountId: more.accountId === undefined ? tenant.accountId : more.accountId },
});
const buy = async (usd: number, role: Role = "member") => (await purchases.buy(as(role, { body: { amount_usd: usd } }))).id;

test("the balance with what is held, the packs, and how credits are bought", async () => {
  expect(await credits.show(as("member"))).toEqual({
    account: { id: tenant.accountId, name: "tenant", paused: false },
    balanceCredits: 1000,
    heldCredits: 0,
    availableCredits: 1000,
    owedCredits: 0,
    low: { thresholdCredits: 500, isDefault: true, isLow: false },
    buying: {
      ...{ provider: "test", mayBuy: true, leastUsd: 10, mostUsd: 5000 },
      packsUsd: [10, 25, 50, 100, 250, 500, 1000, 2500, 5000],
    },
  });
});

test("a member sees no other account, nor its purchases; operators and viewers see every one", async () => {
  const query = { account: other.accountId };
  const id = await buy(10);
  for (const answer of [credits.show, credits.ledger, credits.csv, purchases.list, credits.setLow])
    await expect(answer(as("member", { query }))).rejects.toThrow(`There is no account ${other.accountId}.`);
  for (const answer of [purchases.show, purchases.look, purchases.checkout, purchases.endTest])
    await expect(answer(as("member", { id, accountId: other.accountId }))).rejects.toThrow(`There is no purchase ${id}.`);
  for (const role of ["operator", "viewer"] as const) {
    expect(await credits.show(as(role, { query }))).toMatchObject({ balanceCredits: 7700, buying: { mayBuy: false } });
    expect((await credits.ledger(as(role, { query }))).lines).toHaveLength(1);
    expect(await purchases.show(as(role, { id, accountId: null }))).toMatchObject({ id, accountName: "tenant" });
    await expect(credits.show(as(role, { accountId: null }))).rejects.toThrow("You have no account of your own: choose one.");
  }
});

test("a viewer changes nothing, and nobody ends another account's checkout", async () => {
  await expect(buy(10, "viewer")).rejects.toThrow("change nothing");
  await expect(credits.setLow(as("viewer", { body: { usd: 3 } }))).rejects.toThrow("change nothing");
  const id = await buy(10);
  await expect(purchases.endTest(as("viewer", { id, body: { how: "pay" } }))).rejects.toThrow("change nothing");
  await expect(purchases.endTest(as("operator", { id, accountId: other.accountId, body: { how: "pay" } }))).rejects.toThrow(
    "another account's",
  );
  expect(await purchases.show(as("member", { id }))).toMatchObject({ state: "open", receipt: null });
});

test.each([10, 11, 4999, 5000])("%d USD are bought: credited once, with a receipt", async (usd) => {
  const id = await buy(usd);
  const pay = as("member", { id, body: { how: "pay" } });
  await purchases.endTest(pay);
  expect(await purchases.endTest(pay)).toMatchObject({
    ...{ id, state: "paid", credits: usd * 100, provider: "test", invoice: null, accountName: "tenant" },
    receipt: expect.stringMatching(/^R-\d{6}$/),
  });
  expect(await credits.show(as("member"))).toMatchObject({ balanceCredits: 1000 + usd * 100 });
  expect((await credits.ledger(as("member"))).lines[0]).toMatchObject({
    kind: "topup",
    purchaseId: id,
    changeCredits: usd * 100,
  });
});

test.each([9, 5001, 10.5, -10, 0])("%d USD are not bought", async (usd) => {
  await expect(buy(usd)).rejects.toThrow("amount_usd: choose a whole number from 10 to 5,000");
  expect((await purchases.list(as("member"))).purchases).toEqual([]);
});

test("purchases come in pages, newest first", async () => {
  const ids: string[] = [];
  for (let i = 0; i < 23; i++) {
    const id = await buy(10);
    ids.unshift(id);
    await purchases.endTest(as("member", { id, body: { how: i % 2 ? "pay" : "cancel" } }));
  }
  const first = await purchases.list(as("member"));
  const rest = await purchases.list(as("member", { query: { before: first.next ?? "" } }));
  expect([...first.purchases, ...rest.purchases].map(({ id }) => id)).toEqual(ids);
  expect(rest.next).toBeNull();
  expect(first.purchases.slice(0, 2).map(({ state }) => state)).toEqual(["expired", "paid"]);
});

test("an account is told of a low balance below its own mark, or the service's", async () => {
  const low = async (usd: number | null, role: Role = "member") => (await credits.setLow(as(role, { body: { usd } }))).low;
  expect(await low(10)).toEqual({ thresholdCredits: 1000, isDefault: false, isLow: false });
  expect(await low(11)).toEqual({ thresholdCredits: 1100, isDefault: false, isLow: true });
  expect(await low(0)).toEqual({ thresholdCredits: 0, isDefault: false, isLow: false });
  expect(await low(null)).toEqual({ thresholdCredits: 500, isDefault: true, isLow: false });
  for (const usd of [-1, 1.5, 1_000_001])
    await expect(low(usd)).rejects.toThrow("usd: choose a whole number from 0 to 1,000,000");
  const query = { account: other.accountId };
  expect(await credits.setLow(as("operator", { query, body: { usd: 100 } }))).toMatchObject({ low: { isLow: true } });
});

test("the ledger is filtered by what is asked, and what cannot be asked is told", async () => {
  const lines = async (query: Record<string, string>) => (await credits.ledger(as("member", { query }))).lines.length;
  const atMs = house.clock.nowMs();
  expect([await lines({ kind: "topup" }), await lines({ kind: "capture" }), await lines({ kind: "" })]).toEqual([1, 0, 1]);
  expect([await lines({ from: String(atMs + 1000) }), await lines({ to: String(atMs + 1000) })]).toEqual([0, 1]);
  await expect(lines({ kind: "gift" })).rejects.toThrow("kind: choose topup, hold, capture, release, adjust");
  await expect(lines({ from: "yesterday" })).rejects.toThrow("from: a time is milliseconds since 1970");
  await expect(lines({ before: "x" })).rejects.toThrow("before: take it from the page before");
});

test("the CSV is named after its account and day", async () => {
  const response = await credits.csv(as("member"));
  expect(response.headers.get("content-type")).toBe("text/csv; charset=utf-8");
  expect(response.headers.get("content-disposition")).toMatch(
    new RegExp(`^attachment; filename="ledger-${tenant.accountId}-\\d{4}-\\d\\d-\\d\\d\\.csv"$`),
  );
  expect((await response.text()).split("\r\n")).toHaveLength(3);
});
