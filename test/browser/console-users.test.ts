// Users of the console in a browser: set-up by keyboard, invitations, sign-in errors and sign-out everywhere.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { source as axe } from "axe-core";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { openVisitor } from "../console/signed-in.ts";
import { PASSWORD, setUpToken } from "../console/visitor.ts";
import { type Harness, openHarness } from "../harness.ts";
import { openBrowser } from "./chromium.ts";
import { LOOKS } from "./watched.ts";

const opened = await openBrowser();
if (typeof opened === "string") process.stdout.write(`skipped: the pages of users in a browser (${opened})\n`);
const here = describe.skipIf(typeof opened === "string");
const browser = opened as Browser;

const harnesses: Harness[] = [];
const open = async (): Promise<Harness> => {
  const harness = await openHarness({ factor: 0 });
  harnesses.push(harness);
  return harness;
};
beforeAll(async () => {
  // The pages are built at the first request.
  if (typeof opened !== "string") expect((await fetch(`${(await open()).url}/console`)).status).toBe(200);
}, 60_000);
afterAll(async () => {
  if (typeof opened !== "string") await opened.close();
  for (const harness of harnesses) await harness.close();
});

const IN_PAGE = join(import.meta.dir, "in-page.js");
type Visit = { page: Page; complaints: string[]; close: () => Promise<void> };
const visit = async (url: string, look: BrowserContextOptions = {}): Promise<Visit> => {
  const context = await browser.newContext({ bypassCSP: true, ...look });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (fault) => void complaints.push(fault.message));
  page.on("console", (line) => {
    // The page shows an API error, but the browser also logs its status.
    if (["error", "warning"].includes(line.type()) && !/status of 4\d\d/.test(line.text())) complaints.push(line.text());
  });
  await page.addInitScript({ path: IN_PAGE });
  await page.goto(url);
  await page.locator("h1").waitFor();
  return { page, complaints, close: () => context.close() };
};
const sound = async (page: Page) => {
  expect(await page.evaluate<number>("inPage.overhang()")).toBeLessThanOrEqual(0);
  await page.evaluate(axe);
  expect(await page.evaluate<string[]>("inPage.faults()")).toEqual([]);
};
/** Presses Tab until the focused element has this name. */
const tabTo = async (page: Page, name: string) => {
  for (let presses = 0; presses < 40; presses++) {
    const focused = await page.evaluate<string>(
      "(document.activeElement.labels?.[0]?.textContent ?? document.activeElement.textContent).trim()",
    );
    if (focused === name) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`${name} is not reached by keyboard`);
};
const type = async (page: Page, field: string, text: string) => {
  await tabTo(page, field);
  await page.keyboard.type(text);
};
const heading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name }).waitFor();

/** Signs in on the open page. */
const signIn = async (page: Page, email: string, password = PASSWORD) => {
  await page.getByLabel("E-mail address").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
};
/** Creates the first operator by keyboard only. */
const setUpByKeyboard = async (harness: Harness): Promise<Visit> => {
  const seen = await visit(`${harness.url}/console/setup#${await setUpToken(harness)}`);
  await seen.page.getByLabel("Name").waitFor();
  await type(seen.page, "Name", "Ada");
  await type(seen.page, "E-mail address", "ada@example.com");
  await type(seen.page, "Password", PASSWORD);
  await seen.page.keyboard.press("Enter");
  await seen.page.getByRole("navigation", { name: "Pages" }).waitFor();
  return seen;
};

here("users", () => {
  test("signs in with the set-up link by keyboard, and rejects the link afterwards", async () => {
    const harness = await open();
    const { page, complaints, close } = await setUpByKeyboard(harness);
    const link = `${harness.url}/console/setup#${"A".repeat(43)}`;
    const late = await visit(link);
    await late.page.getByRole("alert").getByText("This link was used").waitFor();
    await late.close();
    await page.goto(`${harness.url}/console/operator/users`);
    await page.getByText("ada@example.com").first().waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 30_000);

  test("an invited user chooses a password and signs in, and a wrong password shows an error", async () => {
    const harness = await open();
    const ada = await setUpByKeyboard(harness);
    await ada.page.goto(`${harness.url}/console/operator/users`);
    await ada.page.getByText("Invite a user").click();
    await ada.page.getByLabel("E-mail address").fill("ben@example.com");
    await ada.page.getByLabel("Name of the new account").fill("Ben's");
    await ada.page.getByRole("button", { name: "Create link" }).click();
    const link = await ada.page.getByLabel("Link", { exact: true }).inputValue();
    const ben = await visit(link);
    await ben.page.getByText("a member of Ben's").waitFor();
    await ben.page.getByLabel("Name").fill("Ben");
    await ben.page.getByLabel("Password").fill("short");
    await ben.page.getByRole("button", { name: "Join" }).click();
    await ben.page.getByRole("alert").getByText("12 to 200 characters").waitFor();
    await ben.page.getByLabel("Password").fill(PASSWORD);
    await ben.page.getByRole("button", { name: "Join" }).click();
    await ben.page.getByRole("navigation", { name: "Pages" }).waitFor();
    // Members see no link to operator pages.
    expect(await ben.page.getByRole("link", { name: "Audit log" }).count()).toBe(0);
    await ben.page.getByRole("button", { name: "Your account" }).click();
    await ben.page.getByRole("button", { name: "Sign out", exact: true }).first().click();
    await heading(ben.page, "Sign in");
    await signIn(ben.page, "ben@example.com", "wrong horse battery");
    await ben.page.getByRole("alert").getByText("The e-mail address or the password is wrong.").waitFor();
    await signIn(ben.page, "ben@example.com");
    await ben.page.getByRole("navigation", { name: "Pages" }).waitFor();
    await ada.page.goto(`${harness.url}/console/operator/audit`);
    await ada.page.getByText("accepted an invitation").first().waitFor();
    const bought = await harness.newTenant(0);
    const by = { kind: "user", id: "per_1", name: "cleo@example.com" } as const;
    const { purchaseId } = await harness.components.checkout.buy({ accountId: bought.accountId, by, usd: 25 });
    await harness.components.checkout.endTest(purchaseId, "pay", by);
    await ada.page.getByLabel("Kind").selectOption("Purchase paid");
    await ada.page.locator('[data-action="open-session"]').first().waitFor({ state: "detached" });
    const line = ada.page.locator(".audit-line").filter({ hasText: purchaseId });
    await line.getByText("cleo@example.com paid $25.00 for tenant").waitFor();
    expect(await ada.page.locator(".audit-line").count()).toBe(1);
    expect([...ada.complaints, ...ben.complaints]).toEqual([]);
    await ada.close();
    await ben.close();
  }, 30_000);

  test("signing out everywhere also ends the session of the other browser, after a confirmation", async () => {
    const harness = await open();
    const first = await setUpByKeyboard(harness);
    const second = await visit(`${harness.url}/console/profile`);
    await heading(second.page, "Sign in");
    await signIn(second.page, "ada@example.com");
    await heading(second.page, "Profile and sessions");
    await first.page.goto(`${harness.url}/console/profile`);
    const all = first.page.getByRole("button", { name: "Sign out everywhere", exact: true });
    const asking = first.page.getByRole("dialog", { name: "Sign out everywhere?" });
    await all.click();
    await asking.getByRole("button", { name: "Cancel" }).click();
    await asking.waitFor({ state: "detached" });
    await second.page.reload();
    await heading(second.page, "Profile and sessions");
    await all.click();
    await asking.getByRole("button", { name: "Sign out of all" }).click();
    await heading(first.page, "Sign in");
    await second.page.reload();
    await heading(second.page, "Sign in");
    expect([...first.complaints, ...second.complaints]).toEqual([]);
    await first.close();
    await second.close();
  }, 30_000);

  test("asks for confirmation before changing a role, disabling a user and withdrawing a link", async () => {
    const harness = await open();
    const { page, complaints, close } = await setUpByKeyboard(harness);
    const { userId } = await openVisitor(harness, "member", harness.tenant, "ben@example.com");
    const ben = async () => (await harness.store.users()).find(({ id }) => id === userId);
    await page.goto(`${harness.url}/console/operator/users`);
    const role = page.getByLabel("Role of ben@example.com");
    const asking = page.getByRole("dialog");
    await role.focus();
    await role.selectOption("operator");
    await asking.getByText("Until now the user was a member. The user can view and change everything").waitFor();
    await page.keyboard.press("Escape");
    await asking.waitFor({ state: "detached" });
    expect([await role.inputValue(), (await ben())?.role]).toEqual(["member", "member"]);
    expect(await page.evaluate<string>("document.activeElement.ariaLabel")).toBe("Role of ben@example.com");
    await role.selectOption("viewer");
    await page.getByRole("dialog", { name: "Make ben@example.com a viewer?" }).waitFor();
    await asking.getByRole("button", { name: "Change the role" }).click();
    await asking.waitFor({ state: "detached" });
    expect([await role.inputValue(), (await ben())?.role]).toEqual(["viewer", "viewer"]);

    await page.getByRole("button", { name: "Disable ben@example.com" }).click();
    await page.getByRole("dialog", { name: "Disable ben@example.com?" }).getByRole("button", { name: "Cancel" }).click();
    expect((await ben())?.disabledAtMs).toBeNull();
    await page.getByRole("button", { name: "Disable ben@example.com" }).click();
    await asking.getByRole("button", { name: "Disable" }).click();
    // A change that removes no access needs no confirmation.
    await page.getByRole("button", { name: "Enable ben@example.com" }).click();
    await page.getByRole("button", { name: "Disable ben@example.com" }).waitFor();

    await page.getByText("Invite a user").click();
    await page.getByLabel("E-mail address").fill("cleo@example.com");
    await page.getByLabel("Name of the new account").fill("Cleo's");
    await page.getByRole("button", { name: "Create link" }).click();
    const withdraw = page.getByRole("button", { name: "Withdraw the link for cleo@example.com" });
    const isOpen = async () =>
      (await harness.store.invitations()).some((one) => one.email === "cleo@example.com" && !one.withdrawnAtMs);
    await withdraw.click();
    await asking.getByText("The link stops working").waitFor();
    await page.keyboard.press("Escape");
    await asking.waitFor({ state: "detached" });
    expect(await isOpen()).toBe(true);
    await withdraw.click();
    await asking.getByRole("button", { name: "Withdraw" }).click();
    await withdraw.waitFor({ state: "detached" });
    expect(await isOpen()).toBe(false);
    // The button that opened the dialog is removed, so the focus moves to the page heading.
    await page.locator("h1:focus").waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 30_000);

  test.each(LOOKS)(
    "%o: every page fits and has no accessibility violation",
    async (look) => {
      const harness = await open();
      const ada = await setUpByKeyboard(harness);
      const storageState = await ada.page.context().storageState();
      await ada.close();
      const out = await visit(`${harness.url}/console/sign-in`, look);
      for (const [path, name] of [
        ["sign-in", "Sign in"],
        ["forgotten", "Forgotten password"],
        ["sign-up", "Sign up"],
        ["join", "Join"],
      ] as const) {
        await out.page.goto(`${harness.url}/console/${path}`);
        await heading(out.page, name);
        await sound(out.page);
      }
      const seen = await visit(`${harness.url}/console/profile`, { ...look, storageState });
      await seen.page.getByText("This session").waitFor();
      await sound(seen.page);
      await seen.page.getByRole("button", { name: "Sign out everywhere", exact: true }).click();
      await seen.page.getByRole("dialog").waitFor();
      await sound(seen.page);
      await seen.page.goto(`${harness.url}/console/operator/users`);
      await seen.page.getByText("Invite a user").click();
      await seen.page.locator("tbody tr").first().waitFor();
      await sound(seen.page);
      await seen.page.goto(`${harness.url}/console/operator/audit`);
      await seen.page.locator(".audit-line").first().waitFor();
      await sound(seen.page);
      expect([...out.complaints, ...seen.complaints]).toEqual([]);
      await out.close();
      await seen.close();
    },
    60_000,
  );
});
