// The reads of the client package against the service: models, quotes, lists, balance, usage and ledger.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { createClient, GenrouterError } from "../../client/src/client.ts";
import { type Harness, openHarness, type Tenant } from "../harness.ts";
import { type Bed, bedIn, faultOf } from "./fixture.ts";

const PICTURES = { model: "sim-image-1", input: { prompt: "a tin robot" } };
let harness: Harness;
let tenant: Tenant;
let bed: Bed;
const ids: string[] = [];
beforeAll(async () => {
  harness = await openHarness();
  tenant = await harness.newTenant(10_000);
  bed = bedIn(harness, { key: tenant.key });
  for (let n = 0; n < 5; n += 1) ids.unshift((await bed.client.submit(PICTURES)).id);
  for (const id of ids) await harness.until(id, undefined, tenant.key);
});
afterAll(() => harness.close());

const all = async <Item>(items: AsyncIterable<Item>): Promise<Item[]> => {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
};

test("returns one model and the schema of its input without a key", async () => {
  const { model, modelSchema } = createClient({ url: harness.url });
  expect((await model("sim-image-1")).id).toBe("sim-image-1");
  expect(await modelSchema("sim-image-1")).toMatchObject({ type: "object", required: ["prompt"] });
  expect(await faultOf(model("unknown"), GenrouterError)).toMatchObject({ code: "not_found", status: 404 });
});

test("quotes an order at the price of its submission", async () => {
  const quoted = await bed.client.quote({ ...PICTURES, maxCostUsd: 5 });
  const [last] = await all(bed.client.list({ limit: 1 }));
  expect(quoted).toMatchObject({ object: "quote", quoted_usd: last?.quoted_usd ?? 0 });
});

test("iterates over all generations, one request for each page, and stops when the loop ends", async () => {
  const before = bed.sent.length;
  expect((await all(bed.client.list({ limit: 2 }))).map(({ id }) => id)).toEqual(ids);
  expect(bed.sent.length - before).toBe(3);
  for await (const { id } of bed.client.list({ limit: 2, status: "succeeded" })) {
    expect(id).toBe(ids[0] ?? "");
    break;
  }
  expect(bed.sent.length - before).toBe(4);
});

test("deletes a generation that has ended, and returns the error of one that is unknown", async () => {
  const { key } = await harness.newTenant();
  const bed = bedIn(harness, { key });
  const { id } = await bed.client.submit(PICTURES);
  await harness.until(id, undefined, key);
  const deleted = await bed.client.delete(id);
  expect(deleted).toEqual({ id, object: "generation", deleted: true, erased_at: expect.any(String), backups: [] });
  expect(await bed.client.delete(id)).toEqual(deleted);
  expect(await bed.client.poll(id)).toMatchObject({ id, status: "succeeded" });
  expect(await faultOf(bed.client.delete("gen_unknown"), GenrouterError)).toMatchObject({ code: "not_found", status: 404 });
});

test("returns balance, usage and ledger of the account", async () => {
  const { available, charged } = await harness.balance(tenant);
  expect(await bed.client.balance()).toMatchObject({ available_usd: available / 100, limits: [] });
  expect((await bed.client.usage({ group_by: "model" })).data).toMatchObject([
    { model: "sim-image-1", charged_usd: charged / 100 },
  ]);
  const kinds = (await all(bed.client.ledger({ limit: 3 }))).map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind === "hold")).toHaveLength(ids.length);
  expect(kinds.at(-1)).toBe("topup");
});

test("rejects a list without a key before anything is sent", async () => {
  const { list } = createClient({ url: harness.url });
  expect(await faultOf(all(list()), GenrouterError)).toMatchObject({ code: "no_key" });
});

test("limits an end user, submits for it, and reads what it has spent", async () => {
  const own = await harness.newTenant(10_000);
  const { endUsers, submit, usage } = bedIn(harness, { key: own.key }).client;
  const id = "Zo\u00eb/7";
  expect(await endUsers.setLimit(id, { limitUsd: 50, window: "month" })).toMatchObject({ id, limit_usd: 50, spent_usd: 0 });
  const submitted = await submit(PICTURES, { endUser: id });
  expect(submitted.end_user).toBe(id);
  const { cost_usd } = await harness.until(submitted.id, undefined, own.key);
  expect(await endUsers.get(id)).toMatchObject({ spent_usd: cost_usd, held_usd: 0, left_usd: 50 - Number(cost_usd) });
  expect((await usage({ group_by: "end_user" })).data).toMatchObject([{ end_user: id, charged_usd: cost_usd }]);
  await endUsers.setLimit(id, { limitUsd: 0, window: "total" });
  expect(await faultOf(submit(PICTURES, { endUser: id }), GenrouterError)).toMatchObject({ code: "insufficient_credits" });
  await endUsers.setLimit("other", { limitUsd: 1, window: "day" });
  expect((await all(endUsers.list({ limit: 1 }))).map((one) => one.id)).toEqual(["other", id]);
  expect(await endUsers.removeLimit(id)).toMatchObject({ limit_usd: null, spent_usd: cost_usd });
});
