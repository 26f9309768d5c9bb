// The money pages in a browser: grouped ledger, usage chart with filters, alerts, first steps, receipts, and one locale.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { type TestClock, testClock } from "../clock.ts";
import { openVisitor, type Visitor } from "../console/signed-in.ts";
import { type Harness, openHarness, type Tenant } from "../harness.ts";
import { openBrowser } from "./chromium.ts";
import { watch } from "./watched.ts";

const opened = await openBrowser();
if (typeof opened === "string") process.stdout.write(`skipped: the money pages in a browser (${opened})\n`);
const here = describe.skipIf(typeof opened === "string");
const browser = opened as Browser;

setDefaultTimeout(60_000);
const PICTURE = { model: "sim-image-1", input: { prompt: "a kite over the sea" } };
const SELLER = {
  GENROUTER_CREDITS__SELLER_NAME: "Kite Works Ltd",
  GENROUTER_CREDITS__SELLER_ADDRESS: "1 Harbour Road\nDover CT17 9BU",
  GENROUTER_CREDITS__SELLER_TAX_ID: "GB 123 4567 89",
};
let clock: TestClock;
let harness: Harness;
beforeAll(async () => {
  // The time of the browser, which decides what today is.
  clock = testClock(20, Date.now());
  harness = await openHarness({ clock, env: SELLER });
});
afterAll(async () => {
  if (typeof opened !== "string") await opened.close();
  await harness.close();
  clock.stop();
});

/** An account with 10 USD and a user with a role. */
const openUser = async (role: "member" | "operator" = "member", credits = 1000) => {
  const tenant = await harness.newTenant(credits);
  return { tenant, visitor: await openVisitor(harness, role, tenant) };
};
const generate = async (tenant: Tenant, body: object = PICTURE, headers: Record<string, string> = {}) => {
  const { body: made } = await harness.request("POST", "/v1/generations", { key: tenant.key, body, headers });
  return harness.until(String(made.id), undefined, tenant.key);
};
const visit = (visitor: Visitor, path: string, look: BrowserContextOptions = {}) =>
  watch(browser, { url: harness.url, visitor, path, look });
const ledgerOf = (page: Page) => page.getByRole("region", { name: "Table of ledger entries" });

here("the ledger page", () => {
  test("has one row for a generation with its final amount, which links to it and opens to its single transfers", async () => {
    const { tenant, visitor } = await openUser();
    const { id, cost_usd } = await generate(tenant);
    const { page, complaints, close } = await visit(visitor, "/console/ledger");
    const row = ledgerOf(page).getByRole("row").nth(1);
    await row.waitFor();
    const cells = await row.getByRole("cell").allTextContents();
    expect(cells.slice(2)).toEqual([
      "a kite over the seasim-image-1",
      "Charge",
      `−$${Number(cost_usd).toFixed(2)}`,
      `$${(10 - Number(cost_usd)).toFixed(2)}`,
    ]);
    await row.getByRole("button", { name: "Show the transactions of a kite over the sea" }).press("Enter");
    const single = page.getByRole("table", { name: "Transactions" });
    expect(await single.getByRole("row").allTextContents()).toHaveLength(4);
    expect(await single.getByRole("cell", { name: /^(Hold|Charge|Release)$/ }).allTextContents()).toEqual([
      "Hold",
      "Charge",
      "Release",
    ]);
    await row.getByRole("link").click();
    await page.waitForURL(`**/console/generations/${id}`);
    expect(complaints).toEqual([]);
    await close();
  });

  test("a refused generation costs nothing, and its page says so once", async () => {
    const { tenant, visitor } = await openUser();
    const failed = await generate(tenant, { ...PICTURE, input: { prompt: "[sim:refuse] no" } });
    const { page, close } = await visit(visitor, "/console/ledger");
    await ledgerOf(page).getByRole("row").nth(1).waitFor();
    expect(await ledgerOf(page).getByRole("row").nth(1).getByRole("cell").allTextContents()).toEqual([
      "",
      expect.any(String),
      "[sim:refuse] nosim-image-1",
      "Release",
      "$0.00",
      "$10.00",
    ] as string[]);
    await page.goto(`${harness.url}/console/generations/${failed.id}`);
    await page.getByRole("heading", { name: "Cost" }).waitFor();
    expect((await page.getByRole("main").innerText()).match(/nothing (was|is) charged/gi) ?? []).toHaveLength(
      String(failed.error?.message).includes("Nothing was charged") ? 1 : 0,
    );
    await close();
  });

  test("a running generation has one transfer, in the singular, and its row shows what is held", async () => {
    const { tenant, visitor } = await openUser();
    const body = { ...PICTURE, input: { prompt: "[sim:stuck] fog" } };
    const { id, reserved_usd } = (await harness.request("POST", "/v1/generations", { key: tenant.key, body })).body;
    const { page, close } = await visit(visitor, `/console/generations/${id}`);
    await page.getByText("1 transfer in the ledger", { exact: true }).waitFor();
    await page.goto(`${harness.url}/console/ledger`);
    await page.getByText(`$${Number(reserved_usd).toFixed(2)} on hold`).waitFor();
    await harness.request("POST", `/v1/generations/${id}/cancel`, { key: tenant.key });
    await close();
  });

  test("names a kind in the filter, in the row and on the page of the generation alike, and the CSV names the kind of the API", async () => {
    const { tenant, visitor } = await openUser();
    const { id } = await generate(tenant);
    const { page, close } = await visit(visitor, "/console/ledger");
    expect(await page.getByLabel("Kind").locator("option").allTextContents()).toEqual([
      ...["All kinds", "Top-up", "Hold", "Charge", "Release", "Adjustment"],
    ]);
    await page.getByLabel("Kind").selectOption("Charge");
    await page.waitForURL(/kind=capture/);
    await ledgerOf(page).getByRole("cell", { name: "Top-up", exact: true }).waitFor({ state: "detached" });
    await ledgerOf(page).getByRole("cell", { name: "Charge", exact: true }).waitFor();
    expect(await ledgerOf(page).getByRole("row").count()).toBe(2);
    const csv = await page.getByRole("link", { name: "Download CSV" }).getAttribute("href");
    expect((await visitor.ask("GET", csv ?? "")).text).toContain(",capture,");
    await page.goto(`${harness.url}/console/generations/${id}`);
    await page.getByText("3 transfers in the ledger", { exact: true }).click();
    await page.getByText(/^Charge \$/).waitFor();
    await close();
  });
});

here("the usage page", () => {
  test("shows today as a whole bar of its groups, also if it is the only day, and a click on a group shows it alone", async () => {
    const { tenant, visitor } = await openUser();
    await generate(tenant);
    await generate(tenant, { model: "vidmodel-2.0-fast", input: { prompt: "waves", resolution: "480p", duration: 4 } });
    for (const width of [360, 1280]) {
      const { page, complaints, close } = await visit(visitor, "/console/usage", { viewport: { width, height: 800 } });
      const bar = page.locator(".bar-day").last();
      await bar.locator(".bar-part").nth(1).waitFor();
      // A week is shown, and the bar of today is as wide as its column allows and inside the chart.
      expect(await page.locator(".bar-day").count()).toBe(7);
      const [box, chart] = [await bar.locator(".bar").boundingBox(), await page.locator(".bars").boundingBox()];
      const [axis, lowest] = [await page.locator(".axis").boundingBox(), await bar.locator(".bar-part").first().boundingBox()];
      if (!box || !chart || !axis || !lowest) throw new Error("the bar is not visible");
      // The bar stands on the lowest line, beside the lowest label of the axis.
      expect(Math.abs(lowest.y + lowest.height - chart.y - chart.height)).toBeLessThan(3);
      expect(Math.abs(chart.height - axis.height)).toBeLessThan(30);
      expect(box.width).toBeGreaterThan(20);
      expect(box.x + box.width).toBeLessThanOrEqual(chart.x + chart.width + 0.5);
      const heights = await bar
        .locator(".bar-part")
        .evaluateAll((parts) => parts.map((part) => part.getBoundingClientRect().height));
      expect(heights.every((height) => height >= 1)).toBe(true);
      // A chart that shows every value reaches more than 40 % of its height.
      expect(heights.reduce((sum, height) => sum + height, 0)).toBeGreaterThan(0.4 * chart.height);
      expect(complaints).toEqual([]);
      await close();
    }
    const { page, close } = await visit(visitor, "/console/usage");
    await page
      .getByRole("list", { name: "Legend" })
      .getByRole("button", { name: /^sim-image-1/ })
      .click();
    await page.waitForURL(/model=sim-image-1/);
    await page.getByRole("button", { name: "Remove the filter Model: sim-image-1" }).waitFor();
    await page.locator(".bar-part").nth(1).waitFor({ state: "detached" });
    await page.getByRole("button", { name: /^Remove the filter/ }).click();
    await page.locator("button.bar-part").nth(1).click();
    await page.waitForURL(/model=/);
    await page.getByRole("button", { name: /^Remove the filter/ }).click();
    await page.getByRole("row", { name: /^sim-image-1/ }).click();
    await page.waitForURL(/generations\?model=sim-image-1/);
    await page.getByRole("link", { name: "a kite over the sea" }).first().waitFor();
    expect(await page.getByText("waves").count()).toBe(0);
    await close();
  });

  test("groups by key and end user, and a row of an end user opens that user's generations", async () => {
    const { tenant, visitor } = await openUser();
    await generate(tenant, PICTURE, { "genrouter-end-user": "ada" });
    await generate(tenant, { ...PICTURE, input: { prompt: "no end user" } });
    const { page, close } = await visit(visitor, "/console/usage");
    const by = page.getByLabel("Group by");
    expect(await by.locator("option").allTextContents()).toEqual(["Model", "Key", "End user"]);
    await by.selectOption("Key");
    await page.getByRole("region", { name: "Usage by key" }).first().waitFor();
    await by.selectOption("End user");
    const table = page.getByRole("region", { name: "Usage by end user" }).first();
    await table.getByRole("row", { name: /^ada/ }).waitFor();
    await page.getByRole("list", { name: "Legend" }).getByText("Other or none").waitFor();
    await table.getByRole("row", { name: /^ada/ }).getByRole("link").click();
    await page.waitForURL(/generations\?end_user=ada/);
    await page.getByRole("link", { name: "a kite over the sea" }).first().waitFor();
    expect(await page.getByText("no end user").count()).toBe(0);
    await close();
  });

  test("an operator sees the usage of the own account, and all accounts after the switch", async () => {
    const { tenant } = await openUser();
    await generate(tenant, { model: "vidmodel-2.0-mini", input: { prompt: "a train", resolution: "480p", duration: 4 } });
    const own = await openUser("operator");
    await generate(own.tenant);
    const { page, close } = await visit(own.visitor, "/console/usage");
    const table = page.getByRole("region", { name: "Usage by model" }).first();
    await table.getByRole("row", { name: /^sim-image-1/ }).waitFor();
    expect(await table.getByText("vidmodel-2.0-mini").count()).toBe(0);
    expect(await page.getByText("This page shows all accounts.").count()).toBe(0);
    await page.getByRole("radio", { name: "All accounts" }).check();
    await table.getByRole("row", { name: /^vidmodel-2.0-mini/ }).waitFor();
    await page.getByText("This page shows all accounts.").waitFor();
    await page.getByLabel("Group by").selectOption("Account");
    await page.getByRole("region", { name: "Usage by account" }).first().waitFor();
    await close();
  });
});

here("alerts and first steps", () => {
  test("a spend alert that the month has reached is shown on other pages until it is dismissed, and not again", async () => {
    const { tenant, visitor } = await openUser();
    await generate(tenant, { model: "vidmodel-2.0-fast", input: { prompt: "waves", resolution: "720p", duration: 15 } });
    const { page, close } = await visit(visitor, "/console/credits");
    const field = page.getByLabel("Monthly spend (USD)", { exact: true });
    const save = page.getByRole("button", { name: "Save: Monthly spend (USD)" });
    await field.fill("0");
    await save.click();
    await page.getByText("Enter a whole number of USD from 1 to 1,000,000, or leave empty for no alert.").waitFor();
    await field.fill("1");
    await save.click();
    await page.getByText("Saved.").waitFor();
    const notice = page.getByText(/^Spend alert: \$\d+\.\d\d spent this month \(alert at \$1\.00\)\./);
    await notice.waitFor();
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "API keys" }).click();
    await notice.waitFor();
    await page.getByRole("button", { name: "Dismiss the spend alert" }).click();
    await notice.waitFor({ state: "detached" });
    await page.reload();
    await page.getByRole("button", { name: "New key" }).first().waitFor();
    expect(await notice.count()).toBe(0);
    await close();
  });

  test("without enough credits the playground leads to the credits and names no field that it lacks", async () => {
    const { visitor } = await openUser("member", 1);
    const { page, close } = await visit(visitor, "/console/playground?model=sim-image-1");
    await page.getByLabel("Prompt (required)").fill("a kite");
    await page.getByRole("button", { name: /^Generate/ }).click();
    const alert = page.getByRole("alert");
    await alert.getByText("must be available").waitFor();
    expect(await alert.innerText()).not.toContain("max_cost_usd");
    await alert.getByRole("link", { name: "Add credits" }).click();
    await page.getByRole("heading", { level: 1, name: "Credits" }).waitFor();
    await close();
  });

  test("the first steps follow what the account has, can be hidden, and are gone when all are done", async () => {
    const { tenant, visitor } = await openUser();
    const { page, asked, close } = await visit(visitor, "/console/generations");
    const steps = page.getByRole("region", { name: "Get started" });
    // The account has credits and a key.
    await steps.getByText("2 of 3 done").waitFor();
    expect(await steps.getByRole("link").allTextContents()).toEqual(["Make a picture"]);
    await steps.getByRole("link", { name: "Make a picture" }).click();
    await page.getByRole("heading", { level: 1, name: "Playground" }).waitFor();
    await generate(tenant);
    await page.goto(`${harness.url}/console/generations`);
    await page.getByRole("link", { name: "a kite over the sea" }).first().waitFor();
    expect(await steps.count()).toBe(0);
    const questions = () => asked.filter((address) => address.includes("/first-steps")).length;
    const before = questions();
    await page.reload();
    await page.getByRole("link", { name: "a kite over the sea" }).first().waitFor();
    expect(questions()).toBe(before);
    await close();

    const other = await openUser("operator");
    const hidden = await visit(other.visitor, "/console/generations");
    await hidden.page.getByRole("link", { name: "Invite a colleague" }).waitFor();
    await hidden.page.getByRole("button", { name: "Hide these steps" }).click();
    await hidden.page.reload();
    await hidden.page.getByText("No generations yet").waitFor();
    expect(await hidden.page.getByRole("region", { name: "Get started" }).count()).toBe(0);
    await hidden.close();
  });
});

here("purchases and receipts", () => {
  const order = async (visitor: Visitor, usd: number) =>
    String((await visitor.ask("POST", "/console/api/purchases", { amount_usd: usd })).reported.id);

  test("an abandoned checkout can be canceled in the list", async () => {
    const { visitor } = await openUser();
    await order(visitor, 50);
    const { page, close } = await visit(visitor, "/console/credits");
    await page.getByRole("button", { name: "Cancel the checkout of $50.00" }).click();
    await page.getByText("Checkout canceled. You weren't charged.").waitFor();
    await page.getByRole("cell", { name: "Not paid" }).waitFor();
    expect(await page.getByRole("button", { name: "Continue payment" }).count()).toBe(0);
    await close();
  });

  test("a receipt names the seller of the settings with the lines of the address, also in print, and not the host", async () => {
    const { visitor } = await openUser();
    const id = await order(visitor, 50);
    await visitor.ask("POST", `/console/api/purchases/${id}/test`, { how: "pay" });
    const { page, inPage, close } = await visit(visitor, `/console/receipts/${id}`);
    await page.getByText("Kite Works Ltd").waitFor();
    for (const media of ["screen", "print"] as const) {
      await page.emulateMedia({ media });
      const text = await page.getByRole("article").innerText();
      expect(text).toContain("1 Harbour Road\nDover CT17 9BU");
      expect(text).toContain("GB 123 4567 89");
      expect(text).not.toContain(new URL(harness.url).host);
      expect(await inPage<number>("overhang")).toBeLessThanOrEqual(0);
    }
    const box = await page.getByRole("article").boundingBox();
    expect(box?.x).toBeLessThan(20);
    await close();
  });

  test("a German browser gets dates, amounts and words of one language on every money page", async () => {
    const { tenant, visitor } = await openUser();
    await generate(tenant);
    const id = await order(visitor, 5000);
    await visitor.ask("POST", `/console/api/purchases/${id}/test`, { how: "pay" });
    const look = { locale: "de-DE", timezoneId: "Europe/Berlin" };
    for (const [path, heading] of [
      ["credits", "Guthaben"],
      ["ledger", "Buchungen"],
      ["usage", "Nutzung"],
      [`receipts/${id}`, "Beleg"],
    ] as const) {
      const { page, close } = await visit(visitor, `/console/${path}`, look);
      await page.getByRole("heading", { level: 1, name: heading }).waitFor();
      await page.locator("[aria-busy='true']").waitFor({ state: "detached" });
      const text = await page.locator("body").innerText();
      expect([path, text.match(/\$\d|\d(AM|PM)|\b(Balance|Available|Charge|Hold|Spend|Paid|Total)\b/g)]).toEqual([path, null]);
      if (path !== "usage") expect([path, text]).toEqual([path, expect.stringMatching(/5\.0\d\d,\d\d\s\$/)]);
      await close();
    }
  });
});
