// Host headers, CSV downloads and a cloud-internal address: what the service rejects, caches and treats as private.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { isPublicAddress } from "../../src/media/ssrf-guard.ts";
import { openVisitor, type Visitor } from "../console/signed-in.ts";
import { type Harness, openHarness } from "../harness.ts";
import { talk } from "../http-unit/raw.ts";

let harness: Harness;
let visitor: Visitor;
beforeAll(async () => {
  harness = await openHarness({ factor: 0 });
  visitor = await openVisitor(harness, "member", harness.tenant);
});
afterAll(() => harness.close());

const PATHS = [
  "/healthz",
  "/v1/models",
  "/v1/generations/gen_x",
  "/console/api/me",
  "/console",
  "/inspector/ws",
  "/files/gen_x/1",
];

test.each(PATHS)("rejects two Host headers at %s with 400, even equal ones", async (path) => {
  for (const hosts of ["Host: a.example\r\nHost: b.example\r\n", "Host: a.example\r\nHost: a.example\r\n"]) {
    const { statuses, text } = await talk(harness.url, [`GET ${path} HTTP/1.1\r\n${hosts}Connection: close\r\n\r\n`]);
    expect(statuses).toEqual([400]);
    expect(text).toContain('"message":"Host: the request names more than one."');
  }
});

test.each(PATHS)("answers an invalid Host at %s with 400 and logs no request failure", async (path) => {
  for (const host of ["a:99999999", "[::1", "a b", "user@host", "a/b"]) {
    const { statuses, text } = await talk(harness.url, [`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`]);
    expect([host, statuses]).toEqual([host, [400]]);
    expect(text).toContain('"message":"Host: it is not the name of a host."');
  }
  // These values look like a host, but no URL can be built from them.
  for (const host of ["1.2.3.999", "[::g]", "a:99999", "%zz", ""]) {
    const { statuses } = await talk(harness.url, [`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`]);
    expect(statuses[0]).toBeLessThan(500);
  }
  expect(harness.lines.filter(({ event }) => event === "request failed")).toEqual([]);
});

test.each(PATHS)("answers %s over HTTP/1.0 without a Host header and logs no request failure", async (path) => {
  const { statuses } = await talk(harness.url, [`GET ${path} HTTP/1.0\r\n\r\n`]);
  expect(statuses[0]).toBeLessThan(500);
  expect(harness.lines.filter(({ event }) => event === "request failed")).toEqual([]);
});

test.each(["usage", "ledger"])("serves %s.csv as text/csv with no-store and nosniff", async (name) => {
  const { status, headers } = await visitor.ask("GET", `/console/api/${name}.csv`);
  expect(status).toBe(200);
  expect([headers.get("cache-control"), headers.get("x-content-type-options")]).toEqual(["no-store", "nosniff"]);
  expect(headers.get("content-type")).toStartWith("text/csv");
});

test("the Azure WireServer address 168.63.129.16 is not a public address", () => {
  expect(["168.63.129.16", "::ffff:168.63.129.16", "168.63.129.17"].map(isPublicAddress)).toEqual([false, false, true]);
});
