// Tests of authentication (§5, §8): accepted keys, precedence of errors, and the rate limit.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { newApiKey } from "../../src/domain/ids.ts";
import type { Caller } from "../../src/domain/types.ts";
import { RateLimiter } from "../../src/http/rate-limit.ts";
import { errorOf, type Harness, openHarness } from "./harness.ts";

let harness: Harness;
beforeAll(async () => {
  harness = await openHarness();
});
afterAll(() => harness[Symbol.asyncDispose]());

const KEYED: [method: string, path: string][] = [
  ["POST", "/v1/generations"],
  ["GET", "/v1/generations/gen_x"],
  ["GET", "/v1/generations/gen_x/content"],
  ["GET", "/v1/generations/gen_x/content/2"],
];

describe("401 unauthorized", () => {
  const typo = (key: string) => key.slice(0, -1) + (key.endsWith("A") ? "B" : "A");
  const HEADERS: [name: string, of: (key: string) => string | null][] = [
    ["no header", () => null],
    ["an empty header", () => ""],
    ["the scheme alone", () => "Bearer"],
    ["the scheme and a blank", () => "Bearer "],
    ["another scheme", (key) => `Basic ${key}`],
    ["the key alone", (key) => key],
    ["two keys in one header", (key) => `Bearer ${key}, Bearer ${key}`],
    ["two keys after one scheme", (key) => `Bearer ${key} ${key}`],
    ["something after the key", (key) => `Bearer ${key};x`],
    ["a key that does not exist", () => `Bearer ${newApiKey("test")}`],
    ["a key with a typing error", (key) => `Bearer ${typo(key)}`],
    ["a key of 10 kB", (key) => `Bearer ${key}${"a".repeat(10_000)}`],
  ];
  test.each(HEADERS)("is returned for %s, on every endpoint that requires a key", async (_name, of) => {
    for (const [method, path] of KEYED) {
      const authorization = of(harness.key);
      const headers: Record<string, string> = authorization === null ? {} : { authorization };
      const response = await harness.call(path, { method, headers, key: null });
      expect(response.headers.get("www-authenticate")).toBe('Bearer realm="genrouter"');
      expect(await errorOf(response)).toMatchObject({ status: 401, code: "unauthorized" });
    }
  });

  test("is returned for a key in the query", async () => {
    const response = await harness.call(`/v1/generations/gen_x?key=${harness.key}&authorization=Bearer%20${harness.key}`, {
      key: null,
    });
    expect((await errorOf(response)).status).toBe(401);
  });

  test("is returned without a read of the store when the checksum of the key is wrong", async () => {
    const before = harness.keyReads();
    await harness.call("/v1/generations/gen_x", { key: typo(harness.key) });
    expect(harness.keyReads()).toBe(before);
  });
});

test.each(["bearer", "BEARER", "bEaReR", "Bearer  "])("accepts the authentication scheme written as %p", async (scheme) => {
  const response = await harness.call("/v1/generations/gen_x", {
    headers: { authorization: `${scheme} ${harness.key}` },
    key: null,
  });
  expect(response.status).toBe(404);
});

describe("the precedence of errors", () => {
  const over = "x".repeat(1_048_577);

  test("returns 401 before any other error", async () => {
    expect((await harness.call("/v1/generations", { method: "POST", body: over, key: null })).status).toBe(401);
  });

  test("returns 403 account_disabled before 403 generation_not_enabled, and both before the rate limit and 413", async () => {
    const key = harness.addCaller({ paused: true, scope: "read", burstPerS: 1 });
    for (let i = 0; i < 3; i++)
      expect(await errorOf(await harness.call("/v1/generations", { method: "POST", body: over, key }))).toMatchObject({
        status: 403,
        code: "account_disabled",
      });
    expect((await errorOf(await harness.call("/v1/generations/gen_x", { key }))).code).toBe("account_disabled");
    const reader = harness.addCaller({ scope: "read", burstPerS: 1 });
    for (let i = 0; i < 3; i++)
      expect((await errorOf(await harness.call("/v1/generations", { method: "POST", body: over, key: reader }))).code).toBe(
        "generation_not_enabled",
      );
  });

  test("allows polls and downloads with a read-only key", async () => {
    const key = harness.addCaller({ scope: "read", accountSeq: 4242 });
    const record = harness.addRecord({ accountSeq: 4242 });
    expect((await harness.call(`/v1/generations/${record.id}`, { key })).status).toBe(200);
    expect((await errorOf(await harness.call(`/v1/generations/${record.id}/content`, { key }))).code).toBe("not_ready");
  });

  test("returns 429 before 413, 413 before 400, and 400 for the idempotency key before 400 for the body", async () => {
    const key = harness.addCaller({ burstPerS: 2 });
    const post = (body: string, headers = {}) => harness.call("/v1/generations", { method: "POST", body, key, headers });
    expect((await errorOf(await post(over, { "idempotency-key": "" }))).status).toBe(413);
    expect((await errorOf(await post("{", { "idempotency-key": "" }))).message).toStartWith("Idempotency-Key");
    expect((await errorOf(await post(over))).code).toBe("rate_limited");
  });

  test("returns 503 restarting before any other error while the store is not open, except on public paths", async () => {
    harness.setStoreOpen(false);
    for (const [method, path] of [...KEYED, ["GET", "/files/gen_00000000000000000000a/1"] as const]) {
      const response = await harness.call(path, { method, key: null });
      expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
      expect(await errorOf(response)).toMatchObject({ status: 503, code: "restarting" });
    }
    for (const path of ["/v1/models", "/models.json", "/healthz", "/openapi.json"])
      expect((await harness.call(path, { key: null })).status).toBe(200);
    harness.setStoreOpen(true);
  });
});

describe("the key cache", () => {
  test("serves a key without a read of the store for one minute", async () => {
    const key = harness.addCaller();
    const before = harness.keyReads();
    for (let i = 0; i < 5; i++) await harness.call("/v1/generations/gen_x", { key });
    expect(harness.keyReads()).toBe(before + 1);
    harness.advance(60_000);
    await harness.call("/v1/generations/gen_x", { key });
    expect(harness.keyReads()).toBe(before + 2);
  });

  test("is invalidated immediately by callersChanged", async () => {
    const key = harness.addCaller();
    expect((await harness.call("/v1/generations/gen_x", { key })).status).toBe(404);
    harness.changeCaller(key, { paused: true });
    harness.http.callersChanged();
    expect((await harness.call("/v1/generations/gen_x", { key })).status).toBe(403);
  });

  test("accepts a new key after another, unknown key was rejected", async () => {
    const key = newApiKey("test");
    expect((await harness.call("/v1/generations/gen_x", { key })).status).toBe(401);
    expect((await harness.call("/v1/generations/gen_x", { key: harness.addCaller() })).status).toBe(404);
  });
});

describe("the rate limit", () => {
  test("allows 20 requests per account and second over all keyed paths, then returns 429 with Retry-After", async () => {
    await using small = await openHarness({ GENROUTER_LIMITS__BURST_PER_S: "20" });
    const record = small.addRecord();
    const paths = [`/v1/generations/${record.id}`, `/v1/generations/${record.id}/content`, "/v1/generations/unknown"];
    for (let i = 0; i < 20; i++) expect((await small.call(paths[i % 3] ?? "")).status).not.toBe(429);
    const refused = await small.submit('{"model":"m","input":{}}');
    expect(refused.headers.get("retry-after")).toBe("1");
    expect(await errorOf(refused)).toMatchObject({ status: 429, code: "rate_limited" });
    expect(small.orders).toEqual([]);
    expect((await small.call(paths[0] ?? "", { key: small.addCaller() })).status).toBe(404);
    expect((await small.call("/v1/models", { key: null })).status).toBe(200);
    small.advance(999);
    expect((await small.call(paths[0] ?? "")).status).toBe(429);
    small.advance(1);
    expect((await small.call(paths[0] ?? "")).status).toBe(200);
  });

  const caller = (accountSeq: number, burstPerS: number | null = null): Caller => ({
    keySeq: 1,
    keyId: "key_1",
    scope: "generate",
    expiresAtMs: null,
    models: null,
    isLimited: false,
    accountSeq,
    accountId: "acc_1",
    paused: false,
    burstPerS,
    inProgressLimit: null,
  });
  const passes = (guard: RateLimiter, who: Caller, atMs: number): boolean => {
    try {
      void guard.take(who, atMs);
      return true;
    } catch {
      return false;
    }
  };

  test("uses the limit of the account if it has one, higher or lower than the default", () => {
    const guard = new RateLimiter(20);
    expect(Array.from({ length: 5 }, () => passes(guard, caller(1, 3), 0)).filter(Boolean).length).toBe(3);
    expect(Array.from({ length: 50 }, () => passes(guard, caller(2, 40), 0)).filter(Boolean).length).toBe(40);
  });

  test("keeps only the accounts of the last seconds in memory, regardless of the total number", () => {
    const guard = new RateLimiter(20);
    for (let i = 0; i < 200_000; i++) void guard.take(caller(i), i);
    expect(guard.size).toBeLessThanOrEqual(20_000);
  });

  test("keeps the count of an active account while other accounts are evicted", () => {
    const guard = new RateLimiter(1);
    let taken = 0;
    for (let atMs = 0; atMs < 10_000; atMs += 10) {
      void guard.take(caller(1000 + atMs), atMs);
      if (passes(guard, caller(1), atMs)) taken += 1;
    }
    expect(taken).toBe(10);
  });
});
