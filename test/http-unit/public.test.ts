// Tests of public paths and of every response: the model list, health, methods, request ids and defects.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { ModelEntry } from "../../catalogue/public-model.ts";
import { API_ERRORS, ApiError } from "../../src/domain/api-errors.ts";
import { StoreFull } from "../../src/domain/commit-errors.ts";
import { errorOf, type Harness, openHarness } from "./harness.ts";

let harness: Harness;
beforeAll(async () => {
  harness = await openHarness();
});
afterAll(() => harness[Symbol.asyncDispose]());

const entry = (id: string): ModelEntry => ({
  id,
  object: "model",
  name: id,
  maker: null,
  kind: "image",
  tasks: ["text-to-image"],
  options: { prompt: { max_length: 30_000, required: true } },
  price: { currency: "usd", unit: "image", rates: [{ when: {}, usd: 0.04 }], video_input_rates: [] },
});
const open = (path: string, init: RequestInit = {}) => harness.call(path, { ...init, key: null });

describe.each(["/v1/models", "/models.json"])("%s", (path) => {
  test("lists the models without a key, with a key and with an invalid key", async () => {
    harness.setModels([entry("a"), entry("b")]);
    for (const headers of [{}, { authorization: `Bearer ${harness.key}` }, { authorization: "Bearer nonsense" }]) {
      const response = await open(path, { headers: headers as Record<string, string> });
      expect(response.status).toBe(200);
      expect(response.headers.get("content-type")).toBe("application/json");
      expect(response.headers.get("access-control-allow-origin")).toBe("*");
      expect(response.headers.get("cache-control")).toBe("public, max-age=15");
      expect(await response.json()).toEqual({ object: "list", data: [entry("a"), entry("b")] });
    }
  });

  test("returns 304 when If-None-Match matches, and the new list with a new ETag after a change", async () => {
    harness.setModels([entry("a")]);
    const etag = (await open(path)).headers.get("etag") ?? "";
    for (const tags of [etag, `W/${etag}`, `"x", ${etag}`, "*"]) {
      const known = await open(path, { headers: { "if-none-match": tags } });
      expect([known.status, await known.text(), known.headers.get("etag")]).toEqual([304, "", etag]);
    }
    harness.setModels([entry("a")]);
    expect((await open(path, { headers: { "if-none-match": etag } })).status).toBe(304);
    harness.setModels([entry("c")]);
    const changed = await open(path, { headers: { "if-none-match": etag } });
    expect(changed.status).toBe(200);
    expect(((await changed.json()) as { data: ModelEntry[] }).data[0]?.id).toBe("c");
    expect(changed.headers.get("etag")).not.toBe(etag);
  });

  test("answers a CORS preflight from any origin", async () => {
    const response = await open(path, { method: "OPTIONS", headers: { origin: "https://x.example" } });
    expect([response.status, await response.text()]).toEqual([204, ""]);
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
    expect(response.headers.get("access-control-allow-methods")).toBe("GET, HEAD, OPTIONS");
  });
});

describe("health", () => {
  test("/healthz returns 200 even if the service is not ready", async () => {
    harness.setReadiness({ ready: false, faults: ["x"] });
    expect((await open("/healthz")).status).toBe(200);
  });
  test("/readyz returns 200 when the service is ready, and 503 with the faults when it is not", async () => {
    harness.setReadiness({ ready: true, faults: [] });
    expect(await (await open("/readyz")).json()).toEqual({ status: "ready", faults: [] });
    harness.setReadiness({ ready: false, faults: ["a generation is parked"] });
    const response = await open("/readyz");
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "5"]);
    expect(await response.json()).toMatchObject({
      error: { code: "restarting", message: "Not ready: a generation is parked." },
      faults: ["a generation is parked"],
    });
  });
});

describe("paths and methods", () => {
  const ALLOWED: [path: string, allow: string][] = [
    ["/v1/generations", "POST, GET, HEAD"],
    ["/v1/generations/gen_x", "GET, HEAD, DELETE"],
    ["/v1/generations/gen_x/content", "GET, HEAD"],
    ["/v1/generations/gen_x/content/2", "GET, HEAD"],
    ["/v1/models", "GET, HEAD, OPTIONS"],
    ["/models.json", "GET, HEAD, OPTIONS"],
    ["/openapi.json", "GET, HEAD, OPTIONS"],
    ["/files/gen_x/1", "GET, HEAD, OPTIONS"],
    ["/healthz", "GET, HEAD"],
    ["/readyz", "GET, HEAD"],
  ];
  test.each(ALLOWED)("%s returns 405 for every method except %s", async (path, allow) => {
    for (const method of ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"]) {
      if (allow.split(", ").includes(method)) continue;
      const response = await open(path, { method });
      expect(response.status).toBe(405);
      expect(response.headers.get("allow")).toBe(allow);
      if (method !== "HEAD") expect((await errorOf(response)).code).toBe("invalid_request");
    }
  });

  test.each([
    "/",
    "/v1",
    "/v1/",
    "/v1/models/",
    "/V1/models",
    "/v2/models",
    "/v1/generations/",
    "/v1/generations/gen_x/",
    "/v1/generations/gen_x/contents",
    "/v1/generations/gen_x/content/2/3",
    "/metrics/x",
    "/admin",
    "/files",
    "/%",
    "/?debug",
    "/v1/generations%2Fgen_x",
  ])("returns 404 with the specified error body for the unknown path %s", async (path) => {
    expect(await errorOf(await open(path))).toMatchObject({ status: 404, code: "not_found" });
  });

  test("returns the status and headers of GET for HEAD, without the body", async () => {
    const record = harness.addRecord();
    // Otherwise the client decompresses the body, and its length differs.
    const headers = { "accept-encoding": "identity" };
    for (const path of ["/v1/models", "/openapi.json", "/healthz", `/v1/generations/${record.id}`, "/v1/generations/gen_x"]) {
      const [get, head] = await Promise.all([harness.call(path, { headers }), harness.call(path, { method: "HEAD", headers })]);
      const body = await get.text();
      expect(head.status).toBe(get.status);
      expect(await head.text()).toBe("");
      expect(head.headers.get("content-length")).toBe(String(Buffer.byteLength(body)));
      expect(head.headers.get("etag")).toBe(get.headers.get("etag"));
    }
  });

  test("paths that require a key send no CORS headers", async () => {
    const record = harness.addRecord();
    const response = await harness.call(`/v1/generations/${record.id}`, { headers: { origin: "https://x.example" } });
    expect(response.headers.get("access-control-allow-origin")).toBeNull();
  });
});

describe("every response", () => {
  const PATHS = ["/v1/models", "/healthz", "/nowhere", "/v1/generations/gen_x", "/files/x/1"];
  test("has the client's request id if it is valid, and a new one otherwise", async () => {
    for (const path of PATHS) {
      for (const id of ["a", "A-b_9", "x".repeat(80)])
        expect((await harness.call(path, { headers: { "x-request-id": id } })).headers.get("x-request-id")).toBe(id);
      for (const id of ["", "x".repeat(81), "a b", "a,b", "é", 'a"b', "<x>"])
        expect((await harness.call(path, { headers: { "x-request-id": id } })).headers.get("x-request-id")).toMatch(
          /^req_\w{8,40}$/,
        );
    }
    const ids = await Promise.all(Array.from({ length: 100 }, async () => (await open("/healthz")).headers.get("x-request-id")));
    expect(new Set(ids).size).toBe(100);
  });

  test("has the API version and X-Content-Type-Options: nosniff", async () => {
    for (const path of PATHS) {
      const { headers } = await harness.call(path);
      expect(headers.get("genrouter-version")).toBe("2026-10-19");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
    }
  });

  test("is logged with the request id that the submit function received", async () => {
    await harness.submit('{"model":"m","input":{}}', { "x-request-id": "mine-1" });
    expect(harness.orders.at(-1)?.requestId).toBe("mine-1");
    expect(harness.lines.at(-1)).toMatchObject({
      event: "request completed",
      fields: { request_id: "mine-1", method: "POST", route: "/v1/generations", status: 202 },
    });
  });
});

describe("a submission", () => {
  const body = '{"model":"m","input":{}}';
  test("returns 202 with Location, Retry-After and Cache-Control: no-store", async () => {
    const response = await harness.submit(body);
    const { id } = (await response.json()) as { id: string };
    expect(response.status).toBe(202);
    expect(response.headers.get("location")).toBe(`/v1/generations/${id}`);
    expect(response.headers.get("retry-after")).toBe("2");
    expect(response.headers.get("cache-control")).toBe("no-store");
  });

  test("returns 200 when it is a replay", async () => {
    const record = harness.addRecord();
    harness.onSubmit(async () => ({ record, replayed: true }));
    const response = await harness.submit(body);
    expect(response.status).toBe(200);
    expect(((await response.json()) as { id: string }).id).toBe(record.id);
    harness.onSubmit(null);
  });

  const codes = Object.entries(API_ERRORS) as [keyof typeof API_ERRORS, { status: number; retryAfterS?: number }][];
  test.each(codes)("that is rejected with %s returns the status, message and Retry-After of that code", async (code, rule) => {
    harness.onSubmit(async () => {
      throw new ApiError(code, "input.x: half a pair \ud800 and more");
    });
    const response = await harness.submit(body);
    harness.onSubmit(null);
    expect(response.headers.get("retry-after")).toBe(rule.retryAfterS === undefined ? null : String(rule.retryAfterS));
    expect(await errorOf(response)).toEqual({ status: rule.status, code, message: "input.x: half a pair \ufffd and more" });
  });
});

describe("a defect", () => {
  const secret = "a red kite gr_live_secret https://media.example/x.png";
  const FAULTS: [name: string, fault: unknown][] = [
    ["an Error", new Error(secret)],
    ["an Error with a code that a framework knows", Object.assign(new Error(secret), { code: "NOT_FOUND", status: 404 })],
    ["null", null],
    ["undefined", undefined],
    ["a string", secret],
    ["a StoreFull that the submit function did not catch", new StoreFull(secret)],
  ];
  test.each(FAULTS)(
    "thrown as %s returns 500 server_error and logs one line, without content of the request",
    async (_name, fault) => {
      harness.onSubmit(() => {
        throw fault;
      });
      const from = harness.lines.length;
      const response = await harness.submit('{"model":"m","input":{}}');
      harness.onSubmit(null);
      const error = await errorOf(response);
      expect(error).toMatchObject({ status: 500, code: "server_error" });
      const failed = harness.lines.slice(from).filter((line) => line.event === "request failed");
      expect(failed.length).toBe(1);
      expect(failed[0]?.fields.request_id).toBe(response.headers.get("x-request-id") ?? "");
      expect(error.message + JSON.stringify(harness.lines.slice(from))).not.toMatch(/kite|gr_live|media\.example/);
    },
  );

  test("in a read returns 500", async () => {
    await using other = await openHarness();
    const record = other.addRecord();
    other.breakReads(new TypeError("x"));
    for (const path of ["", "/content", "/content/2"])
      expect((await errorOf(await other.call(`/v1/generations/${record.id}${path}`))).status).toBe(500);
  });
});

test("logs one line for a submission and none for a poll at level info", async () => {
  await using quiet = await openHarness({ GENROUTER_LOG__LEVEL: "info" });
  const record = quiet.addRecord();
  await quiet.call(`/v1/generations/${record.id}`);
  await quiet.call("/v1/models");
  expect(quiet.lines).toEqual([]);
  await quiet.submit('{"model":"m","input":{}}');
  expect(quiet.lines.map((line) => line.event)).toEqual(["request completed"]);
});

test("handles a Request object without a socket", async () => {
  const response = await harness.http.handle(new Request("http://localhost/healthz"));
  expect(response.status).toBe(200);
  const posted = await harness.http.handle(
    new Request("http://localhost/v1/generations", {
      method: "POST",
      headers: { authorization: `Bearer ${harness.key}` },
      body: '{"model":"m","input":{}}',
    }),
  );
  expect(posted.status).toBe(202);
});
