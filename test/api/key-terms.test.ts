// Tests of API key policies over HTTP: spend limits under concurrency, model allowlists, expiry, and the time of last use.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { hashApiKey, newApiKey, newId } from "../../src/domain/ids.ts";
import type { KeyTerms } from "../../src/domain/types.ts";
import type { Harness, ParsedResponse, Tenant } from "../harness.ts";
import { codeOf, messageOf, openApiHarness } from "./harness.ts";

const ORDER = { model: "vidmodel-2.0-mini", input: { prompt: "a kite", resolution: "480p", duration: 4 } };
/** The hold of the submission: the price of its most expensive route. */
const RESERVE = 16;
const NONE = { day: null, week: null, month: null };

const keyWith = async (harness: Harness, { accountSeq, accountId }: Tenant, terms: Partial<KeyTerms>): Promise<Tenant> => {
  const [key, keyId] = [newApiKey("test"), newId("key")];
  const made = { id: keyId, accountSeq, scope: "generate", name: "", hash: hashApiKey(key), start: key.slice(0, 12) } as const;
  const whole = { expiresAtMs: null, models: null, limits: NONE, ...terms };
  await harness.components.post({ mutation: "create-key", ...made, terms: whole, atMs: harness.clock.nowMs() });
  return { accountSeq, accountId, key, keyId };
};
const post = (harness: Harness, { key }: Tenant, more: { body?: unknown; idempotencyKey?: string } = {}) =>
  harness.request("POST", "/v1/generations", {
    key,
    body: more.body ?? ORDER,
    headers: more.idempotencyKey ? { "idempotency-key": more.idempotencyKey } : {},
  });
const tally = (answers: readonly ParsedResponse[]) =>
  Object.fromEntries(
    Map.groupBy(answers, (one) => `${one.status} ${codeOf(one)}`.trim())
      .entries()
      .map(([sort, { length }]) => [sort, length]),
  );

describe.each(["in this thread", "thread"] as const)("spend limits with a writer %s", (writer) => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await openApiHarness({ factor: 0, ...(writer === "thread" ? { writer } : {}) });
  });
  afterAll(() => harness.close());

  test("accept exactly as many of 60 concurrent submissions as the limit covers, and hold nothing for the others", async () => {
    const tenant = await harness.newTenant();
    const limited = await keyWith(harness, tenant, { limits: { ...NONE, day: 7 * RESERVE + RESERVE - 1 } });
    const answers = await Promise.all(Array.from({ length: 60 }, () => post(harness, limited)));
    expect(tally(answers)).toEqual({ "202": 7, "402 insufficient_credits": 53 });
    expect(await harness.balance(tenant)).toMatchObject({ held: 7 * RESERVE, inProgress: 7 });
    expect((await harness.store.keySpend(harness.clock.nowMs())).get(limited.keyId)?.windows?.day).toBe(7 * RESERVE);
  });

  test("accept exactly one of two concurrent submissions with an old and a rotated key when the limit covers one", async () => {
    const tenant = await harness.newTenant();
    for (let round = 0; round < 10; round++) {
      const old = await keyWith(harness, tenant, { limits: { ...NONE, month: RESERVE } });
      const key = newApiKey("test");
      const next = { id: newId("key"), hash: hashApiKey(key), start: key.slice(0, 12), atMs: harness.clock.nowMs() };
      await harness.components.post({ mutation: "rotate-key", keyId: old.keyId, overlapMs: 60_000, ...next });
      const answers = await Promise.all([post(harness, old), post(harness, { ...old, key })]);
      expect(tally(answers)).toEqual({ "202": 1, "402 insufficient_credits": 1 });
    }
  });
});

describe("an API key", () => {
  let harness: Harness;
  let tenant: Tenant;
  beforeEach(async () => {
    harness = await openApiHarness({ factor: 0 });
    tenant = await harness.newTenant();
  });
  afterEach(() => harness.close());

  test("above its limit receives 402 with the limit, the remainder and the reset time, and can still replay", async () => {
    const limited = await keyWith(harness, tenant, { limits: { ...NONE, week: 20 } });
    const first = await post(harness, limited, { idempotencyKey: "once" });
    expect(first.status).toBe(202);
    const refused = await post(harness, limited);
    expect([refused.status, codeOf(refused)]).toEqual([402, "insufficient_credits"]);
    expect(messageOf(refused)).toMatch(
      /^This key may spend 0\.20 USD a week: 0\.04 USD is left and 0\.16 USD must be; it resets at \d{4}-\d\d-\d\dT00:00:00Z\./,
    );
    const again = await post(harness, limited, { idempotencyKey: "once" });
    expect([again.status, again.body.id]).toEqual([200, first.body.id]);
    expect((await post(harness, tenant)).status).toBe(202);
  });

  test("with a model allowlist receives 403 with the allowed models for any other model, even an unknown one", async () => {
    const narrow = await keyWith(harness, tenant, { models: [ORDER.model, "vidmodel-2.5"] });
    for (const model of ["vidmodel-2.0", "no-such-model"]) {
      const refused = await post(harness, narrow, { body: { ...ORDER, model } });
      expect([refused.status, codeOf(refused)]).toEqual([403, "generation_not_enabled"]);
      expect(messageOf(refused)).toContain("vidmodel-2.0-mini, vidmodel-2.5");
    }
    expect((await post(harness, narrow, { idempotencyKey: "k" })).status).toBe(202);
    // A replay takes precedence over a later change of the allowlist.
    await harness.components.post({
      mutation: "set-key",
      keyId: narrow.keyId,
      models: ["vidmodel-2.5"],
      atMs: harness.clock.nowMs(),
    });
    expect((await post(harness, narrow)).status).toBe(403);
    expect((await post(harness, narrow, { idempotencyKey: "k" })).status).toBe(200);
  });

  test("is rejected with 401 on every endpoint from its expiry on, even if it was cached before", async () => {
    const fleeting = await keyWith(harness, tenant, { expiresAtMs: harness.clock.nowMs() + 1000 });
    const made = await post(harness, fleeting);
    expect(made.status).toBe(202);
    harness.clock.skip(1000);
    const refused = [
      await post(harness, fleeting),
      await harness.request("GET", `/v1/generations/${made.body.id}`, { key: fleeting.key }),
    ];
    expect(tally(refused)).toEqual({ "401 unauthorized": 2 });
    expect(messageOf(refused[0] as ParsedResponse)).toContain("has expired");
    expect((await harness.show(String(made.body.id), tenant.key)).id).toBe(String(made.body.id));
  });

  test("that expires while its submission waits for the ledger is rejected by the ledger", async () => {
    let hold: Promise<void> = Promise.resolve();
    const slow = await openApiHarness({
      factor: 0,
      around: (store) => ({ ...store, commit: (mutations) => hold.then(() => store.commit(mutations)) }),
    });
    const whose = await slow.newTenant();
    const { keyId, key } = await keyWith(slow, whose, {});
    // A mutation of the admin service is committed first; the submission that the server accepted waits behind it.
    let release: () => void = () => undefined;
    hold = new Promise((go) => {
      release = go;
    });
    const admin = slow.components.post({ mutation: "set-key", keyId, expiresAtMs: slow.clock.nowMs(), atMs: slow.clock.nowMs() });
    const answer = post(slow, { ...whose, key });
    await slow.eventually(() => slow.components.ledger.load().waiting === 1, "a waiting submission");
    release();
    await admin;
    expect([(await answer).status, codeOf(await answer)]).toEqual([401, "unauthorized"]);
    expect(await slow.balance(whose)).toMatchObject({ held: 0, inProgress: 0 });
    await slow.close();
  });

  test("has its latest use recorded once, also for requests that were rejected", async () => {
    const [used, poor] = [await keyWith(harness, tenant, {}), await keyWith(harness, tenant, { limits: { ...NONE, day: 1 } })];
    const lastUse = async () => new Map((await harness.store.keys()).map(({ id, lastUsedAtMs }) => [id, lastUsedAtMs]));
    await post(harness, used);
    harness.clock.skip(5000);
    expect((await post(harness, poor)).status).toBe(402);
    expect((await harness.request("GET", "/v1/generations/gen_x", { key: used.key })).status).toBe(404);
    const atMs = harness.clock.nowMs();
    expect((await lastUse()).get(used.keyId)).toBeNull();
    await harness.components.upkeep.noteKeyUse();
    expect(await lastUse()).toMatchObject(
      new Map([
        [tenant.keyId, null],
        [used.keyId, atMs],
        [poor.keyId, atMs],
      ]),
    );
    expect(harness.components.http.keyUse.unnotedUses()).toEqual([]);
  });
});

test("usage roll-up equals the charges of generations that were submitted over HTTP", async () => {
  const harness = await openApiHarness({ factor: 1000 });
  const tenant = await harness.newTenant();
  const made = await Promise.all(Array.from({ length: 12 }, () => post(harness, tenant)));
  for (const { body } of made)
    await harness.eventually(async () => (await harness.show(String(body.id), tenant.key)).completed_at);
  await harness.components.upkeep.rollUpUsage();
  const rows = await harness.store.usage({ fromDay: 0, toDay: 99_999, accountId: tenant.accountId, by: "key" });
  const sum = (of: (row: (typeof rows)[number]) => number) => rows.reduce((total, row) => total + of(row), 0);
  expect([sum((row) => row.succeeded), sum((row) => row.failed)]).toEqual([12, 0]);
  expect(sum((row) => row.chargedCredits)).toBe((await harness.balance(tenant)).charged);
  expect(new Set(rows.map(({ of }) => of))).toEqual(new Set([tenant.keyId]));
  expect(await harness.store.usageBehind()).toBe(0);
  await harness.close();
});
