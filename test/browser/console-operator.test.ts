// Operator pages in a browser: accounts, routes, provider keys and verification, by keyboard, on a phone, in dark mode.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser, BrowserContextOptions } from "playwright-core";
import type { Role } from "../../src/console/request-context.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { type Operators, openOperators } from "../console/operators.ts";
import { openVisitor } from "../console/signed-in.ts";
import { type Harness, openHarness, type Tenant } from "../harness.ts";
import { openBrowser } from "./chromium.ts";
import { watch } from "./watched.ts";

const opened = await openBrowser();
if (typeof opened === "string") process.stdout.write(`skipped: the operator's pages in a browser (${opened})\n`);
const here = describe.skipIf(typeof opened === "string");
const browser = opened as Browser;

let harness: Harness;
let users: Operators;
beforeAll(async () => {
  if (typeof opened === "string") return;
  harness = await openHarness({ dir: freshDir(), factor: 100 });
  users = await openOperators(harness);
}, 60_000);
afterAll(async () => {
  if (typeof opened === "string") return;
  await opened.close();
  await harness.close();
  dropDirs();
});

const visit = async (path: string, role: Role = "operator", look: BrowserContextOptions = {}) => {
  const watched = await watch(browser, { url: harness.url, visitor: users[role], path: `/console/operator/${path}`, look });
  await watched.page.locator(".operator").waitFor();
  return watched;
};
const answers = (tenant: Tenant) => harness.request("GET", "/v1/generations/gen_none", { key: tenant.key });

here("the operator pages", () => {
  test("finds, credits, pauses and resumes an account by keyboard, and its key gets 403 while it is paused", async () => {
    const tenant = await harness.newTenant(1_000);
    const { page, complaints, tabTo, close } = await visit("accounts");
    const { keyboard } = page;
    await tabTo("Search by name or id");
    await keyboard.type(tenant.accountId);
    await page.getByText("1 account, newest first").waitFor();
    await page.getByRole("link", { name: "tenant" }).focus();
    await keyboard.press("Enter");
    await page.getByText("Recent transfers").first().waitFor();
    await tabTo("Grant credits");
    await keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    // Required fields are marked before anything is sent.
    await tabTo("Amount in USD (required)");
    await keyboard.type("25");
    await keyboard.press("Enter");
    // Nothing is transferred without a note.
    await page.getByRole("alert").getByText("Add a note").waitFor();
    await tabTo("Note (required)");
    await keyboard.type("for the trouble");
    await keyboard.press("Enter");
    await page.getByRole("status").getByText("$25.00 granted. $35.00 available.").waitFor();
    await page.getByRole("cell", { name: "for the trouble" }).waitFor();
    expect((await harness.balance(tenant)).available).toBe(3_500);

    await tabTo("Pause");
    await keyboard.press("Enter");
    const asking = page.getByRole("dialog", { name: "Pause tenant?" });
    await asking.getByText("Generations already submitted continue").waitFor();
    await keyboard.press("Escape");
    await asking.waitFor({ state: "detached" });
    expect((await answers(tenant)).status).toBe(404);
    // After any way of closing the dialog, the focus returns to the button.
    await keyboard.press("Enter");
    await tabTo("Cancel");
    await keyboard.press("Enter");
    await asking.waitFor({ state: "detached" });
    await keyboard.press("Enter");
    await asking.waitFor();
    await tabTo("Pause");
    await keyboard.press("Enter");
    await page.getByRole("status").getByText("Account paused.").waitFor();
    expect((await answers(tenant)).status).toBe(403);
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Resume" }).click();
    await page.getByRole("status").getByText("Account active again.").waitFor();
    expect((await answers(tenant)).status).toBe(404);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("shows the debt when more credits are taken back than are available", async () => {
    const tenant = await harness.newTenant(1_000);
    const { page, close } = await visit(`accounts/${tenant.accountId}`);
    await page.getByRole("button", { name: "Take back" }).click();
    const asking = page.getByRole("dialog");
    await asking.getByLabel("Amount in USD").fill("12.50");
    await asking.getByLabel("Note").fill("disputed");
    await asking.getByRole("button", { name: "Take back" }).dblclick();
    await page.getByText("$10.00 taken back. $2.50 was not available and is now debt, so the account is paused.").waitFor();
    expect(await harness.store.account(tenant.accountId)).toMatchObject({ availableCredits: 0, owedCredits: 250, paused: true });
    await close();
  }, 60_000);

  test("creates an account with its initial credits, and says who can read its name", async () => {
    const { page, close } = await visit("accounts");
    await page.getByRole("button", { name: "New account" }).click();
    await page.getByRole("dialog").getByText("Its users can read it.").waitFor();
    await page.getByLabel("Name (required)").fill("Studio Nord");
    await page.getByLabel("Initial credits in USD").fill("a lot");
    await page.getByRole("button", { name: "Create account" }).click();
    await page.getByRole("alert").getByText("Initial credits").waitFor();
    await page.getByLabel("Initial credits in USD").fill("40");
    await page.getByRole("button", { name: "Create account" }).click();
    await page.getByRole("cell", { name: "first credit" }).waitFor();
    const made = (await harness.store.accounts()).filter(({ name }) => name === "Studio Nord");
    expect(made).toMatchObject([{ availableCredits: 4_000 }]);
    await close();
  }, 60_000);

  test("disables a route with a reason, enables it again, and sorts rows by price", async () => {
    const { page, complaints, close } = await visit("routes");
    const id = "vidmodel-2.0-mini/fal";
    const row = page.locator(`tr[data-row="${id}"]`);
    await page.getByRole("button", { name: `Actions of ${id}`, exact: true }).click();
    await page.getByRole("button", { name: "Disable", exact: true }).click();
    const asking = page.getByRole("dialog", { name: `Disable ${id}?` });
    await asking.getByRole("button", { name: "Disable" }).click();
    await asking.getByRole("alert").getByText("Add a reason").waitFor();
    await asking.getByLabel("Reason (required)").fill("too slow today");
    await asking.getByRole("button", { name: "Disable" }).click();
    await row.getByText("too slow today").waitFor();
    expect(await harness.store.switchedOff()).toMatchObject([{ routeId: id, reason: "too slow today" }]);
    await page.getByLabel("Show").selectOption("disabled");
    expect(await page.locator("tbody tr[data-row]").count()).toBe(1);
    await page.getByRole("button", { name: `Actions of ${id}`, exact: true }).click();
    await page.getByRole("button", { name: "Enable", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Enable" }).click();
    await page.getByLabel("Show").selectOption("All states");
    await row.getByText("up", { exact: true }).waitFor();
    expect(await harness.store.switchedOff()).toEqual([]);
    const price = page.getByRole("columnheader", { name: "Price" });
    await price.getByRole("button").click();
    expect(await price.getAttribute("aria-sort")).toBe("descending");
    await price.getByRole("button").click();
    expect(await price.getAttribute("aria-sort")).toBe("ascending");
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("runs a test generation only after showing its cost, and shows its result", async () => {
    const { page, close } = await visit("routes");
    await page.getByRole("button", { name: "Actions of vidmodel-2.0-mini/fal", exact: true }).click();
    await page.getByRole("button", { name: "Test", exact: true }).click();
    const asking = page.getByRole("dialog", { name: "Test vidmodel-2.0-mini/fal" });
    await asking.getByText(/fal charges at least [\d.]+ USD per/).waitFor();
    await asking.getByRole("button", { name: "Buy one generation" }).click();
    await asking.getByText(/Worked: gen_\w+ \(price \$/).waitFor();
    expect(await asking.getByRole("button", { name: "Buy one generation" }).count()).toBe(0);
    await close();
  }, 60_000);

  test("saves and tests a provider key, shows it nowhere on the page, and removes it", async () => {
    const { page, complaints, close } = await visit("providers");
    const card = page.locator('[data-provider="stability"]');
    await card.getByText("Not used by any route.").waitFor();
    await card.getByRole("button", { name: "Set key of Stability AI" }).click();
    const asking = page.getByRole("dialog", { name: "Key of Stability AI" });
    await asking.getByLabel("Key (required)").fill("canary-browser-77");
    await asking.getByRole("button", { name: "Save and test" }).click();
    await asking.getByRole("alert").getByText("a key of stability looks like sk-…").waitFor();
    expect(await harness.store.providerKeys()).toEqual([]);
    await asking.getByLabel("Key (required)").fill("sk-canary-browser-77");
    await asking.getByRole("button", { name: "Save and test" }).click();
    await page.getByRole("status").getByText("Saved. No route uses this key, so it was not tested.").waitFor();
    await card.getByText("Stored key, set").waitFor();
    expect(await page.content()).not.toContain("canary");
    await card.getByRole("button", { name: "Actions of Stability AI" }).click();
    await card.getByRole("button", { name: "Remove stored key" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove stored key" }).click();
    await card.getByText("No key.").waitFor();
    expect(await harness.store.providerKeys()).toEqual([]);
    // The key in use is tested without a purchase.
    const fal = page.locator('[data-provider="fal"]');
    await fal.getByRole("button", { name: "Actions of fal" }).click();
    await fal.getByRole("button", { name: "Test key" }).click();
    await page
      .getByRole("status")
      .getByText(/fal accepted the key \(.*\)\. No charge\./)
      .waitFor();
    // A refused key is a 400 that the browser reports.
    expect(complaints.filter((text) => !text.includes("400"))).toEqual([]);
    await close();
  }, 60_000);

  test("shows a stored key that the configuration overrides, and removes it", async () => {
    const { page, close } = await visit("providers");
    const card = page.locator('[data-provider="replicate"]');
    await card.getByText("From the configuration file or environment").waitFor();
    await card.getByRole("button", { name: "Set key of Replicate" }).click();
    await page.getByLabel("Key (required)").fill("r8_canary-shadowed");
    await page.getByRole("button", { name: "Save and test" }).click();
    await page.getByRole("status").getByText("Saved, but not in use").waitFor();
    await card.getByText(/A stored key \(set .*\) is not in use/).waitFor();
    await card.getByRole("button", { name: "Actions of Replicate" }).click();
    await card.getByRole("button", { name: "Remove stored key" }).click();
    const asking = page.getByRole("dialog");
    await asking.getByText("The key of the configuration stays in use.").waitFor();
    await asking.getByRole("button", { name: "Remove stored key" }).click();
    await card.getByText("is not in use").waitFor({ state: "detached" });
    expect(await harness.store.providerKeys()).toEqual([]);
    await close();
  }, 60_000);

  test("names the account on each page of another account, and on no page of one's own account", async () => {
    const nodeUrl = await harness.newTenant(1_000);
    const [ada, ben] = [await openVisitor(harness, "operator", nodeUrl), await openVisitor(harness, "member", harness.tenant)];
    const { id } = await harness.submit("sim-image-1", { prompt: "a kite" });
    const bought = await ben.ask("POST", "/console/api/purchases", { amount_usd: 25 });
    await ben.ask("POST", `/console/api/purchases/${bought.reported.id}/test`, { how: "pay" });
    const { accountId } = harness.tenant;
    const theirs = [
      ...["generations", "keys", "credits", "ledger", "usage"].map((name) => `${name}?account=${accountId}`),
      ...[`generations/${id}`, `receipts/${bought.reported.id}`],
    ];
    const look = { viewport: { width: 360, height: 740 }, bypassCSP: true };
    const { page, complaints, sound, close } = await watch(browser, {
      url: harness.url,
      visitor: ada,
      path: "/console/keys",
      look,
    });
    const note = page.getByRole("note", { name: "Account of this page" });
    for (const path of theirs) {
      await page.goto(`${harness.url}/console/${path}`);
      await note.getByText(`This page shows another account: tenant ${accountId} of member@example.com, ${ben.email}.`).waitFor();
      await sound();
    }
    await note.getByRole("link", { name: "Ledger" }).click();
    await page.getByRole("heading", { level: 1, name: "Ledger" }).waitFor();
    await note.waitFor();
    // The menu leads back to the user's own account.
    await page.getByRole("button", { name: "Menu" }).click();
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "API keys" }).click();
    await page.getByRole("heading", { level: 1, name: "API keys" }).waitFor();
    await page.getByRole("button", { name: "New key" }).waitFor();
    for (const path of ["generations", `ledger?account=${nodeUrl.accountId}`, "operator/accounts"]) {
      expect(await note.count()).toBe(0);
      await page.goto(`${harness.url}/console/${path}`);
      await page.locator("main [aria-busy='true']").waitFor({ state: "detached" });
    }
    expect(await note.count()).toBe(0);
    expect(complaints).toEqual([]);
    await close();
    const viewer = await watch(browser, { url: harness.url, visitor: users.viewer, path: "/console/generations" });
    await viewer.page.getByRole("note").getByText("This page shows all accounts.").waitFor();
    await viewer.close();
    const member = await watch(browser, { url: harness.url, visitor: ben, path: `/console/generations/${id}` });
    await member.page.getByText("Request", { exact: true }).waitFor();
    expect(await member.page.getByRole("note").count()).toBe(0);
    await member.close();
  }, 60_000);

  test("a viewer verifies the ledger and sees all 13 invariants hold, without any button that changes something", async () => {
    const { page, complaints, close } = await visit("verification", "viewer");
    await page.getByRole("button", { name: "Verify the ledger" }).click();
    // Until then the page shows an earlier run of another user.
    await page.getByText("by viewer@example.com").waitFor();
    await page.getByRole("status").getByText("All 13 rules hold and all sums agree").waitFor();
    await page.locator("li.holds").nth(12).waitFor();
    expect(await page.locator("li.holds").count()).toBe(13);
    for (const [path, name] of [
      [`accounts/${harness.tenant.accountId}`, "Grant credits"],
      ["accounts", "New account"],
      ["routes", "Actions of vidmodel-2.0-mini/fal"],
      ["providers", "Set key of Stability AI"],
      ["service", "Back up now"],
    ] as const) {
      await page.goto(`${harness.url}/console/operator/${path}`);
      await page.locator(".operator :is(table, .card, .operator-facts)").first().waitFor();
      expect(await page.getByRole("button", { name }).count()).toBe(0);
    }
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test.each([
    ["360 pixels, dark", { viewport: { width: 360, height: 740 }, colorScheme: "dark" }],
    ["1280 pixels, light", { viewport: { width: 1280, height: 800 }, colorScheme: "light" }],
    ["1920 pixels, dark", { viewport: { width: 1920, height: 1080 }, colorScheme: "dark" }],
  ] as const)(
    "have no serious accessibility violation on %s, including their dialogs",
    async (_name, look) => {
      for (const [path, ...buttons] of [
        ["overview"],
        ["accounts", "New account"],
        [`accounts/${harness.tenant.accountId}`, "Grant credits", "Take back", "Set limits", "Pause"],
        ["routes", "Disable", "Test"],
        ["providers", "Set key of Stability AI"],
        ["orphans"],
        ["verification", "Verify the ledger"],
        ["service"],
        ["audit"],
      ] as const) {
        const { page, sound, close } = await visit(path, "operator", { ...look, bypassCSP: true });
        await page.locator("[aria-busy='true']").first().waitFor({ state: "detached" });
        await sound();
        for (const name of buttons) {
          if (path === "routes")
            await page.getByRole("button", { name: "Actions of vidmodel-2.0-mini/fal", exact: true }).click();
          await page.getByRole("button", { name, exact: true }).click();
          if (name !== "Verify the ledger") await page.getByRole("dialog").waitFor();
          else await page.locator("li.holds").nth(11).waitFor();
          await sound();
          await page.keyboard.press("Escape");
        }
        await close();
      }
    },
    90_000,
  );
});
