// API keys and usage in the console API: members see one account, viewers change nothing, operators change any account.
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { JsonObject } from "../../src/domain/types.ts";
import { type Harness, openHarness, type Tenant } from "../harness.ts";
import { askConsole, openVisitor, type Reply, type Visitor } from "./signed-in.ts";

let harness: Harness;
let mine: Tenant;
let theirs: Tenant;
let me: Visitor;
let operator: Visitor;
let viewer: Visitor;
beforeAll(async () => {
  harness = await openHarness({ factor: 1000 });
  mine = harness.tenant;
  theirs = await harness.newTenant();
  me = await openVisitor(harness, "member", mine);
  operator = await openVisitor(harness, "operator", null);
  viewer = await openVisitor(harness, "viewer", null);
});
afterAll(() => harness.close());

const KEY = { name: "ci", scope: "generate", expiresAtMs: null, models: null, limits: { day: null, week: null, month: null } };
const ask = (who: Visitor, method: string, path: string, body?: unknown): Promise<Reply> =>
  who.ask(method, `/console/api${path}`, body);
const keysOf = async (who: Visitor, account = "") => (await ask(who, "GET", `/keys${account}`)).reported.keys as JsonObject[];

test("a new key works within its limits, is returned once, and shows the spend of each limit", async () => {
  const { status, reported } = await ask(me, "POST", "/keys", { ...KEY, limits: { ...KEY.limits, day: 30 } });
  expect(status).toBe(200);
  const key = String(reported.key);
  const order = { key, body: { model: "vidmodel-2.0-mini", input: { prompt: "x", resolution: "480p", duration: 4 } } };
  expect((await harness.request("POST", "/v1/generations", order)).status).toBe(202);
  const shown = (await keysOf(me)).find(({ id }) => id === reported.id);
  expect(shown).toMatchObject({
    name: "ci",
    state: "active",
    limits: { day: { limitCredits: 30, spentCredits: 16 }, week: null },
  });
  expect((await ask(me, "GET", "/keys")).text).not.toContain(key.slice(0, 20));
  expect((await harness.request("POST", "/v1/generations", order)).status).toBe(402);
  expect(await harness.store.audit(null, 1, { action: "create-key" })).toMatchObject([
    { actor: { kind: "user", id: me.userId, name: me.email }, target: reported.id },
  ]);
});

test("change, rotate and revoke return the updated key and take effect at once", async () => {
  const { reported } = await ask(me, "POST", "/keys", KEY);
  const changed = await ask(me, "PATCH", `/keys/${reported.id}`, { name: "server", models: ["sim-image-1"] });
  expect(changed).toMatchObject({ status: 200, reported: { name: "server", models: ["sim-image-1"], expiresAtMs: null } });
  const order = { key: String(reported.key), body: { model: "vidmodel-2.0-mini", input: { prompt: "x" } } };
  expect((await harness.request("POST", "/v1/generations", order)).status).toBe(403);
  const rotated = await ask(me, "POST", `/keys/${reported.id}/rotate`, { overlapMs: 0 });
  expect((await harness.request("POST", "/v1/generations", order)).status).toBe(401);
  const next = { ...order, key: String(rotated.reported.key) };
  expect((await harness.request("POST", "/v1/generations", next)).status).toBe(403);
  expect(await ask(me, "POST", `/keys/${rotated.reported.id}/revoke`)).toMatchObject({
    status: 200,
    reported: { state: "revoked" },
  });
  expect((await harness.request("POST", "/v1/generations", next)).status).toBe(401);
});

test("a member gets 404 for keys and usage of another account and changes nothing there", async () => {
  const other = `?account=${theirs.accountId}`;
  const before = await keysOf(operator, other);
  expect((await ask(me, "GET", `/keys${other}`)).status).toBe(404);
  expect((await ask(me, "POST", `/keys${other}`, KEY)).status).toBe(404);
  expect((await ask(me, "GET", `/usage${other}`)).status).toBe(404);
  expect((await ask(me, "GET", "/usage?by=account")).status).toBe(400);
  for (const [method, path, body] of [
    ["PATCH", "", { name: "x" }],
    ["POST", "/rotate", { overlapMs: 0 }],
    ["POST", "/revoke", undefined],
  ] as const) {
    const refused = await ask(me, method, `/keys/${theirs.keyId}${path}`, body);
    // The response is identical to that for a key that does not exist.
    const none = await ask(me, method, `/keys/key_none${path}`, body);
    expect([refused.status, refused.text.replace(theirs.keyId, "key_none")]).toEqual([404, none.text]);
  }
  expect(await keysOf(operator, other)).toEqual(before);
  expect(before).toContainEqual(expect.objectContaining({ id: theirs.keyId, state: "active", name: "" }));
});

test("a viewer can read any account and change none; an operator can change any", async () => {
  const other = `?account=${theirs.accountId}`;
  expect((await ask(viewer, "GET", "/keys")).status).toBe(400);
  expect((await ask(viewer, "GET", `/keys${other}`)).reported).toMatchObject({ mayChange: false });
  expect((await ask(viewer, "POST", `/keys${other}`, KEY)).status).toBe(403);
  expect((await ask(viewer, "POST", `/keys/${theirs.keyId}/revoke`)).status).toBe(403);
  expect((await ask(operator, "POST", `/keys${other}`, { ...KEY, name: "theirs" })).status).toBe(200);
  expect((await keysOf(operator, other)).map(({ name }) => name)).toContain("theirs");
  expect((await askConsole(harness, ["GET", "/console/api/keys"])).status).toBe(401);
});

test.each([
  { ...KEY, scope: "admin" },
  { ...KEY, limits: { ...KEY.limits, day: 0 } },
  { ...KEY, limits: { ...KEY.limits, week: 1.5 } },
  { ...KEY, limits: { day: 5 } },
  { ...KEY, models: [] },
  { ...KEY, name: "x".repeat(201) },
  { ...KEY, key: "gr_test_mine" },
  null,
])("rejects an invalid key with 400: %j", async (body) => {
  // Compares ids only: the spend may change, because generations of other tests are still running.
  const ids = async () => (await keysOf(me)).map(({ id }) => id);
  const before = await ids();
  expect((await ask(me, "POST", "/keys", body)).status).toBe(400);
  expect(await ids()).toEqual(before);
});

test("a viewer with an account cannot create or rotate a key of it", async () => {
  const nodeUrl = await openVisitor(harness, "viewer", theirs);
  expect((await ask(nodeUrl, "GET", "/keys")).reported).toMatchObject({ mayChange: false });
  expect((await ask(nodeUrl, "POST", "/keys", KEY)).status).toBe(403);
  expect((await ask(nodeUrl, "POST", `/keys/${theirs.keyId}/rotate`, { overlapMs: 0 })).status).toBe(403);
});

test("returns up-to-date usage by day, model, key and account, and as CSV", async () => {
  const alone = await harness.newTenant();
  const visitor = await openVisitor(harness, "member", alone);
  const order = { key: alone.key, body: { model: "sim-image-1", input: { prompt: "x" } } };
  const { body } = await harness.request("POST", "/v1/generations", order);
  await harness.eventually(async () => (await harness.show(String(body.id), alone.key)).completed_at);
  for (const by of ["day", "model", "key"]) {
    const { reported } = await ask(visitor, "GET", `/usage?by=${by}`);
    expect(reported).toMatchObject({ by, total: { count: 1, succeeded: 1 } });
  }
  expect((await ask(viewer, "GET", "/usage?by=account")).reported.lines).toContainEqual(
    expect.objectContaining({ of: alone.accountId, name: "tenant", count: 1 }),
  );
  const file = await ask(visitor, "GET", "/usage.csv?by=model");
  expect(file.headers.get("content-type")).toBe("text/csv; charset=utf-8");
  expect(file.headers.get("content-disposition")).toMatch(/^attachment; filename="usage-by-model-[\d-]+\.csv"$/);
  expect(file.text).toMatch(/^model,name,generations.*\r\nsim-image-1,sim-image-1,1,1,0,0\.\d\d,/);
});

test.each(["from=2026-02-30", "to=today", "from=2026-10-20&to=2026-10-19", "from=2020-01-01&to=2026-01-01", "by=hour"])(
  "rejects usage with %s",
  async (query) => {
    expect((await ask(me, "GET", `/usage?${query}`)).status).toBe(400);
  },
);
