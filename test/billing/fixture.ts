// A service with purchases through a fake Stripe server, and a new account for each test.
import { afterAll, beforeAll, beforeEach } from "bun:test";
import { StoreFull } from "../../src/domain/commit-errors.ts";
import type { Store } from "../../src/store/store.ts";
import { type Harness, openHarness, type Tenant } from "../harness.ts";
import { BUYER } from "../store/purchases.ts";
import { deliver, openStripe, type StripeServer } from "./stripe-server.ts";

type Send = Parameters<typeof deliver> extends [string, ...infer Rest] ? Rest : never;

/** Opens the service before the tests of a file and closes it after them. */
export const openBed = () => {
  let stripe: StripeServer;
  let harness: Harness;
  let tenant: Tenant;
  let isFull = false;
  const around = (store: Store): Store => ({
    ...store,
    commit: (mutations) => (isFull ? Promise.reject(new StoreFull("the disk is full")) : store.commit(mutations)),
  });
  beforeAll(async () => {
    stripe = openStripe();
    harness = await openHarness({ env: stripe.env, around });
  });
  beforeEach(async () => {
    stripe.be("well");
    tenant = await harness.newTenant(0);
  });
  afterAll(async () => {
    await harness.close();
    await stripe.stop();
  });
  /** Opens a purchase. @returns its id */
  const buy = async (usd = 25): Promise<string> =>
    (await harness.components.checkout.buy({ accountId: tenant.accountId, by: BUYER, usd })).purchaseId;
  /** Delivers an event. @returns the status of the response */
  const send = async (...args: Send): Promise<number> => (await deliver(harness.url, ...args)).status;
  return {
    get stripe() {
      return stripe;
    },
    get harness() {
      return harness;
    },
    get tenant() {
      return tenant;
    },
    /** Fills the disk or frees it. */
    fill: (full: boolean) => {
      isFull = full;
    },
    buy,
    send,
    /** Opens a purchase and pays it. */
    bought: async (usd = 25): Promise<{ id: string; payment: string }> => {
      const id = await buy(usd);
      if ((await send(stripe.pay(id))) !== 200) throw new Error("a payment was not accepted");
      return { id, payment: stripe.sessionOf(id).payment_intent ?? "" };
    },
    /** Withdraws credits from the account. */
    spend: async (credits: number): Promise<void> => {
      const adjust = { mutation: "credit", accountSeq: tenant.accountSeq, kind: "adjust", credits: -credits } as const;
      await harness.components.post({ ...adjust, note: "spent", reference: null, atMs: harness.clock.nowMs() });
    },
    /** Available credits, owed credits and whether the account is paused. */
    standing: async () => {
      const row = await harness.store.account(tenant.accountId);
      return [row?.availableCredits, row?.owedCredits, row?.paused];
    },
    stateOf: async (id: string) => (await harness.store.purchase(id))?.state,
    /** The fields of every log line of an event. */
    lines: (event: string) => harness.lines.filter((line) => line.event === event).map(({ fields }) => fields),
  };
};
