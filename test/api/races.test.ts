// Tests of concurrent submissions: idempotency keys, balance and limits are exact.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { Harness, ParsedResponse, Tenant } from "../harness.ts";
import { codeOf, openApiHarness } from "./harness.ts";

const AT_ONCE = 50;
const ORDER = { model: "vidmodel-2.0-mini", input: { prompt: "a kite", resolution: "480p", duration: 4 } };
/** The hold of the submission: the price of its most expensive route. */
const RESERVE = 16;

/** One harness for each kind of writer. Every test creates its own accounts. */
const harnesses = new Map<string, Harness>();
let harness: Harness;
beforeAll(async () => {
  harnesses.set("with a writer on the main thread", await openApiHarness({ factor: 0 }));
  harnesses.set("with a writer in a worker thread", await openApiHarness({ factor: 0, writer: "thread" }));
});
afterAll(async () => {
  for (const each of harnesses.values()) await each.close();
});

const post = (tenant: Tenant, n: number, more: { key?: string; body?: unknown } = {}) =>
  harness.request("POST", "/v1/generations", {
    key: tenant.key,
    body: more.body ?? ORDER,
    headers: { "x-request-id": `n-${n}`, ...(more.key ? { "idempotency-key": more.key } : {}) },
  });
const atOnce = (send: (n: number) => Promise<ParsedResponse>) => Promise.all(Array.from({ length: AT_ONCE }, (_, n) => send(n)));
/** The number of responses of each kind, e.g. `{ "202": 10, "402 insufficient_credits": 40 }`. */
const tally = (answers: readonly ParsedResponse[]) => {
  const counts: Record<string, number> = {};
  for (const answered of answers) {
    const sort = `${answered.status} ${codeOf(answered)}`.trim();
    counts[sort] = (counts[sort] ?? 0) + 1;
  }
  return counts;
};
const idsOf = (answers: readonly ParsedResponse[]) =>
  new Set(answers.flatMap(({ body }) => (body.id === undefined ? [] : [body.id])));
const generationsOf = async (tenant: Tenant) =>
  (await harness.store.unfinished(0, 1000)).filter(({ accountSeq }) => accountSeq === tenant.accountSeq).length;

describe.each(["with a writer on the main thread", "with a writer in a worker thread"])("%s", (name) => {
  beforeEach(() => {
    const named = harnesses.get(name);
    if (named) harness = named;
  });

  test("creates one generation for 50 submissions with one idempotency key: one 202 and 49 times 200", async () => {
    const tenant = await harness.newTenant();
    const answers = await atOnce((n) => post(tenant, n, { key: "once" }));
    expect(tally(answers)).toEqual({ "202": 1, "200": AT_ONCE - 1 });
    expect(idsOf(answers).size).toBe(1);
    expect(await generationsOf(tenant)).toBe(1);
    expect(await harness.balance(tenant)).toMatchObject({ held: RESERVE, inProgress: 1 });
    expect(tally([await post(tenant, 50, { key: "once", body: { ...ORDER, max_wait_s: 60 } })])).toEqual({
      "409 idempotency_conflict": 1,
    });
  });

  test("returns 409 for every submission whose body differs from the first one committed under its key", async () => {
    const tenant = await harness.newTenant();
    const other = { ...ORDER, input: { ...ORDER.input, duration: 5 } };
    const answers = await atOnce((n) => post(tenant, n, { key: "once", body: n % 2 === 0 ? ORDER : other }));
    expect(tally(answers)).toEqual({ "202": 1, "200": AT_ONCE / 2 - 1, "409 idempotency_conflict": AT_ONCE / 2 });
    expect(idsOf(answers).size).toBe(1);
    expect(await generationsOf(tenant)).toBe(1);
  });

  test("scopes an idempotency key to its account", async () => {
    const [tenant, stranger] = [await harness.newTenant(), await harness.newTenant()];
    const answers = await atOnce((n) => post(n % 2 === 0 ? tenant : stranger, n, { key: "once" }));
    expect(tally(answers)).toEqual({ "202": 2, "200": AT_ONCE - 2 });
    expect(await Promise.all([generationsOf(tenant), generationsOf(stranger)])).toEqual([1, 1]);
  });

  test("accepts 10 of 50 submissions with a balance for 10, and rejects 40", async () => {
    const tenant = await harness.newTenant(10 * RESERVE + RESERVE - 1);
    const answers = await atOnce((n) => post(tenant, n));
    expect(tally(answers)).toEqual({ "202": 10, "402 insufficient_credits": AT_ONCE - 10 });
    expect(idsOf(answers).size).toBe(10);
    expect(await harness.balance(tenant)).toEqual({ available: RESERVE - 1, held: 10 * RESERVE, charged: 0, inProgress: 10 });
  });

  test("accepts 7 of 50 submissions of an account with an in-progress limit of 7", async () => {
    const tenant = await harness.newTenant();
    await harness.components.post({ mutation: "set-account", accountSeq: tenant.accountSeq, inProgressLimit: 7 });
    const answers = await atOnce((n) => post(tenant, n));
    expect(tally(answers)).toEqual({ "202": 7, "429 concurrency_limit": AT_ONCE - 7 });
    expect(await harness.balance(tenant)).toMatchObject({ held: 7 * RESERVE, inProgress: 7 });
  });

  test("accepts 9 of 50 requests of an account with a rate limit of 9 per second", async () => {
    const tenant = await harness.newTenant();
    await harness.components.post({ mutation: "set-account", accountSeq: tenant.accountSeq, burstPerS: 9 });
    expect(tally(await atOnce((n) => post(tenant, n)))).toEqual({ "202": 9, "429 rate_limited": AT_ONCE - 9 });
  });

  test("accepts an idempotency key once after a top-up when 50 submissions with it were rejected for a low balance", async () => {
    const tenant = await harness.newTenant(RESERVE - 1);
    expect(tally(await atOnce((n) => post(tenant, n, { key: "once" })))).toEqual({ "402 insufficient_credits": AT_ONCE });
    const { accountSeq } = tenant;
    await harness.components.post({
      mutation: "credit",
      accountSeq,
      kind: "topup",
      credits: 1,
      note: "",
      reference: null,
      atMs: 0,
    });
    expect(tally(await atOnce((n) => post(tenant, n, { key: "once" })))).toEqual({ "202": 1, "200": AT_ONCE - 1 });
    expect(await harness.balance(tenant)).toMatchObject({ available: 0, held: RESERVE, inProgress: 1 });
  });
});
