// The events of the live page in a browser: following, filter, payload, and the split of chart and events.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { openVisitor } from "../console/signed-in.ts";
import { type Harness, openHarness } from "../harness.ts";
import { openBrowser } from "./chromium.ts";
import { inspect } from "./inspected.ts";
import { watch } from "./watched.ts";

const opened = await openBrowser();
if (typeof opened === "string") process.stdout.write(`skipped: the events of the live page (${opened})\n`);
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

const openLive = (look = {}) =>
  inspect(browser, harness, "/inspector", "Connected. Events appear immediately.", {
    viewport: { width: 1280, height: 800 },
    ...look,
  });
const lines = (page: Page) => page.locator(".live-event");
const finish = async (): Promise<string> => {
  const { id } = await harness.submit("sim-image-1", { prompt: "a kite" });
  await harness.until(id);
  return id;
};
const ofGeneration = (page: Page, id: string) => page.locator(".live-event", { hasText: id });

here("the events of the live page", () => {
  test("follow the newest event until they are scrolled, and then count those that they do not show", async () => {
    const { page, close } = await openLive();
    for (let round = 0; round < 4; round += 1) await finish();
    const log = page.getByRole("region", { name: "Event log" });
    await harness.eventually(async () => (await lines(page).count()) > 15);
    const id = await finish();
    await ofGeneration(page, id).getByText("collected").waitFor();
    await log.evaluate((frame) => frame.scrollTo({ top: 120, behavior: "instant" }));
    const held = await lines(page).first().textContent();
    const later = await finish();
    const more = page.getByRole("button", { name: /^Show \d+ new events?$/ });
    await more.waitFor();
    expect(await lines(page).first().textContent()).toBe(held);
    expect(await ofGeneration(page, later).count()).toBe(0);
    await more.click();
    await ofGeneration(page, later).first().waitFor();
    expect(await log.evaluate((frame) => frame.scrollTop)).toBe(0);
    await close();
  });

  test("are filtered by text, and show the payload of the selected one beside them", async () => {
    const { page, close } = await openLive();
    const id = await finish();
    await ofGeneration(page, id).getByText("collected").waitFor();
    await page.getByRole("searchbox", { name: "Filter events" }).fill("slotTaken");
    await harness.eventually(async () =>
      (await lines(page).locator("strong").allTextContents()).every((type) => type === "slotTaken"),
    );
    await page.getByRole("searchbox", { name: "Filter events" }).fill("nothing like it");
    await page.getByText("No event matches the filter.").waitFor();
    await page.getByRole("searchbox", { name: "Filter events" }).fill(id);
    // By keyboard: one line is in the tab order, and arrow keys select its neighbours.
    await lines(page).first().focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    const selected = page.locator(".live-event[aria-pressed='true']");
    const type = (await selected.locator("strong").textContent()) ?? "";
    const payload = page.getByRole("region", { name: "Payload" });
    await payload.getByText(type, { exact: true }).waitFor();
    expect(JSON.parse((await payload.locator("pre").textContent()) ?? "")).toMatchObject({ n: 1 });
    const [log, beside] = [await page.getByRole("region", { name: "Event log" }).boundingBox(), await payload.boundingBox()];
    expect((log?.x ?? 0) + (log?.width ?? 0)).toBeLessThanOrEqual(beside?.x ?? 0);
    expect(log?.width ?? 0).toBeGreaterThan(400);
    await payload.getByRole("button", { name: `Follow ${id}` }).click();
    await page.getByRole("heading", { name: id }).waitFor();
    await close();
  });

  test("get more space when the bar above them is moved by keyboard, also after a reload", async () => {
    const { page, close } = await openLive();
    const height = async () => (await page.locator(".live-log").boundingBox())?.height ?? 0;
    const bar = page.getByRole("separator", { name: "Height of chart and events" });
    const before = await height();
    for (let press = 0; press < 4; press += 1) await bar.press("ArrowUp");
    const after = await height();
    expect(after).toBeGreaterThan(before + 60);
    await page.reload();
    await bar.waitFor();
    expect(await height()).toBeCloseTo(after, 0);
    await bar.press("End");
    expect(await bar.getAttribute("aria-valuenow")).toBe("80");
    await close();
  });

  test("name a route that its circuit breaker lets pass as the routes page does", async () => {
    // A route has a statechart once it has a verdict.
    const { id } = await harness.submit("sim-image-1", { prompt: "a kite [sim:fal:fail-later]" });
    await harness.until(id);
    const { page, close } = await openLive();
    const route = page.locator(".live-list li", { hasText: "sim-image-1/fal" });
    await route.first().waitFor();
    const state = await route.first().locator(".live-state").textContent();
    await route.first().getByRole("button").click();
    expect(await page.locator(".live-main-facts dd").first().textContent()).toBe(state);
    expect(await page.locator(".chart-state.is-active .chart-name").textContent()).toBe(state);
    await page.goto(`${harness.url}/console/operator/routes`);
    const row = page.getByRole("row", { name: /sim-image-1\/fal/ });
    expect([state, await row.locator(".status").textContent()]).toEqual(["up", "up"]);
    await close();
  });

  test("say that no sign-in is needed on the machine of the simulator, to a reader who is not signed in", async () => {
    const text = "No sign-in needed: with the simulator, the inspector is open to this computer.";
    const open = await watch(browser, { url: harness.url, path: "/inspector" });
    await open.page.getByText(text).waitFor();
    expect(await open.page.getByRole("link", { name: "Console", exact: true }).getAttribute("href")).toBe("/console");
    await open.close();
    const signedIn = await openLive();
    await signedIn.page.locator(".live-totals").waitFor();
    expect(await signedIn.page.getByText(text).count()).toBe(0);
    await signedIn.close();
    // With a public address, the same page asks this machine to sign in.
    const abroad = await openHarness({ env: { GENROUTER_SERVER__PUBLIC_URL: "https://api.example" } });
    const closed = await watch(browser, { url: abroad.url, path: "/inspector" });
    await closed.page.getByText("You are signed out").waitFor();
    expect(await closed.page.getByText(text).count()).toBe(0);
    await closed.close();
    await abroad.close();
  });

  test("are in the language of the browser, with its dates and numbers", async () => {
    const id = await finish();
    const look = { locale: "de-DE", timezoneId: "America/New_York" };
    const visitor = await openVisitor(harness, "operator", null);
    const { page, close } = await watch(browser, { url: harness.url, visitor, path: `/inspector/${id}`, look });
    await page.getByText("Alle Schritte").waitFor();
    expect(await page.locator(".bill").textContent()).toMatch(/Dauer\d+,\d{3} s.*Berechnet0,06\s\$/);
    expect(await page.locator(".replay-buttons").textContent()).toMatch(/Schritt \d+ von \d+, \+\d+,\d{3} s/);
    await page.goto(`${harness.url}/inspector`);
    await page.getByText("Verbunden. Ereignisse erscheinen sofort.").waitFor();
    const later = await finish();
    const time = await ofGeneration(page, later).first().locator("time").textContent();
    expect(time).toMatch(/^\d{2}:\d{2}:\d{2},\d{3}$/);
    await close();
  });
});
