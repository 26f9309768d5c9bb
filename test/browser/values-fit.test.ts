// Every value on every page of the console has the width of its longest word, from a phone to a wide screen.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser } from "playwright-core";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { openVisitor, type Visitor } from "../console/signed-in.ts";
import { type Harness, openHarness } from "../harness.ts";
import { openBrowser } from "./chromium.ts";
import { PAGES, watch } from "./watched.ts";

const opened = await openBrowser();
if (typeof opened === "string") process.stdout.write(`skipped: the width of values in a browser (${opened})\n`);
const here = describe.skipIf(typeof opened === "string");
const browser = opened as Browser;

const WIDTHS = [360, 768, 1024, 1200, 1280, 1920] as const;

setDefaultTimeout(120_000);
let harness: Harness;
let visitor: Visitor;
let paths: string[] = [];
beforeAll(async () => {
  if (typeof opened === "string") return;
  harness = await openHarness({ factor: 100, dir: freshDir() });
  visitor = await openVisitor(harness, "operator", harness.tenant);
  const { id } = await harness.submit("vidmodel-2.0-fast", { prompt: "a kite over dunes", resolution: "480p", duration: 4 });
  await harness.until(id);
  const { reported } = await visitor.ask("POST", "/console/api/purchases", { amount_usd: 25 });
  await visitor.ask("POST", `/console/api/purchases/${reported.id}/test`, { how: "pay" });
  const credits = { reference: "values-fit-1", credits: 1_234_567, note: "a note of the operator" };
  await visitor.ask("POST", `/console/api/operator/accounts/${harness.tenant.accountId}/credits`, credits);
  paths = [
    ...PAGES.filter((path) => path.startsWith("/console")),
    `/console/generations/${id}`,
    `/console/receipts/${reported.id}`,
    `/console/operator/accounts/${harness.tenant.accountId}`,
  ];
}, 60_000);
afterAll(async () => {
  if (typeof opened === "string") return;
  await opened.close();
  await harness.close();
  dropDirs();
});

here("every page of the console", () => {
  test.each(["light", "dark"] as const)("has no value narrower than its longest word, %s", async (colorScheme) => {
    const faults: string[] = [];
    const { page, inPage, close } = await watch(browser, {
      url: harness.url,
      visitor,
      path: "/console/profile",
      look: { colorScheme },
    });
    let values = 0;
    for (const path of paths) {
      await page.goto(harness.url + path);
      await page.locator("[aria-busy='true']").first().waitFor({ state: "detached" });
      await page.locator("main > *:nth-child(2)").waitFor();
      values += await page.locator("main :is(dd, td)").count();
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 800 });
        await inPage("settled");
        const found = [...(await inPage<string[]>("narrowValues")), ...(await inPage<string[]>("brokenWords"))];
        if ((await inPage<number>("overhang")) > 0) found.push("the page is wider than the screen");
        faults.push(...found.map((fault) => `${path} at ${width}: ${fault}`));
      }
    }
    expect(values).toBeGreaterThan(100);
    expect(faults).toEqual([]);
    await close();
  });

  test("the check finds a value in a column that is too narrow", async () => {
    const { page, inPage, close } = await watch(browser, { url: harness.url, visitor, path: "/console/operator/service" });
    await page.getByText("Version").waitFor();
    expect(await inPage<string[]>("narrowValues")).toEqual([]);
    // The policy of the page forbids styles in attributes, but not those that a script sets.
    await page.evaluate(`for (const one of document.querySelectorAll(".operator-facts > div")) one.style.width = "1.5rem"`);
    expect((await inPage<string[]>("narrowValues")).join("\n")).toContain("Simulator");
    await close();
  });
});
