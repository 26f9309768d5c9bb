// The playground in a browser: drafts, comparison, variants, the lightbox, seeds, and keys that never spend money by accident.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { openVisitor, type Visitor } from "../console/signed-in.ts";
import { type Harness, openHarness } from "../harness.ts";
import { openBrowser } from "./chromium.ts";
import { watch } from "./watched.ts";

const opened = await openBrowser();
if (typeof opened === "string") process.stdout.write(`skipped: the playground in a browser (${opened})\n`);
const here = describe.skipIf(typeof opened === "string");
const browser = opened as Browser;

setDefaultTimeout(60_000);
let harness: Harness;
let visitor: Visitor;
beforeAll(async () => {
  harness = await openHarness({ factor: 20, dir: freshDir() });
  visitor = await openVisitor(harness, "member", harness.tenant);
}, 60_000);
afterAll(async () => {
  if (typeof opened !== "string") await opened.close();
  await harness.close();
  dropDirs();
});

const visit = (path = "/console/playground?model=sim-image-1") =>
  watch(browser, { url: harness.url, visitor, path, look: { bypassCSP: true } });
const prompt = (page: Page) => page.getByLabel("Prompt (required)");
const button = (page: Page) => page.getByRole("button", { name: /^Generate/ });
const chooseModel = async (page: Page, name: string) => {
  await page.getByLabel("Search models").fill(name);
  await page.locator(".model-choice").filter({ hasText: name }).last().click();
};
const change = async (page: Page, name: string) => {
  await page.getByRole("button", { name: /^Choose a model: / }).click();
  await chooseModel(page, name);
};
/** Counts the submissions of a page. */
const countSubmissions = (page: Page): (() => number) => {
  let count = 0;
  page.on("request", (request) => {
    if (request.method() === "POST" && request.url().endsWith("/console/api/generations")) count += 1;
  });
  return () => count;
};
const ended = (page: Page) => page.locator('.result[data-status="succeeded"]');

here("the playground", () => {
  test("keeps the prompt and the fields that fit when the model changes, after a reload and after a sign-in", async () => {
    const { page, close } = await visit();
    await prompt(page).fill("a kite over the sea");
    await page.getByRole("radio", { name: "16:9" }).check();
    await page.getByRole("radio", { name: "high" }).check();
    await change(page, "Vidmodel 2.0 Fast");
    expect(await prompt(page).inputValue()).toBe("a kite over the sea");
    expect(await page.getByLabel("Aspect ratio").inputValue()).toBe("16:9");
    await change(page, "Sim Image 1");
    // The video model has no quality; the choice is there again for the model that has it.
    expect(await page.getByRole("radio", { name: "high" }).isChecked()).toBe(true);
    await page.goto(`${harness.url}/console/playground`);
    await page.getByRole("button", { name: "Choose a model: Sim Image 1" }).waitFor();
    expect(await prompt(page).inputValue()).toBe("a kite over the sea");
    await close();
  });

  test("compares models side by side with one prompt, and shows the price of each and of both", async () => {
    const { page, close } = await visit();
    await prompt(page).fill("two kites");
    await page.getByRole("button", { name: "Compare" }).click();
    await chooseModel(page, "Vidmodel 2.0 Fast");
    await page.getByRole("radio", { name: "1K" }).waitFor();
    await page.getByRole("button", { name: /^Generate · \$\d/ }).waitFor();
    expect(await page.locator(".model-row").count()).toBe(2);
    await button(page).click();
    await ended(page).nth(1).waitFor({ timeout: 30_000 });
    const boxes = await page
      .locator(".run.is-compared .result")
      .evaluateAll((all) => all.map((one) => one.getBoundingClientRect()));
    expect(boxes.map(({ top }) => Math.round(top))).toEqual([Math.round(boxes[0]?.top ?? 0), Math.round(boxes[0]?.top ?? 0)]);
    expect(boxes[1]?.left ?? 0).toBeGreaterThan(boxes[0]?.right ?? 0);
    await page.getByRole("button", { name: "Remove Vidmodel 2.0 Fast" }).click();
    expect(await page.locator(".model-row").count()).toBe(1);
    await close();
  });

  test("generates variants that are charged each by itself, and shows every answer without scrolling", async () => {
    const { page, close } = await visit();
    await page.setViewportSize({ width: 1280, height: 800 });
    const submissions = countSubmissions(page);
    await prompt(page).fill("three kites");
    await page.getByLabel("Variants").selectOption("3");
    await page.getByRole("button", { name: /^Generate · \$0\.18–\$0\.21$/ }).click();
    await page.locator(".result").nth(2).waitFor();
    expect(await page.evaluate<number>("scrollY")).toBe(0);
    const top = await page
      .locator(".result")
      .first()
      .evaluate((one) => one.getBoundingClientRect().top);
    expect(top).toBeWithin(0, 700);
    await ended(page).nth(2).waitFor({ timeout: 30_000 });
    expect(submissions()).toBe(3);
    await close();
  });

  test("opens a result in the lightbox, browses by arrow keys and returns to the form, which keeps the prompt", async () => {
    const { page, close } = await visit();
    await prompt(page).fill("a framed kite");
    await button(page).click();
    await ended(page).first().waitFor({ timeout: 30_000 });
    await page.getByRole("button", { name: "Open a framed kite in full size" }).first().click();
    const box = page.getByRole("dialog", { name: "Result, full size" });
    await box.getByText("1 of 2").waitFor();
    await page.keyboard.press("ArrowRight");
    await box.getByText("2 of 2").waitFor();
    const download = page.waitForEvent("download");
    await page.keyboard.press("d");
    expect((await download).suggestedFilename()).toMatch(/-2\.png$/);
    await page.keyboard.press("Escape");
    await box.waitFor({ state: "detached" });
    expect(await prompt(page).inputValue()).toBe("a framed kite");
    await close();
  });

  test("Enter in a field submits nothing, and Ctrl with Enter submits once", async () => {
    const { page, close } = await visit("/console/playground?model=vidmodel-2.0-fast");
    const submissions = countSubmissions(page);
    await prompt(page).fill("by key");
    await page.getByRole("radio", { name: "480p" }).check();
    await page.getByLabel("Duration").fill("4");
    await page.getByLabel("Duration").press("Enter");
    await page.getByRole("button", { name: /^Generate · \$/ }).waitFor();
    expect(submissions()).toBe(0);
    await page.getByLabel("Duration").press("Control+Enter");
    await page.locator(".result").waitFor();
    expect(submissions()).toBe(1);
    await close();
  });

  test("draws a new seed after each submission unless it is locked", async () => {
    const { page, close } = await visit();
    await prompt(page).fill("a seeded kite");
    await page.getByText("More options").click();
    const seed = page.getByLabel("Seed", { exact: true });
    await page.getByRole("button", { name: "Random seed" }).click();
    const first = await seed.inputValue();
    expect(first).toMatch(/^\d+$/);
    await page.getByRole("button", { name: "Keep this seed" }).click();
    await button(page).click();
    await page.locator(".result").first().waitFor();
    expect(await seed.inputValue()).toBe(first);
    await page.getByRole("button", { name: "Keep this seed" }).click();
    await button(page).click();
    await page.locator(".result").nth(1).waitFor();
    await harness.eventually(async () => (await seed.inputValue()) !== first, "another seed");
    await close();
  });

  test("says what failed before and how long the work takes, while it runs", async () => {
    harness.simulator.script({ fault: "fail", provider: "fal" });
    const { page, close } = await visit("/console/playground?model=vidmodel-2.0-fast");
    await prompt(page).fill("a slow kite");
    await button(page).click();
    await page.getByText(/^Generating… \d+\.\d s of about \d+\.\d s/).waitFor();
    await page.getByRole("progressbar", { name: "Progress" }).waitFor();
    await page.getByText("Before: The work failed on this route.").waitFor();
    await page.getByText("Route 2.").waitFor();
    await close();
  });

  test("an error of a submission is shown once, and disappears when the form changes", async () => {
    const { page, close } = await visit();
    await button(page).click();
    await page.getByRole("alert").getByText("Prompt: is required.").waitFor();
    await prompt(page).fill("a kite");
    await page.getByRole("alert").waitFor({ state: "detached" });
    await close();
  });
});
