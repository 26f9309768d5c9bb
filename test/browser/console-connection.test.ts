// The console without a service: every page says so, and continues by itself when the service is reachable again.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { connect, createServer, type Socket } from "node:net";
import type { Browser } from "playwright-core";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { openVisitor, type Visitor } from "../console/signed-in.ts";
import { type Harness, openHarness } from "../harness.ts";
import { openBrowser } from "./chromium.ts";
import { watch } from "./watched.ts";

const opened = await openBrowser();
if (typeof opened === "string") process.stdout.write(`skipped: the console without a service (${opened})\n`);
const here = describe.skipIf(typeof opened === "string");
const browser = opened as Browser;

/** An address that leads to a service, and that can be closed for a while. */
const openAddress = async (to: string) => {
  const sockets = new Set<Socket>();
  const { hostname, port } = new URL(to);
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one);
      one.on("error", () => other.destroy());
      one.on("close", () => other.destroy());
      one.pipe(other);
    }
  });
  const listen = (at: number) => new Promise<void>((done) => server.listen(at, "127.0.0.1", done));
  await listen(0);
  const own = (server.address() as { port: number }).port;
  const leave = () =>
    new Promise<void>((done) => {
      server.close(() => done());
      for (const socket of sockets) socket.destroy();
      sockets.clear();
    });
  return { url: `http://127.0.0.1:${own}`, leave, comeBack: () => listen(own) };
};

setDefaultTimeout(60_000);
let harness: Harness;
let visitor: Visitor;
beforeAll(async () => {
  harness = await openHarness({ dir: freshDir() });
  visitor = await openVisitor(harness, "member", harness.tenant);
}, 60_000);
afterAll(async () => {
  if (typeof opened !== "string") await opened.close();
  await harness.close();
  dropDirs();
});

const LOST = "The service is unreachable. Trying again every few seconds.";
const visit = async (path: string) => {
  const address = await openAddress(harness.url);
  const watched = await watch(browser, { url: address.url, visitor, path });
  return {
    ...{ ...watched, ...address },
    close: async () => {
      await watched.close();
      await address.leave();
    },
  };
};

here("while the service is unreachable", () => {
  test.each(["/console/generations", "/console/playground"])(
    "%s says so without a click, and shows afterwards what happened meanwhile",
    async (path) => {
      const { page, leave, comeBack, close } = await visit(path);
      await page.locator("[aria-busy='true']").waitFor({ state: "detached" });
      await page.locator("main > *:nth-child(3)").waitFor();
      await leave();
      await page.getByText(LOST).waitFor();
      const { id } = await harness.submit("sim-image-1", { prompt: `a kite of ${path}` });
      await harness.until(id);
      await page.evaluate(() => Object.assign(globalThis, { wasHere: true }));
      await comeBack();
      await page.getByText(LOST).waitFor({ state: "detached" });
      await page.locator(`a[href="/console/generations/${id}"]`).first().waitFor();
      // The page was not loaded again.
      expect(await page.evaluate(() => "wasHere" in globalThis)).toBe(true);
      await close();
    },
  );

  test("a page whose code was not loaded yet says so, and is shown when the service is back", async () => {
    const { page, leave, comeBack, close } = await visit("/console/generations");
    await page.getByRole("form", { name: "Filters" }).waitFor();
    await leave();
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "API keys" }).click();
    await page.getByText("This page could not be loaded.").waitFor();
    await page.getByText(LOST).waitFor();
    await comeBack();
    await page.getByRole("button", { name: "New key" }).first().waitFor();
    expect(await page.getByText(LOST).count()).toBe(0);
    await close();
  });
});
