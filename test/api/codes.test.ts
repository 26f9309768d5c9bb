// Tests of every error code of §7 by its real cause, except load, which is in load.test.ts.
import { afterEach, describe, expect, test } from "bun:test";
import { API_ERRORS, type ApiErrorCode } from "../../src/domain/api-errors.ts";
import type { Harness, HarnessOptions, ParsedResponse, Tenant } from "../harness.ts";
import { codeOf, messageOf, openApiHarness } from "./harness.ts";

let harness: Harness;
const open = async (options: HarnessOptions = {}) => {
  harness = await openApiHarness({ factor: 0, ...options });
  return harness;
};
afterEach(() => harness.close());

const ORDER = { model: "vidmodel-2.0-mini", input: { prompt: "a kite", resolution: "480p", duration: 4 } };
/** The hold of the submission: the price of its most expensive route. */
const RESERVE = 16;
const post = (more: Parameters<Harness["request"]>[2] = {}) =>
  harness.request("POST", "/v1/generations", { body: ORDER, ...more });

/** Expects the code, its status, the specified error body, and `Retry-After` only if the code defines it. */
const expectNo = (answered: ParsedResponse, code: ApiErrorCode) => {
  const rule: { status: number; retryAfterS?: number } = API_ERRORS[code];
  expect([answered.status, codeOf(answered)]).toEqual([rule.status, code]);
  expect(Object.keys(answered.body)).toEqual(["error"]);
  expect(messageOf(answered)).not.toBe("");
  expect(answered.headers.get("retry-after")).toBe(rule.retryAfterS === undefined ? null : String(rule.retryAfterS));
};
const pause = (tenant: Tenant, paused: boolean) =>
  harness.components.post({ mutation: "set-account", accountSeq: tenant.accountSeq, paused });

describe("authentication errors (§5)", () => {
  /** The endpoints that require a key. */
  const KEYED = [
    ["POST", "/v1/generations"],
    ["GET", "/v1/generations/gen_x"],
    ["GET", "/v1/generations/gen_x/content"],
    ["GET", "/v1/generations/gen_x/content/2"],
  ] as const;

  test("unauthorized: is returned for a missing, malformed, unknown or revoked key, on every endpoint with a key", async () => {
    const { request, tenant, newTenant, components } = await open();
    const revoked = await newTenant();
    expect((await post({ key: revoked.key })).status).toBe(202);
    await components.post({ mutation: "revoke-key", keyId: revoked.keyId, atMs: harness.clock.nowMs() });
    const { key } = tenant;
    const last = key.endsWith("0") ? "1" : "0";
    const headers = [
      {},
      ...[
        key,
        `Basic ${key}`,
        "Bearer",
        `Bearer ${key}x`,
        `Bearer ${key.slice(0, -1)}${last}`,
        `Bearer ${key}, Bearer ${key}`,
      ].map((authorization) => ({ authorization })),
      { authorization: `Bearer ${revoked.key}` },
      { "x-api-key": key },
    ];
    for (const [method, path] of KEYED)
      for (const each of headers) {
        const answered = await request(method, path, { key: null, headers: each as Record<string, string>, body: undefined });
        expectNo(answered, "unauthorized");
        expect(answered.headers.get("www-authenticate")).toContain("Bearer");
      }
    for (const path of ["/v1/models", "/models.json"]) expect((await request("GET", path, { key: null })).status).toBe(200);
  });

  test("account_disabled: is returned for every request with a key of a paused account until it is resumed", async () => {
    const { request, tenant } = await open();
    await pause(tenant, true);
    for (const [method, path] of KEYED) expectNo(await request(method, path), "account_disabled");
    await pause(tenant, false);
    expect((await post()).status).toBe(202);
  });

  test("generation_not_enabled: is returned for a submission with a read-only key", async () => {
    const { request, newTenant } = await open();
    const reader = await newTenant(1000, "read");
    expectNo(await post({ key: reader.key }), "generation_not_enabled");
    expectNo(await request("GET", "/v1/generations/gen_x", { key: reader.key }), "not_found");
    expect((await request("GET", "/v1/models", { key: reader.key })).status).toBe(200);
    expect(await harness.balance(reader)).toEqual({ available: 1000, held: 0, charged: 0, inProgress: 0 });
  });
});

describe("limits (§8)", () => {
  test("rate_limited: is returned to one account for the rest of the second, and to no other account", async () => {
    const { request, newTenant, clock } = await open({ env: { GENROUTER_LIMITS__BURST_PER_S: "3" } });
    const [busy, other] = [await newTenant(), await newTenant()];
    for (const [method, path] of [
      ["GET", "/v1/generations/gen_x"],
      ["GET", "/v1/generations/gen_x/content"],
    ] as const)
      expectNo(await request(method, path, { key: busy.key }), "not_found");
    expect((await post({ key: busy.key })).status).toBe(202);
    expectNo(await post({ key: busy.key }), "rate_limited");
    expectNo(await request("GET", "/v1/generations/gen_x/content/2", { key: busy.key }), "rate_limited");
    expect((await post({ key: other.key })).status).toBe(202);
    expect((await request("GET", "/v1/models", { key: busy.key })).status).toBe(200);
    clock.skip(1000);
    expect((await post({ key: busy.key })).status).toBe(202);
  });

  test("concurrency_limit: is returned above the account's limit of queued and running generations, until one ends", async () => {
    const { newTenant, components, clock } = await open({
      env: { GENROUTER_LIMITS__IN_PROGRESS: "2", GENROUTER_LIMITS__MAX_RUNNING: "1" },
    });
    const [tenant, other] = [await newTenant(), await newTenant()];
    for (const _ of [1, 2]) expect((await post({ key: tenant.key })).status).toBe(202);
    const before = await harness.balance(tenant);
    expect(before.inProgress).toBe(2);
    expectNo(await post({ key: tenant.key }), "concurrency_limit");
    expect(await harness.balance(tenant)).toEqual(before);
    expect((await post({ key: other.key })).status).toBe(202);
    await components.post({ mutation: "set-account", accountSeq: other.accountSeq, inProgressLimit: 1 });
    expectNo(await post({ key: other.key }), "concurrency_limit");
    await harness.eventually(async () => {
      clock.skip(1000);
      return (await harness.balance(tenant)).inProgress < 2;
    }, "the end of one");
    expect((await post({ key: tenant.key })).status).toBe(202);
  });

  test("insufficient_credits: is returned one credit below the hold, and the same idempotency key is accepted after a top-up", async () => {
    const { newTenant, components, store } = await open();
    const tenant = await newTenant(RESERVE - 1);
    const headers = { "idempotency-key": "once" };
    const refused = await post({ key: tenant.key, headers });
    expectNo(refused, "insufficient_credits");
    expect(messageOf(refused)).toContain("0.16");
    expect(await harness.balance(tenant)).toEqual({ available: RESERVE - 1, held: 0, charged: 0, inProgress: 0 });
    const { accountSeq } = tenant;
    await components.post({ mutation: "credit", accountSeq, kind: "topup", credits: 1, note: "", reference: null, atMs: 0 });
    const accepted = await post({ key: tenant.key, headers });
    expect([accepted.status, accepted.body.reserved_usd]).toEqual([202, RESERVE / 100]);
    expect(await harness.balance(tenant)).toEqual({ available: 0, held: RESERVE, charged: 0, inProgress: 1 });
    expect((await store.unfinished(0, 10)).length).toBe(1);
  });
});

describe("request errors (§4)", () => {
  const keyed = (key: string, body: unknown = ORDER) => post({ headers: { "idempotency-key": key }, body });

  test("idempotency_conflict: is returned only for a used key of the same account with a different body", async () => {
    await open();
    const first = await keyed("once");
    expect(first.status).toBe(202);
    const again = await keyed("once", { input: { duration: 4, resolution: "480p", prompt: "a kite" }, model: ORDER.model });
    expect([again.status, again.body.id]).toEqual([200, first.body.id]);
    // An omitted field has its default.
    const withDefault = await keyed("once", { ...ORDER, max_cost_usd: 100 });
    expect([withDefault.status, withDefault.body.id]).toEqual([200, first.body.id]);
    for (const body of [
      { ...ORDER, max_wait_s: 86_400 },
      { ...ORDER, max_cost_usd: 99 },
      { ...ORDER, input: { ...ORDER.input, duration: 5 } },
      { ...ORDER, model: "vidmodel-2.0" },
      { ...ORDER, model: "no such model" },
      { ...ORDER, input: { nonsense: 1 } },
    ])
      expectNo(await keyed("once", body), "idempotency_conflict");
    expect((await keyed("twice", { ...ORDER, max_wait_s: 86_400 })).status).toBe(202);
    const other = await harness.newTenant();
    const theirs = await post({ key: other.key, headers: { "idempotency-key": "once" } });
    expect(theirs.status).toBe(202);
    expect(theirs.body.id).not.toBe(first.body.id ?? "");
  });

  test("max_cost_exceeded, model_not_available, invalid_input, invalid_request and body_too_large do not use up the idempotency key", async () => {
    await open();
    const FAULTY: [unknown, ApiErrorCode][] = [
      [{ ...ORDER, max_cost_usd: 0.01 }, "max_cost_exceeded"],
      [{ ...ORDER, model: "vidmodel-9" }, "model_not_available"],
      [{ ...ORDER, input: { ...ORDER.input, duration: 3 } }, "invalid_input"],
      [{ ...ORDER, nonsense: 1 }, "invalid_request"],
      [JSON.stringify(ORDER).padEnd(1_048_577), "body_too_large"],
    ];
    for (const [at, [body, code]] of FAULTY.entries()) {
      expectNo(await keyed(`key-${at}`, body), code);
      expect((await keyed(`key-${at}`)).status).toBe(202);
    }
  });

  test("not_found: is returned with the same bytes for an unknown id, another account's id and a malformed id", async () => {
    const { request, newTenant } = await open();
    const stranger = await newTenant();
    const { id } = (await post()).body as { id: string };
    const flipped = id.slice(0, -1) + (id.endsWith("0") ? "1" : "0");
    const ids = [
      id,
      flipped,
      "gen_x",
      "x",
      `gen_${"0".repeat(76)}`,
      "a".repeat(80),
      "a".repeat(81),
      "%00",
      "a%20b",
      "é",
      "..%2f",
    ];
    for (const path of ["", "/content", "/content/2"]) {
      const texts = new Set<string>();
      for (const each of ids) {
        const answered = await request("GET", `/v1/generations/${each}${path}`, { key: stranger.key });
        expectNo(answered, "not_found");
        texts.add(answered.text);
      }
      expect([...texts]).toHaveLength(1);
    }
    expect((await request("GET", `/v1/generations/${id}`)).status).toBe(200);
  });

  test("not_found and 405 are returned for an unknown path and a wrong method, with the specified body", async () => {
    const { request } = await open();
    for (const path of ["/", "/v1", "/v1/generations/", "/v2/models", "/v1/generations/x/content/2/3"])
      expectNo(await request("GET", path), "not_found");
    for (const [method, path, allow] of [
      ["DELETE", "/v1/generations", "POST, GET, HEAD"],
      ["PUT", "/v1/generations/gen_x", "GET, HEAD, DELETE"],
      ["POST", "/v1/models", "GET, HEAD, OPTIONS"],
    ] as const) {
      const answered = await request(method, path);
      expect([answered.status, codeOf(answered), answered.headers.get("allow")]).toEqual([405, "invalid_request", allow]);
    }
  });
});

describe("a defect", () => {
  test("server_error: is returned for a failing read without its details or a change, and the same key is accepted afterwards", async () => {
    let isBroken = false;
    const { request, balance, lines } = await open({
      around: (store) => ({
        ...store,
        generationByKey: async (...asked) => {
          if (isBroken) throw new TypeError("the row of gr_live_secret");
          return store.generationByKey(...asked);
        },
        generationById: async (...asked) => {
          if (isBroken) throw new TypeError("the row of gr_live_secret");
          return store.generationById(...asked);
        },
      }),
    });
    const before = await balance();
    isBroken = true;
    const headers = { "idempotency-key": "once" };
    // The service returns a validation error only after it knows that the key has no generation.
    const refused = post({ headers, body: { model: "nothing", input: {} } });
    for (const answered of [await refused, await request("GET", "/v1/generations/gen_x")]) {
      expectNo(answered, "server_error");
      expect(answered.text).not.toContain("secret");
    }
    expect(lines.filter((line) => line.event === "request failed")).toHaveLength(2);
    isBroken = false;
    expect(await balance()).toEqual(before);
    const accepted = await post({ headers });
    const replayed = await post({ headers });
    expect([accepted.status, replayed.status, replayed.body.id]).toEqual([202, 200, accepted.body.id]);
  });
});
