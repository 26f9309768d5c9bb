// Web vitals of all pages: `node scripts/bun.mjs test/vitals/main.ts`; ends with `N passed, N failed`.
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { type FilledService, settled, startFilledService } from "../../scripts/filled-service.ts";
import { openBrowser } from "../browser/chromium.ts";
import { namesOf, readFlags, wholeOf } from "../flags.ts";

const PARTS = ["slow", "interactions"] as const;
const HELP = `Opens every page in Chromium and measures what a user waits for.

  npm run vitals                         all pages over a slow network, then interactions beside many generations
  npm run vitals -- --only interactions  the interactions only

  slow          time to a usable frame without a cache at 50 kB/s and 400 ms (at most 3 s), and layout shift (below 0.05)
  interactions  time from an input to the next painted frame, with many generations on the page (below 100 ms)

  --only PARTS       ${PARTS.join(", ")}
  --generations N    number of generations of the second part  (300)`;

const values = readFlags({
  only: { type: "string", default: PARTS.join(",") },
  generations: { type: "string", default: "300" },
  help: { type: "boolean", default: false },
});
const say = (line: string) => process.stdout.write(`${line}\n`);
if (values.help) {
  say(HELP);
  process.exit(0);
}
const parts = namesOf("only", values.only, PARTS);
const generations = wholeOf("generations", values.generations);

const NETWORK = { offline: false, latency: 400, downloadThroughput: 50_000, uploadThroughput: 50_000 };
const MOST_FRAME_MS = 3_000;
const MOST_SHIFT = 0.05;
const MOST_INTERACTION_MS = 100;
const VIEW = { width: 1280, height: 800 };
const SUBMITTED_AT_ONCE = 20;
/** Number of the slowest interactions that are printed. */
const SHOWN = 5;
const ROWS_A_PAGE = 50;
const PATIENCE_MS = 120_000;

type Interaction = { name: string; ms: number };
let passed = 0;
let failed = 0;
const judge = (isGood: boolean, line: string): void => {
  if (isGood) passed += 1;
  else failed += 1;
  say(`(${isGood ? "pass" : "fail"}) ${line}`);
};

const openPage = async (browser: Browser, { url, cookie }: FilledService, isSignedIn = true): Promise<Page> => {
  const context = await browser.newContext({ viewport: VIEW, bypassCSP: true });
  context.setDefaultTimeout(PATIENCE_MS);
  if (isSignedIn) await context.addCookies([{ ...cookie, url: url.replace("http:", "https:"), secure: true, sameSite: "Lax" }]);
  await context.addInitScript({ path: join(import.meta.dir, "observe.js") });
  return context.newPage();
};
const read = <T>(page: Page, name: string): Promise<T> => page.evaluate(`vitals.${name}`) as Promise<T>;

/** A page without a cache over a slow network: the time to its heading and navigation, and the layout shift until it is complete. */
const measureSlow = async (browser: Browser, service: FilledService, path: string, isSignedIn: boolean) => {
  const page = await openPage(browser, service, isSignedIn);
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  await session.send("Network.emulateNetworkConditions", NETWORK);
  const beganMono = performance.now();
  await page.goto(`${service.url}${path}`, { waitUntil: "commit" });
  await page.locator("h1").first().waitFor();
  const frameMs = Math.round(performance.now() - beganMono);
  if (path.startsWith("/docs")) await page.waitForLoadState("load");
  else await settled(page);
  const measured = { frameMs, shift: await read<number>(page, "shift"), shifts: await read<string[]>(page, "shifts") };
  await page.context().close();
  return measured;
};

const slow = async (browser: Browser, service: FilledService): Promise<Record<string, unknown>> => {
  const docs = ["/docs", "/docs/guides/quick-start", "/docs/errors"].map((path) => ({ name: path, path, isOpen: true }));
  const figures: Record<string, unknown> = {};
  // The first page of a browser includes the start of its processes.
  await measureSlow(browser, service, "/console/sign-in", false);
  for (const { name, path, isOpen = false } of [...service.pages, ...docs]) {
    const { frameMs, shift, shifts } = await measureSlow(browser, service, path, !isOpen);
    figures[name] = { frameMs, shift: Math.round(shift * 1e4) / 1e4 };
    const moved = shift < MOST_SHIFT ? "" : ` (${shifts.join("; ")})`;
    judge(
      frameMs <= MOST_FRAME_MS && shift < MOST_SHIFT,
      `${name}: frame ${(frameMs / 1000).toFixed(1)} s, shift ${shift.toFixed(3)}${moved}`,
    );
  }
  return figures;
};

/** Submits pictures and waits until all have ended. */
const generate = async ({ url, key }: FilledService, count: number): Promise<void> => {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const body = JSON.stringify({ model: "sim-image-1", input: { prompt: "one of many pictures", quality: "low" } });
  const one = async (): Promise<void> => {
    const response = await fetch(`${url}/v1/generations`, { method: "POST", headers: { ...headers, prefer: "wait=60" }, body });
    if (response.status === 202) await response.body?.cancel();
    else if (response.status === 429) return one();
    else throw new Error(`a submission was answered ${response.status}: ${await response.text()}`);
  };
  for (let made = 0; made < count; made += SUBMITTED_AT_ONCE)
    await Promise.all(Array.from({ length: Math.min(SUBMITTED_AT_ONCE, count - made) }, one));
};

/** What a user does on the list of generations and in the playground. */
const interact = async (page: Page, url: string, count: number): Promise<void> => {
  await page.goto(`${url}/console/generations`);
  await settled(page);
  for (let shown = ROWS_A_PAGE; shown < count; shown += ROWS_A_PAGE) {
    await page.getByRole("button", { name: "Show more" }).click();
    await page.locator(`main li >> nth=${shown}`).waitFor();
  }
  await page.getByRole("checkbox").nth(3).click();
  await page.getByRole("checkbox").nth(9).click();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("kling", { delay: 60 });
  await page.keyboard.press("Escape");
  await page.getByRole("searchbox").first().pressSequentially("many", { delay: 60 });
  await settled(page);
};
const interactInPlayground = async (page: Page, url: string): Promise<void> => {
  await page.goto(`${url}/console/playground?model=sim-image-1`);
  await settled(page);
  await page.getByLabel("Prompt (required)").pressSequentially("a red kite over dunes", { delay: 40 });
  await page.getByRole("radio", { name: "16:9" }).check();
  await page.getByRole("button", { name: /^Choose a model: / }).click();
  await page.getByLabel("Search models").pressSequentially("kling", { delay: 40 });
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: /^Generate/ }).click();
  await page.locator(".result").first().waitFor();
};

const interactions = async (browser: Browser, service: FilledService): Promise<Record<string, unknown>> => {
  await generate(service, generations);
  const figures: Record<string, unknown> = {};
  const measure = async (name: string, work: (page: Page) => Promise<void>) => {
    const page = await openPage(browser, service);
    await work(page);
    const seen = await read<Interaction[]>(page, "interactions");
    const slowest = seen.toSorted((a, b) => b.ms - a.ms).slice(0, SHOWN);
    const worstMs = slowest[0]?.ms ?? 0;
    figures[name] = { count: seen.length, worstMs };
    judge(
      seen.length > 0 && worstMs < MOST_INTERACTION_MS,
      `${name}: the slowest of ${seen.length} interactions took ${worstMs} ms`,
    );
    for (const { ms, name: what } of slowest) say(`  ${String(ms).padStart(4)} ms  ${what}`);
    await page.context().close();
  };
  await measure(`${generations} generations`, (page) => interact(page, service.url, generations));
  await measure("playground", (page) => interactInPlayground(page, service.url));
  return figures;
};

const browser = await openBrowser();
if (typeof browser === "string") {
  say(`skipped: ${browser}`);
  say("0 passed, 0 failed");
  process.exit(0);
}
const service = await startFilledService();
const figures: Record<string, unknown> = {};
try {
  if (parts.includes("slow")) figures.slow = await slow(browser, service);
  if (parts.includes("interactions")) figures.interactions = await interactions(browser, service);
} finally {
  await browser.close();
  await service.stop();
}
say(`figures ${JSON.stringify(figures)}`);
say(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
