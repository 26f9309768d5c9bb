// The Play page of the inspector in a browser: events are sent to a machine by mouse and keyboard, without a server.
import { afterAll, describe, expect, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { chartOf } from "../../actors/chart/chart.ts";
import { MACHINE_NAMES, MACHINES } from "../../actors/chart/machines.ts";
import { newPlayground, offeredEvents } from "../../actors/replay/playground.ts";
import { openScene } from "../generation/fixture.ts";
import { openBrowser } from "./chromium.ts";
import { activeState, inspect, zoomIn } from "./inspected.ts";
import { LOOKS } from "./watched.ts";

const opened = await openBrowser();
if (typeof opened === "string") process.stdout.write(`skipped: the Play page in a browser (${opened})\n`);
const here = describe.skipIf(typeof opened === "string");
const browser = opened as Browser;

afterAll(async () => {
  if (typeof opened !== "string") await opened.close();
});
/** The page of a separate service. */
const openPlay = async (look = {}) => inspect(browser, await openScene(), "/inspector/play", "Send event", look);

const offer = (page: Page, label: string) => page.locator(".play-offers button", { hasText: label });
/** Labels of the events that can be sent. */
const possible = async (page: Page) => (await page.locator(".play-offers button:enabled span").allTextContents()).sort();

here("the Play page", () => {
  test("enables exactly the events that the machine accepts, until it has ended", async () => {
    const { page, close, complaints } = await openPlay();
    const expected = offeredEvents("generation", newPlayground("generation"));
    expect(await possible(page)).toEqual(expected.flatMap(({ answer, label }) => (answer === null ? [] : [label])).sort());
    expect(await page.locator(".play-offers button").count()).toBe(expected.length);
    expect(await activeState(page)).toBe("queued");

    const way: [label: string, state: string][] = [
      ["an attempt begins on cheap", "running.submitting.intent"],
      ["a provider connection is available", "running.submitting.sending"],
      ["the response is lost", "running.confirming.acceptance"],
      ["the provider has no job of the attempt", "running.awaitingSlot"],
      ["an attempt begins on middle", "running.submitting.intent"],
      ["a provider connection is available", "running.submitting.sending"],
      ["the provider accepts the job", "running.polling"],
      ["the provider reports the result", "running.collecting.fetching"],
      ["the result files are stored", "succeeded"],
    ];
    for (const [label, state] of way) {
      await offer(page, label).first().click();
      expect(await activeState(page)).toBe(state);
    }
    expect(await possible(page)).toEqual([]);
    const history = page.getByRole("list", { name: "History" });
    expect(await history.getByRole("listitem").count()).toBe(way.length);
    expect(await history.textContent()).toContain("charges $0.25 for attempt 2");
    await page.getByRole("status").getByText("The statechart has ended").waitFor();

    await page.getByRole("button", { name: "Step back" }).click();
    expect(await activeState(page)).toBe("running.collecting.fetching");
    await page.getByRole("button", { name: "Restart", exact: true }).click();
    expect(await activeState(page)).toBe("queued");
    expect(await history.getByRole("listitem").count()).toBe(0);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("works offline and sends no request after loading", async () => {
    const { page, asked, close } = await openPlay();
    const before = asked.length;
    await page.context().setOffline(true);
    for (const label of [
      "an attempt begins on cheap",
      "a provider connection is available",
      "rejected: content rules refuse the input",
    ])
      await offer(page, label).first().click();
    expect(await activeState(page)).toBe("running.awaitingSlot");
    for (const name of [...MACHINE_NAMES].reverse()) {
      await page.getByRole("combobox", { name: "Machine" }).selectOption(name);
      expect(await activeState(page)).toBe(chartOf(MACHINES[name].machine).initial);
    }
    expect(asked.slice(before)).toEqual([]);
    await close();
  }, 60_000);

  test("advances time on request, and then offers the timer of a circuit breaker", async () => {
    const { page, close } = await openPlay();
    await page.getByRole("combobox", { name: "Machine" }).selectOption("route-health");
    await offer(page, "configuration fault").click();
    expect(await activeState(page)).toBe("open");
    expect(await offer(page, "the pause ends").isEnabled()).toBe(false);
    await page.getByRole("button", { name: "Wait 10 min" }).click();
    await offer(page, "the pause ends").click();
    expect(await activeState(page)).toBe("halfOpen");
    await close();
  }, 60_000);

  test("scrolls the active state into view after each event and after a wait", async () => {
    const { page, inPage, close } = await openPlay();
    for (const label of ["an attempt begins on cheap", "a provider connection is available", "the response is lost"]) {
      await zoomIn(page);
      await offer(page, label).first().focus();
      expect(await inPage<boolean>("panOut")).toBe(true);
      const before = await inPage<number>("scrolled");
      await page.keyboard.press("Enter");
      await inPage("broughtIntoSight");
      expect(await inPage<number>("scrolled")).toBe(before);
    }
    await page.getByRole("button", { name: "Wait 1 min" }).focus();
    expect(await inPage<boolean>("panOut")).toBe(true);
    await page.keyboard.press("Enter");
    await inPage("broughtIntoSight");
    await close();
  }, 60_000);

  test("marks the transitions that the tests cover in the chart", async () => {
    const { page, close } = await openPlay();
    const [lines, signs] = [page.locator(".chart .chart-line"), page.locator(".chart .chart-sign")];
    expect(await signs.count()).toBe(0);
    const { transitions } = chartOf(MACHINES.generation.machine);
    await page.getByLabel(`Show test coverage (${transitions.length} of ${transitions.length} transitions)`).check();
    expect(await lines.count()).toBeGreaterThan(3);
    expect(await signs.count()).toBe(await lines.count());
    expect((await page.locator(".chart-arrow title").allTextContents()).filter((title) => !/, tested$/.test(title))).toEqual([]);
    await page.locator("summary", { hasText: "States and transitions as a list" }).click();
    const marks = await page.locator(".chart-states .chart-mark", { hasText: /tested/ }).allTextContents();
    expect(marks.filter((mark) => mark.includes("not tested"))).toEqual([]);
    expect(marks).toHaveLength(transitions.filter(({ source }) => source !== "").length);
    await close();
  }, 60_000);

  test("works by keyboard, and shows the chart as a list", async () => {
    const { page, close } = await openPlay();
    await offer(page, "an attempt begins on cheap").focus();
    await page.keyboard.press("Enter");
    expect(await activeState(page)).toBe("running.submitting.intent");
    // The pressed button is now disabled. The next Tab still moves on from its position.
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement !== document.body")).toBe(true);
    await page.locator("summary", { hasText: "States and transitions as a list" }).focus();
    await page.keyboard.press("Enter");
    const current = page.locator(".chart-states > [aria-current]");
    expect(await current.allTextContents()).toEqual([
      expect.stringContaining("running current state"),
      expect.stringContaining("running.submitting current state"),
      expect.stringContaining("running.submitting.intent current state"),
    ]);
    expect(await page.locator(".chart-states > li").count()).toBe(chartOf(MACHINES.generation.machine).states.length);
    await close();
  }, 60_000);

  test.each(LOOKS)(
    "on $viewport.width pixels, $colorScheme: has no serious accessibility violation and no horizontal scrolling",
    async (look) => {
      const { page, sound, close } = await openPlay({ ...look, bypassCSP: true });
      await offer(page, "an attempt begins on cheap").first().click();
      await page.getByLabel("Show test coverage").check();
      await sound();
      await close();
    },
    60_000,
  );
});
