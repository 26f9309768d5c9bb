// Opens a page of the service in a browser and records requests, errors and accessibility violations.
import { expect } from "bun:test";
import { join } from "node:path";
import { source as axe } from "axe-core";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { casesOfShare } from "../case-share.ts";
import type { Visitor } from "../console/signed-in.ts";

const IN_PAGE = join(import.meta.dir, "in-page.js");

/** Both widths in both colour schemes. */
export const LOOKS = casesOfShare(
  "looks of a page",
  ([1280, 360] as const).flatMap((width) =>
    (["light", "dark"] as const).map((colorScheme) => ({ viewport: { width, height: 800 }, colorScheme })),
  ),
  (look) => JSON.stringify(look),
);

/** Every page of the navigation, and the pages of the inspector. */
export const PAGES = [
  ...[
    "generations",
    "playground",
    "models",
    "models/sim-image-1",
    "files",
    "keys",
    "webhooks",
    "credits",
    "ledger",
    "usage",
    "profile",
    "team",
  ].map((name) => `/console/${name}`),
  ...["overview", "accounts", "routes", "providers", "orphans", "verification", "service", "users", "audit"].map(
    (name) => `/console/operator/${name}`,
  ),
  ...["/inspector", "/inspector/play"],
];

export type Watched = {
  page: Page;
  asked: string[];
  complaints: string[];
  /** Calls a function of in-page.js in the page. */
  inPage<T>(name: string): Promise<T>;
  /**
   * Expects no horizontal scrolling, no broken short word, one h1 and no serious violation of axe. Needs `bypassCSP`, because the
   * test injects axe.
   */
  sound(): Promise<void>;
  /** Presses Tab until the focused element has this name. */
  tabTo(name: string): Promise<void>;
  close(): Promise<void>;
};

/** Opens a page of a service, signed in as a visitor or signed out. */
export const watch = async (
  browser: Browser,
  { url, visitor = null, path, look = {} }: { url: string; visitor?: Visitor | null; path: string; look?: BrowserContextOptions },
): Promise<Watched> => {
  const context = await browser.newContext(look);
  if (visitor) await visitor.signIn(context);
  const page = await context.newPage();
  const asked: string[] = [];
  const complaints: string[] = [];
  page.on("request", (request) => void asked.push(request.url()));
  page.on("websocket", (socket) => void asked.push(socket.url()));
  page.on("pageerror", (fault) => void complaints.push(fault.message));
  page.on("console", (line) => {
    if (line.type() === "error" || line.type() === "warning") complaints.push(line.text());
  });
  await page.addInitScript({ path: IN_PAGE });
  await page.goto(url + path);
  await page.getByRole("heading", { level: 1 }).waitFor();
  const inPage = <T>(name: string) => page.evaluate<T>(`inPage.${name}()`);
  return {
    ...{ page, asked, complaints, inPage },
    sound: async () => {
      expect(await inPage<number>("overhang")).toBeLessThanOrEqual(0);
      expect(await inPage<string[]>("brokenWords")).toEqual([]);
      expect(await page.locator("h1").count()).toBe(1);
      await page.evaluate(axe);
      expect(await inPage<string[]>("faults")).toEqual([]);
    },
    tabTo: async (name) => {
      for (let presses = 0; presses < 80; presses++) {
        if ((await inPage<string>("focusedName")) === name) return;
        await page.keyboard.press("Tab");
      }
      throw new Error(`${name} is not reached by keyboard`);
    },
    close: () => context.close(),
  };
};
