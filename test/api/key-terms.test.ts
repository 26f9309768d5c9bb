// Keys are held to their terms over HTTP: limits that a race cannot break, models, expiry; and when they were last used is noted.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { hashApiKey, newApiKey, newId } from "../../src/domain/ids.ts";
import type { KeyTerms } from "../../src/domain/types.ts";
import type { Answered, House, Tenant } from "../harness.ts";
import { codeOf, messageOf, openApiHouse } from "./harness.ts";

const ORDER = { model: "vidmodel-2.0-mini", input: { prompt: "a kite", resolution: "480p", duration: 4 } };
/** What the order reserves: the dearest of its routes. */
const RESERVE = 16;
const NONE = { day: null, week: null, month: null };

const keyWith = async (house: House, { accountSeq, accountId }: Tenant, terms: Partial<KeyTerms>): Promise<Tenant> => {
  const [key, keyId] = [newApiKey("test"), newId("key")];
  const made = { id: keyId, accountSeq, scope: "generate", name: "", hash: hashApiKey(key), start: key.slice(0, 12) } as const;
  const whole = { expiresAtMs: null, models: null, limits: NONE, ...terms };
  await house.rooms.post({ deed: "create-key", ...made, terms: whole, atMs: house.clock.nowMs() });
  return { accountSeq, accountId, key, keyId };
};
const post = (house: House, { key }: Tenant, more: { body?: unknown; idempotencyKey?: string } = {}) =>
  house.ask("POST", "/v1/generations", {
    key,
    body: more.body ?? ORDER,
    headers: more.idempotencyKey ? { "idempotency-key": more.idempotencyKey } : {},
  });
const tally = (answers: readonly Answered[]) =>
  Object.fromEntries(
    Map.groupBy(answers, (one) => `${one.status} ${codeOf(one)}`.trim())
      .entries()
      .map(([sort, { length }]) => [sort, length]),
  );

describe.each(["in this thread", "thread"] as const)("over a store written %s", (writer) => {
  let house: House;
  beforeAll(async () => {
    house = await openApiHouse({ factor: 0, ...(writer === "thread" ? { writer } : {}) });
  });
  afterAll(() => house.close());

  test("60 submissions at once for what is left of a limit: as many as it covers are accepted, and nothing is held for the others", async () => {
    const tenant = await house.newTenant();
    const limited = await keyWith(house, tenant, { limits: { ...NONE, day: 7 * RESERVE + RESERVE - 1 } });
    const answers = await Promise.all(Array.from({ length: 60 }, () => post(house, limited)));
    expect(tally(answers)).toEqual({ "202": 7, "402 insufficient_credits": 53 });
    expect(await house.balance(tenant)).toMatchObject({ held: 7 * RESERVE, inProgress: 7 });
    expect((await house.store.keySpend(house.clock.nowMs())).get(limited.keyId)?.windows?.day).toBe(7 * RESERVE);
  });

  test("two for the last of a limit, one with an old and one with a rotated key: one wins, every time", async () => {
    const tenant = await house.newTenant();
    for (let round = 0; round < 10; round++) {
      const old = await keyWith(house, tenant, { limits: { ...NONE, month: RESERVE } });
      const key = newApiKey("test");
      const next = { id: newId("key"), hash: hashApiKey(key), start: key.slice(0, 12), atMs: house.clock.nowMs() };
      await house.rooms.post({ deed: "rotate-key", keyId: old.keyId, overlapMs: 60_000, ...next });
      const answers = await Promise.all([post(house, old), post(house, { ...old, key })]);
      expect(tally(answers)).toEqual({ "202": 1, "402 insufficient_credits": 1 });
    }
  });
});

describe("a key", () => {
  let house: House;
  let tenant: Tenant;
  beforeEach(async () => {
    house = await openApiHouse({ factor: 0 });
    tenant = await house.newTenant();
  });
  afterEach(() => house.close());

  test("above its limit is told which, what is left and when it begins anew; its replays are answered", async () => {
    const limited = await keyWith(house, tenant, { limits: { ...NONE, week: 20 } });
    const first = await post(house, limited, { idempotencyKey: "once" });
    expect(first.status).toBe(202);
    const refused = await post(house, limited);
    expect([refused.status, codeOf(refused)]).toEqual([402, "insufficient_credits"]);
    expect(messageOf(refused)).toMatch(
      /^This key may spend 0\.20 USD a week: 0\.04 USD is left and 0\.16 USD must be; it begins anew at \d{4}-\d\d-\d\dT00:00:00Z\./,
    );
    const again = await post(house, limited, { idempotencyKey: "once" });
    expect([again.status, again.body.id]).toEqual([200, first.body.id]);
    expect((await post(house, tenant)).status).toBe(202);
  });

  test("for some models is refused others by name, before it is asked whether there are such models", async () => {
    const narrow = await keyWith(house, tenant, { models: [ORDER.model, "vidmodel-2.5"] });
    for (const model of ["vidmodel-2.0", "no-such-model"]) {
      const refused = await post(house, narrow, { body: { ...ORDER, model } });
      expect([refused.status, codeOf(refused)]).toEqual([403, "generation_not_enabled"]);
      expect(messageOf(refused)).toContain("vidmodel-2.0-mini, vidmodel-2.5");
    }
    expect((await post(house, narrow, { idempotencyKey: "k" })).status).toBe(202);
    // A replay outranks what the key may since.
    await house.rooms.post({ deed: "set-key", keyId: narrow.keyId, models: ["vidmodel-2.5"], atMs: house.clock.nowMs() });
    expect((await post(house, narrow)).status).toBe(403);
    expect((await post(house, narrow, { idempotencyKey: "k" })).status).toBe(200);
  });

  test("is refused everywhere from the moment it expires, although it was known a moment before", async () => {
    const fleeting = await keyWith(house, tenant, { expiresAtMs: house.clock.nowMs() + 1000 });
    const made = await post(house, fleeting);
    expect(made.status).toBe(202);
    house.clock.skip(1000);
    const refused = [
      await post(house, fleeting),
      await house.ask("GET", `/v1/generations/${made.body.id}`, { key: fleeting.key }),
    ];
    expect(tally(refused)).toEqual({ "401 unauthorized": 2 });
    expect(messageOf(refused[0] as Answered)).toContain("has expired");
    expect((await house.show(String(made.body.id), tenant.key)).id).toBe(String(made.body.id));
  });

  test("that expires while its submission is on the way to the ledger is refused by the ledger", async () => {
    let hold: Promise<void> = Promise.resolve();
    const slow = await openApiHouse({
      factor: 0,
      around: (store) => ({ ...store, commit: (deeds) => hold.then(() => store.commit(deeds)) }),
    });
    const whose = await slow.newTenant();
    const { keyId, key } = await keyWith(slow, whose, {});
    // A deed of the office is written first: what the door has let in stands behind it.
    let release: () => void = () => undefined;
    hold = new Promise((go) => {
      release = go;
    });
    const office = slow.rooms.post({ deed: "set-key", keyId, expiresAtMs: slow.clock.nowMs(), atMs: slow.clock.nowMs() });
    const answer = post(slow, { ...whose, key });
    await slow.eventually(() => slow.rooms.ledger.load().waiting === 1, "a submission that waits");
    release();
    await office;
    expect([(await answer).status, codeOf(await answer)]).toEqual([401, "unauthorized"]);
    expect(await slow.balance(whose)).toMatchObject({ held: 0, inProgress: 0 });
    await slow.close();
  });

  test("that was used is noted with the latest time, once, whatever it was refused for", async () => {
    const [used, poor] = [await keyWith(house, tenant, {}), await keyWith(house, tenant, { limits: { ...NONE, day: 1 } })];
    const lastUse = async () => new Map((await house.store.keys()).map(({ id, lastUsedAtMs }) => [id, lastUsedAtMs]));
    await post(house, used);
    house.clock.skip(5000);
    expect((await post(house, poor)).status).toBe(402);
    expect((await house.ask("GET", "/v1/generations/gen_x", { key: used.key })).status).toBe(404);
    const atMs = house.clock.nowMs();
    expect((await lastUse()).get(used.keyId)).toBeNull();
    await house.rooms.upkeep.noteKeyUse();
    expect(await lastUse()).toMatchObject(
      new Map([
        [tenant.keyId, null],
        [used.keyId, atMs],
        [poor.keyId, atMs],
      ]),
    );
    expect(house.rooms.http.keyUse.unnotedUses()).toEqual([]);
  });
});

test("usage is rolled up behind generations that end over HTTP, and equals what they were charged", async () => {
  const house = await openApiHouse({ factor: 1000 });
  const tenant = await house.newTenant();
  const made = await Promise.all(Array.from({ length: 12 }, () => post(house, tenant)));
  for (const { body } of made) await house.eventually(async () => (await house.show(String(body.id), tenant.key)).completed_at);
  await house.rooms.upkeep.rollUpUsage();
  const rows = await house.store.usage({ fromDay: 0, toDay: 99_999, accountId: tenant.accountId, by: "key" });
  const sum = (of: (row: (typeof rows)[number]) => number) => rows.reduce((total, row) => total + of(row), 0);
  expect([sum((row) => row.succeeded), sum((row) => row.failed)]).toEqual([12, 0]);
  expect(sum((row) => row.chargedCredits)).toBe((await house.balance(tenant)).charged);
  expect(new Set(rows.map(({ of }) => of))).toEqual(new Set([tenant.keyId]));
  expect(await house.store.usageBehind()).toBe(0);
  await house.close();
});
