// Tests of the test checkout of a simulated service: purchases without money. A live service has none.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Checkout, createCheckout } from "../../src/billing/checkout.ts";
import { readSettings } from "../../src/config/load.ts";
import { type Harness, openHarness, type Tenant } from "../harness.ts";
import { openHere } from "../store/open-store.ts";
import { BUYER } from "../store/purchases.ts";

let harness: Harness;
let tenant: Tenant;
beforeAll(async () => {
  harness = await openHarness();
  tenant = await harness.newTenant(0);
});
afterAll(() => harness.close());

const buy = (usd = 10) => harness.components.checkout.buy({ accountId: tenant.accountId, by: BUYER, usd });
const available = async () => (await harness.balance(tenant)).available;

describe("a test checkout", () => {
  test("is a page of the console that credits once when it is paid and rejects a payment after its cancellation", async () => {
    const { purchaseId, url } = await buy();
    expect(url).toBe(`${harness.url}/console/checkout/${purchaseId}`);
    expect(await harness.components.checkout.checkoutUrl(purchaseId)).toBe(url);
    await Promise.all([1, 2, 3].map(() => harness.components.checkout.endTest(purchaseId, "pay", BUYER)));
    expect(await available()).toBe(1000);
    expect(await harness.store.purchase(purchaseId)).toMatchObject({ state: "paid", provider: "test", receipt: 1 });
    const other = await buy();
    await harness.components.checkout.endTest(other.purchaseId, "cancel", BUYER);
    await expect(harness.components.checkout.endTest(other.purchaseId, "pay", BUYER)).rejects.toThrow(
      "This checkout has expired; start a new purchase.",
    );
    expect(await available()).toBe(1000);
  });

  test("expires after its time if it is neither paid nor cancelled", async () => {
    const { purchaseId } = await buy();
    harness.clock.skip(7_300_000);
    await harness.components.checkout.rounds();
    expect(await harness.store.purchase(purchaseId)).toMatchObject({ state: "expired" });
  });

  test("accepts no Stripe webhook", async () => {
    expect((await harness.request("POST", "/webhooks/stripe", { body: {}, key: null })).status).toBe(404);
  });
});

test("a live service without Stripe rejects purchases and the payment of a stored test purchase", async () => {
  const dir = mkdtempSync(join(tmpdir(), "till-"));
  const store = await openHere({ path: join(dir, "genrouter.db"), mode: "live" });
  const { clock } = harness;
  const checkout: Checkout = createCheckout({
    ...{ settings: readSettings({}), mode: "live", clock, log: () => undefined, reads: store, baseUrl: () => "" },
    post: async (mutation) => (await store.commit([mutation]))[0] as never,
  });
  await store.commit([{ mutation: "create-account", id: "acc_1", name: "Ada", atMs: clock.nowMs() }]);
  expect(checkout.provider).toBeNull();
  await expect(checkout.buy({ accountId: "acc_1", by: BUYER, usd: 10 })).rejects.toThrow("contact your operator");
  const open = {
    mutation: "open-purchase",
    id: "pur_1",
    accountSeq: 1,
    userId: null,
    credits: 1000,
    provider: "test",
    by: BUYER,
  } as const;
  await store.commit([{ ...open, expiresAtMs: clock.nowMs() + 1000, atMs: clock.nowMs() }]);
  await expect(checkout.endTest("pur_1", "pay", BUYER)).rejects.toThrow("There is no purchase pur_1.");
  // An opened Stripe checkout may have been paid, so it does not expire when Stripe is no longer configured.
  await store.commit([
    { ...open, id: "pur_2", provider: "stripe", expiresAtMs: clock.nowMs() + 1, atMs: clock.nowMs() },
    { mutation: "name-checkout", id: "pur_2", sessionId: "cs_2", atMs: clock.nowMs() },
  ]);
  clock.skip(7_300_000);
  expect(await checkout.refresh("pur_2")).toMatchObject({ state: "open" });
  expect(await store.account("acc_1")).toMatchObject({ availableCredits: 0 });
  await store.close();
  rmSync(dir, { recursive: true });
});
