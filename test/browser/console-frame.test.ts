// Layout of console and inspector in a browser: script size, hosts, keyboard, colour schemes and asset files.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { brotliDecompressSync } from "node:zlib";
import type { Browser, BrowserContextOptions, Response as Loaded } from "playwright-core";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { openVisitor, type Visitor } from "../console/signed-in.ts";
import { type Harness, openHarness } from "../harness.ts";
import { openBrowser } from "./chromium.ts";
import { PAGES, watch } from "./watched.ts";

const opened = await openBrowser();
if (typeof opened === "string") process.stdout.write(`skipped: the console's frame in a browser (${opened})\n`);
const here = describe.skipIf(typeof opened === "string");
const browser = opened as Browser;

setDefaultTimeout(60_000);
let harness: Harness;
let visitor: Visitor;
beforeAll(async () => {
  harness = await openHarness({ factor: 0, dir: freshDir() });
  visitor = await openVisitor(harness, "operator", harness.tenant);
}, 60_000);
afterAll(async () => {
  if (typeof opened !== "string") await opened.close();
  await harness.close();
  dropDirs();
});

const visit = (path: string, look: BrowserContextOptions = {}) => watch(browser, { url: harness.url, visitor, path, look });
/** Files that a page references, and the files that these reference: every script and stylesheet. */
const assetsOf = async (path: string): Promise<string[]> => {
  const found = new Set<string>();
  const read = async (from: string) => {
    const text = await (await fetch(harness.url + from)).text();
    const names = [...text.matchAll(/(?:\/assets\/|["'`]\.\/)([\w.~-]+\.(?:js|css))/g)].map(([, name]) => `/assets/${name}`);
    for (const name of names)
      if (!found.has(name)) {
        found.add(name);
        await read(name);
      }
  };
  await read(path);
  return [...found];
};
/** Requests a content coding and returns the response undecoded. */
const raw = (path: string, coding: string) =>
  fetch(harness.url + path, { headers: { "accept-encoding": coding }, decompress: false });

here("every page", () => {
  test.each(PAGES)("%s requests no other host, repeats no request, and logs no error or policy violation", async (path) => {
    const { page, asked, complaints, close } = await visit(path);
    await page.locator("[aria-busy='true']").waitFor({ state: "detached" });
    const hosts = new Set(asked.filter((address) => !address.startsWith("data:")).map((address) => new URL(address).host));
    expect([...hosts]).toEqual([new URL(harness.url).host]);
    expect(asked.length).toBeGreaterThan(3);
    const questions = asked.filter((address) => new URL(address).pathname.includes("/api/"));
    expect(questions).toEqual([...new Set(questions)]);
    expect(complaints).toEqual([]);
    await close();
  });

  test.each(["/console/keys", "/inspector"])("loads less than 60 kB of compressed script for %s", async (path) => {
    const context = await browser.newContext();
    await visitor.signIn(context);
    const page = await context.newPage();
    const scripts: Loaded[] = [];
    page.on("response", (response) => {
      if (response.request().resourceType() === "script" || new URL(response.url()).pathname.endsWith(".js"))
        scripts.push(response);
    });
    await page.goto(harness.url + path);
    await page.locator("[aria-busy='true']").waitFor({ state: "detached" });
    await page.locator("main > *:nth-child(2)").waitFor();
    let bytes = 0;
    for (const script of scripts) {
      const length = Number(await script.headerValue("content-length"));
      // Files that compression would enlarge are sent uncompressed.
      if (length >= LEAST_PACKED_BYTES) expect(await script.headerValue("content-encoding")).toBe("br");
      bytes += length;
    }
    process.stdout.write(`${path}: ${(bytes / 1000).toFixed(1)} kB of script in ${scripts.length} files\n`);
    expect(scripts.length).toBeGreaterThan(1);
    expect(bytes).toBeGreaterThan(5_000);
    expect(bytes).toBeLessThan(60_000);
    await context.close();
  });

  test("redirects signed-out visitors to the sign-in page, and back to the requested page afterwards", async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`${harness.url}/console/keys?account=${harness.tenant.accountId}`);
    await page.waitForURL(/\/console\/sign-in\?/);
    expect(new URL(page.url()).searchParams.get("to")).toBe(`/console/keys?account=${harness.tenant.accountId}`);
    await visitor.signIn(context);
    await page.reload();
    await page.getByRole("heading", { level: 1, name: "API keys" }).waitFor();
    expect(new URL(page.url()).search).toBe(`?account=${harness.tenant.accountId}`);
    await context.close();
  });

  test("a keyboard user skips the navigation in one step, and each page starts with focus on its heading", async () => {
    const { page, inPage, tabTo, close } = await visit("/console/keys");
    await page.getByRole("button", { name: "New key" }).waitFor();
    await page.keyboard.press("Tab");
    expect(await inPage<string>("focusedName")).toBe("Skip to content");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    expect(await inPage<string>("focusedName")).toBe("New key");
    await page.reload();
    await page.getByRole("button", { name: "New key" }).waitFor();
    await tabTo("Ledger");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Ledger" }).waitFor();
    await page.locator("h1:focus").waitFor();
    expect(await page.title()).toBe("Ledger · genrouter");
    expect(await page.getByRole("navigation", { name: "Pages" }).locator("[aria-current='page']").allTextContents()).toEqual([
      "Ledger",
    ]);
    await page.goBack();
    await page.getByRole("heading", { level: 1, name: "API keys" }).waitFor();
    await close();
  });

  test("hides the navigation behind a button on a phone and closes it after a page change", async () => {
    const { page, sound, tabTo, close } = await visit("/console/keys", {
      viewport: { width: 360, height: 740 },
      bypassCSP: true,
    });
    const menu = page.getByRole("button", { name: "Menu" });
    expect(await menu.getAttribute("aria-expanded")).toBe("false");
    expect(await page.getByRole("link", { name: "Usage" }).isVisible()).toBe(false);
    await tabTo("Menu");
    await page.keyboard.press("Enter");
    expect(await menu.getAttribute("aria-expanded")).toBe("true");
    await sound();
    await tabTo("Usage");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Usage" }).waitFor();
    await page.getByRole("navigation", { name: "Pages" }).waitFor({ state: "hidden" });
    await close();
  });

  test.each(["light", "dark"] as const)(
    "with the system scheme %s, the other scheme can be chosen and persists",
    async (machine) => {
      const { page, inPage, close } = await visit("/console/keys", { colorScheme: machine });
      const isDark = () => inPage<boolean>("isDark");
      const other = machine === "dark" ? "Light" : "Dark";
      expect(await isDark()).toBe(machine === "dark");
      await page.getByRole("button", { name: "Your account" }).click();
      await page.getByLabel("Theme").selectOption(other);
      expect(await isDark()).toBe(other === "Dark");
      await page.goto(`${harness.url}/inspector`);
      await page.getByRole("heading", { level: 1 }).waitFor();
      expect(await isDark()).toBe(other === "Dark");
      await page.getByRole("button", { name: "Your account" }).click();
      await page.getByLabel("Theme").selectOption("System");
      expect(await isDark()).toBe(machine === "dark");
      await close();
    },
  );

  test("links to the inspector only if it is enabled", async () => {
    const off = await openHarness({ env: { GENROUTER_INSPECTOR__ENABLED: "off" } });
    for (const [one, linksOf] of [
      [harness, (id: string) => ["/inspector", `/inspector/${id}`]],
      [off, () => []],
    ] as const) {
      const { id } = await one.submit("sim-image-1", { prompt: "a kite" });
      const ada = await openVisitor(one, "operator", one.tenant);
      const { page, close } = await watch(browser, { url: one.url, visitor: ada, path: `/console/generations/${id}` });
      await page.getByRole("link", { name: "Run again" }).waitFor();
      const links = await page.locator("a[href^='/inspector']").all();
      expect(await Promise.all(links.map((link) => link.getAttribute("href")))).toEqual(linksOf(id));
      await close();
    }
    await off.close();
  });

  test("shows a not-found page for an unknown path", async () => {
    for (const path of ["/console/nowhere", "/inspector/nowhere"]) {
      const { page, close } = await visit(path);
      await page.getByRole("heading", { level: 1, name: "Page not found" }).waitFor();
      await close();
    }
  });
});

const LEAST_PACKED_BYTES = 100;

test("a page shell is identical for all users, revalidated each time, and allows only scripts of the service", async () => {
  for (const path of ["/console", "/inspector"]) {
    const answer = await fetch(harness.url + path);
    expect([answer.status, answer.headers.get("cache-control")]).toEqual([200, "no-cache"]);
    const policy = answer.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self';");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    const html = await answer.text();
    expect(html).not.toMatch(/<style|style=|<script(?![^>]* src=)|\son\w+=/);
    expect(await (await fetch(`${harness.url}${path}/any/thing`, { headers: { cookie: visitor.cookie } })).text()).toBe(html);
  }
});

test("serves every referenced asset as immutable, with brotli, gzip or no compression", async () => {
  for (const path of await assetsOf("/console")) {
    const [plain, gzip, br] = await Promise.all([raw(path, "identity"), raw(path, "gzip"), raw(path, "gzip, br;q=0.5")]);
    for (const answer of [plain, gzip, br]) {
      expect([path, answer.status, answer.headers.get("cache-control")]).toEqual([
        path,
        200,
        "public, max-age=31536000, immutable",
      ]);
      expect(answer.headers.get("vary")).toBe("Accept-Encoding");
      expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
      expect(answer.headers.get("content-type")).toMatch(path.endsWith(".css") ? /^text\/css/ : /^text\/javascript/);
    }
    const bytes = await plain.bytes();
    expect(plain.headers.get("content-encoding")).toBeNull();
    for (const [answer, unpack] of [
      [gzip, (sent: Uint8Array) => Bun.gunzipSync(sent as Uint8Array<ArrayBuffer>)],
      [br, (sent: Uint8Array) => brotliDecompressSync(sent)],
    ] as const) {
      const sent = await answer.bytes();
      const isPacked = answer.headers.get("content-encoding") !== null;
      expect(sent.byteLength).toBeLessThanOrEqual(bytes.byteLength);
      expect(Buffer.from(isPacked ? unpack(sent) : sent).equals(Buffer.from(bytes))).toBe(true);
    }
    if (bytes.byteLength > 2000) expect([gzip, br].map(({ headers }) => headers.get("content-encoding"))).toEqual(["gzip", "br"]);
  }
});

test("no script contains a graph layout engine", async () => {
  const paths = new Set([...(await assetsOf("/console")), ...(await assetsOf("/inspector"))]);
  expect(paths.size).toBeGreaterThan(8);
  for (const path of paths) {
    const text = await (await fetch(harness.url + path)).text();
    expect([path, /\belk\b|org\.eclipse|dagre/i.test(text)]).toEqual([path, false]);
  }
});

test("returns 404 for assets of another build and for paths outside the assets", async () => {
  for (const path of [
    "/assets/console-00000000.js",
    "/assets/",
    "/assets/..%2fpackage.json",
    "/assets/x/y.js",
    "/assets/console.js",
  ])
    expect([path, (await fetch(harness.url + path)).status]).toEqual([path, 404]);
});

test("returns 404 for pages of a disabled console or inspector", async () => {
  const off = await openHarness({ factor: 0, env: { GENROUTER_INSPECTOR__ENABLED: "off", GENROUTER_CONSOLE__ENABLED: "false" } });
  try {
    for (const path of ["/inspector", "/inspector/play", "/inspector/gen_x", "/console", "/console/keys"])
      expect([path, (await fetch(off.url + path)).status]).toEqual([path, 404]);
    const proxy = await fetch(off.url, { headers: { accept: "text/html" }, redirect: "manual" });
    expect([proxy.status, proxy.headers.get("location")]).toEqual([302, "/docs"]);
  } finally {
    await off.close();
  }
});
