// A page of the inspector that is watched: whom it asks, what it complains of, what axe finds, and where its chart stands.
import { join } from "node:path";
import { source as axe } from "axe-core";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";

const IN_PAGE = join(import.meta.dir, "in-page.js");

/** Both sizes, both lights. */
export const LOOKS = ([1280, 360] as const).flatMap((width) =>
  (["light", "dark"] as const).map((colorScheme) => ({ viewport: { width, height: 800 }, colorScheme })),
);

/** Opens a page and waits until it shows a text. */
export const visit = async (browser: Browser, url: string, path: string, look: BrowserContextOptions, text: string) => {
  const context = await browser.newContext(look);
  const page = await context.newPage();
  const asked: string[] = [];
  const complaints: string[] = [];
  page.on("request", (request) => void asked.push(request.url()));
  page.on("pageerror", (fault) => void complaints.push(fault.message));
  page.on("console", (line) => {
    if (line.type() === "error" || line.type() === "warning") complaints.push(line.text());
  });
  await page.addInitScript({ path: IN_PAGE });
  await page.goto(url + path);
  await page.getByText(text).first().waitFor();
  return {
    page,
    asked,
    complaints,
    overhang: () => page.evaluate<number>("inPage.overhang()"),
    /** Faults that axe calls serious; the page has to be opened with `bypassCSP`, for the checker is the test's own script. */
    faults: async () => {
      await page.evaluate(axe);
      return page.evaluate<string[]>("inPage.faults()");
    },
    close: () => context.close(),
  };
};

/** The innermost state that the chart marks as active. */
export const activeState = async (page: Page): Promise<string> => {
  const states = await page
    .locator(".chart-state.is-active")
    .evaluateAll((all) => all.map((each) => each.getAttribute("data-state") ?? ""));
  return states.sort((a, b) => b.length - a.length)[0] ?? "";
};
