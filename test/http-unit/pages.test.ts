// Tests of the documentation pages: content security policy, all error codes, and caching in browsers.
import { expect, test } from "bun:test";
import { gunzipSync } from "node:zlib";
import { API_ERRORS } from "../../src/domain/api-errors.ts";
import { GENERATION_ERROR_CODES, INTERFACE_VERSION } from "../../src/domain/types.ts";
import origin from "../../src/http/pages/assets/scalar.json";
import { GUIDES } from "../../src/http/pages/guide-texts.ts";
import { openHarness } from "./harness.ts";

const PAGES = ["/docs", "/docs/errors", ...Object.keys(GUIDES).map((name) => `/docs/guides/${name}`)];
const sha256 = (bytes: Uint8Array) => new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
const open = { key: null } as const;
/** Keeps the body encoded as it was sent. */
const raw = { decompress: false };

/** Sources of each directive of a response's content security policy. */
const policyOf = (response: Response): Map<string, string[]> =>
  new Map(
    (response.headers.get("content-security-policy") ?? "").split("; ").map((directive) => {
      const [name = "", ...sources] = directive.split(" ");
      return [name, sources];
    }),
  );

test.each(PAGES)("%s loads nothing from another host and runs no inline script", async (path) => {
  await using harness = await openHarness();
  const response = await harness.call(path, open);
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
  const policy = policyOf(response);
  expect(policy.get("default-src")).toEqual(["'none'"]);
  expect(policy.get("frame-ancestors")).toEqual(["'none'"]);
  for (const [name, sources] of policy) {
    expect([name, sources.filter((source) => !/^'(self|none|unsafe-inline)'$|^(data|blob):$/.test(source))]).toEqual([name, []]);
    if (name === "script-src" || path === "/docs/errors") expect(sources).not.toContain("'unsafe-inline'");
  }
  expect(response.headers.get("x-content-type-options")).toBe("nosniff");
  expect(response.headers.get("referrer-policy")).toBe("no-referrer");
  expect(response.headers.get("permissions-policy")).toContain("camera=()");
  expect(response.headers.has("strict-transport-security")).toBe(false);
  const html = await response.text();
  expect(html).toContain('<html lang="en">');
  expect(html).not.toMatch(/<script(?![^>]*\bsrc="\/)|<[^>]*\s(on\w+|style|src="https?)=|<(link|img|form)[^>]*https?:\/\//);
  const parts = [...html.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map((match) => match[1] ?? "");
  expect(parts.length).toBeGreaterThan(0);
  for (const part of parts) expect([part, (await harness.call(part, open)).status]).toEqual([part, 200]);
});

test("sends Strict-Transport-Security when the public URL of the service is https", async () => {
  await using harness = await openHarness({ GENROUTER_SERVER__PUBLIC_URL: "https://api.example.org" });
  for (const path of PAGES) {
    const { headers } = await harness.call(path, open);
    expect(headers.get("strict-transport-security")).toBe("max-age=31536000");
  }
});

test("serves the published page script, compressed if the client accepts gzip, as immutable under a hashed name", async () => {
  await using harness = await openHarness();
  const html = await (await harness.call("/docs", open)).text();
  const [path = ""] = /\/docs\/assets\/scalar-\w+\.js/.exec(html) ?? [];
  expect(path).toContain(origin.gzip_sha256.slice(0, 12));
  const packed = await harness.call(path, { ...open, ...raw, headers: { "accept-encoding": "br;q=1, gzip;q=0.8" } });
  expect(packed.headers.get("content-encoding")).toBe("gzip");
  expect(packed.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
  expect(packed.headers.get("vary")).toBe("Accept-Encoding");
  const bytes = await packed.bytes();
  expect(sha256(bytes)).toBe(origin.gzip_sha256);
  expect(sha256(gunzipSync(bytes))).toBe(origin.sha256);
  for (const coding of ["", "identity", "gzip;q=0", "gzip;q=0.00, br"]) {
    const plain = await harness.call(path, { ...open, ...raw, headers: { "accept-encoding": coding } });
    expect([coding, plain.headers.get("content-encoding"), sha256(await plain.bytes())]).toEqual([coding, null, origin.sha256]);
  }
  for (const other of ["scalar.js", "scalar-000000000000.js", "scalar.json", "..%2fpage.ts"])
    expect((await harness.call(`/docs/assets/${other}`, open)).status).toBe(404);
});

test("/docs/errors has one section for every code, with status, cause, remedy and Retry-After", async () => {
  await using harness = await openHarness();
  const html = await (await harness.call("/docs/errors", open)).text();
  const ids = [...html.matchAll(/\bid="([^"]+)"/g)].map((match) => match[1] ?? "");
  expect(new Set(ids).size).toBe(ids.length);
  for (const link of html.matchAll(/href="#([^"]+)"/g)) expect(ids).toContain(link[1] ?? "");
  const sections = new Map([...html.matchAll(/<section id="(\w+)"[\s\S]*?<\/section>/g)].map((match) => [match[1], match[0]]));
  expect([...sections.keys()]).toEqual([...Object.keys(API_ERRORS), ...GENERATION_ERROR_CODES]);
  for (const [code, rule] of Object.entries(API_ERRORS)) {
    const section = sections.get(code) ?? "";
    expect(section).toContain(`<dt>Status</dt><dd>${rule.status}</dd>`);
    expect(section).toContain(`<dt>When</dt><dd>${rule.when}</dd>`);
    expect(section).toMatch(/<dt>What to do<\/dt><dd>.{20,}<\/dd>/);
    expect(section.includes("Retry-After</dt>")).toBe("retryAfterS" in rule);
  }
});

test("/docs shows every operation with its summary before any script has run", async () => {
  await using harness = await openHarness();
  const response = await harness.call("/docs", open);
  const html = await response.text();
  const { paths } = (await (await harness.call("/openapi.json", open)).json()) as {
    paths: Record<string, Record<string, { summary: string }>>;
  };
  for (const [path, item] of Object.entries(paths))
    for (const [method, { summary }] of Object.entries(item)) {
      if (method === "options") continue;
      const heading = `<h3><code>${method.toUpperCase()} ${path}</code> ${Bun.escapeHTML(summary).replaceAll("&#x27;", "'")}</h3>`;
      expect(html).toContain(heading);
    }
  expect(html).not.toContain("[object Object]");
});

test("guides link to one another, and an unknown guide is 404 with the names of all", async () => {
  await using harness = await openHarness();
  for (const name of Object.keys(GUIDES)) {
    const html = await (await harness.call(`/docs/guides/${name}`, open)).text();
    expect([...html.matchAll(/<h1\b/g)].length).toBe(1);
    expect(html).not.toMatch(/href="[^"]*\.md[#"]/);
    for (const other of Object.keys(GUIDES)) expect(html).toContain(`href="/docs/guides/${other}"`);
  }
  for (const name of ["none", "constructor", "quick-start.md"]) {
    const refused = await harness.call(`/docs/guides/${name}`, open);
    expect(refused.status).toBe(404);
    expect(await refused.text()).toContain("quick-start");
  }
});

test("/llms.txt lists every error code and every path of /v1 in less than 12,000 characters", async () => {
  await using harness = await openHarness();
  const response = await harness.call("/llms.txt", open);
  expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8");
  const text = await response.text();
  for (const code of [...Object.keys(API_ERRORS), ...GENERATION_ERROR_CODES]) expect(text).toContain(` ${code}: `);
  const { paths } = (await (await harness.call("/openapi.json", open)).json()) as { paths: object };
  for (const path of Object.keys(paths).filter((each) => each.startsWith("/v1/"))) expect(text).toContain(` ${path}`);
  expect(text.length).toBeLessThan(12_000);
});

test("/ redirects a browser to /docs and returns 404 to every other client", async () => {
  await using harness = await openHarness();
  const browser = await harness.call("/", { ...open, headers: { accept: "text/html,application/xhtml+xml,*/*;q=0.8" } });
  expect([browser.status, browser.headers.get("location")]).toEqual([302, "/docs"]);
  for (const headers of [{}, { accept: "*/*" }, { accept: "application/json" }])
    expect((await harness.call("/", { ...open, headers })).status).toBe(404);
  expect((await harness.call("/", { ...open, method: "POST", headers: { accept: "text/html" } })).status).toBe(404);
});

test("pages accept GET and HEAD, and return 405 with Allow for other methods", async () => {
  await using harness = await openHarness();
  for (const path of [...PAGES, "/llms.txt"]) {
    expect((await harness.call(path, { ...open, method: "HEAD" })).status).toBe(200);
    const refused = await harness.call(path, { ...open, method: "POST" });
    expect([refused.status, refused.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  }
});

test("addresses of the documentation with a slash at the end redirect to their page", async () => {
  await using harness = await openHarness();
  const moved = { "/docs/": "/docs", "/docs/errors/": "/docs/errors", "/docs/guides": "/docs/guides/quick-start" };
  for (const [from, to] of Object.entries({ ...moved, "/docs/guides/": "/docs/guides/quick-start" })) {
    const response = await harness.call(from, { ...open, redirect: "manual" });
    expect([from, response.status, response.headers.get("location")]).toEqual([from, 308, to]);
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    expect(response.headers.get("genrouter-version")).toBe(INTERFACE_VERSION);
    expect((await harness.call(to, open)).status).toBe(200);
  }
  expect((await harness.call("/docs/", { ...open, method: "POST" })).status).toBe(404);
});

const HTML = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };

test("a browser reads a page for an unknown path, and every other client and every path of the API has the JSON error", async () => {
  await using harness = await openHarness();
  for (const path of ["/nowhere", "/docs/guides/none", "/docs/nothing"]) {
    const page = await harness.call(path, { ...open, headers: HTML });
    expect([path, page.status, page.headers.get("content-type")]).toEqual([path, 404, "text/html; charset=utf-8"]);
    expect([page.headers.get("cache-control"), page.headers.get("vary")]).toEqual(["no-store", "Accept"]);
    const html = await page.text();
    expect(html).toContain("<h1>Page not found</h1>");
    expect(html).toContain('href="/docs/guides/quick-start"');
    const json = await harness.call(path, { ...open, headers: { accept: "*/*" } });
    expect([path, json.status, json.headers.get("content-type")]).toEqual([path, 404, "application/json"]);
  }
  const api = [await harness.call("/v1/nowhere", { ...open, headers: HTML })];
  api.push(await harness.call("/nowhere", { ...open, method: "POST", headers: HTML }));
  for (const response of api) {
    expect([response.status, response.headers.get("content-type")]).toEqual([404, "application/json"]);
    expect(await response.json()).toMatchObject({ error: { code: "not_found" } });
  }
  // A person reads links, and a program the path of the description.
  expect(await (await harness.call("/nowhere", { ...open, headers: HTML })).text()).not.toContain("openapi.json");
  for (const path of ["/nowhere", "/v1/nowhere"])
    expect(await (await harness.call(path, open)).json()).toMatchObject({
      error: { message: expect.stringMatching(/\/docs .*\/openapi\.json/) as unknown },
    });
  // A path is never part of the page.
  const marked = await harness.call("/%3Cscript%3Ealert(1)%3C/script%3E", { ...open, headers: HTML });
  expect(await marked.text()).not.toContain("alert(1)");
});

test("every page has the icon of the product, also for clients that request /favicon.ico", async () => {
  await using harness = await openHarness();
  for (const path of PAGES) {
    const html = await (await harness.call(path, open)).text();
    expect(html).toMatch(/<link rel="icon" type="image\/svg\+xml" href="\/docs\/assets\/favicon-\w+\.svg">/);
  }
  const icon = await harness.call("/favicon.ico", open);
  expect([icon.status, icon.headers.get("content-type")]).toEqual([200, "image/svg+xml"]);
  expect(await icon.text()).toStartWith("<svg ");
});

test("every page has the header with the quick start first, and a link to the console only if there is one", async () => {
  await using harness = await openHarness();
  for (const path of PAGES) {
    const html = await (await harness.call(path, open)).text();
    const header = /<header class="site">[\s\S]*?<\/header>/.exec(html)?.[0] ?? "";
    const links = [...header.matchAll(/<li><a href="([^"]+)"/g)].map((match) => match[1]);
    expect(links).toEqual([...Object.keys(GUIDES).map((name) => `/docs/guides/${name}`), "/docs/errors", "/docs"]);
    expect(links[0]).toBe("/docs/guides/quick-start");
    expect(header).toContain(`href="${path}" aria-current="page"`);
    expect(header).not.toContain('href="/console"');
  }
});

test("the example of a submission in the reference has an Idempotency-Key", async () => {
  await using harness = await openHarness();
  const { paths } = (await (await harness.call("/openapi.json", open)).json()) as {
    paths: Record<string, Record<string, { "x-codeSamples"?: { source: string }[] }>>;
  };
  const [sample] = paths["/v1/generations"]?.post?.["x-codeSamples"] ?? [];
  expect(sample?.source).toContain("Idempotency-Key: ");
  expect(JSON.parse(/-d '(.*)'$/.exec(sample?.source ?? "")?.[1] ?? "")).toMatchObject({ model: "vidmodel-2.0-fast" });
});
