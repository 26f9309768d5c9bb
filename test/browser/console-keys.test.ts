// API keys and usage in a browser: a key is created, used, rotated and revoked by keyboard; charts have tables.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser, BrowserContextOptions, Locator, Page } from "playwright-core";
import { type TestClock, testClock } from "../clock.ts";
import { openVisitor, type Visitor } from "../console/signed-in.ts";
import { type Harness, openHarness } from "../harness.ts";
import { openBrowser } from "./chromium.ts";
import { watch } from "./watched.ts";

const opened = await openBrowser();
if (typeof opened === "string") process.stdout.write(`skipped: the pages of keys in a browser (${opened})\n`);
const here = describe.skipIf(typeof opened === "string");
const browser = opened as Browser;

let clock: TestClock;
let harness: Harness;
let visitor: Visitor;
beforeAll(async () => {
  if (typeof opened === "string") return;
  // Starts an hour ago, so that the faster clock does not reach a day that the browser does not know yet.
  clock = testClock(50, Date.now() - 3_600_000);
  harness = await openHarness({ clock });
  visitor = await openVisitor(harness, "operator", harness.tenant);
}, 60_000);
afterAll(async () => {
  if (typeof opened === "string") return;
  await opened.close();
  await harness.close();
  clock.stop();
});

const visit = async (path: string, look: BrowserContextOptions = {}) => {
  const watched = await watch(browser, { url: harness.url, visitor, path, look });
  await watched.page.locator(".page-head").first().waitFor();
  return watched;
};

const rowOf = (page: Page, text: string) => page.locator("tr[data-key]", { hasText: text });
/** Chooses an entry of a key's menu. */
const act = async (row: Locator, entry: string) => {
  await row.getByRole("button", { name: /^Actions for/ }).click();
  await row.getByRole("button", { name: entry, exact: true }).click();
};
/** Runs a command of the page in a shell, with a curl that reports no progress. @returns the JSON that the service answers */
const answerOf = async (command: string): Promise<unknown> => {
  const shell = Bun.spawn(["sh", "-c", command.replace("curl ", "curl -s ")], { stdout: "pipe", stderr: "inherit" });
  return new Response(shell.stdout).json();
};
/** Creates a key with a name. @returns the key as its dialog shows it */
const createKey = async (page: Page, name: string): Promise<string> => {
  await page.getByRole("button", { name: "New key" }).first().click();
  await page.getByLabel("Name").fill(name);
  await page.getByRole("button", { name: "Create key" }).click();
  const field = page.getByRole("textbox", { name: "API key" });
  await field.waitFor();
  return field.inputValue();
};

const noCurl = Bun.which("curl") === null;
if (noCurl) process.stdout.write("skipped: the commands of new keys (curl is not installed here)\n");

here("a new key", () => {
  test("is not lost by Escape before it is copied, and the dialog closes by Escape afterwards", async () => {
    const { page, close } = await visit("/console/keys", { permissions: ["clipboard-read", "clipboard-write"] });
    const key = await createKey(page, "guarded");
    const dialog = page.getByRole("dialog", { name: "Your new key" });
    for (const _ of [1, 2]) {
      await page.keyboard.press("Escape");
      await dialog.getByText("You have not copied it yet.").waitFor();
      expect(await page.evaluate<string>("document.activeElement.textContent")).toBe("Keep open");
      await page.keyboard.press("Enter");
      await dialog.getByText("You have not copied it yet.").waitFor({ state: "detached" });
    }
    // A click beside the dialog does not close it either.
    await page.mouse.click(5, 5);
    expect(await dialog.getByRole("textbox", { name: "API key" }).inputValue()).toBe(key);
    await dialog.getByRole("button", { name: "Copy", exact: true }).click();
    await dialog.getByText("Copied").waitFor();
    expect(await page.evaluate<string>("navigator.clipboard.readText()")).toBe(key);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await close();
  }, 60_000);

  test("can be left without a copy after a question, and by the browser's own closing not at all", async () => {
    const { page, close } = await visit("/console/keys");
    await createKey(page, "left");
    const dialog = page.getByRole("dialog", { name: "Your new key" });
    // A phone closes a dialog by its back gesture without a key.
    await page.evaluate("document.querySelector('dialog').close()");
    await dialog.getByText("You have not copied it yet.").waitFor();
    await dialog.getByRole("button", { name: "Close without copying" }).click();
    await dialog.waitFor({ state: "detached" });
    await close();
  }, 60_000);

  test.skipIf(noCurl)(
    "comes with a command that works as it is, and a link to the quick start",
    async () => {
      const { page, complaints, close } = await visit("/console/keys");
      const key = await createKey(page, "tried");
      const dialog = page.getByRole("dialog", { name: "Your new key" });
      const command = (await dialog.locator("pre").textContent()) ?? "";
      expect(command).toContain(`curl ${harness.url}/v1/generations`);
      expect(command).toContain(key);
      expect(await answerOf(command)).toMatchObject({ object: "generation", status: "succeeded" });
      const start = await dialog.getByRole("link", { name: "Quick start" }).getAttribute("href");
      expect((await fetch(harness.url + start)).status).toBe(200);
      expect(complaints).toEqual([]);
      await close();
    },
    60_000,
  );

  test.skipIf(noCurl)(
    "with read access comes with a command that spends nothing",
    async () => {
      const { page, close } = await visit("/console/keys");
      await page.getByRole("button", { name: "New key" }).first().click();
      await page.getByLabel("Read only").check();
      await page.getByRole("button", { name: "Create key" }).click();
      const command = (await page.getByRole("dialog").locator("pre").textContent()) ?? "";
      expect(command).not.toContain("-d ");
      expect(await answerOf(command)).toMatchObject({ object: "list" });
      await close();
    },
    60_000,
  );
});

here("the keys page", () => {
  test("keeps the height of fields beside one with an error", async () => {
    const { page, close } = await visit("/console/keys", { viewport: { width: 1280, height: 800 } });
    await page.getByRole("button", { name: "New key" }).click();
    const heights = () =>
      Promise.all(["Per day", "Per week", "Per month"].map(async (name) => (await page.getByLabel(name).boundingBox())?.height));
    const before = await heights();
    await page.getByLabel("Per day").fill("-3");
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByText("Enter an amount like 12.50").waitFor();
    expect(await heights()).toEqual(before);
    await close();
  }, 60_000);

  test("shows a viewer the actions disabled, with the reason", async () => {
    const viewer = await openVisitor(harness, "viewer", null);
    const path = `/console/keys?account=${harness.tenant.accountId}`;
    const { page, sound, close } = await watch(browser, { url: harness.url, visitor: viewer, path, look: { bypassCSP: true } });
    const create = page.getByRole("button", { name: "New key" }).first();
    await create.waitFor();
    expect(await create.isDisabled()).toBe(true);
    const reason = await create.getAttribute("aria-describedby");
    expect(await page.locator(`#${reason}`).textContent()).toBe("Read only: the viewer role cannot change anything.");
    await page
      .getByRole("button", { name: /^Actions for/ })
      .first()
      .click();
    const entries = page.locator(".menu-panel:not([hidden]) .menu-item");
    expect(await entries.count()).toBeGreaterThan(1);
    for (const entry of await entries.all()) expect(await entry.isDisabled()).toBe(true);
    await sound();
    await close();
  }, 60_000);

  test("creates, uses, rotates and revokes a key with a limit by keyboard", async () => {
    const { page, complaints, tabTo, close } = await visit("/console/keys");
    const { keyboard } = page;
    await tabTo("New key");
    await keyboard.press("Enter");
    await page.getByRole("dialog", { name: "New key" }).waitFor();
    await tabTo("Name");
    await keyboard.type("laptop");
    await tabTo("Per day");
    await keyboard.type("0,2x");
    await keyboard.press("Enter");
    // The error is at its field, which has the focus.
    await page.getByText("Enter an amount like 12.50, or leave empty for no limit.").waitFor();
    await page.locator("[aria-invalid='true']:focus").waitFor();
    await keyboard.press("Backspace");
    await keyboard.press("Enter");
    const shown = page.getByRole("textbox", { name: "API key" });
    await shown.waitFor();
    const key = await shown.inputValue();
    await tabTo("Done");
    await keyboard.press("Enter");
    await shown.waitFor({ state: "detached" });

    const submit = (withKey: string) =>
      harness.request("POST", "/v1/generations", {
        key: withKey,
        body: { model: "vidmodel-2.0-mini", input: { prompt: "a kite", resolution: "480p", duration: 4 } },
      });
    expect((await submit(key)).status).toBe(202);
    expect((await submit(key)).status).toBe(402);
    await page.reload();
    const row = rowOf(page, `${key.slice(0, 12)}…`);
    expect(await row.getByRole("meter").evaluate((bar) => Number(bar.getAttribute("max")))).toBe(20);
    await row.getByText("of $0.20 today").waitFor();
    expect(await page.content()).not.toContain(key.slice(0, 16));

    await tabTo("Actions for laptop");
    await keyboard.press("Enter");
    await tabTo("Rotate");
    await keyboard.press("Enter");
    const rotating = page.getByRole("dialog", { name: "Rotate laptop" });
    await rotating.getByLabel("Old key stops working").selectOption("Immediately");
    await rotating.getByRole("button", { name: "Rotate" }).focus();
    await keyboard.press("Enter");
    await shown.waitFor();
    const next = await shown.inputValue();
    await page.getByRole("button", { name: "Done" }).click();
    expect([(await submit(key)).status, (await submit(next)).status]).toEqual([401, 402]);
    await page.getByText(/^Inactive keys/).click();
    await row.getByText("Expired").waitFor();

    const follower = rowOf(page, `${next.slice(0, 12)}…`);
    const menu = follower.getByRole("button", { name: "Actions for laptop" });
    await menu.focus();
    await keyboard.press("Enter");
    await tabTo("Revoke");
    await keyboard.press("Enter");
    const asking = page.getByRole("dialog", { name: "Revoke laptop?" });
    await asking.waitFor();
    // The first focused button does not revoke, so Enter cannot revoke by accident.
    await keyboard.press("Escape");
    await asking.waitFor({ state: "detached" });
    expect((await submit(next)).status).toBe(402);
    await menu.focus();
    await keyboard.press("Enter");
    await tabTo("Revoke");
    await keyboard.press("Enter");
    await asking.getByRole("button", { name: "Revoke" }).focus();
    await keyboard.press("Enter");
    await page.locator(".toast", { hasText: "laptop revoked" }).waitFor();
    await follower.getByText("Revoked").waitFor();
    expect((await submit(next)).status).toBe(401);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test("sets the models and the expiry of a key, and changes them later", async () => {
    const { page, close } = await visit("/console/keys");
    await page.getByRole("button", { name: "New key" }).click();
    await page.getByLabel("Name").fill("pictures");
    await page.getByLabel("Expires").selectOption("In 90 days");
    await page.getByLabel("All models, including future ones").uncheck();
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByText("Select at least one model").waitFor();
    await page.getByRole("checkbox", { name: "sim-image-1" }).check();
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByRole("button", { name: "Done" }).click();
    await rowOf(page, "pictures").getByText("sim-image-1").waitFor();
    await act(rowOf(page, "pictures"), "Edit");
    await page.getByLabel("Name").fill("photos");
    await page.getByLabel("All models, including future ones").check();
    await page.getByRole("button", { name: "Save" }).click();
    await rowOf(page, "photos").waitFor();
    const row = (await harness.store.keys()).find(({ name }) => name === "photos");
    expect(row).toMatchObject({ models: null, expiresAtMs: expect.any(Number) });
    await close();
  }, 60_000);

  test("filters generations by a revoked key, also through the address, and shows the name of the key", async () => {
    const name = "the old laptop";
    const made = await visitor.ask("POST", "/console/api/keys", {
      ...{ name, scope: "generate", expiresAtMs: null, models: null },
      limits: { day: null, week: null, month: null },
    });
    const send = (key: string) =>
      harness.request("POST", "/v1/generations", {
        key,
        body: { model: "sim-image-1", input: { prompt: `by ${key.slice(-4)}` } },
      });
    const { id } = (await send(String(made.reported.key))).body as { id: string };
    const other = (await send(harness.tenant.key)).body as { id: string };
    await visitor.ask("POST", `/console/api/keys/${String(made.reported.id)}/revoke`);
    const { page, complaints, sound, close } = await watch(browser, {
      ...{ url: harness.url, visitor, path: "/console/generations?view=list" },
      look: { viewport: { width: 360, height: 740 }, bypassCSP: true },
    });
    await page.locator(`tr[data-id="${other.id}"]`).waitFor();
    const filter = page.getByRole("form", { name: "Filters" }).getByLabel("Key");
    await page.getByRole("button", { name: "More filters" }).click();
    await filter.getByText(`${name} (`).waitFor({ state: "attached" });
    await filter.selectOption(String(made.reported.id));
    await page.locator(`tr[data-id="${other.id}"]`).waitFor({ state: "detached" });
    await page.locator(`tr[data-id="${id}"]`).waitFor();
    expect(await page.locator("tr[data-id]").evaluateAll((rows) => rows.map((row) => row.getAttribute("data-id")))).toEqual([id]);
    await page.getByRole("cell", { name }).waitFor();
    expect(new URL(page.url()).searchParams.get("key")).toBe(String(made.reported.id));
    await page.reload();
    await page.locator(`tr[data-id="${id}"]`).waitFor();
    await page.getByRole("button", { name: "More filters (1)" }).click();
    expect(await filter.inputValue()).toBe(String(made.reported.id));
    expect(await page.locator("tr[data-id]").count()).toBe(1);
    await sound();
    await page.locator(`tr[data-id="${id}"] a`).click();
    await page.getByRole("link", { name, exact: true }).click();
    await page.waitForURL((url) => url.searchParams.get("key") === made.reported.id);
    await page.locator(`[data-id="${id}"]`).waitFor();
    await page.getByRole("button", { name: "More filters (1)" }).click();
    expect(await filter.inputValue()).toBe(String(made.reported.id));
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test.each([
    ["360 pixels, dark", { viewport: { width: 360, height: 740 }, colorScheme: "dark" }],
    ["1280 pixels, light", { viewport: { width: 1280, height: 800 }, colorScheme: "light" }],
  ] as const)(
    "has no serious accessibility violation on %s, including its dialogs",
    async (_name, look) => {
      const { page, sound, close } = await visit("/console/keys", { ...look, bypassCSP: true });
      await sound();
      await page.getByRole("button", { name: "New key" }).click();
      await page.getByLabel("All models, including future ones").uncheck();
      await page.getByLabel("Per week").fill("none");
      await page.getByRole("button", { name: "Create key" }).click();
      await sound();
      await page.getByRole("button", { name: "Cancel" }).click();
      await act(page.locator("tr[data-key]").first(), "Rotate");
      await sound();
      await page.getByRole("button", { name: "Cancel" }).click();
      await act(page.locator("tr[data-key]").first(), "Revoke");
      await sound();
      await page.getByRole("button", { name: "Cancel" }).click();
      await page.getByRole("button", { name: "New key" }).click();
      await page.getByRole("button", { name: "Create key" }).click();
      await page.getByRole("heading", { name: "Try it now" }).waitFor();
      await sound();
      await page.keyboard.press("Escape");
      await page.getByText("You have not copied it yet.").waitFor();
      await sound();
      await close();
    },
    60_000,
  );
});

here("the usage page", () => {
  test("draws the values of its tables, exports each table as CSV, and has no accessibility violation on a phone", async () => {
    const { id } = await harness.submit("sim-image-1", { prompt: "a kite" });
    await harness.until(id);
    const looks = { viewport: { width: 360, height: 740 }, colorScheme: "dark", bypassCSP: true } as const;
    for (const look of [{}, looks]) {
      const { page, complaints, sound, close } = await visit("/console/usage", look);
      const byModel = page.getByRole("region", { name: "Usage by model" }).first();
      await byModel.getByRole("row", { name: /^sim-image-1/ }).waitFor();
      expect(await byModel.getByRole("row", { name: /^sim-image-1/ }).textContent()).toMatch(
        /sim-image-1\$[\d.]+[\d.]+%\d+100%\d/,
      );
      const csv = await byModel.getByRole("link", { name: "Download CSV" }).getAttribute("href");
      expect((await visitor.ask("GET", csv ?? "")).text).toContain("sim-image-1,sim-image-1,");
      for (const figure of ["Generations", "Success", "Median time", "Spend"]) {
        await page.getByRole("radio", { name: figure, exact: true }).check();
        await page.getByText(new RegExp(`^${figure} per day over 30 days\\. Total `)).waitFor();
      }
      await page.getByRole("radio", { name: "7 days" }).check();
      await page.getByText(/^Spend per day over 7 days/).waitFor();
      await page.getByText("Daily figures").click();
      const daily = page.getByRole("region", { name: "Daily figures" }).first();
      const days = await daily.getByRole("link", { name: "Download CSV" }).getAttribute("href");
      expect((await visitor.ask("GET", days ?? "")).text.trimEnd().split("\r\n")).toHaveLength(8);
      expect(complaints).toEqual([]);
      if ("bypassCSP" in look) await sound();
      await close();
    }
  }, 60_000);
});
