// The chart of the inspector in a browser: readable at first sight, opened level by level, and complete in its frame.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { chartOf } from "../../actors/chart/chart.ts";
import { levelOf } from "../../actors/chart/levels.ts";
import { generationMachine } from "../../actors/generation/machine.ts";
import { type Harness, openHarness } from "../harness.ts";
import { openBrowser } from "./chromium.ts";
import { inspect } from "./inspected.ts";

const opened = await openBrowser();
if (typeof opened === "string") process.stdout.write(`skipped: the chart in a browser (${opened})\n`);
const here = describe.skipIf(typeof opened === "string");
const browser = opened as Browser;

setDefaultTimeout(60_000);
let harness: Harness;
beforeAll(async () => {
  harness = await openHarness({ factor: 20 });
});
afterAll(async () => {
  if (typeof opened !== "string") await opened.close();
  await harness.close();
});

const CHART = chartOf(generationMachine);
const openLive = (look = {}) => inspect(browser, harness, "/inspector", "Connected. Events appear immediately.", look);
const actorOf = (page: Page, id: string) => page.locator(".live-list li button", { hasText: id });
const stateBox = (page: Page, state: string) => page.locator(`.chart-state[data-state='${state}'][role='button']`);

/** Pixels by which the drawing is larger than its frame, and the smallest height of its letters. */
const measures = (page: Page) => page.evaluate<{ cropped: number; letters: number }>("inPage.drawing()");
/** The page is drawn again after a key or a resize, so it is read until the chart is whole. */
const becomesWhole = (page: Page) => harness.eventually(async () => (await measures(page)).cropped <= 0);
const expectWhole = async (page: Page) => {
  await becomesWhole(page);
  expect((await measures(page)).letters).toBeGreaterThanOrEqual(12);
};

here("the chart", () => {
  test.each([1280, 1920])("on %d pixels: shows the top states first, whole and legible, also after a resize", async (width) => {
    const { page, close } = await openLive({ viewport: { width, height: 800 } });
    const names = await page
      .locator(".chart-state[role='button']")
      .evaluateAll((all) => all.map((each) => each.getAttribute("data-state")));
    expect(names.sort()).toEqual(["failed", "queued", "running", "succeeded"]);
    await expectWhole(page);
    await page.setViewportSize({ width: width - 200, height: 760 });
    await expectWhole(page);
    await close();
  });

  test.each([1280, 1920])(
    "on %d pixels: a key opens a state, its inside is whole and legible, and Fit restores it",
    async (width) => {
      const { page, close } = await openLive({ viewport: { width, height: 800 } });
      await stateBox(page, "running").press("Enter");
      await stateBox(page, "running.polling").waitFor();
      expect(await page.locator(".chart-arrow").count()).toBe(levelOf(CHART, "running").bundles.length);
      await expectWhole(page);
      await page.getByRole("button", { name: "Zoom in" }).press("Enter");
      await page.getByRole("button", { name: "Zoom in" }).press("Enter");
      await harness.eventually(async () => (await measures(page)).cropped > 0);
      await page.getByRole("button", { name: "Fit" }).press("Enter");
      await becomesWhole(page);
      await page.setViewportSize({ width: width - 200, height: 700 });
      await becomesWhole(page);
      await page
        .getByRole("navigation", { name: "Levels of the chart" })
        .getByRole("button", { name: "All states" })
        .press("Enter");
      await stateBox(page, "queued").waitFor();
      await close();
    },
  );

  test("draws one line between two states, and lists all its transitions when it is selected", async () => {
    const { page, close } = await openLive();
    await stateBox(page, "running").press("Space");
    const bundle = levelOf(CHART, "running").bundles.find(({ id }) => id === "running.submitting > running.collecting");
    const all = [...(bundle?.forth ?? []), ...(bundle?.back ?? [])];
    const line = page.locator("[data-bundle='running.submitting > running.collecting']");
    expect(await line.locator("text").textContent()).toBe(String(all.length));
    await line.locator("text").click();
    const panel = page.getByRole("region", { name: "Selection in the chart" });
    expect(await panel.getByRole("listitem").count()).toBe(all.length);
    await page.keyboard.press("Escape");
    await panel.waitFor({ state: "detached" });
    await line.locator("text").click();
    await panel.getByRole("button", { name: "Close" }).press("Enter");
    await panel.waitFor({ state: "detached" });
    // By keyboard, a state lists the same transitions.
    await stateBox(page, "running.polling").press("Enter");
    const leaving = CHART.transitions.filter(({ source }) => source === "running.polling");
    expect(await panel.getByRole("listitem").count()).toBe(leaving.length);
    await close();
  });

  test("emphasises the path of the selected actor, and says its state, last fallback and next route", async () => {
    const { page, close } = await openLive({ viewport: { width: 1280, height: 800 } });
    const { id } = await harness.submit("sim-image-1", { prompt: "waves [sim:fal:fail-later] [sim:replicate:stuck]" });
    await harness.until(id, ({ attempts }) => attempts === 2);
    await actorOf(page, id).getByText("running.polling").waitFor();
    await actorOf(page, id).click();
    const facts = page.locator(".live-main-facts");
    await facts.getByText("Attempt 1 on sim-image-1/fal: the job failed at the provider").waitFor();
    // The next route is known when the plan has been read.
    await facts.getByText("none left").waitFor();
    expect(await facts.textContent()).toContain("Staterunning.polling");
    expect(await facts.textContent()).toContain("Next routenone left");
    const box = await facts.boundingBox();
    expect((box?.y ?? 800) + (box?.height ?? 0)).toBeLessThan(400);
    const taken = await page
      .locator(".chart-arrow.is-taken")
      .evaluateAll((all) => all.map((each) => each.getAttribute("data-bundle")));
    expect(taken.sort()).toEqual([
      "running.awaitingSlot > running.submitting",
      "running.polling > running.awaitingSlot",
      "running.submitting > running.polling",
    ]);
    await close();
  });
});
