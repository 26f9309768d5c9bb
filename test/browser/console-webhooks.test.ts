// Webhooks in a browser, with a receiver on a real socket.
import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { testClock } from "../clock.ts";
import { openVisitor, type Visitor } from "../console/signed-in.ts";
import type { Tenant } from "../harness.ts";
import { openWebhooks, type WebhookScene } from "../webhooks/fixture.ts";
import { isVerified } from "../webhooks/receiver.ts";
import { openBrowser } from "./chromium.ts";
import { LOOKS, watch } from "./watched.ts";

const opened = await openBrowser();
if (typeof opened === "string") process.stdout.write(`skipped: webhooks in a browser (${opened})\n`);
const here = describe.skipIf(typeof opened === "string");
const browser = opened as Browser;

setDefaultTimeout(60_000);
const PATH = "/console/webhooks";
let scene: WebhookScene;
beforeAll(async () => {
  scene = await openWebhooks({ clock: testClock(20, Date.now()) });
}, 60_000);
beforeEach(() => scene.receiver.answer(() => new Response("ok")));
afterAll(async () => {
  if (typeof opened !== "string") await opened.close();
  await scene.receiver.stop();
  await scene.close();
  scene.clock.stop();
});

const openMember = async (): Promise<{ tenant: Tenant; visitor: Visitor }> => {
  const tenant = await scene.newTenant();
  return { tenant, visitor: await openVisitor(scene, "member", tenant) };
};
const visit = (visitor: Visitor, path: string = PATH, look: BrowserContextOptions = {}) =>
  watch(browser, { url: scene.url, visitor, path, look });
/** Chooses an entry of an endpoint's menu. */
const act = async (page: Page, url: string, entry: string) => {
  await page.getByRole("button", { name: `Actions for ${url}` }).click();
  await page.getByRole("button", { name: entry, exact: true }).click();
};
/** Requests that the receiver got at a path. */
const receivedAt = (path: string) => scene.receiver.received.filter((one) => one.path === path);

here("the page Webhooks", () => {
  test("creates an endpoint, shows its secret, sends a test event that the secret verifies, and lists its delivery", async () => {
    const { visitor } = await openMember();
    const { page, complaints, close } = await visit(visitor);
    await page.getByText("No endpoints yet").waitFor();
    await page.getByRole("button", { name: "New endpoint" }).first().click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Create endpoint" }).click();
    // The fault is at the field, which has the focus.
    await dialog.getByText("Enter the URL of the endpoint.").waitFor();
    await page.locator("[aria-invalid='true']:focus").waitFor();
    await dialog.getByLabel("URL (required)").fill("https://10.0.0.1/");
    await dialog.getByRole("button", { name: "Create endpoint" }).click();
    await dialog.getByText("url: its host has no public address; send a public https URL.").waitFor();
    const url = `${scene.receiver.url}/test`;
    await dialog.getByLabel("URL").fill(url);
    await dialog.getByLabel("All events, including future ones").uncheck();
    await dialog.getByLabel("generation.running").uncheck();
    await dialog.getByRole("button", { name: "Create endpoint" }).click();
    const secret = await page.getByRole("textbox", { name: "Secret" }).inputValue();
    // The secret is not lost by Escape before it is copied.
    await page.keyboard.press("Escape");
    await dialog.getByText("You have not copied it yet.").waitFor();
    await dialog.getByRole("button", { name: "Close without copying" }).click();
    await page.getByText("4 events").waitFor();
    await act(page, url, "Send test event");
    const delivery = page.locator('.delivery[data-state="delivered"]');
    await delivery.waitFor();
    await delivery.getByRole("cell", { name: "HTTP 200" }).waitFor();
    await page.getByText("1 of 1 delivered").waitFor();
    const [received] = receivedAt("/test");
    expect(received && isVerified(received, secret)).toBe(true);
    await delivery.getByRole("button", { name: /^Details of webhook.test/ }).click();
    await page.getByText(`webhook-id: ${received?.id}`).waitFor();
    await page.getByText('"type": "webhook.test"').waitFor();
    // A refused request is an error of the browser's console.
    expect(complaints.filter((text) => !text.includes("400"))).toEqual([]);
    await close();
  });

  test("shows the tries of a failing receiver, sends the event again, and recovers it", async () => {
    const { visitor, tenant } = await openMember();
    const url = `${scene.receiver.url}/failing`;
    scene.receiver.answer(({ path }) => new Response("a < b", { status: path === "/failing" ? 500 : 200 }));
    await scene.endpoint({ url, events: ["generation.succeeded"] }, tenant);
    const id = await scene.generate("a kite", tenant);
    await scene.eventually(() => receivedAt("/failing").length > 0, "the first try");
    await scene.eventually(async () => (await scene.deliveries(tenant)).every(({ tries }) => tries.length > 0), "the stored try");
    const { page, close } = await visit(visitor);
    const delivery = page.locator(".delivery");
    await delivery.getByRole("cell", { name: "HTTP 500" }).waitFor();
    await delivery.getByRole("button", { name: /^Details/ }).click();
    await page.getByText(/^Next try /).waitFor();
    await page.locator(".tries").getByText("HTTP 500").first().waitFor();
    expect(await page.getByRole("link", { name: id }).getAttribute("href")).toBe(`/console/generations/${id}`);
    await page.getByText("Failing since").waitFor();
    scene.receiver.answer(() => new Response("ok"));
    await act(page, url, "Resend failed");
    await page.getByRole("dialog").getByLabel("Since (required)").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Resend" }).click();
    await page.locator(".toast", { hasText: "1 delivery resent" }).waitFor();
    await scene.settled(tenant);
    await page.getByRole("button", { name: "Refresh" }).click();
    await page.locator('.delivery[data-state="delivered"]').waitFor();
    const before = receivedAt("/failing").length;
    await page.getByRole("button", { name: /^Resend generation/ }).click();
    await scene.eventually(() => receivedAt("/failing").length > before, "the redelivery");
    await page.locator('.delivery[data-state="delivered"]').waitFor();
    await close();
  });

  test("changes, disables, enables and deletes an endpoint by keyboard", async () => {
    const { visitor, tenant } = await openMember();
    const url = "https://example.com/hook";
    await scene.endpoint({ url }, tenant);
    const { page, tabTo, close } = await visit(visitor);
    const { keyboard } = page;
    await page.getByRole("rowheader", { name: url }).waitFor();
    const choose = async (entry: string) => {
      await tabTo(`Actions for ${url}`);
      await keyboard.press("Enter");
      await tabTo(entry);
      await keyboard.press("Enter");
    };
    await choose("Edit");
    await page.getByRole("dialog").getByLabel("Description").fill("the shop");
    await keyboard.press("Enter");
    await page.getByText("the shop").waitFor();
    await choose("Disable");
    await page.getByText("Disabled by the account").waitFor();
    expect((await scene.endpoints(tenant)).map(({ enabled }) => enabled)).toEqual([false]);
    // The list is read again after the change, and its menu may close meanwhile.
    const [actions, enable] = [
      page.getByRole("button", { name: `Actions for ${url}` }),
      page.getByRole("button", { name: "Enable", exact: true }),
    ];
    await scene.eventually(async () => {
      if ((await actions.getAttribute("aria-expanded")) !== "true") await actions.click();
      return (await enable.count()) > 0;
    }, "the entry Enable");
    expect(await page.getByRole("button", { name: "Send test event" }).count()).toBe(0);
    await enable.click();
    await page.locator(".toast", { hasText: "Endpoint enabled" }).waitFor();
    await act(page, url, "Delete");
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("No endpoints yet").waitFor();
    await scene.eventually(() => page.evaluate<boolean>("document.activeElement.id === 'new-endpoint'"), "the focus");
    expect(await scene.endpoints(tenant)).toEqual([]);
    await close();
  });

  test("shows the reason why the service disabled an endpoint", async () => {
    const { visitor, tenant } = await openMember();
    const url = `${scene.receiver.url}/gone`;
    scene.receiver.answer(() => new Response("", { status: 410 }));
    const { id } = await scene.endpoint({ url }, tenant);
    await scene.post(`/v1/webhook_endpoints/${id}/test`, undefined, tenant);
    const [endpoint] = await scene.eventually(async () => {
      const all = await scene.endpoints(tenant);
      return all.every(({ enabled }) => !enabled) && all;
    }, "the disabled endpoint");
    const { page, close } = await visit(visitor);
    await page.getByText(`Disabled by the service: ${endpoint?.disabled_reason}`, { exact: true }).waitFor();
    await close();
  });

  test("reveals and rotates the default secret, and shows a viewer neither secrets nor changes", async () => {
    const { visitor, tenant } = await openMember();
    await scene.endpoint({}, tenant);
    const { page, close } = await visit(visitor);
    await page.getByRole("button", { name: "Default secret" }).click();
    const dialog = page.getByRole("dialog");
    expect(await dialog.getByRole("textbox", { name: "Secret" }).count()).toBe(0);
    await dialog.getByRole("button", { name: "Reveal" }).click();
    const field = dialog.getByRole("textbox", { name: "Secret" });
    const former = await field.inputValue();
    expect(former).toBe(String((await scene.request("GET", "/v1/webhook_secret", { key: tenant.key })).body.secret));
    await dialog.getByRole("button", { name: "Rotate…" }).click();
    await dialog.getByLabel("Old secret expires").selectOption("After 1 hour");
    await dialog.getByRole("button", { name: "Rotate" }).click();
    await dialog.getByText("The old secret also signs until").waitFor();
    expect(await field.inputValue()).not.toBe(former);
    await page.keyboard.press("Escape");
    await dialog.getByText("You have not copied it yet.").waitFor();
    await dialog.getByRole("button", { name: "Done" }).click();
    // A secret that is only revealed can be shown again, so Escape closes it.
    await page.getByRole("button", { name: "Default secret" }).click();
    await dialog.getByRole("button", { name: "Reveal" }).click();
    await field.waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await close();
    const viewer = await openVisitor(scene, "viewer", null);
    const seen = await visit(viewer, `${PATH}?account=${tenant.accountId}`);
    await seen.page.getByRole("rowheader", { name: scene.receiver.url }).waitFor();
    await seen.page.getByText("Read only: the viewer role cannot change anything.").waitFor();
    await seen.page.getByRole("button", { name: /^Actions for/ }).click();
    for (const name of ["New endpoint", "Default secret", "Edit", "Signing secret", "Send test event", "Disable", "Delete"]) {
      const action = seen.page.getByRole("button", { name, exact: true });
      expect([name, await action.isDisabled(), await action.getAttribute("aria-describedby")]).toEqual([name, true, "read-only"]);
    }
    await seen.close();
  });

  test.each(LOOKS)("fits the screen and has no violation, with all dialogs and %j", async (look) => {
    const { visitor, tenant } = await openMember();
    const long = `${scene.receiver.url}/a/long/address?token=${"0123456789".repeat(8)}`;
    scene.receiver.answer(() => new Response("no", { status: 500 }));
    const { id } = await scene.endpoint({ url: long, description: "d".repeat(120) }, tenant);
    await scene.endpoint({ url: "https://example.com/", enabled: false }, tenant);
    await scene.post(`/v1/webhook_endpoints/${id}/test`, undefined, tenant);
    await scene.eventually(async () => (await scene.deliveries(tenant)).every(({ tries }) => tries.length > 0), "the try");
    const { page, sound, close } = await visit(visitor, PATH, { ...look, bypassCSP: true });
    await page.getByRole("button", { name: /^Details of/ }).click();
    await page.getByText("webhook-id: ").waitFor();
    await sound();
    const open = async (name: string) => {
      await page.getByRole("button", { name }).first().click();
      await page.getByRole("dialog").waitFor();
      await sound();
    };
    await open("New endpoint");
    for (const name of ["Edit", "Resend failed", "Delete"]) {
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "hidden" });
      await act(page, long, name);
      await page.getByRole("dialog").waitFor();
      await sound();
    }
    await page.keyboard.press("Escape");
    await open("Default secret");
    await page.getByRole("button", { name: "Reveal" }).click();
    await page.getByRole("textbox", { name: "Secret" }).waitFor();
    await sound();
    await open("Rotate…");
    await close();
  });
});
