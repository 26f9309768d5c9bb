// Buying through Stripe: whatever comes, how often and in which order, a payment credits once.
import { describe, expect, test } from "bun:test";
import { newId } from "../../src/domain/ids.ts";
import { BUYER } from "../store/purchases.ts";
import { openBed } from "./fixture.ts";
import { STALE_S } from "./stripe-server.ts";

const bed = openBed();
const { buy, send, standing, stateOf, lines } = bed;

describe("a checkout", () => {
  test("is asked for with the purchase's own key, an invoice, and addresses of this service", async () => {
    const { purchaseId, url } = await bed.harness.rooms.checkout.buy({
      accountId: bed.tenant.accountId,
      by: BUYER,
      usd: 100,
    });
    const { what, form, idempotencyKey } = bed.stripe.asked.at(-1) ?? {};
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
      "metadata[account_id]": bed.tenant.accountId,
      success_url: `${bed.harness.url}/console/credits?purchase=${purchaseId}`,
      cancel_url: `${bed.harness.url}/console/credits?cancelled=${purchaseId}`,
    });
    const row = await bed.harness.store.purchase(purchaseId);
    expect(Number(form?.expires_at)).toBe(Math.floor((row?.expiresAtMs ?? 0) / 1000));
    expect(row).toMatchObject({
      state: "open",
      credits: 10_000,
      userId: "per_1",
      sessionId: bed.stripe.sessionOf(purchaseId).id,
    });
    expect(url).toBe(bed.stripe.sessionOf(purchaseId).url ?? "");
  });

  test.each([9, 5001, 10.5, 0, -25, Number.NaN])("of %d USD is refused and names the field", async (usd) => {
    await expect(bed.harness.rooms.checkout.buy({ accountId: bed.tenant.accountId, by: BUYER, usd })).rejects.toThrow(
      "amount_usd: choose a whole number from 10 to 5,000",
    );
  });

  test("is one of twenty that may be open at a time", async () => {
    for (let i = 0; i < 20; i++) await buy();
    await expect(buy()).rejects.toThrow("20 checkouts are open already");
    bed.harness.clock.skip(7_300_000);
    await buy();
  });

  test("that Stripe cannot open is one clear sentence, and nothing is lost: the same purchase is opened later", async () => {
    bed.stripe.be("failing");
    await expect(buy()).rejects.toThrow("nothing was bought and nothing charged. Try again in a minute.");
    await bed.harness.eventually(() => lines("payment provider unavailable").length > 0);
    const [open] = await bed.harness.store.purchases(bed.tenant.accountId, null, 1);
    expect(open).toMatchObject({ state: "open", sessionId: null });
    bed.stripe.be("well");
    expect(await bed.harness.rooms.checkout.checkoutUrl(open?.id ?? "")).toBe(bed.stripe.sessionOf(open?.id ?? "").url ?? "");
    expect(await send(bed.stripe.pay(open?.id ?? ""))).toBe(200);
    expect(await standing()).toEqual([2500, 0, false]);
  });

  test("whose answer was lost is found again by its key: there is one, and it is paid once", async () => {
    const before = bed.stripe.sessions.size;
    bed.stripe.be("lost");
    await expect(buy()).rejects.toThrow("cannot be reached");
    await bed.harness.eventually(() => bed.stripe.sessions.size > before);
    bed.stripe.be("well");
    const [open] = await bed.harness.eventually(async () => {
      const rows = await bed.harness.store.purchases(bed.tenant.accountId, null, 1);
      return rows.length > 0 && rows;
    });
    await bed.harness.rooms.checkout.checkoutUrl(open?.id ?? "");
    expect(bed.stripe.sessions.size).toBe(before + 1);
    expect(await send(bed.stripe.pay(open?.id ?? ""))).toBe(200);
    expect(await standing()).toEqual([2500, 0, false]);
  });

  test("that was paid before its name was written down is known by what it says", async () => {
    bed.stripe.be("lost");
    await expect(buy()).rejects.toThrow();
    bed.stripe.be("well");
    const [open] = await bed.harness.store.purchases(bed.tenant.accountId, null, 1);
    expect(open?.sessionId).toBeNull();
    expect(await send(bed.stripe.pay(open?.id ?? ""))).toBe(200);
    expect(await standing()).toEqual([2500, 0, false]);
  });
});

describe("a payment", () => {
  test("replayed three times credits once", async () => {
    const id = await buy();
    const paid = bed.stripe.pay(id);
    for (let i = 0; i < 3; i++) expect(await send(paid)).toBe(200);
    expect(await standing()).toEqual([2500, 0, false]);
    expect((await bed.harness.store.transfers(bed.tenant.accountId, null, 9)).length).toBe(1);
    expect(lines("purchase paid").filter(({ purchase_id }) => purchase_id === id)).toHaveLength(1);
  });

  test("told ten times at once, under several names, credits once", async () => {
    const id = await buy();
    const paid = bed.stripe.pay(id);
    const late = bed.stripe.event("checkout.session.async_payment_succeeded", bed.stripe.sessionOf(id));
    const answers = await Promise.all(Array.from({ length: 10 }, (_, i) => send(i % 2 ? paid : late)));
    await bed.harness.rooms.checkout.refresh(id);
    expect(answers).toEqual(Array(10).fill(200));
    expect(await standing()).toEqual([2500, 0, false]);
  });

  test("that cannot be written down is answered so that Stripe sends it again, and is credited then", async () => {
    const id = await buy();
    const paid = bed.stripe.pay(id);
    bed.fill(true);
    expect(await send(paid)).toBe(503);
    expect(await standing()).toEqual([0, 0, false]);
    bed.fill(false);
    await bed.harness.eventually(async () => (await send(paid)) === 200);
    expect(await standing()).toEqual([2500, 0, false]);
  });

  test("that is not through yet credits nothing; when it is, it does; when it fails, the purchase is over", async () => {
    const [id, other] = [await buy(), await buy()];
    expect(await send(bed.stripe.pay(id, { payment_status: "unpaid" }))).toBe(200);
    expect(await send(bed.stripe.pay(other, { payment_status: "unpaid" }))).toBe(200);
    expect([await standing(), await stateOf(id)]).toEqual([[0, 0, false], "open"]);
    expect(await send(bed.stripe.event("checkout.session.async_payment_failed", bed.stripe.sessionOf(other)))).toBe(200);
    bed.stripe.pay(id);
    expect(await send(bed.stripe.event("checkout.session.async_payment_succeeded", bed.stripe.sessionOf(id)))).toBe(200);
    expect([await standing(), await stateOf(id), await stateOf(other)]).toEqual([[2500, 0, false], "paid", "expired"]);
  });

  test.each([{ amount_total: 2499 }, { amount_total: 250_000 }, { currency: "eur" }, { amount_total: undefined }])(
    "of another amount or currency (%j) credits nothing, and an operator is told",
    async (changes) => {
      const id = await buy();
      expect(await send(bed.stripe.pay(id, changes as object))).toBe(200);
      expect([await standing(), await stateOf(id)]).toEqual([[0, 0, false], "mismatched"]);
      expect(lines("payment mismatch").at(-1)).toMatchObject({ purchase_id: id, account_id: bed.tenant.accountId });
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
    expect(await send(bed.stripe.pay(id), more)).toBe(400);
    expect([await standing(), await stateOf(id)]).toEqual([[0, 0, false], "open"]);
  });

  test("of Stripe's other mode is refused", async () => {
    const id = await buy();
    expect(await send({ ...bed.stripe.pay(id), livemode: true })).toBe(400);
    expect(await stateOf(id)).toBe("open");
  });

  test("whose news was lost is found by asking: from the page the customer comes back to, and in the background", async () => {
    const [id, other] = [await buy(), await buy(50)];
    bed.stripe.pay(id);
    expect(await bed.harness.rooms.checkout.refresh(id)).toMatchObject({
      ...{ state: "paid", credits: 2500, invoiceNumber: "A-0001" },
    });
    bed.stripe.pay(other);
    bed.harness.clock.skip(300_000);
    await bed.harness.rooms.checkout.rounds();
    expect(await stateOf(other)).toBe("paid");
    expect(await standing()).toEqual([7500, 0, false]);
    expect(await bed.harness.store.purchase(other)).toMatchObject({
      ...{ invoiceNumber: "A-0001", invoiceUrl: expect.stringContaining("https://invoice.stripe.example/in_") },
    });
  });

  test("that never comes: the purchase is over with its checkout", async () => {
    const [id, other] = [await buy(), await buy()];
    expect(await send(bed.stripe.expire(id))).toBe(200);
    bed.stripe.expire(other);
    bed.harness.clock.skip(7_300_000);
    await bed.harness.rooms.checkout.rounds();
    expect([await stateOf(id), await stateOf(other)]).toEqual(["expired", "expired"]);
    await expect(bed.harness.rooms.checkout.checkoutUrl(other)).rejects.toThrow("This checkout is over; buy again.");
  });

  test("of a purchase that a restored backup has lost is credited from what its checkout says", async () => {
    const id = newId("pur");
    const metadata = { purchase_id: id, account_id: bed.tenant.accountId, credits: "2500" };
    const session = {
      ...bed.stripe.sessionOf(await buy()),
      id: `cs_${id}`,
      metadata,
      status: "complete",
      payment_status: "paid",
    };
    const paid = bed.stripe.event("checkout.session.completed", { ...session, payment_intent: `pi_${id}` });
    expect([await send(paid), await send(paid)]).toEqual([200, 200]);
    expect([await standing(), await stateOf(id)]).toEqual([[2500, 0, false], "paid"]);
  });

  test("and other events that are none of ours are answered 200 and change nothing", async () => {
    const session = { ...bed.stripe.sessionOf(await buy()), metadata: {}, status: "complete", payment_status: "paid" };
    const strangers = [
      bed.stripe.event("checkout.session.completed", session),
      bed.stripe.event("checkout.session.completed", {
        ...session,
        metadata: { purchase_id: newId("pur"), account_id: "acc_of_another" },
      }),
      bed.stripe.event("customer.created", { id: "cus_1" }),
      bed.stripe.event("charge.refunded", { id: "ch_1", payment_intent: null }),
    ];
    for (const stranger of strangers) expect(await send(stranger)).toBe(200);
    expect(await standing()).toEqual([0, 0, false]);
  });
});
