// Tests of purchases through Stripe: a payment credits once, regardless of the order and repetition of its events.
import { describe, expect, test } from "bun:test";
import { newId } from "../../src/domain/ids.ts";
import { BUYER } from "../store/purchases.ts";
import { openBed } from "./fixture.ts";
import { STALE_S } from "./stripe-server.ts";

const bed = openBed();
const { buy, send, standing, stateOf, lines } = bed;

describe("a checkout", () => {
  test("is requested with the purchase's idempotency key, an invoice, and URLs of this service", async () => {
    const { purchaseId, url } = await bed.harness.components.checkout.buy({
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

  test.each([9, 5001, 10.5, 0, -25, Number.NaN])("of %d USD is rejected with the name of the field", async (usd) => {
    await expect(bed.harness.components.checkout.buy({ accountId: bed.tenant.accountId, by: BUYER, usd })).rejects.toThrow(
      "amount_usd: expected a whole number from 10 to 5,000",
    );
  });

  test("is rejected while twenty checkouts of the account are open", async () => {
    for (let i = 0; i < 20; i++) await buy();
    await expect(buy()).rejects.toThrow("20 checkouts are already open");
    bed.harness.clock.skip(7_300_000);
    await buy();
  });

  test("counts only open checkouts towards the limit, however many paid ones are newer", async () => {
    const ids: string[] = [];
    for (let i = 0; i < 20; i++) ids.push(await buy());
    for (const id of ids.slice(10)) expect(await send(bed.stripe.pay(id))).toBe(200);
    for (let i = 0; i < 10; i++) await buy();
    await expect(buy()).rejects.toThrow("20 checkouts are already open");
  });

  test("that Stripe cannot open is rejected with a retry message, and its purchase can be opened and paid later", async () => {
    bed.stripe.be("failing");
    await expect(buy()).rejects.toThrow("nothing was bought and nothing was charged. Try again in a minute.");
    await bed.harness.eventually(() => lines("payment provider unavailable").length > 0);
    const [open] = await bed.harness.store.purchases(bed.tenant.accountId, null, 1);
    expect(open).toMatchObject({ state: "open", sessionId: null });
    bed.stripe.be("well");
    expect(await bed.harness.components.checkout.checkoutUrl(open?.id ?? "")).toBe(
      bed.stripe.sessionOf(open?.id ?? "").url ?? "",
    );
    expect(await send(bed.stripe.pay(open?.id ?? ""))).toBe(200);
    expect(await standing()).toEqual([2500, 0, false]);
  });

  test("whose response was lost is found again by its idempotency key and is paid once", async () => {
    const before = bed.stripe.sessions.size;
    bed.stripe.be("lost");
    await expect(buy()).rejects.toThrow("is unavailable");
    await bed.harness.eventually(() => bed.stripe.sessions.size > before);
    bed.stripe.be("well");
    const [open] = await bed.harness.eventually(async () => {
      const rows = await bed.harness.store.purchases(bed.tenant.accountId, null, 1);
      return rows.length > 0 && rows;
    });
    await bed.harness.components.checkout.checkoutUrl(open?.id ?? "");
    expect(bed.stripe.sessions.size).toBe(before + 1);
    expect(await send(bed.stripe.pay(open?.id ?? ""))).toBe(200);
    expect(await standing()).toEqual([2500, 0, false]);
  });

  test("that was paid before its session id was stored is identified by its metadata", async () => {
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
  test("credits once when its event is delivered three times", async () => {
    const id = await buy();
    const paid = bed.stripe.pay(id);
    for (let i = 0; i < 3; i++) expect(await send(paid)).toBe(200);
    expect(await standing()).toEqual([2500, 0, false]);
    expect((await bed.harness.store.transfers(bed.tenant.accountId, null, 9)).length).toBe(1);
    expect(lines("purchase paid").filter(({ purchase_id }) => purchase_id === id)).toHaveLength(1);
  });

  test("credits once when ten events of two types arrive concurrently", async () => {
    const id = await buy();
    const paid = bed.stripe.pay(id);
    const late = bed.stripe.event("checkout.session.async_payment_succeeded", bed.stripe.sessionOf(id));
    const answers = await Promise.all(Array.from({ length: 10 }, (_, i) => send(i % 2 ? paid : late)));
    await bed.harness.components.checkout.refresh(id);
    expect(answers).toEqual(Array(10).fill(200));
    expect(await standing()).toEqual([2500, 0, false]);
  });

  test("returns 503 while the disk is full, and credits when Stripe delivers it again", async () => {
    const id = await buy();
    const paid = bed.stripe.pay(id);
    bed.fill(true);
    expect(await send(paid)).toBe(503);
    expect(await standing()).toEqual([0, 0, false]);
    bed.fill(false);
    await bed.harness.eventually(async () => (await send(paid)) === 200);
    expect(await standing()).toEqual([2500, 0, false]);
  });

  test("credits nothing while it is pending, credits when it succeeds, and expires the purchase when it fails", async () => {
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
    "of another amount or currency (%j) credits nothing and logs a payment mismatch",
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
  ])("with an event that is %s returns 400 and credits nothing", async (_, more) => {
    const id = await buy();
    expect(await send(bed.stripe.pay(id), more)).toBe(400);
    expect([await standing(), await stateOf(id)]).toEqual([[0, 0, false], "open"]);
  });

  test("of the other Stripe mode returns 400", async () => {
    const id = await buy();
    expect(await send({ ...bed.stripe.pay(id), livemode: true })).toBe(400);
    expect(await stateOf(id)).toBe("open");
  });

  test("whose event was lost is found by a refresh of the purchase and by the background round", async () => {
    const [id, other] = [await buy(), await buy(50)];
    bed.stripe.pay(id);
    expect(await bed.harness.components.checkout.refresh(id)).toMatchObject({
      ...{ state: "paid", credits: 2500, invoiceNumber: "A-0001" },
    });
    bed.stripe.pay(other);
    bed.harness.clock.skip(300_000);
    await bed.harness.components.checkout.rounds();
    expect(await stateOf(other)).toBe("paid");
    expect(await standing()).toEqual([7500, 0, false]);
    expect(await bed.harness.store.purchase(other)).toMatchObject({
      ...{ invoiceNumber: "A-0001", invoiceUrl: expect.stringContaining("https://invoice.stripe.example/in_") },
    });
  });

  test("that never arrives leaves the purchase expired together with its checkout", async () => {
    const [id, other] = [await buy(), await buy()];
    expect(await send(bed.stripe.expire(id))).toBe(200);
    bed.stripe.expire(other);
    bed.harness.clock.skip(7_300_000);
    await bed.harness.components.checkout.rounds();
    expect([await stateOf(id), await stateOf(other)]).toEqual(["expired", "expired"]);
    await expect(bed.harness.components.checkout.checkoutUrl(other)).rejects.toThrow(
      "This checkout has expired; start a new purchase.",
    );
  });

  test("of a purchase that a restored backup does not contain is credited from the metadata of its checkout", async () => {
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

  test("of another application returns 200 and changes nothing", async () => {
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
