// Tests of missed Stripe events: refunds and disputes from a downtime, and purchases that a restored backup does not contain.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { backUp, openOn } from "../backup/fixture.ts";
import { runHere } from "../cli/captured.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import type { Harness, Tenant } from "../harness.ts";
import { BUYER } from "../store/purchases.ts";
import { deliver, openStripe, type StripeServer } from "./stripe-server.ts";

const DAY_MS = 86_400_000;
let stripe: StripeServer;
let harness: Harness;
let dir: string;
beforeAll(async () => {
  stripe = openStripe(() => harness.clock.nowMs());
  dir = freshDir();
  harness = await openOn(dir, { env: stripe.env, factor: 0 });
}, 60_000);
afterAll(async () => {
  await harness.close();
  await stripe.stop();
  dropDirs();
}, 60_000);

const buy = async ({ accountId }: Tenant, usd = 25): Promise<string> =>
  (await harness.components.checkout.buy({ accountId, by: BUYER, usd })).purchaseId;
const bought = async (tenant: Tenant): Promise<string> => {
  const id = await buy(tenant);
  expect((await deliver(harness.url, stripe.pay(id))).status).toBe(200);
  return stripe.sessionOf(id).payment_intent ?? "";
};
const round = () => harness.components.checkout.rounds();
const available = async ({ accountId }: Tenant) => (await harness.store.account(accountId))?.availableCredits;
const eventsAsked = () => stripe.asked.filter(({ what }) => what === "GET /v1/events").length;
const unavailable = () =>
  harness.lines.filter(({ event }) => event === "payment provider unavailable").map(({ fields }) => fields.reason);

test("applies a missed refund and dispute once in the first round, and later ones a day later", async () => {
  const tenant = await harness.newTenant(0);
  const [first, second] = [await bought(tenant), await bought(tenant)];
  stripe.refund(first, 700);
  stripe.dispute("created", second, 2500, "needs_response");
  // Another test of this file may have read the events of this day.
  harness.clock.skip(DAY_MS);
  await round();
  expect(await available(tenant)).toBe(1800);
  stripe.dispute("closed", second, 2500, "won");
  await round();
  expect(await available(tenant)).toBe(1800);
  harness.clock.skip(DAY_MS);
  await round();
  expect(await available(tenant)).toBe(4300);
  const before = eventsAsked();
  for (let n = 0; n < 5; n += 1) await round();
  expect(eventsAsked()).toBe(before);
});

test("applies more than one page of missed refunds, each once", async () => {
  const tenant = await harness.newTenant(0);
  const payment = await bought(tenant);
  for (let n = 0; n < 130; n += 1) stripe.refund(payment, 10, `re_many_${n}`);
  harness.clock.skip(DAY_MS);
  await round();
  expect(await available(tenant)).toBe(2500 - 1300);
  harness.clock.skip(DAY_MS);
  await round();
  expect(await available(tenant)).toBe(2500 - 1300);
});

test("logs a key without permission to read events, retries an hour later, and reconciles purchases meanwhile", async () => {
  const tenant = await harness.newTenant(0);
  const payment = await bought(tenant);
  const open = await buy(tenant, 10);
  stripe.refund(payment, 500, "re_unread");
  stripe.letReadEvents(false);
  harness.clock.skip(DAY_MS);
  stripe.pay(open);
  const before = unavailable().length;
  await round();
  await round();
  expect(unavailable().slice(before)).toEqual([
    expect.stringMatching(/^refunds and disputes of the last 30 days could not be listed: .*403/),
  ]);
  expect(await available(tenant)).toBe(2500 + 1000);
  stripe.letReadEvents(true);
  harness.clock.skip(DAY_MS / 24);
  await round();
  expect(await available(tenant)).toBe(2500 + 1000 - 500);
});

test("applies other disputes while the refunds of some payments cannot be read", async () => {
  const tenant = await harness.newTenant(0);
  for (let n = 0; n < 6; n += 1) {
    const payment = await bought(tenant);
    const { refunded } = stripe.refund(payment, 100, `re_shut_${n}`);
    stripe.shut.add(payment);
    // An old webhook endpoint receives only charge.refunded, without the refund.
    stripe.reported.splice(
      stripe.reported.findIndex(
        ({ type, data }) => type === "refund.created" && (data.object as { id: string }).id === `re_shut_${n}`,
      ),
      1,
    );
    expect(refunded.type).toBe("charge.refunded");
  }
  stripe.dispute("created", await bought(tenant), 2500, "needs_response");
  harness.clock.skip(DAY_MS);
  const before = unavailable().length;
  await round();
  expect(await available(tenant)).toBe(6 * 2500);
  expect(unavailable().slice(before)).toEqual([expect.stringMatching(/^the refunds of 5 payments could not be listed: /)]);
});

test("applies purchases and refunds of the time after a backup once it is restored", async () => {
  const tenant = await harness.newTenant(0);
  const before = await bought(tenant);
  const { path } = backUp(dir, freshDir(), { aheadMs: harness.clock.nowMs() - Date.now() });
  harness.clock.skip(60_000);
  const lost = await buy(tenant, 50);
  expect((await deliver(harness.url, stripe.pay(lost))).status).toBe(200);
  expect((await deliver(harness.url, stripe.refund(before, 100).created)).status).toBe(200);
  const standing = await available(tenant);
  expect(standing).toBe(2500 + 5000 - 100);
  await harness.crash();
  const to = join(freshDir(), "data");
  expect((await runHere(["backup", "restore", path, "--to", to, "--yes"])).exit as number).toBe(0);
  const { clock } = harness;
  harness = await openOn(to, { env: stripe.env, clock });
  expect(await available(tenant)).toBe(2500);
  await round();
  expect(await available(tenant)).toBe(standing ?? 0);
  expect(await harness.store.purchase(lost)).toMatchObject({ state: "paid", credits: 5000 });
  await harness.verify();
}, 60_000);
