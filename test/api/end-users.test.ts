// End users over HTTP: limits that hold, what is shown of them, and every wrong request.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { hashApiKey, newApiKey, newId } from "../../src/domain/ids.ts";
import type { Json, JsonObject, KeyTerms } from "../../src/domain/types.ts";
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
const utf8 = (text: string) => Buffer.from(text, "utf8").toString("latin1");
const pathOf = (id: string) => `/v1/end_users/${encodeURIComponent(id)}`;
const send = (method: "GET" | "PUT" | "DELETE", path: string, body?: Json, { key } = tenant) =>
  harness.request(method, path, { key, ...(body === undefined ? {} : { body: body as JsonObject }) });
const put = (id: string, limit_usd: Json, window?: string) =>
  send("PUT", pathOf(id), { limit_usd, ...(window === undefined ? {} : { window }) });
const submit = (endUser: string, prompt = "a kite") =>
  harness.request("POST", "/v1/generations", {
    key: tenant.key,
    headers: { "genrouter-end-user": utf8(endUser) },
    body: { model: "sim-image-1", input: { prompt } },
  });
const finish = async ({ body }: ParsedResponse) => await harness.until(String(body.id), undefined, tenant.key);
const data = ({ body }: ParsedResponse) => body.data as JsonObject[];

beforeAll(async () => {
  harness = await openApiHarness();
  tenant = await harness.newTenant(100_000);
  limited = await keyWith(tenant, { models: ["sim-image-1"] });
  reader = await keyWith(tenant, {}, "read");
});
afterAll(() => harness.close());

describe("the limit of an end user", () => {
  test("rejects a submission above it with 402, names the end user, and holds nothing", async () => {
    const { reserved_usd: each } = (await submit("measure")).body;
    const limit = Number(each) * 1.5;
    expect((await put("Zo\u00eb/7", Math.round(limit * 100) / 100, "day")).status).toBe(200);
    const first = await submit("Zo\u00eb/7");
    expect(first.status).toBe(202);
    const before = await harness.balance(tenant);
    const second = await submit("Zo\u00eb/7");
    expect([second.status, codeOf(second)]).toEqual([402, "insufficient_credits"]);
    expect(messageOf(second)).toContain('The end user "Zo\u00eb/7" may spend');
    expect(messageOf(second)).toMatch(/USD a day: 0\.\d\d USD is left and 0\.\d\d USD must be; it resets at \S+T00:00:00Z\./);
    expect((await harness.balance(tenant)).held).toBeLessThanOrEqual(before.held);
    expect((await submit("Zo\u00eb/8")).status).toBe(202);
    await finish(first);
  });

  test("shows what is spent, held and left, and that a failure returns its hold", async () => {
    await put("shown", 20, "month");
    const succeeded = await finish(await submit("shown"));
    await finish(await submit("shown", "[sim:fail]"));
    const { body } = await send("GET", pathOf("shown"), undefined, reader);
    const spent = Number(succeeded.cost_usd);
    expect(body).toEqual({
      ...{ id: "shown", object: "end_user", limit_usd: 20, window: "month" },
      ...{ spent_usd: spent, held_usd: 0, left_usd: Math.round((20 - spent) * 100) / 100 },
      ...{ resets_at: expect.stringMatching(/-01T00:00:00\.000Z$/), created_at: expect.any(String) },
    });
  });

  test("in total never resets, and 0 rejects every submission", async () => {
    expect((await put("trial", 0, "total")).body).toMatchObject({ window: "total", left_usd: 0, resets_at: null });
    expect(messageOf(await submit("trial"))).toContain('"trial" may spend 0.00 USD in total: 0.00 USD is left');
    expect((await put("trial", 1, "total")).body.left_usd).toBe(1);
    expect((await submit("trial")).status).toBe(202);
  });

  test("is never passed by concurrent submissions", async () => {
    const { reserved_usd: each } = (await submit("measure")).body;
    await put("racer", Math.round(Number(each) * 300) / 100, "total");
    const statuses = (await Promise.all(Array.from({ length: 12 }, () => submit("racer")))).map(({ status }) => status);
    expect(statuses.filter((status) => status === 202)).toHaveLength(3);
    expect(statuses.filter((status) => status === 402)).toHaveLength(9);
  });

  test("is removed by DELETE and by null; the end user stays, and its spending is the total", async () => {
    await put("freed", 5, "week");
    await finish(await submit("freed"));
    const removed = await send("DELETE", pathOf("freed"));
    expect(removed.body).toMatchObject({ limit_usd: null, window: null, left_usd: null, resets_at: null, held_usd: 0 });
    expect(Number(removed.body.spent_usd)).toBeGreaterThan(0);
    await put("freed", 5, "week");
    expect((await put("freed", null)).body).toEqual(removed.body);
    expect((await submit("freed")).status).toBe(202);
  });
});

describe("usage by end user", () => {
  test("has one item for each end user with an end in the range, in pages, and the total of the account", async () => {
    const own = await harness.newTenant(100_000);
    const submitOwn = async (endUser: string | null, prompt = "a kite") => {
      const headers: Record<string, string> = endUser === null ? {} : { "genrouter-end-user": endUser };
      const sent = { key: own.key, headers, body: { model: "sim-image-1", input: { prompt } } };
      const { body } = await harness.request("POST", "/v1/generations", sent);
      return await harness.until(String(body.id), undefined, own.key);
    };
    const { cost_usd: cost } = await submitOwn("a");
    await submitOwn("b", "[sim:fail]");
    await submitOwn("a");
    await submitOwn(null);
    const read = (query: string) => send("GET", `/v1/usage?${query}`, undefined, own);
    const first = await read("group_by=end_user&limit=1");
    const failed = { end_user: "b", generations: 1, succeeded: 0, failed: 1, charged_usd: 0 };
    expect(first.body).toMatchObject({ object: "usage", group_by: "end_user", data: [failed], has_more: true });
    expect(first.body.total).toMatchObject({ generations: 4, charged_usd: Math.round(Number(cost) * 300) / 100 });
    const second = await read(`group_by=end_user&limit=1&after=${first.body.next}`);
    const twice = { end_user: "a", generations: 2, succeeded: 2, failed: 0, charged_usd: Math.round(Number(cost) * 200) / 100 };
    expect([data(second), second.body.has_more, second.body.next]).toEqual([[twice], false, null]);
    expect(data(await read("group_by=end_user&from=2026-01-01&to=2026-01-02"))).toEqual([]);
    // A cursor of another range or account is refused.
    for (const [query, who] of [
      [`group_by=end_user&to=2026-01-02&after=${first.body.next}`, own],
      [`group_by=end_user&after=${first.body.next}`, tenant],
    ] as const)
      expect(messageOf(await send("GET", `/v1/usage?${query}`, undefined, who))).toContain("after: must be next of a page");
    expect(messageOf(await read("limit=5"))).toContain("only usage by end user has pages");
  });
});

describe("the list of end users", () => {
  test("is newest first, in pages, and of one account", async () => {
    const own = await harness.newTenant(1_000);
    for (const id of ["one", "two", "three"]) await send("PUT", pathOf(id), { limit_usd: 1, window: "day" }, own);
    const first = await send("GET", "/v1/end_users?limit=2", undefined, own);
    expect([data(first).map(({ id }) => id), first.body.has_more]).toEqual([["three", "two"], true]);
    const second = await send("GET", `/v1/end_users?limit=2&after=${first.body.next}`, undefined, own);
    expect([data(second).map(({ id }) => id), second.body.has_more, second.body.next]).toEqual([["one"], false, null]);
    expect(messageOf(await send("GET", `/v1/end_users?after=${first.body.next}`))).toContain("after: must be next of a page");
    expect((await send("GET", pathOf("one"))).status).toBe(404);
  });
});

describe("a wrong request", () => {
  test.each<[string, Json, string]>([
    ["a list", [], "must be a JSON object"],
    ["an unknown field", { limit_usd: 1, window: "day", limit: 1 }, '"limit": unknown; the fields are limit_usd, window'],
    ["no limit", { window: "day" }, "limit_usd: is required"],
    ["a text as limit", { limit_usd: "1", window: "day" }, "limit_usd: must be an amount from 0 to 10000000"],
    ["a negative limit", { limit_usd: -1, window: "day" }, "limit_usd: must be an amount"],
    ["a limit with three decimals", { limit_usd: 1.005, window: "day" }, "limit_usd: must be an amount"],
    ["a limit above all balances", { limit_usd: 10_000_001, window: "day" }, "limit_usd: must be an amount"],
    ["no window", { limit_usd: 1 }, "window: must be day, week, month or total"],
    ["another window", { limit_usd: 1, window: "year" }, "window: must be day, week, month or total"],
    ["a window without a limit", { limit_usd: null, window: "day" }, "window: must be absent where limit_usd is null"],
  ])("with %s is 400 and names the field", async (_name, body, message) => {
    const answer = await send("PUT", pathOf("wrong"), body);
    expect([answer.status, codeOf(answer)]).toEqual([400, "invalid_request"]);
    expect(messageOf(answer)).toContain(message);
    expect((await send("GET", pathOf("wrong"))).status).toBe(404);
  });

  test.each([
    ["longer than 120 characters", "x".repeat(121)],
    ["with a control character", "a\nb"],
    ["with a space at its end", "ada "],
  ])("with an id %s is 400", async (_name, id) => {
    const answer = await put(id, 1, "day");
    expect([answer.status, messageOf(answer)]).toEqual([400, expect.stringContaining("id: must have 1 to 120 characters")]);
  });

  test("for an unknown end user is 404, also with null", async () => {
    for (const answer of [
      await send("GET", pathOf("unknown")),
      await send("DELETE", pathOf("unknown")),
      await put("unknown", null),
    ])
      expect([answer.status, codeOf(answer)]).toEqual([404, "not_found"]);
  });

  test("of a limited key is 403, and of a key that only reads if it changes something", async () => {
    await put("seen", 1, "day");
    const set: [method: "GET" | "PUT" | "DELETE", path: string][] = [
      ["GET", "/v1/end_users"],
      ["GET", pathOf("seen")],
      ["PUT", pathOf("seen")],
      ["DELETE", pathOf("seen")],
      ["GET", "/v1/usage?group_by=end_user"],
    ];
    for (const [method, path] of set) {
      const body = method === "PUT" ? { limit_usd: 1, window: "day" } : undefined;
      expect(codeOf(await send(method, path, body, limited))).toBe("generation_not_enabled");
      expect((await send(method, path, body, reader)).status).toBe(method === "GET" ? 200 : 403);
    }
  });
});
