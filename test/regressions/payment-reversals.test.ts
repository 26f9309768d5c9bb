// Reversals in another currency wait for an operator, and a won dispute can still be lost.
import { expect, test } from "bun:test";
import { openBed } from "../billing/fixture.ts";
import type { Event } from "../billing/stripe-server.ts";
import { decideMutation } from "../store/purchases.ts";

const bed = openBed();
const { bought, buy, send, standing, lines } = bed;
const DAY_S = 86_400;
/** The same event, created `days` later. */
const later = (event: Event, days: number): Event => ({ ...event, created: event.created + days * DAY_S });

test("a checkout disables adaptive pricing so that all payments are in the same currency", async () => {
  const id = await buy();
  const asked = bed.stripe.asked.filter(({ form }) => form["metadata[purchase_id]"] === id);
  expect(asked).toHaveLength(1);
  expect(asked[0]?.form["adaptive_pricing[enabled]"]).toBe("false");
});

test("a dispute in EUR pauses the account and is reported until an operator decides how much to take back", async () => {
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
  // The balance is unchanged, and the account cannot spend.
  expect(await standing()).toEqual([2500, 0, true]);
  const request = () => bed.harness.request("GET", "/v1/generations/gen_x", { key: bed.tenant.key });
  expect((await request()).status).toBe(403);
  expect(await bed.harness.store.undecidedReversals(9)).toMatchObject([
    { id: `dp_${payment}`, purchaseId: id, amount: 2300, currency: "eur", accountId: bed.tenant.accountId },
  ]);
  expect(lines("reversal undecided").filter(({ purchase_id }) => purchase_id === id)).toHaveLength(1);
  const reported = async () =>
    (await bed.harness.store.audit(null, 50, {})).filter(({ target }) => target === id || target === dispute.id);
  expect((await reported())[0]).toMatchObject({
    action: "note-dispute",
    detail: { amount: 2300, currency: "eur", undecided: 1 },
  });
  const metrics = async () => (await fetch(`${bed.harness.url}/metrics`)).text();
  expect(await metrics()).toContain("genrouter_reversals_undecided 1");
  const by = { kind: "command", id: "0", name: "root" } as const;
  const decision = { ...decideMutation(dispute.id, 2500), reason: "all of it", by, atMs: bed.harness.clock.nowMs() };
  expect(await bed.harness.components.post(decision)).toMatchObject({ kind: "done", credits: -2500 });
  expect(await standing()).toEqual([0, 0, false]);
  expect((await request()).status).toBe(404);
  expect((await reported())[0]).toMatchObject({ action: "decide-reversal", detail: { credits: 2500, reason: "all of it" } });
  expect(await metrics()).toContain("genrouter_reversals_undecided 0");
  // The dispute is won later, so the credits are returned.
  expect(await send(later(bed.stripe.event("charge.dispute.closed", { ...dispute, status: "won" }), 60))).toBe(200);
  expect(await standing()).toEqual([2500, 0, false]);
});

test("a won dispute that is lost later takes the credits back once, for repeated and reordered events", async () => {
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
  // Stripe repeats events for days and in any order.
  for (const event of [created, ...won.map((one) => later(one, 30)), ...lost.map((one) => later(one, 90))].reverse())
    expect(await send(event)).toBe(200);
  expect(await standing()).toEqual([0, 0, false]);
});
