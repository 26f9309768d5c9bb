// Documentation pages in a browser: requested hosts, accessibility, keyboard, colour schemes, and video playback.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { source as axe } from "axe-core";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { createClient } from "../../client/src/client.ts";
import { API_ERRORS } from "../../src/domain/api-errors.ts";
import { openApiDocument } from "../../src/http/openapi/document.ts";
import { type Child, start } from "../../src/torture/crash/processes.ts";
import { PROGRAM } from "../built.ts";
import { casesOfShare } from "../case-share.ts";
import { eventually } from "../eventually.ts";
import { dropScratch, makeScratch } from "../scratch.ts";
import { openBrowser } from "./chromium.ts";

const opened = await openBrowser();
if (typeof opened === "string") process.stdout.write(`skipped: the pages in a browser (${opened})\n`);
const here = describe.skipIf(typeof opened === "string");
const browser = opened as Browser;

const IN_PAGE = join(import.meta.dir, "in-page.js");
const data = makeScratch("browser-");
let service: Child;
let url = "";
let key = "";
beforeAll(async () => {
  service = start([...PROGRAM, "serve", "--simulate", "--port", "0", "--data", data], { GENROUTER_SIMULATOR__SPEED: "50" });
  url = (await service.hears(/^url (\S+)$/m))[1] ?? "";
  key = (await service.hears(/^key (\S+)$/m))[1] ?? "";
}, 60_000);
afterAll(async () => {
  if (typeof opened !== "string") await opened.close();
  service.kill("SIGTERM");
  await service.ended;
  dropScratch(data);
});

const OPERATIONS = Object.values(openApiDocument().paths as Record<string, Record<string, { summary: string }>>).flatMap((item) =>
  Object.values(item).map(({ summary }) => summary),
);
const SCREENS = [
  { width: 1280, height: 800 },
  { width: 360, height: 740 },
] as const;
/** Checks each page in both sizes and both colour schemes, and the long page once in each. */
const ALL_LOOKS = SCREENS.flatMap((viewport) =>
  (["light", "dark"] as const).flatMap((colorScheme) =>
    ["/docs/errors", "/docs/guides/webhooks", ...((viewport.width === 360) === (colorScheme === "dark") ? ["/docs"] : [])].map(
      (path) => ({
        path,
        look: { viewport, colorScheme },
      }),
    ),
  ),
);
const LOOKS = casesOfShare("looks of the documentation", ALL_LOOKS, (look) => JSON.stringify(look));

const LOOK_MS = 200;
/** Opens a page and records its requests and its errors. */
const visit = async (path: string, look: BrowserContextOptions = {}) => {
  const context = await browser.newContext(look);
  const page = await context.newPage();
  const asked: string[] = [];
  const complaints: string[] = [];
  page.on("request", (request) => void asked.push(request.url()));
  page.on("websocket", (socket) => void asked.push(socket.url()));
  page.on("pageerror", (fault) => void complaints.push(fault.message));
  page.on("console", (line) => {
    if (line.type() === "error" || line.type() === "warning") complaints.push(line.text());
  });
  await page.addInitScript({ path: IN_PAGE });
  await page.goto(url + path);
  // One read for all of them: a locator for each takes a minute on a busy machine.
  if (path === "/docs")
    await eventually(
      async () => (await page.evaluate<string[]>(`inPage.lacks(${JSON.stringify(OPERATIONS)})`)).length === 0,
      "a reference with every operation",
      LOOK_MS,
    );
  return { page, asked, complaints, close: () => context.close() };
};
/** Calls a function of in-page.js in the page. */
const inPage = <T>(page: Page, name: string) => page.evaluate<T>(`inPage.${name}()`);
const ours = (address: string) => /^(data|blob):/.test(address) || address.startsWith(`${url}/`);

test("prints the address of the documentation at the start", async () => {
  await service.hears(new RegExp(`^ {2}docs {6}${url}/docs$`, "m"));
});

test("the example of the reference has the amounts that the service quotes and reserves", async () => {
  type Body = { content: Record<string, { examples: Record<string, { value: Record<string, unknown> }> }> };
  const { post } = (openApiDocument().paths as Record<string, unknown>)["/v1/generations"] as {
    post: { requestBody: Body; responses: Record<string, Body> };
  };
  const exampleOf = (body: Body | undefined, name: string) => body?.content["application/json"]?.examples[name]?.value ?? {};
  const order = exampleOf(post.requestBody, "video");
  const response = await fetch(`${url}/v1/quotes`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(order),
  });
  const { quoted_usd, reserved_usd } = (await response.json()) as { quoted_usd: number; reserved_usd: number };
  expect(exampleOf(post.responses["202"], "queued")).toMatchObject({ quoted_usd, reserved_usd });
});

here("the documentation pages", () => {
  test.each(["/docs", "/docs/errors", "/docs/guides/quick-start"])(
    "%s is readable within 3 s at 50 kB/s and 400 ms, before its scripts have loaded",
    async (path) => {
      const context = await browser.newContext({ bypassCSP: true });
      const page = await context.newPage();
      const network = await context.newCDPSession(page);
      const speed = { latency: 400, downloadThroughput: 50_000, uploadThroughput: 50_000 };
      await network.send("Network.enable");
      await network.send("Network.emulateNetworkConditions", { offline: false, ...speed });
      await page.goto(url + path, { waitUntil: "commit" });
      const paints = 'performance.getEntriesByName("first-contentful-paint")';
      await page.waitForFunction(`${paints}.length > 0 && document.querySelector("h1") !== null`);
      const paintedMs = await page.evaluate<number>(`${paints}[0].startTime`);
      process.stdout.write(`${path}: first text after ${Math.round(paintedMs)} ms\n`);
      expect(paintedMs).toBeLessThan(3_000);
      expect(await page.getByRole("link", { name: "Quick start" }).first().isVisible()).toBe(true);
      await context.close();
    },
    60_000,
  );

  test("lead back to the console from the header", async () => {
    for (const path of ["/docs/guides/quick-start", "/docs/errors", "/docs"]) {
      const { page, close } = await visit(path);
      await page.getByRole("banner").getByRole("link", { name: "Console" }).click();
      await page.waitForURL(/\/console/);
      await close();
    }
  }, 60_000);

  test("a guide puts the reader's address and key into its programs, and sends them nowhere", async () => {
    const { page, asked, complaints, close } = await visit("/docs/guides/quick-start");
    const program = page.locator("pre").first();
    expect(await program.textContent()).toContain(`GENROUTER_URL=${url}\n`);
    const before = asked.length;
    await page.getByLabel("API key").fill("gr_test_mine");
    await page.getByLabel("Service").fill("https://api.example.org/");
    expect(await program.textContent()).toBe(
      "export GENROUTER_URL=https://api.example.org\nexport GENROUTER_API_KEY=gr_test_mine\n",
    );
    await page.getByLabel("API key").press("Enter");
    expect([asked.length, complaints, new URL(page.url()).search]).toEqual([before, [], ""]);
    await close();
  }, 60_000);

  test("the API reference is readable without scripts", async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(`${url}/docs`);
    await page.getByRole("heading", { name: "POST /v1/generations Submit" }).first().waitFor();
    expect(await page.getByRole("link", { name: "Quick start" }).getAttribute("href")).toBe("/docs/guides/quick-start");
    await context.close();
  }, 60_000);

  test.each(["/docs", "/docs/errors", "/docs/guides/files"])(
    "%s requests no other host and logs no error or policy violation",
    async (path) => {
      const { page, asked, complaints, close } = await visit(path);
      await inPage(page, "readThrough");
      expect(asked.length).toBeGreaterThan(1);
      expect(asked.filter((address) => !ours(address))).toEqual([]);
      expect(complaints).toEqual([]);
      await close();
    },
    60_000,
  );

  test.each(LOOKS)(
    "$path on $look.viewport.width pixels, $look.colorScheme: has no serious accessibility violation and no horizontal scrolling",
    async ({ path, look }) => {
      // Bypasses the policy of the page, which would block axe.
      const { page, close } = await visit(path, { ...look, bypassCSP: true });
      await inPage(page, "readThrough");
      expect(await inPage<number>(page, "overhang")).toBeLessThanOrEqual(0);
      expect(await inPage<boolean>(page, "isDark")).toBe(look.colorScheme === "dark");
      await page.evaluate(axe);
      expect(await inPage<string[]>(page, "faults")).toEqual([]);
      await close();
    },
    60_000,
  );

  test("a keyboard user skips the list of errors in one step and opens each code at its own address", async () => {
    const { page, close } = await visit("/docs/errors#insufficient_credits");
    expect(await inPage<string>(page, "target")).toBe("insufficient_credits");
    await page.goto(`${url}/docs/errors`);
    await page.keyboard.press("Tab");
    expect(await inPage<string>(page, "focused")).toBe("Skip to the errors");
    await page.keyboard.press("Enter");
    await page.waitForURL(/#list$/);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.waitForURL(new RegExp(`#${Object.keys(API_ERRORS)[0]}$`));
    await close();
  }, 60_000);

  test("a keyboard user can search the API reference", async () => {
    const { page, asked, complaints, close } = await visit("/docs");
    await page.keyboard.press("Control+k");
    const search = page.getByRole("dialog");
    await search.getByRole("combobox").or(search.getByRole("textbox")).first().waitFor();
    await page.keyboard.type("Poll a generation");
    await search.getByText("Poll a generation").first().waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await search.waitFor({ state: "detached" });
    expect(new URL(page.url()).hash).toBe("#tag/generations/GET/v1/generations/{id}");
    expect([asked.filter((address) => !ours(address)), complaints]).toEqual([[], []]);
    await close();
  }, 60_000);

  test("the root path redirects a browser to the console", async () => {
    const { page, close } = await visit("/");
    await page.waitForURL(/\/console(\/|$)/);
    await close();
  }, 60_000);

  test("a video of the simulator plays and seeks", async () => {
    const client = createClient({ url, key });
    const order = { model: "vidmodel-2.0-fast", input: { prompt: "a red kite", resolution: "480p", duration: 4 } };
    const { output } = await client.wait(await client.submit(order), { pollMs: [100, 100] });
    // Any page of the service's own origin is suitable.
    const { page, close } = await visit("/docs/errors", { bypassCSP: true });
    if (!(await inPage<boolean>(page, "knowsH264"))) {
      process.stdout.write("skipped: a video plays (this Chromium was built without H.264)\n");
      return close();
    }
    await page.setContent(`<video muted src="${output.urls[0]}"></video>`);
    const played = await inPage<{ duration: number }>(page, "play");
    expect(played).toMatchObject({ advanced: true, videoWidth: 864, soughtTo: 3, fault: null });
    expect(played.duration).toBeCloseTo(4, 1);
    return close();
  }, 60_000);
});
