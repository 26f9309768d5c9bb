// Buying through Stripe: whatever comes, how often and in which order, a payment credits once and is taken back once.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { newId } from "../../src/ids.ts";
import { type House, openHouse, type Tenant } from "../house.ts";
import { deliver, openStripe, STALE_S, type StripeServer } from "./stripe-server.ts";

let stripe: StripeServer;
let house: House;
let tenant: Tenant;
beforeAll(async () => {
  stripe = openStripe();
  house = await openHouse({ env: stripe.env });
});
beforeEach(async () => {
  stripe.be("well");
  tenant = await house.newTenant(0);
});
afterAll(async () => {
  await house.close();
  await stripe.stop();
});

const buy = async (usd = 25): Promise<string> =>
  (await house.rooms.till.buy({ accountSeq: tenant.accountSeq, personId: null, usd })).purchaseId;
const send = async (...args: Parameters<typeof deliver> extends [string, ...infer Rest] ? Rest : never): Promise<number> =>
  (await deliver(house.url, ...args)).status;
/** Available, owed, paused. */
const standing = async () => {
  const row = await house.store.account(tenant.accountId);
  return [row?.availableCredits, row?.owedCredits, row?.paused];
};
const stateOf = async (id: string) => (await house.store.purchase(id))?.state;
/** Bought, paid and credited. */
const bought = async (usd = 25): Promise<{ id: string; payment: string }> => {
  const id = await buy(usd);
  expect(await send(stripe.pay(id))).toBe(200);
  return { id, payment: stripe.sessionOf(id).payment_intent ?? "" };
};
const lines = (event: string) => house.lines.filter((line) => line.event === event).map(({ fields }) => fields);

describe("a checkout", () => {
  test("is asked for with the purchase's own key, an invoice, and addresses of this service", async () => {
    const { purchaseId, url } = await house.rooms.till.buy({ accountSeq: tenant.accountSeq, personId: "per_1", usd: 100 });
    const { what, form, idempotencyKey } = stripe.asked.at(-1) ?? {};
    expect(what).toBe("POST /v1/checkout/sessions");
    expect(idempotencyKey).toBe(`genrouter-${purchaseId}`);
    expect(form).toMatchObject({
      mode: "payment",
      client_reference_id: purchaseId,
      "line_items[0][price_data][unit_amount]": "10000",
      "line_items[0][price_data][currency]": "usd",
      "line_items[0][quantity]": "1",
      "invoice_creation[enabled]": "true",
      "metadata[purchase_id]": purchaseId,
      "metadata[account_id]": tenant.accountId,
      success_url: `${house.url}/console/credits?purchase=${purchaseId}`,
      cancel_url: `${house.url}/console/credits?cancelled=${purchaseId}`,
    });
    const row = await house.store.purchase(purchaseId);
    expect(Number(form?.expires_at)).toBe(Math.floor((row?.expiresAtMs ?? 0) / 1000));
    expect(row).toMatchObject({ state: "open", credits: 10_000, personId: "per_1", sessionId: stripe.sessionOf(purchaseId).id });
    expect(url).toBe(stripe.sessionOf(purchaseId).url ?? "");
  });

  test.each([9, 5001, 10.5, 0, -25, Number.NaN])("of %d USD is refused and names the field", async (usd) => {
    await expect(house.rooms.till.buy({ accountSeq: tenant.accountSeq, personId: null, usd })).rejects.toThrow(
      "amount_usd: choose a whole number from 10 to 5,000",
    );
  });

  test("that Stripe cannot open is one clear sentence, and nothing is lost: the same purchase is opened later", async () => {
    stripe.be("failing");
    await expect(buy()).rejects.toThrow("nothing was bought and nothing charged. Try again in a minute.");
    await house.eventually(() => lines("payments away").length > 0);
    const [open] = await house.store.purchases(tenant.accountId, null, 1);
    expect(open).toMatchObject({ state: "open", sessionId: null });
    stripe.be("well");
    expect(await house.rooms.till.checkoutUrl(open?.id ?? "")).toBe(stripe.sessionOf(open?.id ?? "").url ?? "");
    expect(await send(stripe.pay(open?.id ?? ""))).toBe(200);
    expect(await standing()).toEqual([2500, 0, false]);
  });

  test("whose answer was lost is found again by its key: there is one, and it is paid once", async () => {
    const before = stripe.sessions.size;
    stripe.be("lost");
    await expect(buy()).rejects.toThrow("cannot be reached");
    await house.eventually(() => stripe.sessions.size > before);
    stripe.be("well");
    const [open] = await house.eventually(async () => {
      const rows = await house.store.purchases(tenant.accountId, null, 1);
      return rows.length > 0 && rows;
    });
    await house.rooms.till.checkoutUrl(open?.id ?? "");
    expect(stripe.sessions.size).toBe(before + 1);
    expect(await send(stripe.pay(open?.id ?? ""))).toBe(200);
    expect(await standing()).toEqual([2500, 0, false]);
  });

  test("that was paid before its name was written down is known by what it says", async () => {
    stripe.be("lost");
    await expect(buy()).rejects.toThrow();
    stripe.be("well");
    const [open] = await house.store.purchases(tenant.accountId, null, 1);
    expect(open?.sessionId).toBeNull();
    expect(await send(stripe.pay(open?.id ?? ""))).toBe(200);
    expect(await standing()).toEqual([2500, 0, false]);
  });
});

describe("a payment", () => {
  test("replayed three times credits once", async () => {
    const id = await buy();
    const paid = stripe.pay(id);
    for (let i = 0; i < 3; i++) expect(await send(paid)).toBe(200);
    expect(await standing()).toEqual([2500, 0, false]);
    expect((await house.store.movements(tenant.accountId, null, 9)).length).toBe(1);
    expect(lines("purchase paid").filter(({ purchase_id }) => purchase_id === id)).toHaveLength(1);
  });

  test("told ten times at once, under several names, credits once", async () => {
    const id = await buy();
    const paid = stripe.pay(id);
    const late = stripe.event("checkout.session.async_payment_succeeded", stripe.sessionOf(id));
    const answers = await Promise.all(Array.from({ length: 10 }, (_, i) => send(i % 2 ? paid : late)));
    await house.rooms.till.lookAfter(id);
    expect(answers).toEqual(Array(10).fill(200));
    expect(await standing()).toEqual([2500, 0, false]);
  });

  test("that is not through yet credits nothing; when it is, it does; when it fails, the purchase is over", async () => {
    const [id, other] = [await buy(), await buy()];
    expect(await send(stripe.pay(id, { payment_status: "unpaid" }))).toBe(200);
    expect(await send(stripe.pay(other, { payment_status: "unpaid" }))).toBe(200);
    expect([await standing(), await stateOf(id)]).toEqual([[0, 0, false], "open"]);
    expect(await send(stripe.event("checkout.session.async_payment_failed", stripe.sessionOf(other)))).toBe(200);
    stripe.pay(id);
    expect(await send(stripe.event("checkout.session.async_payment_succeeded", stripe.sessionOf(id)))).toBe(200);
    expect([await standing(), await stateOf(id), await stateOf(other)]).toEqual([[2500, 0, false], "paid", "expired"]);
  });

  test.each([{ amount_total: 2499 }, { amount_total: 250_000 }, { currency: "eur" }, { amount_total: undefined }])(
    "of another amount or currency (%j) credits nothing, and an operator is told",
    async (changes) => {
      const id = await buy();
      expect(await send(stripe.pay(id, changes as object))).toBe(200);
      expect([await standing(), await stateOf(id)]).toEqual([[0, 0, false], "mismatched"]);
      expect(lines("payment unclear").at(-1)).toMatchObject({ purchase_id: id, account_id: tenant.accountId });
    },
  );

  test.each([
    ["tampered with", { tampered: "{}" }],
    ["signed with another secret", { secret: "whsec_another12345678" }],
    ["stale", { ageS: STALE_S }],
    ["not signed", { signature: null }],
    ["signed with nonsense", { signature: "t=1,v1=00" }],
  ])("%s is answered 400 and credits nothing", async (_, more) => {
    const id = await buy();
    expect(await send(stripe.pay(id), more)).toBe(400);
    expect([await standing(), await stateOf(id)]).toEqual([[0, 0, false], "open"]);
  });

  test("of Stripe's other mode is refused", async () => {
    const id = await buy();
    expect(await send({ ...stripe.pay(id), livemode: true })).toBe(400);
    expect(await stateOf(id)).toBe("open");
  });

  test("whose news was lost is found by asking: from the page the customer comes back to, and in the background", async () => {
    const [id, other] = [await buy(), await buy(50)];
    stripe.pay(id);
    expect(await house.rooms.till.lookAfter(id)).toMatchObject({ state: "paid", credits: 2500 });
    stripe.pay(other);
    house.clock.skip(300_000);
    await house.rooms.till.rounds();
    expect(await stateOf(other)).toBe("paid");
    expect(await standing()).toEqual([7500, 0, false]);
    expect(await house.store.purchase(other)).toMatchObject({
      ...{ invoiceNumber: "A-0001", invoiceUrl: expect.stringContaining("https://invoice.stripe.example/in_") },
    });
  });

  test("that never comes: the purchase is over with its checkout", async () => {
    const [id, other] = [await buy(), await buy()];
    expect(await send(stripe.expire(id))).toBe(200);
    stripe.expire(other);
    house.clock.skip(7_300_000);
    await house.rooms.till.rounds();
    expect([await stateOf(id), await stateOf(other)]).toEqual(["expired", "expired"]);
    await expect(house.rooms.till.checkoutUrl(other)).rejects.toThrow("This checkout is over; buy again.");
  });

  test("of a purchase that a restored backup has lost is credited from what its checkout says", async () => {
    const id = newId("pur");
    const metadata = { purchase_id: id, account_id: tenant.accountId, credits: "2500" };
    const session = { ...stripe.sessionOf(await buy()), id: `cs_${id}`, metadata, status: "complete", payment_status: "paid" };
    const paid = stripe.event("checkout.session.completed", { ...session, payment_intent: `pi_${id}` });
    expect([await send(paid), await send(paid)]).toEqual([200, 200]);
    expect([await standing(), await stateOf(id)]).toEqual([[2500, 0, false], "paid"]);
  });

  test("and other events that are none of ours are answered 200 and change nothing", async () => {
    const session = { ...stripe.sessionOf(await buy()), metadata: {}, status: "complete", payment_status: "paid" };
    const strangers = [
      stripe.event("checkout.session.completed", session),
      stripe.event("checkout.session.completed", {
        ...session,
        metadata: { purchase_id: newId("pur"), account_id: "acc_of_another" },
      }),
      stripe.event("customer.created", { id: "cus_1" }),
      stripe.event("charge.refunded", { id: "ch_1", payment_intent: null }),
    ];
    for (const stranger of strangers) expect(await send(stranger)).toBe(200);
    expect(await standing()).toEqual([0, 0, false]);
  });
});

describe("a refund", () => {
  test("takes the difference each time, whichever of its events come and how often", async () => {
    const { id, payment } = await bought();
    const first = stripe.refund(payment, 700, `re_${payment}_1`);
    for (const event of [first.refunded, first.created, first.refunded]) expect(await send(event)).toBe(200);
    expect(await standing()).toEqual([1800, 0, false]);
    const second = stripe.refund(payment, 800, `re_${payment}_2`);
    for (const event of [second.created, first.created, second.refunded, first.refunded]) expect(await send(event)).toBe(200);
    expect(await standing()).toEqual([1000, 0, false]);
    expect(await house.store.purchase(id)).toMatchObject({ refundedCredits: 1500, reversedCredits: 1500 });
    expect(lines("purchase reversed").filter(({ purchase_id }) => purchase_id === id)).toHaveLength(2);
  });

  test("that comes before the payment is applied when that comes", async () => {
    const id = await buy();
    const paid = stripe.pay(id);
    const payment = stripe.sessionOf(id).payment_intent ?? "";
    expect(await send(stripe.refund(payment, 1000, `re_${payment}`).created)).toBe(200);
    expect(await standing()).toEqual([0, 0, false]);
    expect(await send(paid)).toBe(200);
    expect(await standing()).toEqual([1500, 0, false]);
  });

  test("that fails is given back, and stays so when older news of it comes late", async () => {
    const { payment } = await bought();
    const refund = stripe.refund(payment, 2500, `re_${payment}`);
    expect(await send(refund.created)).toBe(200);
    expect(await standing()).toEqual([0, 0, false]);
    for (const event of [refund.failed(), refund.created, refund.refunded]) expect(await send(event)).toBe(200);
    expect(await standing()).toEqual([2500, 0, false]);
  });

  test("that cannot be asked about now is answered so that Stripe sends it again", async () => {
    const { payment } = await bought();
    const { refunded } = stripe.refund(payment, 500, `re_${payment}`);
    stripe.be("failing");
    expect(await send(refunded)).toBe(503);
    expect(await standing()).toEqual([2500, 0, false]);
    stripe.be("well");
    expect(await send(refunded)).toBe(200);
    expect(await standing()).toEqual([2000, 0, false]);
  });

  test("in another currency is not guessed at: an operator is told", async () => {
    const { payment } = await bought();
    const refund = { id: "re_eur", object: "refund", amount: 500, currency: "eur", payment_intent: payment, status: "succeeded" };
    expect(await send(stripe.event("refund.created", refund))).toBe(200);
    expect(await standing()).toEqual([2500, 0, false]);
    expect(lines("payment unclear").at(-1)?.reason).toContain("re_eur of 500 eur");
  });

  test("above what is available leaves a debt, pauses the account, and the next purchase settles it", async () => {
    const { payment } = await bought();
    const spend = { deed: "credit", accountSeq: tenant.accountSeq, kind: "adjust", credits: -2000 } as const;
    await house.rooms.post({ ...spend, note: "spent", reference: null, atMs: house.clock.nowMs() });
    expect(await send(stripe.refund(payment, 2500, `re_${payment}`).created)).toBe(200);
    expect(await standing()).toEqual([0, 2000, true]);
    expect((await house.ask("GET", "/v1/generations/gen_x", { key: tenant.key })).status).toBe(403);
    await bought(50);
    expect(await standing()).toEqual([3000, 0, false]);
    expect((await house.ask("GET", "/v1/generations/gen_x", { key: tenant.key })).status).toBe(404);
  });
});

describe("a dispute", () => {
  test("that is lost takes once, however many events tell of it", async () => {
    const { payment } = await bought();
    for (const [type, status] of [
      ["created", "needs_response"],
      ["funds_withdrawn", "needs_response"],
      ["updated", "under_review"],
      ["closed", "lost"],
      ["funds_withdrawn", "needs_response"],
    ] as const)
      expect(await send(stripe.dispute(type, payment, 2500, status))).toBe(200);
    expect(await standing()).toEqual([0, 0, false]);
  });

  test("that is won gives back what was taken and settles what was owed, in any order of its events", async () => {
    const { payment } = await bought();
    const spend = { deed: "credit", accountSeq: tenant.accountSeq, kind: "adjust", credits: -2000 } as const;
    await house.rooms.post({ ...spend, note: "spent", reference: null, atMs: house.clock.nowMs() });
    expect(await send(stripe.dispute("created", payment, 2500, "needs_response"))).toBe(200);
    expect(await standing()).toEqual([0, 2000, true]);
    for (const [type, status] of [
      ["funds_reinstated", "won"],
      ["closed", "won"],
      ["funds_withdrawn", "needs_response"],
    ] as const)
      expect(await send(stripe.dispute(type, payment, 2500, status))).toBe(200);
    expect(await standing()).toEqual([500, 0, false]);
  });

  test("that is only an inquiry takes nothing", async () => {
    const { payment } = await bought();
    expect(await send(stripe.dispute("created", payment, 2500, "warning_needs_response"))).toBe(200);
    expect(await send(stripe.dispute("closed", payment, 2500, "warning_closed"))).toBe(200);
    expect(await standing()).toEqual([2500, 0, false]);
  });
});
