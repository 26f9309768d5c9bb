// Ways through the console in a browser: the palette, the links of the side bar, and the look of the frame.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser, BrowserContextOptions } from "playwright-core";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { openVisitor, type Visitor } from "../console/signed-in.ts";
import { type Harness, openHarness } from "../harness.ts";
import { openBrowser } from "./chromium.ts";
import { watch } from "./watched.ts";

const opened = await openBrowser();
if (typeof opened === "string") process.stdout.write(`skipped: ways through the console in a browser (${opened})\n`);
const here = describe.skipIf(typeof opened === "string");
const browser = opened as Browser;

setDefaultTimeout(60_000);
let harness: Harness;
let visitor: Visitor;
beforeAll(async () => {
  harness = await openHarness({ dir: freshDir() });
  visitor = await openVisitor(harness, "operator", harness.tenant);
}, 60_000);
afterAll(async () => {
  if (typeof opened !== "string") await opened.close();
  await harness.close();
  dropDirs();
});

const visit = (path: string, look: BrowserContextOptions = {}) => watch(browser, { url: harness.url, visitor, path, look });

here("the palette", () => {
  test("opens by keyboard, and leads to a page, a model, and what an id names", async () => {
    const { id } = await harness.submit("sim-image-1", { prompt: "a kite of the palette" });
    const { page, sound, close } = await visit("/console/keys", { bypassCSP: true });
    await page.getByRole("button", { name: "New key" }).first().waitFor();
    const field = page.getByRole("combobox", { name: "Search pages, models and ids" });
    const found = page.getByRole("listbox").locator("[aria-selected='true']");
    for (const [open, text, chosen, heading] of [
      ["Control+k", "ledg", "Ledger", "Ledger"],
      ["/", "sim speech", "Sim Speech 1", "Playground"],
      ["Control+k", id, id, "a kite of the palette"],
      ["Control+k", harness.tenant.accountId, harness.tenant.accountId, "Account"],
    ] as const) {
      await page.keyboard.press(open);
      await field.waitFor();
      await page.keyboard.type(text);
      await found.filter({ hasText: chosen }).waitFor();
      if (heading === "Ledger") await sound();
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { level: 1, name: heading }).waitFor();
    }
    await page.keyboard.press("Control+k");
    await page.keyboard.type("zzzz");
    await page.getByText("Nothing matches “zzzz”.").waitFor();
    await page.keyboard.press("Escape");
    await field.waitFor({ state: "detached" });
    await close();
  });
});

here("the frame", () => {
  test("leads to the documentation, and the documentation leads back", async () => {
    const { page, close } = await visit("/console/keys");
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Documentation" }).click();
    await page.waitForURL("**/docs");
    await page.getByRole("banner").getByRole("link", { name: "Console" }).click();
    await page.getByRole("navigation", { name: "Pages" }).waitFor();
    await close();
  });

  test("leads operators to the inspector from the side bar and the palette, and no member", async () => {
    const { page, close } = await visit("/console/keys");
    const navigation = page.getByRole("navigation", { name: "Pages" });
    await navigation.getByRole("link", { name: "Inspector" }).click();
    await page.waitForURL("**/inspector");
    await page.getByRole("heading", { level: 1, name: "Live" }).waitFor();
    await page.getByRole("banner").getByRole("link", { name: "Console" }).click();
    await navigation.getByRole("link", { name: "Audit log" }).waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Search pages, models and ids" }).waitFor();
    await page.keyboard.type("inspec");
    await page.getByRole("listbox").getByRole("option", { name: "Inspector", selected: true }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Live" }).waitFor();
    await close();
    const member = await openVisitor(harness, "member", harness.tenant);
    const own = await watch(browser, { url: harness.url, visitor: member, path: "/console/keys" });
    const links = own.page.getByRole("navigation", { name: "Pages" }).getByRole("link");
    await links.filter({ hasText: "API keys" }).waitFor();
    expect(await links.filter({ hasText: "Inspector" }).count()).toBe(0);
    await own.close();
  });

  test("has the mark of the product, an icon for each entry, and theme, profile and sign-out in one menu", async () => {
    const { page, close } = await visit("/console/generations", { viewport: { width: 1920, height: 1080 } });
    await page.getByRole("banner").locator(".brand svg").waitFor();
    const entries = page.getByRole("navigation", { name: "Pages" }).getByRole("link");
    const [all, drawn] = [await entries.count(), await entries.locator("svg").count()];
    expect(all).toBeGreaterThan(15);
    expect(drawn).toBe(all);
    await page.getByRole("button", { name: "Your account" }).click();
    await page.getByLabel("Theme").waitFor();
    await page.getByRole("link", { name: "Profile" }).waitFor();
    await page.getByRole("button", { name: "Sign out", exact: true }).waitFor();
    expect(await page.locator("link[rel='icon']").first().getAttribute("href")).not.toStartWith("data:,");
    await close();
  });

  test.each([1280, 1920])(
    "uses a width of %i: pages reach both margins alike, and the sign-in is a card in the middle",
    async (width) => {
      const look = { viewport: { width, height: 900 } };
      for (const path of ["/console/generations", "/console/operator/routes", "/console/usage"]) {
        const { page, close } = await visit(path, look);
        await page.locator("main > *:nth-child(3)").waitFor();
        const [main, navigation] = [await page.locator("main").boundingBox(), await page.locator("#places").boundingBox()];
        const [left, right] = await page.locator("main").evaluate((one) => {
          const boxes = [...one.children].map((child) => child.getBoundingClientRect()).filter((box) => box.width > 0);
          return [Math.min(...boxes.map((box) => box.left)), Math.max(...boxes.map((box) => box.right))];
        });
        const space = [(left ?? 0) - (navigation?.width ?? 0), width - (right ?? 0)];
        expect([path, main !== null, Math.abs((space[0] ?? 0) - (space[1] ?? 0)) < 40]).toEqual([path, true, true]);
        await close();
      }
      const { page, close } = await watch(browser, { url: harness.url, path: "/console/sign-in", look });
      await page.locator("input[name=email]:focus").waitFor();
      const card = await page.locator("main").boundingBox();
      expect(card?.width).toBeLessThan(500);
      expect(Math.abs((card?.x ?? 0) + (card?.width ?? 0) / 2 - width / 2)).toBeLessThan(10);
      await page.locator(".sign-in-brand svg").waitFor();
      await close();
    },
  );
});
