// S14: refunds and disputes in another currency wait for an operator, and a dispute that was won may still be lost.
import { expect, test } from "bun:test";
import { openBed } from "../billing/fixture.ts";
import type { Event } from "../billing/stripe-server.ts";
import { decideMutation } from "../store/purchases.ts";

const bed = openBed();
const { bought, buy, send, standing, lines } = bed;
const DAY_S = 86_400;
/** An event as it would come so many days from now. */
const later = (event: Event, days: number): Event => ({ ...event, created: event.created + days * DAY_S });

test("S14: checkouts switch adaptive pricing off, so that nobody pays in another currency", async () => {
  const id = await buy();
  const asked = bed.stripe.asked.filter(({ form }) => form["metadata[purchase_id]"] === id);
  expect(asked).toHaveLength(1);
  expect(asked[0]?.form["adaptive_pricing[enabled]"]).toBe("false");
});

test("S14: a dispute in euros pauses the account and is told everywhere, until an operator decides what it takes back", async () => {
  const { id, payment } = await bought();
  const dispute = {
    ...{
      id: `dp_${payment}`,
      object: "dispute",
      amount: 2300,
      currency: "eur",
      payment_intent: payment,
      status: "needs_response",
    },
  };
  const event = bed.stripe.event("charge.dispute.created", dispute);
  for (let times = 0; times < 3; times += 1) expect(await send(event)).toBe(200);
  // Nothing is guessed, and nothing more is spent.
  expect(await standing()).toEqual([2500, 0, true]);
  const ask = () => bed.harness.ask("GET", "/v1/generations/gen_x", { key: bed.tenant.key });
  expect((await ask()).status).toBe(403);
  expect(await bed.harness.store.undecidedReversals(9)).toMatchObject([
    { id: `dp_${payment}`, purchaseId: id, amount: 2300, currency: "eur", accountId: bed.tenant.accountId },
  ]);
  expect(lines("reversal undecided").filter(({ purchase_id }) => purchase_id === id)).toHaveLength(1);
  const told = async () =>
    (await bed.harness.store.audit(null, 50, {})).filter(({ target }) => target === id || target === dispute.id);
  expect((await told())[0]).toMatchObject({ action: "note-dispute", detail: { amount: 2300, currency: "eur", undecided: 1 } });
  const metrics = async () => (await fetch(`${bed.harness.url}/metrics`)).text();
  expect(await metrics()).toContain("genrouter_reversals_undecided 1");
  const by = { kind: "command", id: "0", name: "root" } as const;
  const decision = { ...decideMutation(dispute.id, 2500), reason: "all of it", by, atMs: bed.harness.clock.nowMs() };
  expect(await bed.harness.rooms.post(decision)).toEqual({ kind: "done", credits: -2500 });
  expect(await standing()).toEqual([0, 0, false]);
  expect((await ask()).status).toBe(404);
  expect((await told())[0]).toMatchObject({ action: "decide-reversal", detail: { credits: 2500, reason: "all of it" } });
  expect(await metrics()).toContain("genrouter_reversals_undecided 0");
  // Won after all: what was taken is given back.
  expect(await send(later(bed.stripe.event("charge.dispute.closed", { ...dispute, status: "won" }), 60))).toBe(200);
  expect(await standing()).toEqual([2500, 0, false]);
});

test("S14: a dispute that was won and is lost later takes back, whatever comes how often and in which order", async () => {
  const { payment } = await bought();
  const created = bed.stripe.dispute("created", payment, 2500, "needs_response");
  const won = [bed.stripe.dispute("closed", payment, 2500, "won"), bed.stripe.dispute("funds_reinstated", payment, 2500, "won")];
  const lost = [bed.stripe.dispute("funds_withdrawn", payment, 2500, "won"), bed.stripe.dispute("closed", payment, 2500, "lost")];
  expect(await send(created)).toBe(200);
  expect(await standing()).toEqual([0, 0, false]);
  for (const event of won) expect(await send(later(event, 30))).toBe(200);
  expect(await standing()).toEqual([2500, 0, false]);
  for (const event of lost) expect(await send(later(event, 90))).toBe(200);
  expect(await standing()).toEqual([0, 0, false]);
  // Stripe repeats itself for days, and not in order.
  for (const event of [created, ...won.map((one) => later(one, 30)), ...lost.map((one) => later(one, 90))].reverse())
    expect(await send(event)).toBe(200);
  expect(await standing()).toEqual([0, 0, false]);
});
