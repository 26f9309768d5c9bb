// Balance, usage and ledger over HTTP: equal to the ledger, for keys without limits, in pages and as CSV.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { hashApiKey, newApiKey, newId } from "../../src/domain/ids.ts";
import type { JsonObject, KeyTerms } from "../../src/domain/types.ts";
import type { Harness, ParsedResponse, Tenant } from "../harness.ts";
import { codeOf, messageOf, openApiHarness } from "./harness.ts";

let harness: Harness;
let tenant: Tenant;
let limited: Tenant;
let reader: Tenant;
const NONE = { day: null, week: null, month: null };

const keyWith = async ({ accountSeq, accountId }: Tenant, terms: Partial<KeyTerms>, scope: "generate" | "read" = "generate") => {
  const [key, keyId] = [newApiKey("test"), newId("key")];
  const made = { id: keyId, accountSeq, scope, name: "second", hash: hashApiKey(key), start: key.slice(0, 12) } as const;
  const whole = { expiresAtMs: null, models: null, limits: NONE, ...terms };
  await harness.components.post({ mutation: "create-key", ...made, terms: whole, atMs: harness.clock.nowMs() });
  return { accountSeq, accountId, key, keyId };
};
const read = (path: string, { key } = tenant, headers: Record<string, string> = {}) =>
  harness.request("GET", path, { key, headers });
const submit = async (model: string, { key }: Tenant, prompt = "a kite") => {
  const { body } = await harness.request("POST", "/v1/generations", { key, body: { model, input: { prompt } } });
  return harness.until(String(body.id), undefined, key);
};
const data = ({ body }: ParsedResponse) => body.data as JsonObject[];

beforeAll(async () => {
  harness = await openApiHarness();
  tenant = await harness.newTenant(10_000);
  limited = await keyWith(tenant, { limits: { ...NONE, day: 500, month: 700 } });
  reader = await keyWith(tenant, {}, "read");
  await submit("sim-image-1", harness.tenant);
  await submit("sim-image-1", tenant);
  await submit("vidmodel-2.0-mini", limited);
  await submit("sim-image-1", limited, "[sim:fail]");
});
afterAll(() => harness.close());

describe("the balance", () => {
  test("is that of the account, and a key that only reads may request it", async () => {
    const { available, held } = await harness.balance(tenant);
    const { status, body } = await read("/v1/balance", reader);
    expect([status, body]).toEqual([
      200,
      {
        object: "balance",
        ...{
          balance_usd: (available + held) / 100,
          held_usd: held / 100,
          available_usd: available / 100,
          owed_usd: 0,
          limits: [],
        },
      },
    ]);
  });

  test("shows the limits of the key with what is spent, left, and the time of the reset", async () => {
    const spent = (await harness.store.keySpend(harness.clock.nowMs())).get(limited.keyId)?.windows?.day ?? 0;
    expect(spent).toBeGreaterThan(0);
    const { limits } = (await read("/v1/balance", limited)).body;
    expect(limits).toEqual([
      {
        ...{ window: "day", limit_usd: 5, spent_usd: spent / 100, left_usd: (500 - spent) / 100 },
        resets_at: "2026-10-20T00:00:00.000Z",
      },
      {
        ...{ window: "month", limit_usd: 7, spent_usd: spent / 100, left_usd: (700 - spent) / 100 },
        resets_at: "2026-11-01T00:00:00.000Z",
      },
    ]);
  });
});

describe("the usage", () => {
  test("sums the ended generations by day, by model and by key, with one total", async () => {
    const { charged } = await harness.balance(tenant);
    const sums = async (query: string, name: string) => {
      const { status, body } = await read(`/v1/usage?from=2026-10-18&to=2026-10-20&${query}`, reader);
      expect([status, body.object, body.group_by]).toEqual([200, "usage", name]);
      expect(body.total).toMatchObject({ generations: 3, succeeded: 2, failed: 1, charged_usd: charged / 100 });
      return (body.data as JsonObject[]).map((item) => [item[name], item.generations, item.failed]);
    };
    expect(await sums("", "day")).toEqual([
      ["2026-10-18", 0, 0],
      ["2026-10-19", 3, 1],
      ["2026-10-20", 0, 0],
    ]);
    expect((await sums("group_by=model", "model")).toSorted()).toEqual([
      ["sim-image-1", 2, 1],
      ["vidmodel-2.0-mini", 1, 0],
    ]);
    expect((await sums("group_by=key", "key")).toSorted()).toEqual(
      [
        [tenant.keyId, 1, 0],
        [limited.keyId, 2, 1],
      ].toSorted(),
    );
    const [first] = data(await read("/v1/usage?group_by=key&from=2026-10-19&to=2026-10-19"));
    expect(first).toHaveProperty("name");
  });
});

describe("the ledger", () => {
  test("has every transfer once, newest first, in pages of any size, and its balances follow one another", async () => {
    const stored = await harness.store.transfers(tenant.accountId, null, 100);
    for (const limit of [1, 4, 100]) {
      const entries: JsonObject[] = [];
      for (let after = ""; ; ) {
        const page = await read(`/v1/ledger?limit=${limit}${after === "" ? "" : `&after=${after}`}`, reader);
        expect(page.status).toBe(200);
        entries.push(...data(page));
        expect(page.body.has_more).toBe(page.body.next !== null);
        if (page.body.next === null) break;
        after = String(page.body.next);
      }
      expect(entries.map(({ number, kind, generation }) => [number, kind, generation])).toEqual(
        stored.map(({ chainSeq, kind, generationId }) => [chainSeq, kind, generationId]),
      );
      for (const [at, { balance_usd, change_usd }] of entries.entries()) {
        const before = entries[at + 1]?.balance_usd ?? 0;
        expect(Number(balance_usd)).toBeCloseTo(Number(before) + Number(change_usd), 6);
      }
    }
    expect(data(await read("/v1/ledger?kind=capture")).map(({ kind }) => kind)).toEqual(["capture", "capture"]);
    expect(data(await read("/v1/ledger?created_before=2026-10-19T00:00:00Z"))).toEqual([]);
  });

  test.each([
    ["text/csv", true],
    ["text/csv;q=0.5, application/json", false],
    ["application/json, text/csv", true],
    ["text/csv;q=0", false],
    ["*/*", false],
  ])("is CSV for Accept: %s: %p", async (accept, isCsv) => {
    const answered = await read("/v1/ledger?kind=topup", tenant, { accept });
    expect([answered.status, answered.headers.get("vary")]).toEqual([200, "Accept"]);
    expect(answered.headers.get("content-type")).toBe(isCsv ? "text/csv; charset=utf-8" : "application/json");
    if (!isCsv) return;
    const [head, row, ...others] = answered.text.trimEnd().split("\r\n");
    expect([head, others]).toEqual([
      "n,time,kind,amount_usd,change_usd,balance_usd,available_usd,held_usd,generation,purchase,note",
      [],
    ]);
    expect(row).toMatch(/^1,2026-10-19T[\d:.]+Z,topup,100\.00,100\.00,100\.00,100\.00,0\.00,,,test$/);
  });

  test("rejects a cursor that was made up, of another account, or of other filters, with one message", async () => {
    const own = (await read("/v1/ledger?limit=1")).body.next;
    const other = (await read("/v1/ledger?limit=1", harness.tenant)).body.next;
    for (const query of [`after=${other}`, `after=${own}&kind=topup`, "after=cur_1_AAAAAAAAAAAAAAAAAAAAAA", "after=5"]) {
      const answered = await read(`/v1/ledger?${query}`);
      expect([answered.status, messageOf(answered)]).toEqual([
        400,
        "after: must be next of a page of this list with the same filters.",
      ]);
    }
  });
});

test("usage and ledger are 403 for a key with limits or models", async () => {
  const allowlisted = await keyWith(tenant, { models: ["sim-image-1"] });
  for (const { key } of [limited, allowlisted])
    for (const path of ["/v1/usage", "/v1/ledger"]) {
      const answered = await harness.request("GET", path, { key });
      expect([answered.status, codeOf(answered)]).toEqual([403, "generation_not_enabled"]);
    }
});

test.each([
  ["/v1/balance?colour=red", /^"colour": unknown; the query takes nothing\.$/],
  ["/v1/usage?group_by=account", /^group_by: must be day, model, key or end_user\.$/],
  ["/v1/usage?from=yesterday", /^from: a day as 2026-10-19\.$/],
  ["/v1/usage?from=2024-01-01&to=2026-01-01", /^from: a day before to, and at most 400 days in all\.$/],
  ["/v1/ledger?kind=gift", /^kind: must be topup, hold, capture, release or adjust\.$/],
  ["/v1/ledger?limit=0", /^limit: must be a whole number from 1 to 100\.$/],
])("returns 400 for %s and names what is allowed", async (path, message) => {
  const answered = await read(path);
  expect([answered.status, codeOf(answered)]).toEqual([400, "invalid_request"]);
  expect(messageOf(answered)).toMatch(message);
});
