// Tests of refunds and disputes: each takes the difference up to the available credits, and the rest becomes a debt.
import { describe, expect, test } from "bun:test";
import { decideMutation } from "../store/purchases.ts";
import { openBed } from "./fixture.ts";

const bed = openBed();
const { buy, bought, send, standing, lines } = bed;

describe("a refund", () => {
  test("takes the difference to the earlier refunds, for any order and repetition of its events", async () => {
    const { id, payment } = await bought();
    const first = bed.stripe.refund(payment, 700, `re_${payment}_1`);
    for (const event of [first.refunded, first.created, first.refunded]) expect(await send(event)).toBe(200);
    expect(await standing()).toEqual([1800, 0, false]);
    const second = bed.stripe.refund(payment, 800, `re_${payment}_2`);
    for (const event of [second.created, first.created, second.refunded, first.refunded]) expect(await send(event)).toBe(200);
    expect(await standing()).toEqual([1000, 0, false]);
    expect(await bed.harness.store.purchase(id)).toMatchObject({ refundedCredits: 1500, reversedCredits: 1500 });
    expect(lines("purchase reversed").filter(({ purchase_id }) => purchase_id === id)).toHaveLength(2);
  });

  test("that arrives before its payment is applied together with the payment", async () => {
    const id = await buy();
    const paid = bed.stripe.pay(id);
    const payment = bed.stripe.sessionOf(id).payment_intent ?? "";
    expect(await send(bed.stripe.refund(payment, 1000, `re_${payment}`).created)).toBe(200);
    expect(await standing()).toEqual([0, 0, false]);
    expect(await send(paid)).toBe(200);
    expect(await standing()).toEqual([1500, 0, false]);
  });

  test("that fails returns its credits, and an older event that arrives late changes nothing", async () => {
    const { payment } = await bought();
    const refund = bed.stripe.refund(payment, 2500, `re_${payment}`);
    expect(await send(refund.created)).toBe(200);
    expect(await standing()).toEqual([0, 0, false]);
    for (const event of [refund.failed(), refund.created, refund.refunded]) expect(await send(event)).toBe(200);
    expect(await standing()).toEqual([2500, 0, false]);
  });

  test("that Stripe cannot confirm returns 503 and is applied when Stripe delivers it again", async () => {
    const { payment } = await bought();
    const { refunded } = bed.stripe.refund(payment, 500, `re_${payment}`);
    bed.stripe.be("failing");
    expect(await send(refunded)).toBe(503);
    expect(await standing()).toEqual([2500, 0, false]);
    bed.stripe.be("well");
    expect(await send(refunded)).toBe(200);
    expect(await standing()).toEqual([2000, 0, false]);
  });

  test("in another currency pauses the account and is logged until an operator decides its amount", async () => {
    const { id, payment } = await bought();
    const refund = { id: "re_eur", object: "refund", amount: 500, currency: "eur", payment_intent: payment, status: "succeeded" };
    expect(await send(bed.stripe.event("refund.created", refund))).toBe(200);
    expect(await standing()).toEqual([2500, 0, true]);
    expect((await bed.harness.request("GET", "/v1/generations/gen_x", { key: bed.tenant.key })).status).toBe(403);
    expect(lines("reversal undecided").at(-1)).toMatchObject({
      ...{ purchase_id: id, account_id: bed.tenant.accountId, count: 1 },
      reason: expect.stringContaining("re_eur of 500 eur, taken"),
    });
    expect((await bed.harness.components.post(decideMutation("re_eur", 540))).kind).toBe("done");
    expect(await standing()).toEqual([1960, 0, false]);
    expect((await bed.harness.request("GET", "/v1/generations/gen_x", { key: bed.tenant.key })).status).toBe(404);
  });

  test("above the available credits leaves a debt and pauses the account until the next purchase settles it", async () => {
    const { payment } = await bought();
    await bed.spend(2000);
    expect(await send(bed.stripe.refund(payment, 2500, `re_${payment}`).created)).toBe(200);
    expect(await standing()).toEqual([0, 2000, true]);
    expect((await bed.harness.request("GET", "/v1/generations/gen_x", { key: bed.tenant.key })).status).toBe(403);
    await bought(50);
    expect(await standing()).toEqual([3000, 0, false]);
    expect((await bed.harness.request("GET", "/v1/generations/gen_x", { key: bed.tenant.key })).status).toBe(404);
  });
});

describe("a dispute", () => {
  test("pauses the account immediately and is logged, even if no credits are available", async () => {
    const { id, payment } = await bought();
    await bed.spend(2500);
    const request = () => bed.harness.request("GET", "/v1/generations/gen_x", { key: bed.tenant.key });
    expect((await request()).status).toBe(404);
    expect(await send(bed.stripe.dispute("created", payment, 2500, "needs_response"))).toBe(200);
    expect(await standing()).toEqual([0, 2500, true]);
    expect((await request()).status).toBe(403);
    expect(lines("purchase reversed").filter(({ purchase_id }) => purchase_id === id)).toMatchObject([
      { credits: 0, reason: expect.stringContaining("2500 credits of debt, and the account is paused") },
    ]);
  });

  test("that is lost takes its credits once, for any number of events", async () => {
    const { payment } = await bought();
    for (const [type, status] of [
      ["created", "needs_response"],
      ["funds_withdrawn", "needs_response"],
      ["updated", "under_review"],
      ["closed", "lost"],
      ["funds_withdrawn", "needs_response"],
    ] as const)
      expect(await send(bed.stripe.dispute(type, payment, 2500, status))).toBe(200);
    expect(await standing()).toEqual([0, 0, false]);
  });

  test("that is won returns the taken credits and settles the debt, for any order of its events", async () => {
    const { payment } = await bought();
    await bed.spend(2000);
    expect(await send(bed.stripe.dispute("created", payment, 2500, "needs_response"))).toBe(200);
    expect(await standing()).toEqual([0, 2000, true]);
    for (const [type, status] of [
      ["funds_reinstated", "won"],
      ["closed", "won"],
      ["funds_withdrawn", "needs_response"],
    ] as const)
      expect(await send(bed.stripe.dispute(type, payment, 2500, status))).toBe(200);
    expect(await standing()).toEqual([500, 0, false]);
  });

  test("whose funds are withdrawn takes its credits, for any status", async () => {
    const { payment } = await bought();
    expect(await send(bed.stripe.dispute("funds_withdrawn", payment, 2500, "warning_needs_response"))).toBe(200);
    expect(await standing()).toEqual([0, 0, false]);
  });

  test("that is an inquiry takes nothing", async () => {
    const { payment } = await bought();
    expect(await send(bed.stripe.dispute("created", payment, 2500, "warning_needs_response"))).toBe(200);
    expect(await send(bed.stripe.dispute("closed", payment, 2500, "warning_closed"))).toBe(200);
    expect(await standing()).toEqual([2500, 0, false]);
  });
});
