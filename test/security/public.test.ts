// Public port: serves only documented endpoints. The repository contains no credentials.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { Glob } from "bun";
import { isWellFormedApiKey, newApiKey } from "../../src/domain/ids.ts";
import { codeOf, openApiHarness } from "../api/harness.ts";
import type { Harness } from "../harness.ts";

let harness: Harness;
beforeAll(async () => {
  harness = await openApiHarness({ factor: 0 });
});
afterAll(() => harness.close());

const INSIDE = [
  "/metrics/x",
  "/admin",
  "/debug",
  "/debug/pprof",
  "/assets",
  "/internal",
  "/status",
  "/stats",
  "/health",
  "/config",
  "/settings",
  "/env",
  "/script",
  "/jobs",
  "/log",
  "/samples/picture.png",
  "/fal",
  "/replicate/v1",
  "/v1/accounts",
  "/v1/keys",
  "/v1/credits",
  "/v1/admin",
  "/v1/webhooks",
  "/webhooks/stripe",
  "/callback",
  "/v1/generations/../accounts",
  "/genrouter.db",
  "/files",
  "/files/genrouter.db",
  "/control.sock",
  "/data",
  "/src/main.ts",
  "/package.json",
  "/.env",
  "/.git/HEAD",
  "/node_modules",
];

describe("returns 404 for an internal path with or without a key and for any method:", () => {
  test.each(INSIDE)("%s", async (path) => {
    for (const key of [null, harness.tenant.key])
      for (const method of ["GET", "POST", "PUT", "DELETE"]) {
        const answered = await harness.request(method, path, { key });
        expect([answered.status, codeOf(answered)]).toEqual([404, "not_found"]);
      }
  });
});

describe("console and inspector without a session", () => {
  const keys = () =>
    [null, harness.tenant.key].map((key): Record<string, string> => (key ? { authorization: `Bearer ${key}` } : {}));

  test.each(["/console", "/console/keys", "/inspector", "/inspector/gen_x"])("serve the same page at %s", async (path) => {
    const texts = new Set<string>();
    for (const headers of keys()) {
      for (const method of ["POST", "PUT", "DELETE"])
        expect((await fetch(harness.url + path, { method, headers })).status).toBe(405);
      const answered = await fetch(harness.url + path, { headers });
      expect(answered.status).toBe(200);
      texts.add(await answered.text());
    }
    expect(texts.size).toBe(1);
  });

  test.each([
    ["GET", "/console/api/keys"],
    ["POST", "/console/api/keys"],
    ["GET", "/console/api/ledger.csv"],
    ["POST", "/console/api/purchases"],
    ["GET", "/console/api/operator/accounts"],
    ["GET", "/inspector/api/generations/gen_x"],
    ["POST", "/inspector/api/token"],
  ])("return 401 for %s %s, also with an API key or an unknown session cookie", async (method, path) => {
    const cookies: Record<string, string>[] = [{}, { cookie: `__Host-genrouter=${"A".repeat(43)}` }];
    // Uses a remote address, because with the simulator this machine itself may open replays.
    const elsewhere = { "x-forwarded-for": "203.0.113.9" };
    for (const headers of keys().flatMap((key) => cookies.map((cookie) => ({ ...elsewhere, ...key, ...cookie })))) {
      const answered = await fetch(harness.url + path, { method, headers, ...(method === "GET" ? {} : { body: "{}" }) });
      const { error } = (await answered.json()) as { error: { code: string } };
      expect([answered.status, error.code]).toEqual([401, "signed_out"]);
    }
  });
});

test("query parameters and framework headers change no response of public endpoints", async () => {
  for (const path of ["/v1/models", "/healthz", "/readyz", "/openapi.json"]) {
    const plain = await harness.request("GET", path, { key: null });
    for (const words of ["?debug", "?debug=1", "?trace=true", "?format=xml", "?callback=x", "?__proto__[x]=1"])
      expect((await harness.request("GET", path + words, { key: null })).text).toBe(plain.text);
    for (const headers of [
      { "x-debug": "1" },
      { "x-forwarded-host": "evil.example" },
      { "x-original-url": "/admin" },
      { accept: "text/html" },
    ])
      expect((await harness.request("GET", path, { key: null, headers: headers as Record<string, string> })).text).toBe(
        plain.text,
      );
  }
});

test("GET, HEAD and OPTIONS requests leave the balance unchanged on every path", async () => {
  const before = await harness.balance();
  for (const path of [...INSIDE, "/v1/models", "/v1/generations", "/v1/generations/x"])
    for (const method of ["GET", "HEAD", "OPTIONS"]) await harness.request(method, path, { body: undefined });
  for (const path of ["/console", "/inspector", "/console/api/credits", "/inspector/api/token"])
    for (const method of ["GET", "HEAD", "OPTIONS"]) await fetch(harness.url + path, { method });
  expect(await harness.balance()).toEqual(before);
});

test("no file of the repository contains an API key or a provider credential", async () => {
  const root = join(import.meta.dir, "../..");
  const files = [
    ...new Glob("{src,actors,catalogue,proof,test,scripts,deploy}/**/*.{ts,mjs,json,md,sql}").scanSync({ cwd: root }),
  ];
  expect(files.length).toBeGreaterThan(200);
  /** fal: an id and 32 hexadecimal digits; Replicate: `r8_` and 37 characters. */
  const foreign = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}:[0-9a-f]{32}\b|\br8_[A-Za-z0-9]{37}\b/;
  const found: string[] = [];
  const search = (name: string, text: string) => {
    for (const [word] of text.matchAll(/gr_(?:live|test)_[0-9A-Za-z]{49}/g)) if (isWellFormedApiKey(word)) found.push(name);
    if (foreign.test(text)) found.push(name);
  };
  for (const file of [...files, "openapi.json", "README.md", "package.json"])
    search(file, await Bun.file(join(root, file)).text());
  expect(found).toEqual([]);
  // Proves that the search finds keys.
  search("planted", `key = "${newApiKey("live")}"`);
  search("planted", `r8_${"a".repeat(37)}`);
  expect(found).toEqual(["planted", "planted"]);
});
