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
/** Invites a user in the dialog of the page Users, and leaves the dialog of the link. @returns the link */
const invite = async (page: Page, email: string, to: { accountName?: string; role?: string }): Promise<string> => {
  await page.getByRole("button", { name: "Invite user" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("E-mail address (required)").fill(email);
  if (to.role !== undefined) await dialog.getByLabel(new RegExp(`^${to.role}`)).check();
  if (to.accountName !== undefined) await dialog.getByLabel("Account name (required)").fill(to.accountName);
  await dialog.getByRole("button", { name: "Create invite link" }).click();
  const link = await dialog.getByRole("textbox", { name: "Link" }).inputValue();
  await dialog.getByRole("button", { name: "Done" }).click();
  await dialog.waitFor({ state: "detached" });
  return link;
};
/** Creates the first operator by keyboard only. */
const setUpByKeyboard = async (harness: Harness): Promise<Visit> => {
  const seen = await visit(`${harness.url}/console/setup#${await setUpToken(harness)}`);
  await seen.page.getByLabel("Name").waitFor();
  // The cursor is in the first field.
  await seen.page.locator("input[name=name]:focus").waitFor();
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
    const link = await invite(ada.page, "ben@example.com", { accountName: "Ben's" });
    const ben = await visit(link);
    await ben.page.getByText("You are invited to Ben's.").waitFor();
    await ben.page.getByText("Member: Uses one account").waitFor();
    await ben.page.getByLabel("Name").fill("Ben");
    for (const [password, reason] of [
      ["short", "use 12 to 200 characters"],
      ["passwordpassword", "it repeats the same characters"],
      ["Password2026!", "it is a common password"],
    ] as const) {
      await ben.page.getByLabel("Password").fill(password);
      await ben.page.getByRole("button", { name: "Join" }).click();
      await ben.page.getByRole("alert").getByText(reason).waitFor();
    }
    await ben.page.getByLabel("Password").fill(PASSWORD);
    await ben.page.getByRole("button", { name: "Join" }).click();
    await ben.page.getByRole("navigation", { name: "Pages" }).waitFor();
    // Members see no link to operator pages.
    expect(await ben.page.getByRole("link", { name: "Audit log" }).count()).toBe(0);
    await ben.page.getByRole("button", { name: "Your account" }).click();
    await ben.page.getByRole("link", { name: "Team" }).click();
    await heading(ben.page, "Team");
    await ben.page.getByRole("rowheader", { name: "Ben You ben@example.com" }).waitFor();
    await ben.page.getByText("Ask an operator of this service to invite someone").waitFor();
    expect(await ben.page.locator("tbody tr").count()).toBe(1);
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
    await asking.getByRole("button", { name: "Sign out everywhere" }).click();
    await heading(first.page, "Sign in");
    await second.page.reload();
    await heading(second.page, "Sign in");
    expect([...first.complaints, ...second.complaints]).toEqual([]);
    await first.close();
    await second.close();
  }, 30_000);

  test("asks for confirmation before disabling a user and revoking a link, and changes a role in a dialog", async () => {
    const harness = await open();
    const { page, complaints, close } = await setUpByKeyboard(harness);
    const { userId } = await openVisitor(harness, "member", harness.tenant, "ben@example.com");
    const ben = async () => (await harness.store.users()).find(({ id }) => id === userId);
    await page.goto(`${harness.url}/console/operator/users`);
    const row = page.getByRole("row", { name: "ben@example.com" });
    const asking = page.getByRole("dialog");
    const choose = async (entry: string) => {
      await row.getByRole("button", { name: "Actions for ben@example.com" }).click();
      await row.getByRole("button", { name: entry }).click();
    };
    await choose("Change role");
    // Each role says what it may do.
    await asking.getByText("Sees and changes everything, including credits, routes and users.").waitFor();
    await asking.getByLabel(/^Operator/).check();
    await page.keyboard.press("Escape");
    await asking.waitFor({ state: "detached" });
    expect((await ben())?.role).toBe("member");
    await choose("Change role");
    await asking.getByLabel(/^Viewer/).check();
    await asking.getByRole("button", { name: "Save" }).click();
    await page.locator(".toast", { hasText: "ben@example.com is now viewer" }).waitFor();
    await row.getByRole("cell", { name: "Viewer" }).waitFor();
    expect((await ben())?.role).toBe("viewer");

    await choose("Disable");
    await page.getByRole("dialog", { name: "Disable ben@example.com?" }).getByRole("button", { name: "Cancel" }).click();
    expect((await ben())?.disabledAtMs).toBeNull();
    await choose("Disable");
    await asking.getByRole("button", { name: "Disable" }).click();
    await row.getByRole("cell", { name: "Disabled" }).waitFor();
    // A change that removes no access needs no confirmation.
    await choose("Enable");
    await row.getByRole("cell", { name: "Active" }).waitFor();

    await invite(page, "cleo@example.com", { accountName: "Cleo's" });
    const withdraw = page.getByRole("button", { name: "Revoke the link for cleo@example.com" });
    const isOpen = async () =>
      (await harness.store.invitations()).some((one) => one.email === "cleo@example.com" && !one.withdrawnAtMs);
    await withdraw.click();
    await asking.getByText("The link stops working").waitFor();
    await page.keyboard.press("Escape");
    await asking.waitFor({ state: "detached" });
    expect(await isOpen()).toBe(true);
    await withdraw.click();
    await asking.getByRole("button", { name: "Revoke" }).click();
    await withdraw.waitFor({ state: "detached" });
    expect(await isOpen()).toBe(false);
    // The button that opened the dialog is removed, so the focus moves to the page heading.
    await page.locator("h1:focus").waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 30_000);

  test("sees the command of this program while no user exists, and for a forgotten password", async () => {
    const harness = await open();
    const { page, complaints, close } = await visit(`${harness.url}/console/sign-in`);
    await page.getByText("npm run -s genrouter -- users setup", { exact: true }).waitFor();
    await page.getByRole("link", { name: "Forgot password?" }).click();
    await heading(page, "Forgotten password");
    await page.getByText("npm run -s genrouter -- users reset EMAIL", { exact: true }).waitFor();
    await page.getByRole("link", { name: "Back to sign-in" }).click();
    await page.locator("input[name=email]:focus").waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 30_000);

  test("invites a viewer to no account, marks what is required, and lets the invited user read what the role may do", async () => {
    const harness = await open();
    const { page, complaints, close } = await setUpByKeyboard(harness);
    await page.goto(`${harness.url}/console/operator/users`);
    await page.getByRole("button", { name: "Invite user" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Create invite link" }).click();
    await dialog.getByText("Enter an e-mail address.").waitFor();
    await dialog.getByText("Enter a name for the new account.").waitFor();
    await page.locator("input[type=email]:focus").waitFor();
    await dialog.getByLabel(/^Viewer/).check();
    const account = dialog.getByLabel("Account", { exact: true });
    expect(await account.locator("option:checked").textContent()).toBe("No account");
    expect(await dialog.getByLabel("Account name").count()).toBe(0);
    await dialog.getByLabel(/^Member/).check();
    expect(await account.locator("option:checked").textContent()).toBe("New account");
    await dialog.getByLabel(/^Viewer/).check();
    await dialog.getByLabel("E-mail address").fill("vi@example.com");
    await dialog.getByRole("button", { name: "Create invite link" }).click();
    const field = dialog.getByRole("textbox", { name: "Link" });
    const link = await field.inputValue();
    // The link is shown once, so Escape asks first.
    await page.keyboard.press("Escape");
    await dialog.getByText("You have not copied it yet.").waitFor();
    await dialog.getByRole("button", { name: "Keep open" }).click();
    expect(await field.inputValue()).toBe(link);
    await dialog.getByRole("button", { name: "Done" }).click();
    const vi = await visit(link);
    await vi.page.getByText("You are invited to this service.").waitFor();
    await vi.page.getByText("Viewer: Sees all accounts and operator pages, and changes nothing.").waitFor();
    await vi.page.getByLabel("Name").fill("Vi");
    await vi.page.getByLabel("Password").fill(PASSWORD);
    await vi.page.getByRole("button", { name: "Join" }).click();
    await vi.page.getByRole("navigation", { name: "Pages" }).waitFor();
    // A viewer sees what operators may do, disabled and with the reason.
    await vi.page.goto(`${harness.url}/console/operator/users`);
    await vi.page.getByText("Read only: the viewer role cannot change anything.").waitFor();
    const inviting = vi.page.getByRole("button", { name: "Invite user" });
    expect([await inviting.isDisabled(), await inviting.getAttribute("aria-describedby")]).toEqual([true, "read-only"]);
    await vi.page.getByRole("button", { name: "Actions for ada@example.com" }).click();
    expect(await vi.page.getByRole("button", { name: "Disable", exact: true }).isDisabled()).toBe(true);
    expect([...complaints, ...vi.complaints]).toEqual([]);
    await vi.close();
    await close();
  }, 30_000);

  test("draws the line of each row to the last column, also of the own user, who has no menu", async () => {
    const harness = await open();
    const { page, close } = await setUpByKeyboard(harness);
    await openVisitor(harness, "member", harness.tenant, "ben@example.com");
    await page.goto(`${harness.url}/console/operator/users`);
    await page.getByRole("row", { name: "ben@example.com" }).waitFor();
    const ends = await page.evaluate<number[]>(
      "[...document.querySelectorAll('.rows tr')].map((row) => Math.round(row.lastElementChild.getBoundingClientRect().right))",
    );
    expect(ends).toHaveLength(3);
    expect(new Set(ends).size).toBe(1);
    await close();
  }, 30_000);

  test.each([360, 768, 1280, 1920])(
    "at a width of %i, no word of a page of users is broken",
    async (width) => {
      const harness = await open();
      const ada = await setUpByKeyboard(harness);
      const storageState = await ada.page.context().storageState();
      await ada.page.goto(`${harness.url}/console/operator/users`);
      await invite(ada.page, "cleo@example.com", { role: "Viewer" });
      await ada.close();
      const { page, close } = await visit(`${harness.url}/console/profile`, { viewport: { width, height: 800 }, storageState });
      for (const path of ["profile", "operator/users", "team", "keys", "webhooks", "files"]) {
        await page.goto(`${harness.url}/console/${path}`);
        await page.locator("[aria-busy='true']").waitFor({ state: "detached" });
        await page.locator("main p").first().waitFor();
        expect([path, await page.evaluate<number>("inPage.overhang()")]).toEqual([path, 0]);
        expect([path, await page.evaluate<string[]>("inPage.brokenWords()")]).toEqual([path, []]);
      }
      await close();
    },
    60_000,
  );

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
      await seen.page.getByText("This device").waitFor();
      await sound(seen.page);
      await seen.page.getByRole("button", { name: "Sign out everywhere", exact: true }).click();
      await seen.page.getByRole("dialog").waitFor();
      await sound(seen.page);
      await seen.page.goto(`${harness.url}/console/operator/users`);
      await seen.page.locator("tbody tr").first().waitFor();
      await sound(seen.page);
      await seen.page.getByRole("button", { name: "Invite user" }).click();
      await seen.page.getByRole("button", { name: "Create invite link" }).click();
      await sound(seen.page);
      await seen.page.keyboard.press("Escape");
      await invite(seen.page, "a.very.long.name.of.a.new.user@mail.of.an.example.com", { role: "Viewer" });
      await sound(seen.page);
      await seen.page.goto(`${harness.url}/console/team`);
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
