// The live inspector page without a connection: it shows the reason and reconnects automatically.
import { afterAll, describe, expect, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { openVisitor } from "../console/signed-in.ts";
import { type Harness, openHarness } from "../harness.ts";
import { connectViewer, tokenOf } from "../inspector/viewer.ts";
import { openBrowser } from "./chromium.ts";
import { watch } from "./watched.ts";

const opened = await openBrowser();
if (typeof opened === "string") process.stdout.write(`skipped: the live page without a connection (${opened})\n`);
const here = describe.skipIf(typeof opened === "string");
const browser = opened as Browser;

afterAll(async () => {
  if (typeof opened !== "string") await opened.close();
});

const openLive = (harness: Harness, visitor: Awaited<ReturnType<typeof openVisitor>> | null = null, look = {}) =>
  watch(browser, { url: harness.url, visitor, path: "/inspector", look });
const said = (page: Page, text: string) => page.getByRole("status").getByText(text).waitFor();
const AGAIN = "Retrying at least every 10 s.";
const LIVE = "Connected. Events appear immediately.";
/** A harness in which requests from this machine have no special access. */
const abroad = () => openHarness({ env: { GENROUTER_SERVER__PUBLIC_URL: "https://api.example" } });

here("the live page without a connection", () => {
  test.each([1280, 360])(
    "on %d pixels: asks a signed-out visitor to sign in, and connects automatically afterwards",
    async (width) => {
      const harness = await abroad();
      const { page, sound, close } = await openLive(harness, null, { viewport: { width, height: 800 }, bypassCSP: true });
      await said(page, "You are signed out");
      await said(page, AGAIN);
      expect(await page.getByRole("link", { name: "sign in" }).getAttribute("href")).toBe("/console/sign-in");
      await sound();
      const visitor = await openVisitor(harness, "viewer", null);
      await visitor.signIn(page.context());
      await said(page, LIVE);
      expect(await page.getByRole("button", { name: "Reconnect now" }).count()).toBe(0);
      await close();
      await harness.close();
    },
    60_000,
  );

  test("shows members that the page is for operators and viewers", async () => {
    const harness = await abroad();
    const { page, close } = await openLive(harness, await openVisitor(harness, "member", harness.tenant));
    await said(page, "requires the role operator or viewer. Ask an operator for the role");
    await said(page, AGAIN);
    await close();
    await harness.close();
  }, 60_000);

  test("reports too many connections and connects when one is free", async () => {
    const harness = await openHarness();
    const { token } = tokenOf(harness, "viewer");
    const others = await Promise.all(Array.from({ length: 100 }, () => connectViewer(harness, `?token=${token}`)));
    const { page, close } = await openLive(harness);
    await said(page, "Too many pages and programs are connected. Close some of them.");
    await said(page, AGAIN);
    await Promise.all(others.map((other) => other.close()));
    await page.getByRole("button", { name: "Reconnect now" }).click();
    await said(page, LIVE);
    await close();
    await harness.close();
  }, 60_000);

  test("names the setting when the inspector was disabled while the page was open", async () => {
    const [on, off] = [await openHarness(), await openHarness({ env: { GENROUTER_INSPECTOR__ENABLED: "off" } })];
    const html = await (await fetch(`${on.url}/inspector`)).text();
    const context = await browser.newContext();
    const page = await context.newPage();
    // The page as it was loaded before the change.
    await page.route(`${off.url}/inspector`, (route) => route.fulfill({ contentType: "text/html", body: html }));
    await page.goto(`${off.url}/inspector`);
    await said(page, "disabled. An operator can set inspector.enabled to on");
    await said(page, AGAIN);
    await context.close();
    await on.close();
    await off.close();
  }, 60_000);

  test("reports an unreachable service, keeps the shown actors and reconnects automatically", async () => {
    const harness = await openHarness();
    const { page, close } = await openLive(harness);
    await said(page, LIVE);
    await page.locator(".live-list li button", { hasText: "ledger" }).waitFor();
    await harness.close();
    await said(page, "The service is unreachable");
    await said(page, AGAIN);
    expect(await page.locator(".live-list li button", { hasText: "ledger" }).count()).toBe(1);
    const again = page.waitForEvent("websocket");
    await page.getByRole("button", { name: "Reconnect now" }).click();
    expect((await again).url()).toEndWith("/inspector/api/live");
    // A reconnection without a click.
    await page.waitForEvent("websocket");
    await close();
  }, 60_000);

  test("names the proxy as the cause when only the WebSocket fails", async () => {
    const harness = await openHarness();
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.routeWebSocket(/\/inspector\/api\/live$/, (socket) => void socket.close({ code: 1006 }));
    await page.goto(`${harness.url}/inspector`);
    await said(page, "A proxy in between must forward the upgrade");
    await context.close();
    await harness.close();
  }, 60_000);

  test("a replay requires sign-in, except on the machine of the simulator", async () => {
    const [far, near] = [await abroad(), await openHarness()];
    for (const harness of [far, near]) {
      const { id } = await harness.submit("sim-image-1", { prompt: "a kite" });
      await harness.until(id);
      const { page, close } = await watch(browser, { url: harness.url, path: `/inspector/${id}` });
      if (harness === far) {
        await page.getByText("You are signed out; sign in again.").waitFor();
        expect(await page.getByRole("link", { name: "Sign in" }).getAttribute("href")).toBe("/console/sign-in");
        await (await openVisitor(harness, "operator", null)).signIn(page.context());
        await page.getByRole("button", { name: "Reload" }).click();
      }
      await page.getByText("Events, statechart and ledger agree").waitFor();
      await close();
      await harness.close();
    }
  }, 60_000);
});
