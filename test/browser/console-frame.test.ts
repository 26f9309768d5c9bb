// The frame of console and inspector in a real browser: little to load, nobody else asked, read by keyboard, light and dark; and the files it names.
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
/** Files that a page names, and those that these name in turn: every script and style there is. */
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
/** Answers in the coding that is asked for, as they travel. */
const raw = (path: string, coding: string) =>
  fetch(harness.url + path, { headers: { "accept-encoding": coding }, decompress: false });

here("every page of the frame", () => {
  test.each(PAGES)(
    "%s asks no other host and nothing twice, breaks no rule of its policy and complains of nothing",
    async (path) => {
      const { page, asked, complaints, close } = await visit(path);
      await page.locator("[aria-busy='true']").waitFor({ state: "detached" });
      const hosts = new Set(asked.filter((address) => !address.startsWith("data:")).map((address) => new URL(address).host));
      expect([...hosts]).toEqual([new URL(harness.url).host]);
      expect(asked.length).toBeGreaterThan(3);
      const questions = asked.filter((address) => new URL(address).pathname.includes("/api/"));
      expect(questions).toEqual([...new Set(questions)]);
      expect(complaints).toEqual([]);
      await close();
    },
  );

  test.each(["/console/keys", "/inspector"])("the first load of %s is less than 60 kB of script as it travels", async (path) => {
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
      // What would be longer packed travels as it is.
      if (length >= LEAST_PACKED_BYTES) expect(await script.headerValue("content-encoding")).toBe("br");
      bytes += length;
    }
    process.stdout.write(`${path}: ${(bytes / 1000).toFixed(1)} kB of script in ${scripts.length} files\n`);
    expect(scripts.length).toBeGreaterThan(1);
    expect(bytes).toBeGreaterThan(5_000);
    expect(bytes).toBeLessThan(60_000);
    await context.close();
  });

  test("whoever is not signed in is shown the way in, and comes back to the page that was asked for", async () => {
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

  test("by keyboard: past the navigation in one step, and each page begins at its heading", async () => {
    const { page, inPage, tabTo, close } = await visit("/console/keys");
    await page.getByRole("button", { name: "New key" }).waitFor();
    await page.keyboard.press("Tab");
    expect(await inPage<string>("focusedName")).toBe("Skip to the page");
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

  test("on a phone the navigation is behind a button, and goes away with the page that is gone to", async () => {
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

  test.each(["light", "dark"] as const)("where the machine is %s the other colours can be chosen, and stay", async (machine) => {
    const { page, inPage, close } = await visit("/console/keys", { colorScheme: machine });
    const isDark = () => inPage<boolean>("isDark");
    const other = machine === "dark" ? "Light" : "Dark";
    expect(await isDark()).toBe(machine === "dark");
    await page.getByLabel("Colours").selectOption(other);
    expect(await isDark()).toBe(other === "Dark");
    await page.goto(`${harness.url}/inspector`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    expect(await isDark()).toBe(other === "Dark");
    await page.getByLabel("Colours").selectOption("Auto");
    expect(await isDark()).toBe(machine === "dark");
    await close();
  });

  test("no page leads to an inspector that is switched off", async () => {
    const off = await openHarness({ env: { GENROUTER_INSPECTOR__ENABLED: "off" } });
    for (const [one, links] of [
      [harness, 1],
      [off, 0],
    ] as const) {
      const { id } = await one.submit("sim-image-1", { prompt: "a kite" });
      const ada = await openVisitor(one, "operator", one.tenant);
      const { page, close } = await watch(browser, { url: one.url, visitor: ada, path: `/console/generations/${id}` });
      await page.getByRole("link", { name: "Use again" }).waitFor();
      expect(await page.locator("a[href^='/inspector']").count()).toBe(links);
      await close();
    }
    await off.close();
  });

  test("a page that there is not is said to be none", async () => {
    for (const path of ["/console/nowhere", "/inspector/nowhere"]) {
      const { page, close } = await visit(path);
      await page.getByRole("heading", { level: 1, name: "There is no such page" }).waitFor();
      await close();
    }
  });
});

const LEAST_PACKED_BYTES = 100;

test("a frame is the same for everybody, asked for anew each time, and lets in no script but the service's own", async () => {
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

test("every file that a page names is kept for ever, and is had packed by brotli, by gzip, or plain", async () => {
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

test("no engine that finds places for charts is in any script", async () => {
  const paths = new Set([...(await assetsOf("/console")), ...(await assetsOf("/inspector"))]);
  expect(paths.size).toBeGreaterThan(8);
  for (const path of paths) {
    const text = await (await fetch(harness.url + path)).text();
    expect([path, /\belk\b|org\.eclipse|dagre/i.test(text)]).toEqual([path, false]);
  }
});

test("a file that is of no build, or that climbs, is none", async () => {
  for (const path of [
    "/assets/console-00000000.js",
    "/assets/",
    "/assets/..%2fpackage.json",
    "/assets/x/y.js",
    "/assets/console.js",
  ])
    expect([path, (await fetch(harness.url + path)).status]).toEqual([path, 404]);
});

test("what is switched off is not there: no page, no API", async () => {
  const off = await openHarness({ factor: 0, env: { GENROUTER_INSPECTOR__ENABLED: "off", GENROUTER_CONSOLE__ENABLED: "false" } });
  try {
    for (const path of ["/inspector", "/inspector/play", "/inspector/gen_x", "/console", "/console/keys"])
      expect([path, (await fetch(off.url + path)).status]).toEqual([path, 404]);
    const door = await fetch(off.url, { headers: { accept: "text/html" }, redirect: "manual" });
    expect([door.status, door.headers.get("location")]).toEqual([302, "/docs"]);
  } finally {
    await off.close();
  }
});
