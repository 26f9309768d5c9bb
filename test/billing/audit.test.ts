// Tests of the audit log of billing: one line for each change, with principal and amount, even if Stripe repeats its events.
import { expect, test } from "bun:test";
import { newId } from "../../src/domain/ids.ts";
import { BUYER, STRIPE } from "../store/purchases.ts";
import { openBed } from "./fixture.ts";

const bed = openBed();
const { buy, bought, send, spend } = bed;

/** The audit lines of a purchase, oldest first. */
const reportedOf = async (target: string) =>
  (await bed.harness.store.audit(null, 50, { target })).map(({ actor, action, detail }) => ({ actor, action, detail })).reverse();
/** The action and the detail of each line. */
const storyOf = async (target: string) => (await reportedOf(target)).map(({ action, detail }) => ({ action, ...detail }));

test("logs one line for a purchase by its buyer and one for its payment by Stripe, even if the event is repeated", async () => {
  const id = await buy(25);
  const { accountId } = bed.tenant;
  const opened = { actor: BUYER, action: "open-purchase", detail: { accountId, credits: 2500, provider: "stripe" } };
  expect(await reportedOf(id)).toEqual([opened]);
  const paid = bed.stripe.pay(id);
  const { id: sessionId, payment_intent: paymentIntent } = bed.stripe.sessionOf(id);
  await Promise.all(Array.from({ length: 5 }, () => send(paid)));
  await send(paid);
  await bed.harness.components.checkout.refresh(id);
  const detail = { accountId, credits: 2500, sessionId, paymentIntent, transferredCredits: 2500 };
  expect(await reportedOf(id)).toEqual([opened, { actor: STRIPE, action: "pay-purchase", detail }]);
  const [line] = await bed.harness.store.audit(null, 1, { target: id });
  expect(line?.atMs).toBe((await bed.harness.store.purchase(id))?.paidAtMs ?? 0);
});

test("logs a payment once when it is committed, and no line while the disk is full", async () => {
  const id = await buy();
  const paid = bed.stripe.pay(id);
  bed.fill(true);
  expect(await send(paid)).toBe(503);
  bed.fill(false);
  expect(await reportedOf(id)).toHaveLength(1);
  await bed.harness.eventually(async () => (await send(paid)) === 200);
  expect((await reportedOf(id)).map(({ action }) => action)).toEqual(["open-purchase", "pay-purchase"]);
});

test("logs a payment of another amount once, as a mismatch", async () => {
  const id = await buy();
  const paid = bed.stripe.pay(id, { amount_total: 9900, currency: "eur" });
  for (let i = 0; i < 3; i++) await send(paid);
  expect((await storyOf(id)).slice(1)).toMatchObject([
    { action: "mismatch-purchase", credits: 9900, currency: "eur", transferredCredits: 0 },
  ]);
});

test("logs one line for each state of a refund, with the transferred credits", async () => {
  const { id, payment } = await bought(25);
  const { refunded, created, failed } = bed.stripe.refund(payment, 700);
  for (const event of [created, refunded, created]) await send(event);
  const back = failed();
  for (let i = 0; i < 2; i++) await send(back);
  await send(created);
  const { accountId } = bed.tenant;
  const refund = { action: "note-refund", accountId, credits: 700, paymentIntent: payment };
  expect((await storyOf(id)).slice(2)).toMatchObject([
    { ...refund, state: "taken", transferredCredits: -700 },
    { ...refund, state: "returned", transferredCredits: 700 },
  ]);
  expect((await reportedOf(id)).slice(2).map(({ actor }) => actor)).toEqual([STRIPE, STRIPE]);
});

test("logs each state of a dispute from inquiry to end, with its debt", async () => {
  const { id, payment } = await bought(25);
  await spend(2000);
  const news = [
    bed.stripe.dispute("created", payment, 2500, "warning_needs_response"),
    bed.stripe.dispute("updated", payment, 2500, "needs_response"),
    bed.stripe.dispute("funds_withdrawn", payment, 2500, "needs_response"),
    bed.stripe.dispute("closed", payment, 2500, "lost"),
  ];
  for (const event of [...news, ...news]) await send(event);
  const dispute = { action: "note-dispute", id: `dp_${payment}`, credits: 2500 };
  expect((await storyOf(id)).slice(2)).toMatchObject([
    { ...dispute, state: "asked", transferredCredits: 0 },
    { ...dispute, state: "taken", transferredCredits: -500, owedCredits: 2000 },
    { ...dispute, state: "lost", transferredCredits: 0, owedCredits: 2000 },
  ]);
});

test("logs no line for a refund of an unknown payment, and logs the later payment with its remaining credits", async () => {
  const id = await buy(25);
  const paid = bed.stripe.pay(id);
  const payment = bed.stripe.sessionOf(id).payment_intent ?? "";
  const { created } = bed.stripe.refund(payment, 500, "re_early");
  for (const event of [created, created]) await send(event);
  const early = (await bed.harness.store.audit(null, 50, { action: "note-refund" })).filter(
    ({ detail }) => detail.id === "re_early",
  );
  expect(early).toEqual([]);
  await send(paid);
  expect((await storyOf(id)).slice(1)).toMatchObject([{ action: "pay-purchase", credits: 2500, transferredCredits: 2000 }]);
});

test("logs the opening and the payment of a purchase that is recreated from Stripe after a restore", async () => {
  const id = newId("pur");
  const metadata = { purchase_id: id, account_id: bed.tenant.accountId, credits: "2500" };
  const lost = { id: `cs_${id}`, metadata, status: "complete", payment_status: "paid", payment_intent: `pi_${id}` };
  const paid = bed.stripe.event("checkout.session.completed", { ...bed.stripe.sessionOf(await buy()), ...lost });
  for (let i = 0; i < 2; i++) await send(paid);
  expect((await reportedOf(id)).map(({ actor, action }) => [actor.name, action])).toEqual([
    ["Stripe", "open-purchase"],
    ["Stripe", "pay-purchase"],
  ]);
});
