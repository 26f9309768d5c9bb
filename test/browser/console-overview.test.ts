// Overview, service, parked generations and audit log in a browser: figures, backups, decisions and sentences.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { pathOfFile } from "../../src/files/local.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { type Operators, openOperators } from "../console/operators.ts";
import { FAL } from "../generation/catalogue.ts";
import { openScene } from "../generation/fixture.ts";
import { isParked, refusing } from "../generation/refusing.ts";
import { type Harness, openHarness } from "../harness.ts";
import { openBrowser } from "./chromium.ts";
import { LOOKS, watch } from "./watched.ts";

const opened = await openBrowser();
if (typeof opened === "string") process.stdout.write(`skipped: the overview in a browser (${opened})\n`);
const here = describe.skipIf(typeof opened === "string");
const browser = opened as Browser;

setDefaultTimeout(60_000);
let harness: Harness;
let users: Operators;
const backups = join(freshDir(), "backups");
beforeAll(async () => {
  if (typeof opened === "string") return;
  harness = await openHarness({ dir: freshDir(), factor: 100, env: { GENROUTER_BACKUP__DIR: backups } });
  users = await openOperators(harness);
  for (const prompt of ["a kite", "a robot", "[sim:refuse] something"]) {
    const { id } = await harness.submit("sim-image-1", { prompt });
    await harness.until(id);
  }
}, 60_000);
afterAll(async () => {
  if (typeof opened === "string") return;
  await opened.close();
  await harness.close();
  dropDirs();
});

const visit = (path: string, look = {}) =>
  watch(browser, { url: harness.url, visitor: users.operator, path: `/console/operator/${path}`, look });

here("the overview", () => {
  test("shows the figures of the chosen period by keyboard, each with the page that explains it", async () => {
    const { page, complaints, tabTo, close } = await visit("overview");
    const card = (name: string) => page.getByRole("listitem").filter({ has: page.getByRole("heading", { name }) });
    await card("Generations").getByText("3", { exact: true }).waitFor();
    const charged = (await harness.balance()).charged;
    await card("Revenue")
      .getByText(`$${(charged / 100).toFixed(2)}`, { exact: true })
      .waitFor();
    await card("Failures").getByText("33.3%", { exact: true }).waitFor();
    await card("Failures").getByText("1 failed").waitFor();
    await page.getByText("The provider refused the input").waitFor();
    await tabTo("Today");
    await page.keyboard.press("ArrowRight");
    await card("Generations").getByText("Previous 7 days: 0").waitFor();
    for (const [name, heading] of [
      ["Revenue", "Usage"],
      ["Margin", "Routes"],
      ["Failures", "Generations"],
      ["Backup", "Service"],
    ] as const) {
      await page.getByRole("link", { name, exact: true }).click();
      await page.getByRole("heading", { level: 1, name: heading }).waitFor();
      await page.goBack();
      await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    }
    expect(complaints).toEqual([]);
    await close();
  });

  test.each(LOOKS)("fits the screen and has no violation with %j", async (look) => {
    const { page, sound, close } = await visit("overview", { ...look, bypassCSP: true });
    await page.getByText("Why generations failed").waitFor();
    await sound();
    await close();
  });
});

here("a route that can lose money", () => {
  test("is named as a loss in words on Routes, Overview and Service", async () => {
    // The built-in catalogue has such routes, among them the one of the README.
    const { builtInCatalogue } = await import("../../catalogue/load.ts");
    const id = "vidmodel-2.0-fast/modelark";
    const shipped = await openHarness({
      catalogue: builtInCatalogue(),
      providers: ["modelark"],
    });
    const { operator } = await openOperators(shipped);
    const open = (path: string) => watch(browser, { url: shipped.url, visitor: operator, path: `/console/operator/${path}` });
    const routes = await open("routes?show=losing");
    const row = routes.page.locator(`tr[data-row="${id}"]`);
    await row.getByText("loss", { exact: true }).waitFor();
    await row.getByText(/−14% to −11%/).waitFor();
    const margin = routes.page.getByRole("columnheader", { name: "Margin" });
    await margin.getByRole("button").click();
    await margin.getByRole("button").click();
    expect(await margin.getAttribute("aria-sort")).toBe("ascending");
    const shown = await routes.page.locator("tbody tr[data-row]").count();
    await routes.page.getByLabel("Show").selectOption("all");
    expect(await routes.page.locator("tbody tr[data-row]").count()).toBeGreaterThan(shown);
    await routes.close();
    const overview = await open("overview");
    await overview.page
      .getByRole("listitem")
      .filter({ hasText: id })
      .getByText(/loss −14% to −11%/)
      .waitFor();
    await overview.close();
    const service = await open("service");
    await service.page.getByRole("link", { name: /routes? can cost more than the price/ }).click();
    await service.page.getByRole("heading", { level: 1, name: "Routes" }).waitFor();
    expect(await service.page.getByLabel("Show").inputValue()).toBe("losing");
    await service.close();
    await shipped.close();
  });
});

here("the service page", () => {
  test("makes a backup on request and shows its result", async () => {
    const { page, complaints, close } = await visit("service");
    await page.getByText("Accepting generations").waitFor();
    await page.getByRole("button", { name: "Back up now" }).click();
    await page.getByText(/Backup verified in .*genrouter-\d{8}T\d{6}Z/).waitFor();
    await page.getByText(backups, { exact: true }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test("shows why no backup can be made without backup.dir", async () => {
    const bare = await openHarness({ factor: 100 });
    const { operator } = await openOperators(bare);
    const { page, close } = await watch(browser, { url: bare.url, visitor: operator, path: "/console/operator/service" });
    const button = page.getByRole("button", { name: "Back up now" });
    await button.waitFor();
    expect(await button.isDisabled()).toBe(true);
    await page.getByText("Set backup.dir to a directory and restart the service to enable backups.").waitFor();
    await close();
    await bare.close();
  });

  test("explains the three ways out of a parked generation and the consequence before a decision", async () => {
    const scene = await openScene({ routes: [FAL], around: refusing(1) });
    const { id } = await scene.begin();
    await scene.until(id, isParked);
    const { operator } = await openOperators(scene);
    const { page, sound, tabTo, close } = await watch(browser, {
      url: scene.url,
      visitor: operator,
      path: "/console/operator/service",
      look: { bypassCSP: true },
    });
    await tabTo(`Decide ${id}`);
    await page.keyboard.press("Enter");
    const asking = page.getByRole("dialog", { name: `Decide on ${id}` });
    for (const text of [
      "Ask the provider about the attempt again.",
      "The provider has delivered",
      "Give up and end the generation.",
    ])
      await asking.getByText(text).waitFor();
    await asking.getByText("Nothing is charged unless it delivers.").waitFor();
    await sound();
    await asking.getByRole("radio", { name: /^Fail/ }).check();
    await asking.getByText(/gets the \$0\.\d\d on hold back/).waitFor();
    await asking.getByRole("radio", { name: /^Settle/ }).check();
    await asking.getByText("The customer is charged the price of the attempt").waitFor();
    await asking.getByRole("button", { name: "Settle" }).click();
    await asking.getByRole("alert").getByText("Enter a reason.").waitFor();
    await asking.getByLabel("Reason (required)").fill("seen at the provider");
    await asking.getByRole("button", { name: "Settle" }).click();
    await asking.waitFor({ state: "detached" });
    expect((await scene.until(id)).status).toBe("succeeded");
    await close();
  });
});

here("the audit log", () => {
  test("shows changes in sentences with names, filters them, and shows details without JSON", async () => {
    const tenant = await harness.newTenant(0);
    const request = { reference: crypto.randomUUID(), credits: 10_000, note: "for the audit" };
    await users.ask("operator", "POST", `accounts/${tenant.accountId}/credits`, request);
    await users.ask("operator", "PATCH", `accounts/${tenant.accountId}`, { inProgressLimit: 7 });
    const { page, complaints, close } = await visit("audit");
    await page.getByLabel("Kind").selectOption("Credits granted or taken back");
    const line = page.locator('[data-action="credit"]').filter({ hasText: "for the audit" });
    await line.getByText(/ granted tenant \$100\.00: “for the audit”/).waitFor();
    await line.getByRole("link", { name: "tenant" }).click();
    await page.getByRole("heading", { level: 1, name: "Account" }).waitFor();
    await page.goBack();
    await page.getByLabel("Target name or id").fill(tenant.accountId);
    const change = page.locator('[data-action="set-account"]');
    await change.getByText(/ changed the limits of tenant/).waitFor();
    await change.getByText("2 details").click();
    await change.getByText("Generations at once").waitFor();
    expect(await page.locator(".audit-lines").textContent()).not.toMatch(/[{}]|"\w+":/);
    await page.getByLabel("Who").selectOption("Command line");
    await page.getByText("No entries match.").waitFor();
    // A date is never wrapped.
    const heights = await page.locator(".audit-line time").evaluateAll((all) => all.map((one) => one.getClientRects().length));
    expect(heights.every((lines) => lines === 1)).toBe(true);
    expect(complaints).toEqual([]);
    await close();
  });
});

here("a result file that was lost", () => {
  test("is said on the page of its generation", async () => {
    const place = freshDir();
    const service = await openHarness({ dir: place, factor: 100 });
    const { operator } = await openOperators(service);
    const { id } = await service.submit("sim-image-1", { prompt: "a lost kite" });
    await service.until(id);
    rmSync(join(place, "files", pathOfFile(id, 1)));
    const { page, close } = await watch(browser, { url: service.url, visitor: operator, path: `/console/generations/${id}` });
    await page.getByText("The stored file is missing. The operator has been notified.").waitFor();
    await close();
    await service.close();
  });
});
