// The playground as a workplace in a browser: two columns, a draft that outlives a session, actions of results, and read-only roles.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { openVisitor, type Visitor } from "../console/signed-in.ts";
import { type Harness, openHarness } from "../harness.ts";
import { openBrowser } from "./chromium.ts";
import { watch } from "./watched.ts";

const opened = await openBrowser();
if (typeof opened === "string") process.stdout.write(`skipped: the playground as a workplace in a browser (${opened})\n`);
const here = describe.skipIf(typeof opened === "string");
const browser = opened as Browser;

const VIEW = { width: 1280, height: 800 };

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

const visit = (path = "/console/playground?model=sim-image-1", look: BrowserContextOptions = {}, who = visitor) =>
  watch(browser, { url: harness.url, visitor: who, path, look: { viewport: VIEW, ...look } });
const prompt = (page: Page) => page.getByLabel("Prompt (required)");
const button = (page: Page) => page.getByRole("button", { name: /^Generate/ });
const ended = (page: Page) => page.locator('.result[data-status="succeeded"]');

here("the playground", () => {
  test.each(["sim-image-1", "vidmodel-2.0-fast", "vidmodel-2.5"])(
    "has the form of %s on the left and results on the right, and its priced button stays in view",
    async (model) => {
      const { page, close } = await visit(`/console/playground?model=${model}`);
      await prompt(page).fill("a kite");
      await page.getByRole("button", { name: /^Generate · / }).waitFor();
      const seen = async () => {
        const [form, results, submit] = await Promise.all([
          page.locator(".playground-form").boundingBox(),
          page.locator(".playground-results").boundingBox(),
          button(page).boundingBox(),
        ]);
        if (!form || !results || !submit) throw new Error("a part of the playground is not visible");
        expect(results.x).toBeGreaterThanOrEqual(form.x + form.width - 1);
        expect(submit.y + submit.height).toBeLessThanOrEqual(VIEW.height);
        expect(submit.y).toBeGreaterThan(0);
        return results.y;
      };
      await seen();
      await page.evaluate("document.querySelector('details.rare')?.setAttribute('open', '')");
      await page.mouse.wheel(0, 300);
      // The results stay beside the form while it is scrolled.
      expect(await seen()).toBeWithin(-1, 200);
      await close();
    },
  );

  test("keeps the draft when the session ends, shows it to the same user after the next sign-in, and to no other user", async () => {
    const { page, close } = await visit("/console/playground?model=vidmodel-2.0-fast");
    await prompt(page).fill("a kite that is not lost");
    await page.getByRole("radio", { name: "480p" }).check();
    await page.getByRole("button", { name: /^Generate · / }).waitFor();
    await page.context().clearCookies();
    // The next request leads to the sign-in page.
    await page.getByLabel("Duration").fill("6");
    await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
    const other = await openVisitor(harness, "member", harness.tenant);
    for (const [who, text, isChosen] of [
      [other, "", false],
      [visitor, "a kite that is not lost", true],
    ] as const) {
      await page.context().clearCookies();
      await page.goto(`${harness.url}/console/playground?model=vidmodel-2.0-fast`);
      await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
      await who.signIn(page.context());
      await page.reload();
      await page.getByRole("button", { name: "Choose a model: Vidmodel 2.0 Fast" }).waitFor();
      expect(await prompt(page).inputValue()).toBe(text);
      expect(await page.getByRole("radio", { name: "480p" }).isChecked()).toBe(isChosen);
    }
    await close();
  });

  test("shows the model of its address with price and usual time, and the chooser lists models of the simulator first", async () => {
    const { page, close } = await visit("/console/playground?model=vidmodel-2.0-fast");
    const chosen = page.getByRole("button", { name: "Choose a model: Vidmodel 2.0 Fast" });
    await chosen.waitFor();
    expect((await chosen.boundingBox())?.y).toBeWithin(0, VIEW.height);
    await chosen.click();
    const dialog = page.getByRole("dialog");
    const all = dialog.getByRole("region", { name: "All models" }).locator(".model-card");
    expect(await all.first().textContent()).toMatch(/^Sim .*\$\d+\.\d+.*~\d+ s/);
    const [cards, priced] = [await all.count(), await all.filter({ hasText: /\$\d/ }).count()];
    expect([cards > 5, priced]).toEqual([true, cards]);
    await dialog.getByRole("radio", { name: "Audio" }).check();
    await harness.eventually(async () => (await all.count()) < cards, "models of one kind");
    expect(await all.filter({ hasText: "Sim Speech 1" }).count()).toBe(1);
    expect(await all.filter({ hasText: "Sim Image 1" }).count()).toBe(0);
    await close();
  });

  test("a result can be downloaded, copied as a link, used as input, repeated and opened", async () => {
    const { page, close } = await visit(undefined, { permissions: ["clipboard-read", "clipboard-write"] });
    await prompt(page).fill("a kite with actions");
    await button(page).click();
    await ended(page).waitFor();
    const card = ended(page).first();
    const file = card.locator(".result-file").first();
    const download = page.waitForEvent("download");
    await file.getByRole("link", { name: "Download" }).click();
    expect((await download).suggestedFilename()).toMatch(/\.png$/);
    await file.getByRole("button", { name: "Open a kite with actions in full size" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Copy link" }).click();
    const link = await page.evaluate<string>("navigator.clipboard.readText()");
    expect((await visitor.ask("GET", new URL(link).pathname)).headers.get("content-type")).toBe("image/png");
    await page.keyboard.press("Escape");
    const id = await card.getAttribute("data-id");
    await card.getByRole("button", { name: "Run again" }).click();
    await ended(page).nth(1).waitFor();
    const used = page.locator(`[data-id="${id}"]`).getByRole("link", { name: "Use as input" });
    expect(await used.first().getAttribute("href")).toBe(`/console/playground?use=${encodeURIComponent(`${id}/1`)}&kind=image`);
    await page.locator(`[data-id="${id}"]`).getByRole("link", { name: "Details" }).first().click();
    await page.waitForURL(`**/console/generations/${id}`);
    await page.getByRole("heading", { level: 1, name: "a kite with actions" }).waitFor();
    await page.getByRole("link", { name: "Use as input" }).first().waitFor();
    expect(await page.getByRole("main").locator("a[download]").count()).toBeGreaterThan(0);
    await close();
  });

  test("shows a viewer the button disabled, with the reason", async () => {
    const viewer = await openVisitor(harness, "viewer", null);
    const { page, close } = await visit(undefined, {}, viewer);
    await prompt(page).fill("a kite");
    await page.getByText("Your role is read only, so you cannot generate.").waitFor();
    expect(await button(page).isDisabled()).toBe(true);
    await close();
  });
});
