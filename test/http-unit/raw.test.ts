// Tests of malformed requests over a plain socket: request smuggling and the limit of headers.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Harness, openHarness } from "./harness.ts";
import { talk } from "./raw.ts";

let harness: Harness;
beforeAll(async () => {
  harness = await openHarness();
});
afterAll(() => harness[Symbol.asyncDispose]());

const body = '{"model":"m","input":{}}';
const post = (...headers: string[]) =>
  `POST /v1/generations HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${harness.key}\r\n${headers.map((line) => `${line}\r\n`).join("")}\r\n`;
const SMUGGLED = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";

const CASES: [name: string, request: () => string][] = [
  ["a length and chunks", () => `${post("Content-Length: 5", "Transfer-Encoding: chunked")}0\r\n\r\n${SMUGGLED}`],
  ["an unknown transfer encoding", () => `${post("Transfer-Encoding: xchunked")}${body}${SMUGGLED}`],
  ["two lengths", () => `${post(`Content-Length: ${body.length}`, "Content-Length: 0")}${body}${SMUGGLED}`],
  ["a length with a sign", () => `${post(`Content-Length: +${body.length}`)}${body}${SMUGGLED}`],
  ["a negative length", () => `${post("Content-Length: -1")}${SMUGGLED}`],
  ["a length that is not a number", () => `${post("Content-Length: 0x10")}${SMUGGLED}`],
  ["lines that end in LF alone", () => `${post(`Content-Length: ${body.length}`).replaceAll("\r\n", "\n")}${body}`],
  ["no Host", () => `GET /v1/generations/gen_x HTTP/1.1\r\nAuthorization: Bearer ${harness.key}\r\n\r\n${SMUGGLED}`],
  ["a folded header", () => `${post("X-A: 1", " folded: 2")}${SMUGGLED}`],
  ["a blank before the colon", () => `${post(`Content-Length : ${body.length}`)}${body}${SMUGGLED}`],
  ["a chunk size that is not a number", () => `${post("Transfer-Encoding: chunked")}zz\r\n${body}\r\n0\r\n\r\n${SMUGGLED}`],
  ["an unknown HTTP version", () => `GET /healthz HTTP/9.9\r\nHost: localhost\r\n\r\n${SMUGGLED}`],
  ["a malformed request line", () => `HELLO\r\n\r\n${SMUGGLED}`],
];

describe("rejects an ambiguous or malformed request and closes the connection without a response to what follows:", () => {
  test.each(CASES)("%s", async (_name, request) => {
    const before = harness.orders.length;
    const { statuses, closed } = await talk(harness.url, [request()]);
    expect(statuses.length).toBeLessThanOrEqual(1);
    for (const status of statuses) expect(status === 505 || (status >= 400 && status < 500)).toBe(true);
    expect(closed).toBe(true);
    expect(harness.orders.length).toBe(before);
  });
});

describe("the limit and the meaning of headers", () => {
  test("accepts 15 kB of headers and rejects 20 kB with 431", async () => {
    const of = (bytes: number) =>
      `GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Long: ${"x".repeat(bytes)}\r\n\r\n`;
    expect((await talk(harness.url, [of(15_000)])).statuses).toEqual([200]);
    expect((await talk(harness.url, [of(20_000)])).statuses).toEqual([431]);
  });

  test("rejects 300 headers with 431", async () => {
    const many = Array.from({ length: 300 }, (_, i) => `X-${i}: 1\r\n`).join("");
    const { statuses, closed } = await talk(harness.url, [`GET /healthz HTTP/1.1\r\nHost: localhost\r\n${many}\r\n`]);
    expect([statuses, closed]).toEqual([[431], true]);
  });

  test("returns 401 for two Authorization headers", async () => {
    const twice = `GET /v1/generations/gen_x HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${harness.key}\r\nAuthorization: Bearer ${harness.key}\r\nConnection: close\r\n\r\n`;
    expect((await talk(harness.url, [twice])).statuses).toEqual([401]);
  });

  test("ignores a foreign or missing Host header for routing and for links", async () => {
    const record = harness.addRecord({
      status: "succeeded",
      costCredits: 1,
      completedAtMs: 1,
      output: { kind: "audio", files: [{ n: 1, sha256: "00", bytes: 1, mime: "audio/wav" }] },
    });
    const head = (host: string, version: string) =>
      `GET /v1/generations/${record.id} HTTP/${version}\r\n${host}Authorization: Bearer ${harness.key}\r\nConnection: close\r\n\r\n`;
    for (const [host, version] of [
      ["Host: x\r\n", "1.1"],
      ["Host: evil.example\r\n", "1.1"],
      ["", "1.0"],
    ] as const) {
      const { statuses, text } = await talk(harness.url, [head(host, version)]);
      expect(statuses).toEqual([200]);
      expect(text).toContain(`"urls":["${harness.url}/files/`);
      expect(text).not.toContain("evil");
    }
    const link = harness.links.sign(record.id, 1).slice(harness.url.length);
    const { statuses } = await talk(harness.url, [`GET ${link.replace(/sig=.*/, "sig=x")} HTTP/1.0\r\n\r\n`]);
    expect(statuses).toEqual([403]);
  });

  test.each(["generations", "webhook_deliveries"])("reads the query of /v1/%s over HTTP/1.0 without a Host", async (list) => {
    const head = `GET /v1/${list}?limit=0 HTTP/1.0\r\nAuthorization: Bearer ${harness.key}\r\n\r\n`;
    const { statuses, text } = await talk(harness.url, [head]);
    expect(statuses).toEqual([400]);
    expect(text).toContain("limit: must be a whole number from 1 to 100.");
  });
});

test.each([
  ["TRACE /v1/models", 405],
  ["PROPFIND /v1/generations", 405],
  ["GET //nowhere", 404],
] as const)("returns the specified error body for %s, which only a plain socket can send", async (line, status) => {
  const { statuses, text } = await talk(harness.url, [`${line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`]);
  expect(statuses).toEqual([status]);
  expect(text).toContain('{"error":{"code":"');
});
