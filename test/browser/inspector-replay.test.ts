// The Replay page of the inspector in a browser: a generation with a restart, a fallback and a confirmation.
import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { Browser, Page } from "playwright-core";
import { eventful } from "../generation/eventful.ts";
import { openScene } from "../generation/fixture.ts";
import { openBrowser } from "./chromium.ts";
import { activeState, inspect, zoomIn } from "./inspected.ts";
import { LOOKS } from "./watched.ts";

const opened = await openBrowser();
if (typeof opened === "string") process.stdout.write(`skipped: the Replay page in a browser (${opened})\n`);
const here = describe.skipIf(typeof opened === "string");
const browser = opened as Browser;

afterAll(async () => {
  if (typeof opened !== "string") await opened.close();
});
/** The page of a generation with all of these events. */
const openReplay = async (look = {}) => {
  const { again, id } = await eventful();
  const events = await again.store.eventsOf(await again.seqOf(id));
  return { ...(await inspect(browser, again, `/inspector/${id}`, "All steps", look)), url: again.url, id, journal: events };
};

const steps = (page: Page) => page.getByRole("list", { name: "Steps" }).getByRole("button");
const detail = (page: Page) => page.locator(".step-detail");
const stepNow = async (page: Page) =>
  Number(/Step (\d+) of/.exec((await page.locator(".replay-buttons output").textContent()) ?? "")?.[1]);

here("the Replay page", () => {
  test("reports that events, machine and ledger agree, and shows each event with its transfers", async () => {
    const { page, complaints, asked, close, url, journal: events } = await openReplay();
    await page.getByText(`ledger agree in all ${events.length} steps`).waitFor();
    const reported = await steps(page).allTextContents();
    expect(reported).toHaveLength(events.length + 1);
    for (const { version, event, stateAfter } of events) {
      expect(reported[version]).toContain(event.type);
      expect(reported[version]).toContain(` to ${stateAfter}`);
    }
    expect(reported[0]).toContain("hold $0.30");
    expect(reported.at(-1)).toContain("capture $0.30");
    expect(reported.join()).toContain("restart: attempt 1 may have been sent");
    expect(reported.join()).toContain("(fallback)");
    expect(reported.join()).toContain("(confirming)");
    expect(await page.content()).not.toContain("red kite");
    expect([complaints, asked.filter((address) => !address.startsWith(`${url}/`))]).toEqual([[], []]);
    await close();
  }, 60_000);

  test("starts with the cost of the generation and the reason for each attempt, and fits 360 pixels", async () => {
    const { page, inPage, close } = await openReplay({ viewport: { width: 360, height: 800 } });
    const costs = page.getByRole("region", { name: "Cost and reasons" });
    expect(await costs.locator("p").first().textContent()).toMatch(
      /^Charged \$0\.30 for attempt 2, which delivered\. The other attempt was not charged\. The quote of \$0\.20 is the price/,
    );
    const facts = await costs
      .locator("dl > div")
      .evaluateAll((all) => all.map((each) => [...each.children].map((one) => one.textContent)));
    expect(facts.map(([name]) => name)).toEqual([
      ...["Model", "End state", "Duration", "Quoted", "Held", "Charged", "Released", "Account"],
    ]);
    expect(Object.fromEntries(facts)).toMatchObject({
      ...{ Model: "life", "End state": "succeeded", Quoted: "$0.20", Held: "$0.30", Charged: "$0.30", Released: "$0.00" },
      Duration: expect.stringMatching(/^(\d+:)*\d+\.\d{3}( s)?$/),
    });
    const attempts = await costs.getByRole("list", { name: "Attempts" }).getByRole("listitem").allTextContents();
    expect(attempts).toEqual([
      expect.stringMatching(
        /^Attempt 1 on life\/replicate: not received \(the service restarted.+Not charged, price \$0\.20: it is proved.+took \d/,
      ),
      expect.stringMatching(
        /^Attempt 2 on life\/spare: delivered \(the response was lost; confirmed.+Charged \$0\.30: the attempt delivered .+took \d/,
      ),
    ]);
    // Above the slider, and no wider than the phone.
    const boxes = [await costs.boundingBox(), await page.getByRole("slider", { name: "Time" }).boundingBox()];
    expect((boxes[0]?.y ?? 0) + (boxes[0]?.height ?? 0)).toBeLessThanOrEqual(boxes[1]?.y ?? 0);
    expect(await inPage<number>("overhang")).toBeLessThanOrEqual(0);
    await close();
  }, 60_000);

  test("shows at every step the stored state, the last transition and the full step", async () => {
    const { page, close, journal: events } = await openReplay();
    for (let version = 0; version <= events.length; version += 1) {
      await steps(page).nth(version).click();
      expect(await activeState(page)).toBe(version === 0 ? "queued" : (events[version - 1]?.stateAfter ?? ""));
      // A line, the box around the transition, or the way from or to a state outside of the level.
      expect(await page.locator(".chart-card .is-last:not(.chart-head)").count()).toBe(version === 0 ? 0 : 1);
      expect(await detail(page).getByRole("heading", { level: 2 }).textContent()).toBe(
        `${version}. ${events[version - 1]?.event.type ?? "acceptance"}`,
      );
    }
    await steps(page).nth(3).click();
    expect(await detail(page).textContent()).toContain("confirm (attempt 1)");
    await steps(page).nth(6).click();
    expect(
      await detail(page)
        .getByRole("row", { name: /current\.sends/ })
        .textContent(),
    ).toBe("current.sends01");
    await steps(page).nth(events.length).click();
    expect(await detail(page).textContent()).toContain("capture $0.30 held to charged");
    await close();
  }, 60_000);

  test("moves between steps with arrow keys on the page and on the slider, and by time on the slider", async () => {
    const { page, close, journal: events } = await openReplay();
    expect(await stepNow(page)).toBe(events.length);
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("ArrowRight");
    expect(await stepNow(page)).toBe(events.length - 1);
    const slider = page.getByRole("slider", { name: "Time" });
    await slider.focus();
    await page.keyboard.press("Home");
    expect(await stepNow(page)).toBe(0);
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowRight");
    expect(await stepNow(page)).toBe(2);
    expect(await slider.getAttribute("aria-valuetext")).toContain(`step 2 of ${events.length}`);
    // A time between two steps shows the earlier one.
    const between = (events[2]?.atMs ?? 0) + 1;
    await slider.fill(String(between));
    expect(await stepNow(page)).toBe(events.filter(({ atMs }) => atMs <= between).length);
    await page.keyboard.press("End");
    expect(await stepNow(page)).toBe(events.length);
    await page.getByRole("button", { name: "Step back" }).click();
    expect(await stepNow(page)).toBe(events.length - 1);
    await page.getByRole("button", { name: "First step" }).click();
    expect(await page.getByRole("button", { name: "Step back" }).isEnabled()).toBe(false);
    await close();
  }, 60_000);

  test.each([
    [1280, "start"],
    [1280, "end"],
    [360, "start"],
    [360, "end"],
  ] as const)(
    "on %d pixels, with the %s of the chart on screen: each step scrolls the active state into view without scrolling the page",
    async (width, block) => {
      const { page, inPage, close, journal: events } = await openReplay({ viewport: { width, height: 800 } });
      // Before any scrolling, the chart is visible at this width.
      if (width === 1280) await inPage("broughtIntoSight");
      await page.locator(".chart-frame").evaluate((frame, to) => frame.scrollIntoView({ block: to }), block);
      await zoomIn(page);
      const before = await inPage<number>("scrolled");
      let unavailable = 0;
      for (const key of [...events.map(() => "ArrowLeft"), ...events.map(() => "ArrowRight")]) {
        // Regardless of how the chart was dragged.
        if (await inPage<boolean>("panOut")) unavailable += 1;
        await page.keyboard.press(key);
        await inPage("broughtIntoSight");
        expect(await inPage<number>("scrolled")).toBe(before);
      }
      // Of the states inside the level; the others are buttons beside the chart.
      expect(unavailable).toBeGreaterThan(events.length / 2);
      await close();
    },
    60_000,
  );

  test.each([
    ["reduce", ["instant"]],
    ["no-preference", ["smooth"]],
  ] as const)(
    "with prefers-reduced-motion %s, scrolls the chart with the matching behaviour",
    async (reducedMotion, expected) => {
      const { page, inPage, close, journal: events } = await openReplay({ reducedMotion });
      await page.locator(".chart-frame").evaluate((frame) => frame.scrollIntoView({ block: "end" }));
      await zoomIn(page);
      await page.keyboard.press("ArrowLeft");
      await inPage("broughtIntoSight");
      expect(await inPage<boolean>("panOut")).toBe(true);
      await inPage("keepMoves");
      await page.keyboard.press("ArrowLeft");
      await inPage("broughtIntoSight");
      expect([await stepNow(page), await inPage<string[]>("moves")]).toEqual([events.length - 2, [...expected]]);
      await close();
    },
    60_000,
  );

  test("plays the steps from the beginning to the end, and pauses by button and by the space bar", async () => {
    const { page, close, journal: events } = await openReplay({ reducedMotion: "reduce" });
    // Nothing plays before the reader starts it.
    await page.getByRole("button", { name: "Play", exact: true }).waitFor();
    const speed = page.getByLabel("Speed in steps per second");
    await speed.selectOption("0.5");
    await page.locator("h1").click();
    await page.keyboard.press("Space");
    await page.getByRole("button", { name: "Pause", exact: true }).waitFor();
    await page.getByText(/^Step 1 of/).waitFor();
    await page.keyboard.press("Space");
    await page.getByRole("button", { name: "Play", exact: true }).waitFor();
    const paused = await stepNow(page);
    expect(paused).toBeLessThan(events.length);
    // A step by hand ends the playback, too.
    await page.getByRole("button", { name: "Play", exact: true }).click();
    await page.keyboard.press("ArrowLeft");
    await page.getByRole("button", { name: "Play", exact: true }).waitFor();
    await speed.selectOption("4");
    await page.getByRole("button", { name: "Play", exact: true }).click();
    await page.getByText(`Step ${events.length} of ${events.length}`).waitFor();
    await page.getByRole("button", { name: "Play", exact: true }).waitFor();
    await close();
  }, 60_000);

  test("keeps the chart on screen while the steps scroll", async () => {
    const { page, close } = await openReplay({ viewport: { width: 1280, height: 800 } });
    const frame = page.locator(".chart-frame");
    const onScreen = async () => {
      const box = await frame.boundingBox();
      expect(box?.y ?? -1).toBeGreaterThanOrEqual(56);
      expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(800);
    };
    await onScreen();
    await steps(page).last().scrollIntoViewIfNeeded();
    expect(await page.evaluate<number>("scrollY")).toBeGreaterThan(200);
    await onScreen();
    await close();
  }, 60_000);

  test("saves the shown steps as SVG, Mermaid and JSON", async () => {
    const { page, close, id } = await openReplay();
    await steps(page).nth(3).click();
    const saved = async (name: string) => {
      const download = page.waitForEvent("download");
      await page.getByRole("button", { name, exact: true }).click();
      const file = await download;
      return [file.suggestedFilename(), readFileSync(await file.path(), "utf8")] as const;
    };
    const [svgName, svg] = await saved("SVG");
    expect([svgName, svg.startsWith("<svg ")]).toEqual([`${id}.svg`, true]);
    expect(svg).toContain("running.confirming.acceptance (active)");
    const [mermaidName, mermaid] = await saved("Mermaid");
    expect(mermaidName).toBe(`${id}.mmd`);
    expect(mermaid).toContain("interrupted (3)");
    expect(mermaid).not.toContain("(4)");
    const [jsonName, json] = await saved("JSON");
    expect(jsonName).toBe(`${id}.json`);
    expect(JSON.parse(json)).toMatchObject({ generation: { id }, agrees: true, faults: [] });
    await close();
  }, 60_000);

  test("reports a generation that does not exist", async () => {
    const path = `/inspector/gen_${"0".repeat(26)}`;
    const { page, close } = await inspect(browser, await openScene(), path, "No generation with this id exists.");
    expect(await page.getByRole("slider").count()).toBe(0);
    await close();
  }, 60_000);

  test.each(LOOKS)(
    "on $viewport.width pixels, $colorScheme: has no serious accessibility violation and no horizontal scrolling",
    async (look) => {
      const { page, sound, close } = await openReplay({ ...look, bypassCSP: true });
      await steps(page).nth(6).click();
      await page.getByLabel("Show unchanged").check();
      await page.locator("summary", { hasText: "States and transitions as a list" }).click();
      await sound();
      await close();
    },
    60_000,
  );
});
