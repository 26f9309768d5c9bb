// The list of generations in a browser: its place after Back, search and filters, and what it loads.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { openVisitor, type Visitor } from "../console/signed-in.ts";
import { type Harness, openHarness } from "../harness.ts";
import { openBrowser } from "./chromium.ts";
import { watch } from "./watched.ts";

const opened = await openBrowser();
if (typeof opened === "string") process.stdout.write(`skipped: the list of generations in a browser (${opened})\n`);
const here = describe.skipIf(typeof opened === "string");
const browser = opened as Browser;

/** More than a page of the list. */
const MANY = 60;
const BLANKS = "   ";

setDefaultTimeout(90_000);
let harness: Harness;
let visitor: Visitor;
beforeAll(async () => {
  harness = await openHarness({ factor: 1000, dir: freshDir() });
  visitor = await openVisitor(harness, "member", harness.tenant);
  const make = async (model: string, input: Record<string, string | number>) => {
    const { id } = await harness.submit(model, input);
    return harness.until(id);
  };
  for (let n = 0; n < 4; n += 1) await make("sim-speech-1", { prompt: `a voice ${n}` });
  await make("sim-image-1", { prompt: BLANKS });
  for (let n = 5; n < 20; n += 1) await make("sim-image-1", { prompt: `a kite ${n}` });
  // Below the visible part of the first page of the list.
  for (let n = 0; n < 6; n += 1) await make("vidmodel-2.0-fast", { prompt: `waves ${n}`, resolution: "480p", duration: 4 });
  for (let n = 26; n < MANY; n += 1) await make("sim-image-1", { prompt: `a kite ${n}` });
}, 120_000);
afterAll(async () => {
  if (typeof opened !== "string") await opened.close();
  await harness.close();
  dropDirs();
});

const visit = (path = "/console/generations", look: BrowserContextOptions = {}) =>
  watch(browser, { url: harness.url, visitor, path, look });
const tiles = (page: Page) => page.locator(".tile");
const isListed = (page: Page, count: number) =>
  harness.eventually(async () => (await tiles(page).count()) === count, `${count} generations`);

here("the list of generations", () => {
  test("is at the same place with the same generations after Back from a generation", async () => {
    const { page, close } = await visit();
    await page.getByRole("button", { name: "Show more" }).click();
    await isListed(page, MANY);
    const last = tiles(page).last();
    await last.getByRole("link").hover();
    expect(await page.evaluate<number>("scrollY")).toBeGreaterThan(500);
    await last.getByRole("link").click();
    await page.getByRole("heading", { name: "Cost" }).waitFor();
    expect(await page.evaluate<number>("scrollY")).toBe(0);
    await page.goBack();
    await tiles(page)
      .nth(MANY - 1)
      .waitFor();
    // Texts of times wrap differently later, so the generation is in view rather than at the same pixel.
    const top = await last.evaluate((one) => one.getBoundingClientRect().top);
    expect(top).toBeWithin(0, 720);
    await close();
  });

  test("is searched by text and id, says how many it shows, and is filtered by days; one button clears all", async () => {
    const { page, close } = await visit();
    await page.getByText("50 generations so far").waitFor();
    const search = page.getByLabel("Search prompts, models and ids");
    await search.fill("waves");
    await page.getByText("6 generations", { exact: true }).waitFor();
    expect(new URL(page.url()).searchParams.get("q")).toBe("waves");
    const [id] = await tiles(page).evaluateAll((all) => all.map((one) => one.getAttribute("data-id") ?? ""));
    await search.fill(id ?? "");
    await page.getByText("1 generation", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Clear filters" }).click();
    await page.getByText("50 generations so far").waitFor();
    expect([await search.inputValue(), new URL(page.url()).search]).toEqual(["", ""]);
    await page.getByRole("button", { name: "More filters" }).click();
    await page.getByRole("button", { name: "Last 7 days" }).click();
    await harness.eventually(() => /from=\d{4}-\d\d-\d\d/.test(page.url()), "a day in the address");
    await page.getByRole("button", { name: "More filters (1)" }).waitFor();
    await close();
  });

  test("has its filters in one line that does not move while models and keys are loaded", async () => {
    const { page, close } = await visit("/console/profile", { viewport: { width: 1280, height: 800 } });
    const isLate = Promise.withResolvers<void>();
    await page.route(/\/console\/api\/(?:models|keys)/, async (route) => {
      await isLate.promise;
      await route.continue();
    });
    await page.goto(`${harness.url}/console/generations`);
    const bar = page.getByRole("form", { name: "Filters" });
    await isListed(page, 50);
    const before = await bar.boundingBox();
    const loaded = page.waitForResponse(/\/console\/api\/models/);
    isLate.resolve();
    await loaded;
    await page.getByRole("button", { name: "More filters" }).click();
    await page.getByLabel("Model").locator("option", { hasText: "Sim Image 1" }).waitFor({ state: "attached" });
    expect(await bar.boundingBox()).toEqual(before);
    expect(before?.height).toBeLessThan(60);
    await close();
  });

  test("loads no sound, and clips only near the visible part", async () => {
    const { page, asked, close } = await visit("/console/generations", { viewport: { width: 1280, height: 800 } });
    await isListed(page, 50);
    await page.waitForLoadState("networkidle");
    const files = () => asked.filter((address) => /\/files\/\d+$/.test(new URL(address).pathname));
    // The newest are pictures, which are shown by their thumbnails.
    expect(files()).toEqual([]);
    await page.locator(".tile video").first().scrollIntoViewIfNeeded();
    await page.locator(".tile video[src]").first().waitFor();
    await page.getByRole("button", { name: "Show more" }).click();
    await isListed(page, MANY);
    await page.locator(".tile", { hasText: "a voice 0" }).scrollIntoViewIfNeeded();
    await page.waitForLoadState("networkidle");
    const clips = await page
      .locator(".tile video[src]")
      .evaluateAll((all) => all.map((one) => String((one as unknown as { src: string }).src)));
    expect(clips.length).toBeGreaterThan(0);
    expect([...new Set(files())].sort()).toEqual(clips.sort());
    await close();
  });

  test.each(["gallery", "list"])("opens a generation whose prompt has only blanks by the name of its model: %s", async (view) => {
    const { page, close } = await visit(`/console/generations?view=${view}&model=sim-image-1`);
    const link = page.getByRole("main").getByRole("link", { name: /^sim-image-1/ });
    await link.click();
    await page.getByRole("heading", { level: 1, name: "sim-image-1" }).waitFor();
    await close();
  });

  test.each([360, 1280])("breaks no word of its list view at a width of %i", async (width) => {
    const { page, inPage, close } = await visit("/console/generations?view=list", { viewport: { width, height: 800 } });
    await page.locator("tr[data-id]").nth(49).waitFor();
    expect(await inPage<string[]>("brokenWords")).toEqual([]);
    expect(await inPage<number>("overhang")).toBeLessThanOrEqual(0);
    if (width < 1000) return close();
    const heights = await page.locator("tr[data-id]").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().height));
    // At most two lines.
    expect(Math.max(...heights)).toBeLessThan(70);
    return close();
  });
});
