// The list of generations over HTTP: pages, filters, limited keys, and cursors that were made up.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { generationId, hashApiKey, newApiKey, newId } from "../../src/domain/ids.ts";
import type { JsonObject, KeyTerms } from "../../src/domain/types.ts";
import type { Harness, ParsedResponse, Tenant } from "../harness.ts";
import { codeOf, messageOf, openApiHarness } from "./harness.ts";

let harness: Harness;
let tenant: Tenant;
let limited: Tenant;
/** Ids of the account's generations, newest first. */
const ids: string[] = [];
const ofLimited: string[] = [];

const keyWith = async ({ accountSeq, accountId }: Tenant, terms: Partial<KeyTerms>): Promise<Tenant> => {
  const [key, keyId] = [newApiKey("test"), newId("key")];
  const made = { id: keyId, accountSeq, scope: "generate", name: "", hash: hashApiKey(key), start: key.slice(0, 12) } as const;
  const whole = { expiresAtMs: null, models: null, limits: { day: null, week: null, month: null }, ...terms };
  await harness.components.post({ mutation: "create-key", ...made, terms: whole, atMs: harness.clock.nowMs() });
  return { accountSeq, accountId, key, keyId };
};
const submit = async (model: string, { key }: Tenant, prompt = "a kite") => {
  const answered = await harness.request("POST", "/v1/generations", { key, body: { model, input: { prompt } } });
  expect(answered.status).toBe(202);
  return String(answered.body.id);
};
const list = (query = "", { key }: Pick<Tenant, "key"> = tenant) => harness.request("GET", `/v1/generations${query}`, { key });
const idsIn = ({ body }: ParsedResponse) => (body.data as JsonObject[]).map(({ id }) => String(id));
/** The ids of all pages. */
const pages = async (query: string, as: Pick<Tenant, "key"> = tenant): Promise<string[]> => {
  const all: string[] = [];
  for (let after = ""; ; ) {
    const answered = await list(`?${query}${after === "" ? "" : `&after=${after}`}`, as);
    expect(answered.status).toBe(200);
    all.push(...idsIn(answered));
    const { has_more, next } = answered.body;
    expect(has_more).toBe(next !== null);
    if (next === null) return all;
    after = String(next);
  }
};

const MODELS = ["sim-image-1", "vidmodel-2.0-mini"];
beforeAll(async () => {
  harness = await openApiHarness();
  tenant = await harness.newTenant();
  limited = await keyWith(tenant, { models: ["sim-image-1"] });
  await submit("sim-image-1", harness.tenant);
  for (let n = 0; n < 7; n += 1) {
    const isLimited = n % 3 === 0;
    const model = isLimited ? "sim-image-1" : (MODELS[n % 2] ?? "");
    const id = await submit(model, isLimited ? limited : tenant, n === 4 ? "[sim:fail]" : "a kite");
    ids.unshift(id);
    if (isLimited) ofLimited.unshift(id);
  }
  for (const id of ids) await harness.until(id, undefined, tenant.key);
});
afterAll(() => harness.close());

test("lists the generations of the account as polls show them, newest first", async () => {
  const answered = await list();
  expect([answered.status, idsIn(answered)]).toEqual([200, ids]);
  expect(answered.body).toMatchObject({ object: "list", has_more: false, next: null });
  for (const shown of answered.body.data as JsonObject[])
    expect(shown).toEqual({ ...(await harness.show(String(shown.id), tenant.key)) });
});

test("continues with after without a gap or a repetition, also after new generations", async () => {
  for (const limit of [1, 2, 6, 7]) expect(await pages(`limit=${limit}`)).toEqual(ids);
  const first = await list("?limit=3");
  expect(first.body).toMatchObject({ has_more: true, next: ids[2] ?? "" });
  const late = await submit("sim-image-1", tenant);
  await harness.until(late, undefined, tenant.key);
  ids.unshift(late);
  expect(idsIn(await list(`?after=${first.body.next}`))).toEqual(ids.slice(4));
});

test("filters by status, by model and by time, alone and together", async () => {
  const shown = await Promise.all(ids.map((id) => harness.show(id, tenant.key)));
  const matching = (matches: (one: JsonObject) => boolean) =>
    shown.filter((one) => matches({ ...one } as unknown as JsonObject)).map(({ id }) => id);
  const middle = String(shown[3]?.created_at);
  for (const limit of [1, 3, 20]) {
    const all = (query: string) => pages(`limit=${limit}&${query}`);
    for (const status of ["queued", "running", "succeeded", "failed"])
      expect([status, await all(`status=${status}`)]).toEqual([status, matching((one) => one.status === status)]);
    for (const model of [...MODELS, "left-the-catalogue"])
      expect([model, await all(`model=${model}`)]).toEqual([model, matching((one) => one.model === model)]);
    expect(await all(`created_after=${middle}`)).toEqual(matching((one) => String(one.created_at) > middle));
    expect(await all(`created_before=${middle}`)).toEqual(matching((one) => String(one.created_at) < middle));
    expect(await all(`created_before=${middle}&model=sim-image-1&status=succeeded`)).toEqual(
      matching((one) => String(one.created_at) < middle && one.model === "sim-image-1" && one.status === "succeeded"),
    );
  }
});

test("lists for a key with limits or models only what the key made", async () => {
  for (const limit of [1, 20]) expect(await pages(`limit=${limit}`, limited)).toEqual(ofLimited);
  const budget = await keyWith(tenant, { limits: { day: 1000, week: null, month: null } });
  expect(await pages("limit=20", budget)).toEqual([]);
  const reader = await harness.newTenant(0, "read");
  expect(idsIn(await list("", reader))).toEqual([]);
});

describe("a query with a fault is 400 and names the member and what is allowed", () => {
  test.each([
    ["?colour=red", /^"colour": unknown; the query takes limit, after, status, model, created_after, created_before\.$/],
    ["?limit=0", /^limit: must be a whole number from 1 to 100\.$/],
    ["?limit=101", /^limit: /],
    ["?limit=1e1", /^limit: /],
    ["?limit=", /^limit: /],
    ["?limit=5&limit=5", /^limit: is given twice/],
    ["?status=done", /^status: must be queued, running, succeeded or failed\.$/],
    ["?status=", /^status: /],
    ["?model=A%20B", /^model: must be the id of a model/],
    ["?created_after=yesterday", /^created_after: must be a date and time as 2026-10-19T12:00:00Z/],
    ["?created_before=2026-02-30T00:00:00Z", /^created_before: /],
    ["?created_before=1790000000", /^created_before: /],
  ])("%s", async (query, message) => {
    const answered = await list(query);
    expect([answered.status, codeOf(answered)]).toEqual([400, "invalid_request"]);
    expect(messageOf(answered)).toMatch(message);
  });
});

describe("a cursor that is not of the list is 400 with one message", () => {
  const message = "after: must be the id of a generation in this list, or next of a page with the same filters.";
  const rows: [what: string, after: () => Promise<string>, as?: () => Tenant][] = [
    ["made up", async () => generationId(4096 * 1_000_000)],
    ["of another account", async () => idsIn(await list("", harness.tenant))[0] ?? ""],
    ["of another key", async () => ids.find((id) => !ofLimited.includes(id)) ?? "", () => limited],
    ["malformed", async () => "gen_1"],
    ["empty", async () => ""],
    ["with a made-up signature", async () => `cur_-abc_${"A".repeat(22)}`],
  ];
  test.each(rows)("%s", async (_what, afterOf, as = () => tenant) => {
    const answered = await list(`?after=${await afterOf()}`, as());
    expect([answered.status, codeOf(answered), messageOf(answered)]).toEqual([400, "invalid_request", message]);
  });
});
