// Operator API over a real service: idempotent changes, roles, sealed provider keys and disabled routes.
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { JsonObject } from "../../src/domain/types.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { type Harness, openHarness } from "../harness.ts";
import { buy, foreignMutation } from "../store/purchases.ts";
import { type Operators, openOperators } from "./operators.ts";
import { openVisitor } from "./signed-in.ts";

let harness: Harness;
let users: Operators;
beforeAll(async () => {
  const dir = freshDir();
  harness = await openHarness({ dir, factor: 1000 });
  users = await openOperators(harness);
});
afterAll(async () => {
  await harness.close();
  dropDirs();
});

const reference = () => crypto.randomUUID();
const rowsOf = (reported: JsonObject, name: string) => reported[name] as JsonObject[];
const route = (id: string) => `routes/${encodeURIComponent(id)}`;
const lineOf = async (id: string) => {
  const { reported } = await users.ask("viewer", "GET", "routes");
  return rowsOf(reported, "routes").find((row) => row.id === id) as JsonObject;
};

test("creates an account once when the request is repeated, and finds it by name and id", async () => {
  const request = { reference: reference(), name: "Grace Hopper Films", creditCredits: 2_500 };
  const [first, again] = [
    await users.ask("operator", "POST", "accounts", request),
    await users.ask("operator", "POST", "accounts", request),
  ];
  expect(first).toMatchObject({ status: 200, reported: { name: "Grace Hopper Films", availableCredits: 2_500, paused: false } });
  expect(again.reported.id).toBe(first.reported.id);
  for (const text of ["hopper", String(first.reported.id)]) {
    const { reported } = await users.ask("viewer", "GET", `accounts?text=${encodeURIComponent(text)}`);
    expect(rowsOf(reported, "accounts").map(({ id }) => id)).toEqual([String(first.reported.id)]);
  }
});

test("lists accounts in pages without a gap, newest first", async () => {
  for (let n = 0; n < 55; n += 1) await harness.newTenant(0);
  const all = (await harness.store.accounts()).map(({ id }) => id).reverse();
  const seen: unknown[] = [];
  for (let before: unknown = null; ; ) {
    const { reported } = await users.ask("viewer", "GET", `accounts${before === null ? "" : `?before=${before}`}`);
    seen.push(...rowsOf(reported, "accounts").map(({ id }) => id));
    before = reported.next;
    if (before === null) break;
  }
  expect(seen).toEqual(all);
  expect((await users.ask("viewer", "GET", "accounts?before=x")).status).toBe(400);
  expect((await users.ask("viewer", "GET", "accounts?standing=rich")).status).toBe(400);
});

test("credits once when a request is sent twice, and rejects the same reference with another amount", async () => {
  const { accountId } = await harness.newTenant(0);
  const path = `accounts/${accountId}/credits`;
  const request = { reference: reference(), credits: 5_000, note: "welcome" };
  const both = await Promise.all([users.ask("operator", "POST", path, request), users.ask("operator", "POST", path, request)]);
  expect(both.map(({ status }) => status)).toEqual([200, 200]);
  expect(both.map(({ reported }) => reported.transferredCredits).toSorted()).toEqual([0, 5_000]);
  expect((await users.ask("operator", "POST", path, { ...request, credits: 6_000 })).status).toBe(409);
  const { reported: received } = await users.ask("viewer", "GET", `accounts/${accountId}`);
  expect(received).toMatchObject({ availableCredits: 5_000 });
  expect(rowsOf(received, "transfers")).toMatchObject([{ kind: "topup", credits: 5_000, note: "welcome", isOut: false }]);
});

test("takes available but never held credits, reports the debt, and requires a note", async () => {
  const tenant = await harness.newTenant(1_000);
  const submitted = await harness.request("POST", "/v1/generations", {
    key: tenant.key,
    body: { model: "vidmodel-2.0-mini", input: { prompt: "a kite [late-ms 9000000]", resolution: "480p", duration: 4 } },
  });
  expect(submitted.status).toBe(202);
  const { held } = await harness.balance(tenant);
  expect(held).toBeGreaterThan(0);
  const path = `accounts/${tenant.accountId}/credits`;
  expect((await users.ask("operator", "POST", path, { reference: reference(), credits: -1_000, note: " " })).status).toBe(400);
  const { reported } = await users.ask("operator", "POST", path, {
    reference: reference(),
    credits: -1_000,
    note: "refunded",
  });
  expect(reported).toMatchObject({
    transferredCredits: held - 1_000,
    newlyOwedCredits: held,
    account: { availableCredits: 0, heldCredits: held, owedCredits: held, paused: true },
  });
  await harness.until(String(submitted.body.id)).catch(() => undefined);
});

test("the key of a paused account gets 403, and limits of an account override those of the service until they are reset", async () => {
  const tenant = await harness.newTenant(1_000);
  const path = `accounts/${tenant.accountId}`;
  const poll = () => harness.request("GET", "/v1/generations/gen_none", { key: tenant.key });
  expect(await users.ask("operator", "PATCH", path, { paused: true })).toMatchObject({ status: 200, reported: { paused: true } });
  expect((await poll()).status).toBe(403);
  expect(await users.ask("operator", "PATCH", path, { paused: false })).toMatchObject({
    status: 200,
    reported: { paused: false },
  });
  expect((await poll()).status).toBe(404);
  const limited = await users.ask("operator", "PATCH", path, { inProgressLimit: 3 });
  expect(limited.reported.limits).toMatchObject({ inProgress: { own: 3, service: 1000 }, burstPerS: { own: null } });
  const again = await users.ask("operator", "PATCH", path, { inProgressLimit: null });
  expect(again.reported.limits).toMatchObject({ inProgress: { own: null } });
  expect(again.reported.promptRetention).toEqual({ own: null, service: "forever" });
  const kept = await users.ask("operator", "PATCH", path, { promptRetentionS: 60 });
  expect(kept.reported.promptRetention).toEqual({ own: 60, service: "forever" });
  for (const body of [{}, { inProgressLimit: 0 }, { burstPerS: 1.5 }, { name: "x" }, { promptRetentionS: -1 }])
    expect((await users.ask("operator", "PATCH", path, body)).status).toBe(400);
});

test("shows the users of an account without disabled users", async () => {
  const tenant = await harness.newTenant(0);
  const reported = async () => (await users.ask("viewer", "GET", `accounts/${tenant.accountId}`)).reported.users;
  expect(await reported()).toEqual([]);
  const [ada, ben] = [await openVisitor(harness, "member", tenant), await openVisitor(harness, "viewer", tenant)];
  expect(await reported()).toEqual([ada.email, ben.email]);
  expect((await users.ask("operator", "PATCH", `users/${ada.userId}`, { disabled: true })).status).toBe(200);
  expect(await reported()).toEqual([ben.email]);
});

test("a viewer can read every page and change nothing; a member can read none", async () => {
  const { accountId } = await harness.newTenant(100);
  const before = await users.ask("viewer", "GET", `accounts/${accountId}`);
  const changes: [string, string, unknown][] = [
    ["POST", "accounts", { reference: reference(), name: "x", creditCredits: 5 }],
    ["PATCH", `accounts/${accountId}`, { paused: true }],
    ["POST", `accounts/${accountId}/credits`, { reference: reference(), credits: 5, note: "x" }],
    ["POST", `${route("sim-image-1/fal")}/switch`, { reason: "x" }],
    ["POST", `${route("sim-image-1/fal")}/check`, undefined],
    ["POST", `${route("sim-image-1/fal")}/try`, { reference: reference() }],
    ["POST", "providers/stability/key", { key: "sk-1" }],
    ["DELETE", "providers/stability/key", undefined],
  ];
  const pages = ["accounts", `accounts/${accountId}`, "routes", "providers", "orphans", "verification", "service"];
  for (const role of ["viewer", "member"] as const)
    for (const [method, path, body] of changes)
      expect(await users.ask(role, method, path, body)).toMatchObject({
        status: 403,
        reported: { error: { code: "forbidden" } },
      });
  for (const path of pages) {
    expect((await users.ask("viewer", "GET", path)).status).toBe(200);
    expect((await users.ask("member", "GET", path)).status).toBe(403);
  }
  expect((await users.ask("viewer", "GET", `accounts/${accountId}`)).text).toBe(before.text);
  expect(await harness.store.providerKeys()).toEqual([]);
  expect(await harness.store.switchedOff()).toEqual([]);
});

test("stores a provider key sealed and never returns it in a response or a log line", async () => {
  const canary = "sk-canary-8f2e91ac77d0";
  const answers = [
    await users.ask("operator", "POST", "providers/stability/key", { key: canary }),
    await users.ask("operator", "POST", "providers/stability/key", { key: canary, more: canary }),
    await users.ask("operator", "POST", "providers/stability/key", { key: `${canary} ${canary}` }),
    await users.ask("operator", "POST", "providers/unknown/key", { key: canary }),
    await users.ask("viewer", "POST", "providers/stability/key", { key: canary }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 400, 400, 404, 403]);
  for (const path of ["accounts", "routes", "providers", "orphans", "verification", "service"])
    answers.push(await users.ask("operator", "GET", path));
  for (const { text } of answers) expect(text).not.toContain(canary);
  expect(JSON.stringify(await harness.store.providerKeys())).not.toContain(canary);
  expect(JSON.stringify(harness.lines)).not.toContain(canary);
  const keyOf = async () => {
    const { reported } = await users.ask("viewer", "GET", "providers");
    const account = rowsOf(reported, "providers").find((row) => row.account === "stability") as JsonObject;
    return (account.interfaces as JsonObject[])[0]?.key;
  };
  expect(await keyOf()).toMatchObject({ from: "vault" });
  expect((await users.ask("operator", "DELETE", "providers/stability/key")).status).toBe(200);
  expect(await keyOf()).toBeNull();
});

test("does not try a disabled route until it is enabled again, and shows the reason and the time", async () => {
  const routesTried = async () => {
    const { id } = await harness.submit("vidmodel-2.0-mini", { prompt: "a kite", resolution: "480p", duration: 4 });
    await harness.until(id);
    const found = await harness.store.findGeneration(id);
    return (await harness.store.attemptsOf(found?.seq ?? 0)).map((attempt) => attempt.route.routeId);
  };
  const [usual = ""] = await routesTried();
  expect((await users.ask("operator", "POST", `${route(usual)}/switch`, { reason: "" })).status).toBe(400);
  const off = await users.ask("operator", "POST", `${route(usual)}/switch`, { reason: "too dear" });
  expect(off).toMatchObject({
    status: 200,
    reported: { id: usual, state: "off", reason: "too dear", sinceMs: expect.any(Number) },
  });
  expect(await routesTried()).not.toContain(usual);
  await users.ask("operator", "POST", `${route(usual)}/switch`, { reason: null });
  expect(await lineOf(usual)).toMatchObject({ state: "up", reason: null, sinceMs: null });
  expect(await routesTried()).toEqual([usual]);
  expect((await users.ask("operator", "POST", `${route("no/such")}/switch`, { reason: null })).status).toBe(404);
});

test("runs a test generation once when the request is repeated, and then shows the latency of the route", async () => {
  const id = "vidmodel-2.0-mini/fal";
  const checked = await users.ask("operator", "POST", `${route(id)}/check`);
  expect(checked).toMatchObject({ status: 200, reported: { costs: expect.stringContaining("USD per") } });
  const request = { reference: reference() };
  const [first, again] = [
    await users.ask("operator", "POST", `${route(id)}/try`, request),
    await users.ask("operator", "POST", `${route(id)}/try`, request),
  ];
  expect(again.reported.generationId).toBe(first.reported.generationId);
  const ended = await harness.eventually(async () => {
    const { reported } = await users.ask("viewer", "GET", `trials/${first.reported.generationId}`);
    return reported.status === "succeeded" && reported;
  });
  expect(ended).toMatchObject({ costCredits: expect.any(Number), failure: null });
  const line = await harness.eventually(async () => {
    const shown = await lineOf(id);
    return (shown.outcomes as JsonObject).delivered !== 0 && shown;
  });
  expect(line).toMatchObject({ state: "up", latency: { count: expect.any(Number) }, successPercent: expect.any(Number) });
  const { p50Ms, p90Ms, p99Ms } = line.latency as Record<string, number>;
  expect(p50Ms).toBeLessThanOrEqual(p90Ms ?? 0);
  expect(p90Ms).toBeLessThanOrEqual(p99Ms ?? 0);
});

test("lists a refund in another currency until an operator decides its amount; a viewer cannot decide", async () => {
  const { accountId, accountSeq } = await harness.newTenant(0);
  await buy(harness.store, accountSeq, "foreign", 1000);
  await harness.store.commit([foreignMutation("re_foreign", "foreign", 460)]);
  const wanted = {
    id: "re_foreign",
    kind: "refund",
    amount: 460,
    currency: "eur",
    purchaseId: "pur_foreign",
    accountId,
    boughtCredits: 1000,
  };
  const shown = async () => (await users.ask("viewer", "GET", `accounts/${accountId}`)).reported;
  expect(await shown()).toMatchObject({ paused: true, availableCredits: 1000, undecided: [wanted] });
  expect((await users.ask("viewer", "GET", "accounts")).reported.undecided).toMatchObject([wanted]);
  const decision = { credits: 500, reason: "the rate of the day" };
  const path = `accounts/${accountId}/reversals/re_foreign`;
  expect((await users.ask("viewer", "POST", path, decision)).status).toBe(403);
  expect((await users.ask("operator", "POST", path, { credits: -1, reason: "x" })).status).toBe(400);
  expect((await users.ask("operator", "POST", `accounts/acc_other/reversals/re_foreign`, decision)).status).toBe(404);
  expect(await users.ask("operator", "POST", path, decision)).toMatchObject({
    ...{ status: 200, reported: { paused: false, availableCredits: 500, undecided: [] } },
  });
  expect((await users.ask("operator", "POST", path, decision)).status).toBe(404);
});
