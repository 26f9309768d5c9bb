// The page of a generation in a browser: its title, the order of its parts, its input, its code, and its clock while it runs.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser } from "playwright-core";
import { sampleBytes, uploaded } from "../api/upload-requests.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { type TestClock, testClock } from "../clock.ts";
import { openVisitor, type Visitor } from "../console/signed-in.ts";
import { type Harness, openHarness } from "../harness.ts";
import { openBrowser } from "./chromium.ts";
import { watch } from "./watched.ts";

const opened = await openBrowser();
if (typeof opened === "string") process.stdout.write(`skipped: the page of a generation in a browser (${opened})\n`);
const here = describe.skipIf(typeof opened === "string");
const browser = opened as Browser;

setDefaultTimeout(60_000);
let harness: Harness;
let visitor: Visitor;
let clock: TestClock;
beforeAll(async () => {
  // The page compares with the time of the browser.
  clock = testClock(1, Date.now());
  harness = await openHarness({ clock, dir: freshDir() });
  visitor = await openVisitor(harness, "member", harness.tenant);
}, 60_000);
afterAll(async () => {
  if (typeof opened !== "string") await opened.close();
  await harness.close();
  clock.stop();
  dropDirs();
});

const visit = (id: string) =>
  watch(browser, {
    url: harness.url,
    visitor,
    path: `/console/generations/${id}`,
    look: { viewport: { width: 1280, height: 800 } },
  });
const LONG = `a kite ${"over dunes and waves ".repeat(60)}to the end`;

here("the page of a generation", () => {
  test("is named by the prompt, shows result, input, cost and attempts in this order, and pictures of the input", async () => {
    const { id: file } = await uploaded(harness, await sampleBytes(harness, "picture.png?width=80&height=80"));
    const made = await harness.submit("sim-edit-1", { prompt: LONG, image_url: file });
    await harness.until(made.id);
    const { page, close } = await visit(made.id);
    await page.getByRole("heading", { name: "Result" }).waitFor();
    expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe(LONG.slice(0, 120));
    expect(await page.title()).toBe(`${LONG.slice(0, 120)} · genrouter`);
    expect(await page.getByRole("main").getByRole("heading", { level: 2 }).allTextContents()).toEqual([
      ...["Result", "Input", "Cost", "Attempts", "Details"],
    ]);
    const input = page.getByRole("region", { name: "Input" });
    await harness.eventually(
      () => input.locator("img").evaluate((one) => (one as unknown as { naturalWidth: number }).naturalWidth > 0),
      "the picture of the input",
    );
    // A long prompt is folded.
    const text = input.locator("dd").filter({ hasText: "a kite" });
    expect(await text.textContent()).not.toContain("to the end");
    await input.getByRole("button", { name: "Show the whole text" }).click();
    expect(await text.textContent()).toBe(LONG);
    await input.getByText("Reproduce this").click();
    expect(await input.locator("pre").first().textContent()).toContain(file);
    await close();
  });

  test("shows the elapsed time, the usual time and a growing axis while it runs, and the final values afterwards", async () => {
    const { id } = await harness.submit("vidmodel-2.0-fast", { prompt: "[sim:stuck] fog", resolution: "480p", duration: 4 });
    await harness.until(id, ({ status }) => status === "running");
    const { page, close } = await visit(id);
    const progress = page.getByText(/^Generating… \d.* of about \d/);
    await progress.waitFor();
    const secondsOf = async () => Number(/^Generating… (\d+)/.exec((await progress.textContent()) ?? "")?.[1]);
    const axisOf = async () => (await page.locator(".waterfall").getAttribute("aria-label")) ?? "";
    await page.getByRole("progressbar", { name: "Progress" }).waitFor();
    const [began, axis] = [await secondsOf(), await axisOf()];
    expect(axis).toMatch(/^Attempts over \d/);
    await harness.eventually(async () => (await secondsOf()) >= began + 2, "a clock that moves");
    expect(await axisOf()).not.toBe(axis);
    await harness.request("POST", `/v1/generations/${id}/cancel`);
    await harness.until(id);
    await progress.waitFor({ state: "detached" });
    await page.locator("dt", { hasText: "Took" }).waitFor();
    await close();
  });

  test("has the words, amounts and questions of a German browser", async () => {
    const { id } = await harness.submit("vidmodel-2.0-fast", { prompt: "[sim:stuck] Nebel", resolution: "480p", duration: 4 });
    await harness.until(id, ({ status }) => status === "running");
    const { page, close } = await watch(browser, {
      ...{ url: harness.url, visitor, path: `/console/generations/${id}` },
      look: { locale: "de-DE", timezoneId: "Europe/Berlin" },
    });
    await page.getByRole("table", { name: "Versuche" }).waitFor();
    await page.getByRole("button", { name: "Abbrechen", exact: true }).click();
    const question = page.getByRole("dialog", { name: "Diese Generierung abbrechen?" });
    await question.getByRole("button", { name: "Generierung abbrechen" }).click();
    await harness.until(id);
    await page.getByRole("button", { name: "Löschen" }).click();
    await page.getByRole("dialog", { name: "Diese Generierung löschen?" }).getByRole("button", { name: "Behalten" }).click();
    // The sentences of the service about an attempt are in English.
    const text = (await page.locator("body").textContent()) ?? "";
    expect(text.match(/\b(Attempts?|Outcome|Began|Took|Price|after \d|Cancel|Delete|Cost|Created)\b/g)).toBeNull();
    await close();
  });
});
