// Canceling an abandoned checkout at Stripe: it ends there first, so that it cannot be paid any more.
import { expect, test } from "bun:test";
import { openBed } from "./fixture.ts";

const bed = openBed();
const cancel = (id: string) => bed.harness.components.checkout.cancel(id);

test("ends the checkout at Stripe and then the purchase", async () => {
  const id = await bed.buy();
  await cancel(id);
  expect([bed.stripe.sessionOf(id).status, await bed.stateOf(id)]).toEqual(["expired", "expired"]);
  // A second request changes nothing and asks nothing.
  const before = bed.stripe.asked.length;
  await cancel(id);
  expect(bed.stripe.asked.length).toBe(before);
  expect(await bed.standing()).toEqual([0, 0, false]);
});

test("a payment that arrived before is credited, and the purchase is not canceled", async () => {
  const id = await bed.buy(40);
  // The customer has paid, and the event is still under way.
  bed.stripe.pay(id);
  await expect(cancel(id)).rejects.toMatchObject({ kind: "conflict", message: expect.stringContaining("was paid") });
  expect([await bed.stateOf(id), await bed.standing()]).toEqual(["paid", [4000, 0, false]]);
});

test("the purchase stays open while Stripe is unavailable or refuses the key, because it may still be paid", async () => {
  const id = await bed.buy();
  bed.stripe.be("failing");
  await expect(cancel(id)).rejects.toMatchObject({ kind: "unavailable", message: expect.stringContaining("still open") });
  expect(await bed.stateOf(id)).toBe("open");
  bed.stripe.be("well");
  await cancel(id);
  expect(await bed.stateOf(id)).toBe("expired");
});

test("a purchase whose checkout was never opened is canceled without Stripe", async () => {
  bed.stripe.be("failing");
  await expect(bed.buy()).rejects.toThrow("unavailable");
  const [row] = await bed.harness.store.purchases(bed.tenant.accountId, null, 1);
  await cancel(row?.id ?? "");
  expect(await bed.stateOf(row?.id ?? "")).toBe("expired");
});

test("a checkout whose delayed payment is being processed is not canceled, and the payment is credited", async () => {
  const id = await bed.buy(40);
  Object.assign(bed.stripe.sessionOf(id), { status: "complete", url: null });
  await expect(cancel(id)).rejects.toMatchObject({ kind: "conflict", message: expect.stringContaining("being processed") });
  expect(await bed.stateOf(id)).toBe("open");
  bed.stripe.pay(id);
  await bed.harness.components.checkout.refresh(id);
  expect(await bed.stateOf(id)).toBe("paid");
});
