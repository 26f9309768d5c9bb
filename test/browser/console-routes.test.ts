// The page Routes in a browser with the built-in catalogue: grouped by model, one line for each route.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser } from "playwright-core";
import { builtInCatalogue } from "../../catalogue/load.ts";
import { type Operators, openOperators } from "../console/operators.ts";
import { type Harness, openHarness } from "../harness.ts";
import { openBrowser } from "./chromium.ts";
import { watch } from "./watched.ts";

const opened = await openBrowser();
if (typeof opened === "string") process.stdout.write(`skipped: the page Routes in a browser (${opened})\n`);
const here = describe.skipIf(typeof opened === "string");
const browser = opened as Browser;

/** A line of text with the button of its menu, and the line of a route that is named as a loss. */
const [LINE_PX, MOST_PX] = [44, 60];

setDefaultTimeout(60_000);
let harness: Harness;
let users: Operators;
beforeAll(async () => {
  harness = await openHarness({ catalogue: builtInCatalogue() });
  users = await openOperators(harness);
}, 60_000);
afterAll(async () => {
  if (typeof opened !== "string") await opened.close();
  await harness.close();
});

here("the page Routes", () => {
  test("has one line for each route, in groups of models, with its actions in a menu", async () => {
    const routes = builtInCatalogue().models.flatMap((model) => model.routes);
    const { page, close } = await watch(browser, {
      url: harness.url,
      visitor: users.operator,
      path: "/console/operator/routes",
      look: { viewport: { width: 1280, height: 800 } },
    });
    const rows = page.locator("tbody tr[data-row]");
    await rows.first().waitFor();
    expect(await rows.count()).toBe(routes.length);
    const heights = await rows.evaluateAll((all) => all.map((one) => one.getBoundingClientRect().height));
    expect(heights.toSorted((a, b) => a - b)[Math.floor(heights.length / 2)]).toBeLessThan(LINE_PX);
    expect(Math.max(...heights)).toBeLessThan(MOST_PX);
    const models = await rows.evaluateAll((all) => all.map((one) => one.getAttribute("data-row")?.split("/")[0] ?? ""));
    const changes = models.filter((model, at) => model !== models[at - 1]);
    expect(changes.length).toBe(new Set(models).size);
    expect(await rows.first().getByRole("button").count()).toBe(1);
    await page.getByLabel("Search").first().fill("kokoro");
    await harness.eventually(async () => (await rows.count()) < 10, "the routes of one model");
    await close();
  });
});
