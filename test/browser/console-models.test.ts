// The pages of models in a browser: search, favourites, prices, routes, input and the way to the playground.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser } from "playwright-core";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { openVisitor, type Visitor } from "../console/signed-in.ts";
import { type Harness, openHarness } from "../harness.ts";
import { openBrowser } from "./chromium.ts";
import { watch } from "./watched.ts";

const opened = await openBrowser();
if (typeof opened === "string") process.stdout.write(`skipped: the pages of models in a browser (${opened})\n`);
const here = describe.skipIf(typeof opened === "string");
const browser = opened as Browser;

setDefaultTimeout(60_000);
let harness: Harness;
let visitor: Visitor;
beforeAll(async () => {
  harness = await openHarness({ dir: freshDir() });
  visitor = await openVisitor(harness, "member", harness.tenant);
}, 60_000);
afterAll(async () => {
  if (typeof opened !== "string") await opened.close();
  await harness.close();
  dropDirs();
});

const visit = (path: string) => watch(browser, { url: harness.url, visitor, path, look: { bypassCSP: true } });

here("the pages of models", () => {
  test("the list is searched by name and kind, and Back restores the search", async () => {
    const { page, sound, complaints, close } = await visit("/console/models");
    const cards = page.locator(".models .model-card");
    await cards.first().waitFor();
    const all = await cards.count();
    // The models of the simulator are the first ones.
    expect(await cards.first().textContent()).toContain("Sim ");
    await page.getByRole("radio", { name: "Audio" }).check();
    await harness.eventually(async () => (await cards.count()) < all, "fewer models");
    expect(await cards.filter({ hasText: "Sim Image 1" }).count()).toBe(0);
    await page.getByRole("radio", { name: "All" }).check();
    await page.getByLabel("Search models").fill("sim-image");
    await harness.eventually(async () => (await cards.count()) === 1, "one model");
    await cards.getByRole("link").click();
    await page.getByRole("heading", { level: 1, name: "Sim Image 1" }).waitFor();
    await page.goBack();
    await page.getByLabel("Search models").waitFor();
    expect(await page.getByLabel("Search models").inputValue()).toBe("sim-image");
    await page.getByLabel("Search models").fill("zzzz");
    await page.getByText("No models match “zzzz”.").waitFor();
    await sound();
    expect(complaints).toEqual([]);
    await close();
  });

  test("a favourite is listed first here and in the playground", async () => {
    const { page, close } = await visit("/console/models?q=sim+speech");
    await page.getByRole("button", { name: "Favourite Sim Speech 1" }).click();
    await page.getByLabel("Search models").fill("");
    await page.getByRole("region", { name: "Favourites" }).getByText("Sim Speech 1").waitFor();
    await page.goto(`${harness.url}/console/playground`);
    await page.getByRole("button", { name: /^Choose a model: / }).click();
    await page.getByRole("dialog").getByRole("region", { name: "Favourites" }).getByText("Sim Speech 1").waitFor();
    await close();
  });

  test("the page of a model shows prices, routes, input and request, and opens the playground with it", async () => {
    const { page, sound, complaints, close } = await visit("/console/models/sim-image-1");
    const table = (name: string) => page.getByRole("table", { name, exact: true });
    await page.getByRole("heading", { level: 1, name: "Sim Image 1" }).waitFor();
    await harness.eventually(async () => (await page.title()).includes("Sim Image 1"), "the title of the model");
    expect(await table("Prices").getByRole("row").allTextContents()).toEqual([
      "QualityPrice",
      "low$0.02",
      "medium$0.06",
      "high$0.20",
    ]);
    await table("Routes")
      .getByRole("row", { name: /^Route 1 \$0\.06 ~\d+ s$/ })
      .waitFor();
    await table("Input")
      .getByRole("row", { name: /^Prompt \(required\) prompt text of up to 30,000 characters/ })
      .waitFor();
    expect(await page.locator(".snippet").textContent()).toContain('"model":"sim-image-1"');
    // A member never sees the names of routes.
    expect(await page.content()).not.toContain("sim-image-1/fal");
    await sound();
    await page.getByRole("link", { name: "Open in the playground" }).click();
    await page.getByRole("button", { name: "Choose a model: Sim Image 1" }).waitFor();
    await page.getByRole("link", { name: "About Sim Image 1" }).click();
    await page.getByRole("heading", { level: 1, name: "Sim Image 1" }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test("a model that does not exist leads to the list", async () => {
    const { page, close } = await visit("/console/models/no-such-model");
    await page.getByText("The model no-such-model is not available at the moment. Choose another model.").waitFor();
    await page.getByRole("link", { name: "Show all models" }).click();
    await page.getByLabel("Search models").waitFor();
    await close();
  });
});
