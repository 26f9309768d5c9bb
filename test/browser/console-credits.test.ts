// Credits pages in a browser: purchase by keyboard, balance, ledger, printed receipt, on a phone and in dark mode.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser, BrowserContextOptions } from "playwright-core";
import { type TestClock, testClock } from "../clock.ts";
import { openVisitor, type Visitor } from "../console/signed-in.ts";
import { type Harness, openHarness, type Tenant } from "../harness.ts";
import { openBrowser } from "./chromium.ts";
import { LOOKS, watch } from "./watched.ts";

const opened = await openBrowser();
if (typeof opened === "string") process.stdout.write(`skipped: the pages of credits in a browser (${opened})\n`);
const here = describe.skipIf(typeof opened === "string");
const browser = opened as Browser;

setDefaultTimeout(60_000);
let clock: TestClock;
let harness: Harness;
beforeAll(async () => {
  // The time of the browser, which decides what is still open.
  clock = testClock(1, Date.now());
  harness = await openHarness({ clock });
});
afterAll(async () => {
  if (typeof opened !== "string") await opened.close();
  await harness.close();
  clock.stop();
});

/** An account with 3 USD and its user. */
const openMember = async (): Promise<{ tenant: Tenant; visitor: Visitor }> => {
  const tenant = await harness.newTenant(300);
  return { tenant, visitor: await openVisitor(harness, "member", tenant) };
};
const visit = (visitor: Visitor, path: string, look: BrowserContextOptions = {}) =>
  watch(browser, { url: harness.url, visitor, path, look });
const buyBy = async (visitor: Visitor, usd: number, how: "pay" | "cancel"): Promise<string> => {
  const { reported } = await visitor.ask("POST", "/console/api/purchases", { amount_usd: usd });
  await visitor.ask("POST", `/console/api/purchases/${reported.id}/test`, { how });
  return String(reported.id);
};

here("the credits pages", () => {
  test("buys credits by keyboard and shows them in the balance, the ledger and a receipt", async () => {
    const { tenant, visitor } = await openMember();
    const { page, asked, complaints, tabTo, close } = await visit(visitor, "/console/credits");
    const { keyboard } = page;
    // Three dollars are below the low-balance threshold. The page says so at the amount, and has no notice that leads to itself.
    await page.getByText("Below your alert of $5.00").waitFor();
    expect(await page.getByRole("main").getByRole("link", { name: "Buy credits" }).count()).toBe(0);
    await tabTo("$25");
    // Moves from the first pack to the last one.
    await keyboard.press("ArrowLeft");
    await keyboard.press("ArrowLeft");
    await page.getByLabel(/Other amount/).waitFor();
    await tabTo("Other amount, 10 to 5,000 USD");
    await keyboard.type("9");
    await keyboard.press("Enter");
    await page.getByText("Enter a whole number from 10 to 5,000.").waitFor();
    await keyboard.type("9");
    await keyboard.press("Enter");
    await page.waitForURL(/\/console\/checkout\/pur_/);
    await page.getByRole("heading", { level: 1, name: "Test checkout" }).waitFor();
    await page.getByRole("button", { name: "Pay $99.00" }).waitFor();
    await tabTo("Pay $99.00");
    await keyboard.press("Enter");
    await page.waitForURL(/\/console\/credits\?purchase=pur_/);
    await page.getByText("Payment received. $99.00 added.").waitFor();
    await page.getByRole("definition").filter({ hasText: "$102.00" }).first().waitFor();
    expect((await harness.balance(tenant)).available).toBe(10_200);

    await tabTo("View ledger");
    await keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Ledger" }).waitFor();
    const transfers = page.getByRole("region", { name: "Table of ledger entries" });
    const first = transfers.getByRole("row").nth(1);
    await first.waitFor();
    expect(await first.getByRole("cell").allTextContents()).toEqual([
      "",
      expect.any(String),
      "Credits purchased",
      "Top-up",
      "+$99.00",
      "$102.00",
    ]);
    await first.getByRole("link").focus();
    await keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Receipt" }).waitFor();
    await page.getByText(/^R-\d{6}$/).waitFor();
    expect(await page.getByRole("row", { name: /^Paid / }).textContent()).toContain("$99.00");
    expect(asked.filter((address) => !address.startsWith(`${harness.url}/`) && !address.startsWith("data:"))).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  });

  test("updates the balance while it is being loaded, without a request for each change", async () => {
    const { tenant, visitor } = await openMember();
    const { page, asked, close } = await visit(visitor, "/console/keys");
    const balance = page.getByRole("banner").getByRole("link", { name: /^Balance/ });
    await balance.getByText("$3.00").waitFor();
    await page.waitForLoadState("networkidle");
    const reads = () => asked.filter((url) => url.endsWith("/console/api/credits")).length;
    const held = Promise.withResolvers<void>();
    await page.route("**/console/api/credits", async (route) => {
      await held.promise;
      await route.continue();
    });
    const before = reads();
    await page.getByRole("button", { name: "Your account" }).click();
    await page.getByRole("link", { name: "Profile and sessions" }).click();
    await harness.eventually(() => reads() === before + 1, "the request for the balance");
    for (let dollars = 4; dollars < 14; dollars += 1) {
      const topUp = {
        mutation: "credit",
        accountSeq: tenant.accountSeq,
        kind: "topup",
        credits: 100,
        note: "",
        reference: null,
      } as const;
      await harness.components.post({ ...topUp, atMs: harness.clock.nowMs() });
      await balance.getByText(`$${dollars}.00`).waitFor();
    }
    expect(reads()).toBe(before + 1);
    held.resolve();
    await harness.eventually(() => reads() === before + 2, "one more request, because the response may be outdated");
    await page.waitForLoadState("networkidle");
    await balance.getByText("$13.00").waitFor();
    await close();
  });

  test("shows the balance on every page and updates it over the single connection of the tab", async () => {
    const { tenant, visitor } = await openMember();
    const { page, asked, complaints, close } = await visit(visitor, "/console/keys");
    const balance = page.getByRole("banner").getByRole("link", { name: /^Balance/ });
    for (const name of ["Generations", "Playground", "API keys", "Credits", "Ledger", "Usage"]) {
      await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name, exact: true }).click();
      await page.locator("h1:focus").waitFor();
      await balance.getByText("$3.00").waitFor();
    }
    await page.waitForLoadState("networkidle");
    // Later changes arrive as events, without requests.
    await page.route("**/console/api/credits", (route) => route.abort());
    await buyBy(visitor, 25, "pay");
    await balance.getByText("$28.00").waitFor();
    const body = { model: "vidmodel-2.0-fast", input: { prompt: "a kite", resolution: "480p", duration: 4 } };
    expect((await harness.request("POST", "/v1/generations", { key: tenant.key, body })).status).toBe(202);
    await balance.getByText("$0.28 held").waitFor();
    expect(await balance.textContent()).toContain("$28.00");
    expect(asked.filter((address) => address.includes("/console/api/events"))).toHaveLength(1);
    expect(complaints).toEqual([]);
    await page.unroute("**/console/api/credits");
    await balance.click();
    await page.getByRole("heading", { level: 1, name: "Credits" }).waitFor();
    await page.getByRole("definition").filter({ hasText: "$28.00" }).waitFor();
    await buyBy(visitor, 50, "pay");
    await page.getByRole("definition").filter({ hasText: "$78.00" }).waitFor();
    await close();
  });

  test("a hidden tab closes its connection, and is up to date when it becomes visible again", async () => {
    const { visitor } = await openMember();
    const { page, close } = await visit(visitor, "/console/keys");
    const turn = (isHidden: boolean) =>
      page.evaluate(
        `Object.defineProperty(document, "hidden", { value: ${isHidden}, configurable: true }); document.dispatchEvent(new Event("visibilitychange"))`,
      );
    await harness.eventually(() => harness.components.watch.committed !== null, "the connection");
    await turn(true);
    await harness.eventually(() => harness.components.watch.committed === null, "the end of the connection");
    await buyBy(visitor, 25, "pay");
    await turn(false);
    await page.getByRole("banner").getByText("$28.00").waitFor();
    await close();
  });

  test("shows no balance and opens no event stream for a user without an account", async () => {
    const { tenant } = await openMember();
    const visitor = await openVisitor(harness, "operator", null);
    const { page, asked, close } = await visit(visitor, `/console/keys?account=${tenant.accountId}`);
    await page.getByRole("button", { name: "New key" }).waitFor();
    expect(await page.getByRole("banner").getByText("Balance").count()).toBe(0);
    expect(asked.filter((address) => /events|credits$/.test(address))).toEqual([]);
    await close();
  });

  test("prints a receipt without navigation and buttons, dark on light in any colour scheme", async () => {
    const { visitor } = await openMember();
    const id = await buyBy(visitor, 25, "pay");
    const { page, inPage, close } = await visit(visitor, `/console/receipts/${id}`, { colorScheme: "dark" });
    await page.getByText(/^R-\d{6}$/).waitFor();
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    for (const part of [page.getByRole("navigation"), page.getByRole("banner"), page.getByRole("button")])
      expect(await part.filter({ visible: true }).count()).toBe(0);
    for (const of of ["h1", ".receipt", ".receipt td"])
      expect(await page.evaluate(`/\\d+/.exec(getComputedStyle(document.querySelector("${of}")).color)[0] < 64`)).toBe(true);
    expect(await inPage<boolean>("isDark")).toBe(false);
    expect(await page.getByText("$25.00").filter({ visible: true }).count()).toBe(2);
    await close();
  });

  test("a cancelled checkout buys nothing, and an open checkout can be continued", async () => {
    const { tenant, visitor } = await openMember();
    const { page, complaints, close } = await visit(visitor, "/console/credits");
    await page.getByRole("radio", { name: "$100", exact: true }).check();
    await page.getByRole("button", { name: "Buy $100" }).click();
    await page.waitForURL(/\/console\/checkout\//);
    await page.goto(`${harness.url}/console/credits`);
    await page.getByRole("button", { name: "Continue payment" }).click();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByText("Checkout canceled. You weren't charged.").waitFor();
    expect((await harness.balance(tenant)).available).toBe(300);
    expect(complaints).toEqual([]);
    await close();
  });

  test("sets the low-balance threshold and shows the alert on other pages", async () => {
    const { visitor } = await openMember();
    const { page, close } = await visit(visitor, "/console/credits");
    const field = page.getByLabel("Low balance (USD)", { exact: true });
    const save = page.getByRole("button", { name: "Save: Low balance (USD)" });
    await field.fill("x");
    await save.click();
    await page.getByText("Enter a whole number of USD, or 0 for no alert.").waitFor();
    await field.fill("2");
    await save.click();
    await page.getByText("Saved.").waitFor();
    await page.getByText(/Below your alert/).waitFor({ state: "detached" });
    await field.fill("40");
    await save.click();
    await page.getByText("Below your alert of $40.00").waitFor();
    await page.getByRole("link", { name: "API keys" }).click();
    await page.getByText("Low balance: $3.00 available (alert at $40.00).").waitFor();
    await page.getByRole("main").getByRole("link", { name: "Buy credits" }).click();
    await page.getByRole("heading", { level: 1, name: "Credits" }).waitFor();
    await page.getByText(/^Low balance: /).waitFor({ state: "detached" });
    await close();
  });

  test("filters the ledger, and the CSV has the same filter", async () => {
    const { visitor } = await openMember();
    const { page, close } = await visit(visitor, "/console/ledger");
    await page.getByRole("cell", { name: "Top-up" }).first().waitFor();
    await page.getByLabel("Kind").selectOption("capture");
    await page.getByText("No transactions match these filters.").waitFor();
    const csv = await page.getByRole("link", { name: "Download CSV" }).getAttribute("href");
    expect((await visitor.ask("GET", csv ?? "")).text.split("\r\n")).toHaveLength(2);
    await close();
  });

  test("shows each entry and purchase as a card on a phone and as a row on a wide screen, with table roles", async () => {
    const { tenant, visitor } = await openMember();
    await buyBy(visitor, 25, "pay");
    await visitor.ask("POST", "/console/api/purchases", { amount_usd: 50 });
    const body = { model: "sim-image-1", input: { prompt: "a kite" } };
    expect((await harness.request("POST", "/v1/generations", { key: tenant.key, body })).status).toBe(202);
    for (const width of [360, 1280]) {
      const { page, inPage, close } = await visit(visitor, "/console/ledger", { viewport: { width, height: 800 } });
      for (const [path, name, heads, card] of [
        ["ledger", "Table of ledger entries", ["Transactions", "Time", "Description", "Kind", "Amount", "Balance"], "grid"],
        ["credits", "Table of purchases", ["Time", "Amount", "Status", "Documents"], "block"],
      ] as const) {
        await page.goto(`${harness.url}/console/${path}`);
        const table = page.getByRole("region", { name });
        await table.getByRole("row").nth(2).waitFor();
        const { overhang, labels, shapes } = await inPage<{ overhang: number; labels: string[]; shapes: string[] }>("rows");
        expect([name, width, overhang]).toEqual([name, width, 0]);
        expect(shapes).toEqual([width === 360 ? card : "table-row"]);
        // In the ledger, the places of a card say what each value is; only the balance is labelled.
        const labelled = name === "Table of purchases" ? [...heads] : ["Balance"];
        expect(labels).toEqual(width === 360 ? labelled : []);
        // The accessibility tree as the browser exposes it to screen readers.
        const tools = await page.context().newCDPSession(page);
        const { nodes } = await tools.send("Accessibility.getFullAXTree");
        const rolesOf = (role: string) => nodes.filter((node) => node.role?.value === role && !node.ignored);
        const rows = await table.getByRole("row").count();
        expect([rolesOf("table").length, rolesOf("row").length, rolesOf("columnheader").length]).toEqual([1, rows, heads.length]);
        expect(rolesOf("cell")).toHaveLength((rows - 1) * heads.length);
      }
      await close();
    }
  });

  test.each(LOOKS)(
    "on $viewport.width pixels, $colorScheme: has no serious accessibility violation and no horizontal scrolling",
    async (look) => {
      const { visitor } = await openMember();
      const id = await buyBy(visitor, 25, "pay");
      const { reported } = await visitor.ask("POST", "/console/api/purchases", { amount_usd: 50 });
      const { page, sound, close } = await visit(visitor, "/console/credits", { ...look, bypassCSP: true });
      await page.getByRole("radio", { name: "Other" }).check();
      await page.getByLabel(/Other amount/).fill("9");
      await page.getByRole("button", { name: /^Buy/ }).click();
      await page.getByRole("alert").waitFor();
      await page.getByRole("region", { name: "Table of purchases" }).waitFor();
      await sound();
      for (const [path, text] of [
        [`/console/checkout/${reported.id}`, "Pay $50.00"],
        [`/console/credits?purchase=${id}`, "Payment received. $25.00"],
        [`/console/receipts/${id}`, "Prepaid credits (2,500"],
        [`/console/receipts/${reported.id}`, "No receipt yet"],
        ["/console/ledger", "Top-up"],
      ] as const) {
        await page.goto(harness.url + path);
        await page.getByText(text).filter({ visible: true }).first().waitFor();
        await sound();
      }
      await close();
    },
  );
});
