// Opens inspector pages for an operator of the harness and reads the active state of their chart.
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { openVisitor } from "../console/signed-in.ts";
import type { Harness } from "../harness.ts";
import { type Watched, watch } from "./watched.ts";

/** Opens a page and waits until it shows a text. */
export const inspect = async (
  browser: Browser,
  harness: Harness,
  path: string,
  text: string,
  look: BrowserContextOptions = {},
): Promise<Watched> => {
  const visitor = await openVisitor(harness, "operator", null);
  const watched = await watch(browser, { url: harness.url, visitor, path, look });
  await watched.page.getByText(text).first().waitFor();
  return watched;
};

/** The innermost state that the chart marks as active. */
export const activeState = async (page: Page): Promise<string> => {
  const states = await page
    .locator(".chart-state.is-active")
    .evaluateAll((all) => all.map((each) => each.getAttribute("data-state") ?? ""));
  return states.sort((a, b) => b.length - a.length)[0] ?? "";
};

/** Enlarges the chart until it is larger than its frame. */
export const zoomIn = async (page: Page): Promise<void> => {
  for (let press = 0; press < 5; press += 1) await page.getByRole("button", { name: "Zoom in" }).press("Enter");
};
