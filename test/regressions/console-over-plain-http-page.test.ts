// The console over plain http on a LAN name, in a real browser: the message, and that a set-up link stays valid.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { openBrowser } from "../browser/chromium.ts";
import { PASSWORD, setUpToken } from "../console/visitor.ts";
import { type Harness, openHarness } from "../harness.ts";

const opened = await openBrowser(["--host-resolver-rules=MAP genrouter.lan 127.0.0.1"]);
if (typeof opened === "string") process.stdout.write(`skipped: the console over plain http (${opened})\n`);
const here = describe.skipIf(typeof opened === "string");
const browser = opened as Browser;

let harness: Harness;
beforeAll(async () => {
  harness = await openHarness({ factor: 0 });
  // The service builds the pages at the first request.
  if (typeof opened !== "string") expect((await fetch(`${harness.url}/console`)).status).toBe(200);
}, 60_000);
afterAll(async () => {
  if (typeof opened !== "string") await opened.close();
  await harness.close();
});

/** Expects the https message on a page opened by a LAN name, without a form and without other requests than GET. */
const requireReported = async (name: string, token: string): Promise<void> => {
  const { port } = new URL(harness.url);
  const page = await browser.newPage();
  const sent: string[] = [];
  page.on("request", (request) => void (request.method() === "GET" || sent.push(request.url())));
  await page.goto(`http://genrouter.lan:${port}/console/${name}#${token}`);
  await page.getByRole("heading", { level: 1, name: "This page needs https" }).waitFor();
  expect(await page.getByRole("alert").textContent()).toMatch(/requires https or http:\/\/localhost.*a link stays valid/);
  expect(await page.locator("pre").textContent()).toBe(`ssh -L 8443:127.0.0.1:${port} genrouter.lan`);
  const there = page.locator("main a[href^='http://localhost']");
  expect(await there.getAttribute("href")).toBe(`http://localhost:8443/console/${name}#${token}`);
  expect([await page.locator("form").count(), sent]).toEqual([0, []]);
  await page.close();
};

here("console over plain http", () => {
  test("every page explains that it needs https or localhost, and the set-up link still works on localhost", async () => {
    const token = await setUpToken(harness);
    for (const name of ["setup", "sign-in", "sign-up", "join", "reset", "generations"]) await requireReported(name, token);
    const page = await browser.newPage();
    await page.goto(`http://localhost:${new URL(harness.url).port}/console/setup#${token}`);
    await page.getByLabel("Name").fill("Ada");
    await page.getByLabel("E-mail address").fill("ada@example.com");
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Create operator" }).click();
    await page.getByRole("heading", { level: 1, name: "Generations" }).waitFor();
    await page.close();
  }, 60_000);
});
