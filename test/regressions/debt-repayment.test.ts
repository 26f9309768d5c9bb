// A release pays the debt of an account first, and an account with debt cannot hold credits.
import { afterEach, expect, test } from "bun:test";
import { codeOf, messageOf } from "../api/harness.ts";
import { deliver, openStripe, type StripeServer } from "../billing/stripe-server.ts";
import { type GenerationResource, type Harness, openHarness } from "../harness.ts";
import { BUYER } from "../store/purchases.ts";

let stripe: StripeServer;
let harness: Harness;
const open = async () => {
  stripe = openStripe();
  harness = await openHarness({ env: stripe.env });
  return harness.newTenant(0);
};
afterEach(async () => {
  // close() verifies the invariants after every test.
  await harness.close();
  await stripe.stop();
});

const MODEL = "vidmodel-2.0-fast";
/** Quoted 0.20 USD, 0.28 reserved. */
const INPUT = { prompt: "a kite", resolution: "480p", duration: 4 };
const RESERVE = 28;

const scene = async () => {
  const tenant = await open();
  const send = async (event: Parameters<typeof deliver>[1]) => expect((await deliver(harness.url, event)).status).toBe(200);
  const buy = async (usd: number): Promise<string> => {
    const { purchaseId } = await harness.components.checkout.buy({ accountId: tenant.accountId, by: BUYER, usd });
    await send(stripe.pay(purchaseId));
    return stripe.sessionOf(purchaseId).payment_intent ?? "";
  };
  const request = (input: object) =>
    harness.request("POST", "/v1/generations", { key: tenant.key, body: { model: MODEL, input: { ...INPUT, ...input } } });
  return {
    ...{ tenant, send, buy, ask: request },
    submit: async (prompt: string): Promise<GenerationResource> => {
      const answer = await request({ prompt });
      expect(answer.status).toBe(202);
      return answer.body as unknown as GenerationResource;
    },
    /** Available, held, charged, owed, paused. */
    standing: async () => {
      const row = await harness.store.account(tenant.accountId);
      return [row?.availableCredits, row?.heldCredits, row?.chargedCredits, row?.owedCredits, row?.paused];
    },
    spend: (credits: number) =>
      harness.components.post({
        ...{ mutation: "credit", accountSeq: tenant.accountSeq, kind: "adjust", credits: -credits, note: "spent" },
        ...{ reference: null, atMs: harness.clock.nowMs() },
      }),
    unpause: () => harness.components.post({ mutation: "set-account", accountSeq: tenant.accountSeq, paused: false }),
  };
};
/** A job that ends without a result after its timeout. */
const STUCK = { fault: "stuck", prompt: "stands" } as const;

test("releases of failed generations pay the debt after a dispute, and a submission is rejected with 402", async () => {
  const { tenant, buy, submit, send, standing, spend, unpause, ask: request } = await scene();
  const payment = await buy(10);
  await spend(1000 - 3 * RESERVE);
  const made = [];
  for (let n = 0; n < 3; n += 1)
    made.push(await submit("fails [sim:fail-later] [sim:fal:fail-later] [sim:replicate:fail-later]"));
  await send(stripe.dispute("created", payment, 1000, "needs_response"));
  await unpause();
  for (const { id } of made)
    await harness.eventually(async () => (await harness.store.generationById(id, tenant.accountSeq))?.status === "failed");
  // The dispute takes 10.00 USD back. The part that was already spent remains as debt.
  expect(await standing()).toEqual([0, 0, 0, 1000 - 3 * RESERVE, false]);
  const refused = await request({});
  expect([refused.status, codeOf(refused)]).toEqual([402, "insufficient_credits"]);
  expect(messageOf(refused)).toBe(
    "9.16 USD of debt is open, because spent credits were reversed; add at least this amount before new submissions.",
  );
});

test("a release that exceeds the debt pays it, unpauses the account and leaves the rest available", async () => {
  const { tenant, buy, submit, send, standing, spend } = await scene();
  const payment = await buy(10);
  harness.simulator.script(STUCK);
  const { id } = await submit("stands");
  await spend(1000 - RESERVE);
  await send(stripe.refund(payment, 20).created);
  expect(await standing()).toEqual([0, RESERVE, 0, 20, true]);
  harness.clock.skip(24 * 3_600_000);
  await harness.eventually(async () => (await harness.store.generationById(id, tenant.accountSeq))?.status === "failed");
  expect(await standing()).toEqual([RESERVE - 20, 0, 0, 0, false]);
  expect((await harness.request("GET", `/v1/generations/${id}`, { key: tenant.key })).status).toBe(200);
  const [settled, released] = await harness.store.transfers(tenant.accountId, null, 2);
  expect(released).toMatchObject({ kind: "release", credits: RESERVE, generationId: id });
  expect(settled).toMatchObject({ kind: "adjust", credits: 20, from: "available", note: "settles what was owed" });
});

test("an account with debt cannot submit a generation after an operator unpaused it", async () => {
  const { buy, send, standing, spend, unpause, ask: request, tenant } = await scene();
  const payment = await buy(10);
  await spend(300);
  await send(stripe.dispute("created", payment, 1000, "lost"));
  expect(await standing()).toEqual([0, 0, 0, 300, true]);
  await unpause();
  await buy(10);
  expect(await standing()).toEqual([700, 0, 0, 0, false]);
  await send(
    stripe.refund(
      stripe.sessionOf((await harness.store.purchases(tenant.accountId, null, 1))[0]?.id ?? "").payment_intent ?? "",
      900,
    ).created,
  );
  await unpause();
  expect(await standing()).toEqual([0, 0, 0, 200, false]);
  expect((await request({})).status).toBe(402);
  // The rejection also comes before the input link is opened.
  const early = await request({ image_url: "https://media.example/picture.png" });
  expect([early.status, messageOf(early)]).toEqual([402, expect.stringContaining("2.00 USD of debt is open")]);
  expect(await standing()).toEqual([0, 0, 0, 200, false]);
});
