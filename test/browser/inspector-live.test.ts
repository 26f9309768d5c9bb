// The live inspector page in a browser: generations, filters, layout and chart.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createWebSocketReceiver } from "@statelyai/inspect";
import type { Browser, Page } from "playwright-core";
import { type Harness, openHarness } from "../harness.ts";
import { openBrowser } from "./chromium.ts";
import { inspect, zoomIn } from "./inspected.ts";
import { LOOKS } from "./watched.ts";

const opened = await openBrowser();
if (typeof opened === "string") process.stdout.write(`skipped: the live page in a browser (${opened})\n`);
const here = describe.skipIf(typeof opened === "string");
const browser = opened as Browser;

let harness: Harness;
beforeAll(async () => {
  harness = await openHarness({ factor: 20 });
});
afterAll(async () => {
  if (typeof opened !== "string") await opened.close();
  await harness.close();
});

const openLive = (look = {}) => inspect(browser, harness, "/inspector", "Connected. Events appear immediately.", look);
const actorOf = (page: Page, name: string) => page.locator(".live-list li button", { hasText: name });
const lines = (page: Page) => page.locator(".live-lines li");

here("the live page", () => {
  test("follows a generation through its states to its end, and marks the last transition in the chart", async () => {
    const { page, asked, complaints, close } = await openLive();
    const { id } = await harness.submit("sim-image-1", { prompt: "canary-9 [sim:slow=100]" });
    await actorOf(page, id).getByText("running.polling").waitFor();
    await actorOf(page, id).click();
    await page.locator(".chart-state.is-active[data-state='running.polling']").waitFor();
    // The log includes the events before the actor was chosen.
    expect(await lines(page).locator("strong").allTextContents()).toEqual(["accepted", "slotTaken", "begun"]);
    expect(await page.locator(".chart .is-last").count()).toBeGreaterThan(0);
    expect(await page.locator(".live-memory pre").textContent()).toContain('"tried": 1');
    expect(await page.getByRole("link", { name: "Replay" }).getAttribute("href")).toBe(`/inspector/${id}`);
    // Within the time limit of its route.
    harness.clock.skip(280_000);
    await actorOf(page, id).getByText("succeeded").waitFor();
    await lines(page)
      .getByText(/^running\.[a-z.]+ to succeeded$/i)
      .waitFor();
    expect(await page.content()).not.toContain("canary-9");
    const hosts = new Set(asked.map((address) => new URL(address).hostname));
    expect([...hosts]).toEqual(["127.0.0.1"]);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("scrolls the active state of the chosen actor into view when it is chosen and after each transition", async () => {
    const { page, inPage, close } = await openLive();
    const { id } = await harness.submit("sim-image-1", { prompt: "a kite [sim:slow=100]" });
    await actorOf(page, id).getByText("running.polling").waitFor();
    await actorOf(page, id).click();
    await page.locator(".chart-state.is-active[data-state='running.polling']").waitFor();
    const chart = page.locator(".chart-frame");
    await chart.evaluate((frame) => frame.scrollIntoView({ block: "end" }));
    await inPage("broughtIntoSight");
    await zoomIn(page);
    expect(await inPage<boolean>("panOut")).toBe(true);
    harness.clock.skip(280_000);
    await page.locator(".chart-state.is-active[data-state='succeeded']").waitFor();
    await inPage("broughtIntoSight");
    await close();
  }, 60_000);

  test("filters actors by model, id and state, and a state in the chart's list sets the filter", async () => {
    const { page, close } = await openLive();
    const [picture, speech] = [
      await harness.submit("sim-image-1", { prompt: "a kite [sim:stuck]" }),
      await harness.submit("sim-speech-1", { prompt: "hello [sim:stuck]" }),
    ];
    for (const { id } of [picture, speech]) await actorOf(page, id).getByText("running.polling").waitFor();
    await page.getByLabel("Model").selectOption("sim-speech-1");
    await actorOf(page, picture.id).waitFor({ state: "detached" });
    expect(await actorOf(page, speech.id).count()).toBe(1);
    await page.getByRole("form", { name: "Filter" }).getByRole("button", { name: "Clear" }).click();
    await page.getByLabel("Find").fill(picture.id);
    await actorOf(page, speech.id).waitFor({ state: "detached" });
    await page.locator("summary", { hasText: "States and transitions as a list" }).click();
    const polling = page.locator(".chart-states > li", {
      has: page.getByRole("button", { name: "running.polling", exact: true }),
    });
    expect(Number(/(\d+) generations/.exec((await polling.textContent()) ?? "")?.[1])).toBeGreaterThanOrEqual(2);
    await page.getByRole("button", { name: "running.awaitingSlot" }).click();
    await page.getByText("No actor matches the filter.").waitFor();
    expect(await page.getByRole("form", { name: "Filter" }).getByLabel("State").inputValue()).toBe("running.awaitingSlot");
    await close();
  }, 60_000);

  test.each([1200, 1600])(
    "on %d pixels: shows list, chart, memory and log in one view, with separate scrolling and a fixed page",
    async (width) => {
      const { page, inPage, close } = await openLive({ viewport: { width, height: 800 } });
      const all = await Promise.all(
        Array.from({ length: 12 }, () => harness.submit("sim-image-1", { prompt: "a kite [sim:slow=100]" })),
      );
      const chosen = actorOf(page, all[11]?.id ?? "");
      await chosen.getByText("running.polling").waitFor();
      await chosen.click();
      await page.locator(".live-memory pre").waitFor();
      const panes = ["Actors", "Selected actor", "Events", "Context"].map((name) =>
        page.getByRole("region", { name, exact: true }),
      );
      const boxes = await Promise.all(panes.map((pane) => pane.boundingBox()));
      for (const box of boxes) {
        expect(box?.y ?? -1).toBeGreaterThanOrEqual(0);
        expect((box?.y ?? 800) + (box?.height ?? 0)).toBeLessThanOrEqual(800);
        expect(Math.min(box?.width ?? 0, box?.height ?? 0)).toBeGreaterThan(100);
      }
      // The list at the left; at its right the chart above the events, with the context at the right of the lines.
      const [list, chart, log, context] = boxes.map((box) => ({
        ...{ left: box?.x ?? 0, right: (box?.x ?? 0) + (box?.width ?? 0) },
        ...{ top: box?.y ?? 0, bottom: (box?.y ?? 0) + (box?.height ?? 0) },
      }));
      const lines = await page.getByRole("region", { name: "Event log" }).boundingBox();
      expect((list?.right ?? 0) <= Math.min(chart?.left ?? 0, log?.left ?? 0)).toBe(true);
      expect((chart?.bottom ?? 0) <= (log?.top ?? 0)).toBe(true);
      expect((lines?.x ?? 0) + (lines?.width ?? 0) <= (context?.left ?? 0)).toBe(true);
      await zoomIn(page);
      for (const part of [".live-list ul", ".live-remembered", ".chart-frame"]) {
        const scrolls = await page.locator(part).evaluate((element) => {
          const from = element.scrollTop;
          element.scrollTo({ top: from === 0 ? 1_000 : 0, behavior: "instant" });
          const fits = element.scrollHeight <= element.clientHeight;
          return [element.ownerDocument.defaultView.getComputedStyle(element).overflowY, fits || element.scrollTop !== from];
        });
        expect([part, scrolls]).toEqual([part, [expect.stringMatching(/^(?:auto|scroll)$/), true]]);
      }
      await page.mouse.move(40, 700);
      await page.mouse.wheel(0, 2_000);
      expect(await inPage<number>("scrolled")).toBe(0);
      await close();
    },
    60_000,
  );

  test("shows readable counts in the chart at any zoom, and a count toggles the state filter by keyboard", async () => {
    const { page, sound, close } = await openLive({ bypassCSP: true });
    const { id } = await harness.submit("sim-image-1", { prompt: "a kite [sim:stuck]" });
    await actorOf(page, id).getByText("running.polling").waitFor();
    const count = page
      .getByRole("list", { name: "Generations in each state" })
      .getByRole("button", { name: /^\d+ in running\.polling$/ });
    await count.waitFor();
    for (const tool of ["Zoom in", "Zoom out", "Zoom out", "Zoom out"]) {
      await page.getByRole("button", { name: tool }).press("Enter");
      const box = await count.boundingBox();
      expect(Math.min(box?.width ?? 0, box?.height ?? 0)).toBeGreaterThanOrEqual(24);
      const state = await page.locator(".chart-state[data-state='running.polling'] > .chart-box").boundingBox();
      // In the upper right corner of its state, also while that state is shown inside the box of another.
      expect(Math.abs((box?.x ?? 0) + (box?.width ?? 0) - (state?.x ?? 0) - (state?.width ?? 0))).toBeLessThan(12);
      expect(Math.abs((box?.y ?? 0) - (state?.y ?? 0))).toBeLessThan(12);
    }
    const letters = 'Number.parseFloat(getComputedStyle(document.querySelector(".chart-counts button")).fontSize)';
    expect(await page.evaluate<number>(letters)).toBeGreaterThanOrEqual(15);
    await count.focus();
    await page.keyboard.press("Enter");
    const filter = page.getByRole("form", { name: "Filter" });
    await page.locator(".chart-counts button[aria-pressed='true']").waitFor();
    expect(await filter.getByLabel("State").inputValue()).toBe("running.polling");
    const listed = page.locator(".live-list .live-state");
    expect(new Set(await listed.allTextContents())).toEqual(new Set(["running.polling"]));
    expect(await count.textContent()).toBe(String(await listed.count()));
    await sound();
    await page.keyboard.press("Space");
    await page.locator(".chart-counts button[aria-pressed='true']").waitFor({ state: "detached" });
    expect(await filter.getByLabel("State").inputValue()).toBe("");
    await close();
  }, 60_000);

  test("drags the chart with the mouse without choosing a state; a click and a key choose one", async () => {
    const { page, close } = await openLive();
    const { id } = await harness.submit("sim-image-1", { prompt: "a kite [sim:stuck]" });
    await actorOf(page, id).getByText("running.polling").waitFor();
    const filtered = page.getByRole("form", { name: "Filter" }).getByLabel("State");
    // Opens the states inside, and enlarges the chart until it is larger than its frame.
    await page.locator(".chart-state[data-state='running'] > .chart-box").click();
    await zoomIn(page);
    const chart = page.locator(".chart-frame");
    const state = page.locator(".chart-state[data-state='running.polling'] > .chart-box");
    await state.evaluate((box) => box.scrollIntoView({ block: "center", inline: "center", behavior: "instant" }));
    const before = await chart.evaluate((frame) => frame.scrollTop);
    const box = await state.boundingBox();
    const [x, y] = [(box?.x ?? 0) + 30, (box?.y ?? 0) + (box?.height ?? 0) / 2];
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(x, y - 60, { steps: 4 });
    await page.mouse.up();
    expect(await chart.evaluate((frame) => frame.scrollTop)).toBe(before + 60);
    expect(await filtered.inputValue()).toBe("");
    await page.mouse.click(x, y - 60);
    await page.locator(".chart-counts button[aria-pressed='true']").waitFor();
    await page.mouse.click(x, y - 60);
    await page.locator(".chart-counts button[aria-pressed='true']").waitFor({ state: "detached" });
    // Releasing the button outside causes no click, and the next key is handled.
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(20, 20, { steps: 4 });
    await page.mouse.up();
    const count = page.locator(".chart-counts").getByRole("button", { name: /in running\.polling$/ });
    await count.focus();
    await page.keyboard.press("Enter");
    await page.locator(".chart-counts button[aria-pressed='true']").waitFor();
    expect(await filtered.inputValue()).toBe("running.polling");
    await count.click();
    await page.locator(".chart-counts button[aria-pressed='true']").waitFor({ state: "detached" });
    expect(await filtered.inputValue()).toBe("");
    await close();
  }, 60_000);

  test("changes nothing while it is paused, and then shows what happened meanwhile", async () => {
    const { page, close } = await openLive();
    await actorOf(page, "ledger").waitFor();
    await page.getByRole("button", { name: "Pause" }).focus();
    await page.keyboard.press("Enter");
    await page.getByText("Paused. This page does not change.").waitFor();
    const { id } = await harness.submit("sim-image-1", { prompt: "a kite" });
    await harness.until(id);
    // The page is rendered once more and still shows none of it.
    await page.getByLabel("Find").fill(id);
    await page.getByText("No actor matches the filter.").waitFor();
    await page.getByRole("button", { name: "Resume" }).click();
    await actorOf(page, id).getByText("succeeded").waitFor();
    await close();
  }, 60_000);

  test("shows the code for the Stately Inspector with a token, and accepts that token", async () => {
    const { page, close } = await openLive();
    await page.locator("summary", { hasText: "Stately Inspector" }).click();
    await page.getByRole("button", { name: "Create a token" }).click();
    await page.getByText("The code below contains the token").waitFor();
    const code = (await page.locator(".connect code").textContent()) ?? "";
    const server = /createWebSocketReceiver\(\{ server: "(ws:[^"]+\?token=gri_[^"]+)"/.exec(code)?.[1] ?? "";
    const ledger = new Promise<string>((announced) => {
      createWebSocketReceiver({ server }).subscribe(({ sessionId }) => void (sessionId === "ledger" && announced(sessionId)));
    });
    expect(await ledger).toBe("ledger");
    await close();
  }, 60_000);

  test.each(LOOKS)(
    "on $viewport.width pixels, $colorScheme: has no serious accessibility violation and no horizontal scrolling",
    async (look) => {
      const { page, sound, close } = await openLive({ ...look, bypassCSP: true });
      const { id } = await harness.submit("sim-image-1", { prompt: "a kite [sim:stuck]" });
      await actorOf(page, id).getByText("running.polling").waitFor();
      await sound();
      await actorOf(page, id).focus();
      await page.keyboard.press("Enter");
      await page.locator(".live-memory pre").waitFor();
      for (const summary of await page.locator("summary").all())
        await summary.evaluate((element) => element.closest("details")?.setAttribute("open", ""));
      await sound();
      await close();
    },
    60_000,
  );
});
