// `npm run pictures`: takes screenshots of all console and inspector pages, light and dark.
//
// The pages belong to a simulated service with sample data.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Page } from "playwright-core";
import { openBrowser } from "../test/browser/chromium.ts";
import { filled } from "./pictures-stock.ts";

const root = resolve(import.meta.dir, "..");
const place = join(root, "docs", "pages");
const VIEW = { width: 1200, height: 800 };
const PHONE = { width: 360, height: 740 };
const QUALITY = 82;
const LONGEST_WAIT_MS = 20_000;

const dir = mkdtempSync(join(tmpdir(), "pictures-"));
const service = Bun.spawn([process.execPath, join(root, "src", "main.ts"), "serve", "--simulate", "--port", "0", "--data", dir], {
  stdout: "pipe",
  stderr: "ignore",
  env: {
    PATH: process.env.PATH ?? "",
    GENROUTER_SIMULATOR__SPEED: "20",
    GENROUTER_LOG__LEVEL: "error",
    GENROUTER_LIMITS__BURST_PER_S: "1000",
    GENROUTER_WEBHOOKS__ALLOW: "127.0.0.1",
  },
});
const receiver = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("ok") });

/** First line of a stream that matches. The remainder is still read, so that the service is not blocked. */
const lineOf = (stream: ReadableStream<Uint8Array>, pattern: RegExp): Promise<string> =>
  new Promise((found, failed) => {
    const read = async () => {
      let text = "";
      const decoder = new TextDecoder();
      for await (const chunk of stream) {
        text += decoder.decode(chunk, { stream: true });
        const known = pattern.exec(text)?.[1];
        if (known !== undefined) found(known);
      }
      failed(new Error(`the service did not say ${pattern}: ${text}`));
    };
    read().catch(failed);
  });

/** Waits until the page is no longer busy and its images are loaded. */
const settled = async (page: Page): Promise<void> => {
  await page.locator("main h1").waitFor({ timeout: LONGEST_WAIT_MS });
  await page.waitForFunction(
    `!document.querySelector("[aria-busy=true]") && [...document.images].every((one) => one.complete || one.loading === "lazy") &&
      [...document.querySelectorAll("video")].every((one) => one.readyState >= 2)`,
    null,
    { timeout: LONGEST_WAIT_MS },
  );
  await page.waitForTimeout(400);
};

const url = await lineOf(service.stdout, /^url (\S+)$/m);
const link = Bun.spawnSync([process.execPath, join(root, "src", "main.ts"), "users", "setup", "--data", dir]).stdout.toString();
const token = link.trim().split("#")[1] ?? "";
const browser = await openBrowser();
if (typeof browser === "string") throw new Error(browser);
rmSync(place, { recursive: true, force: true });
mkdirSync(place, { recursive: true });
try {
  const { cookie, pages } = await filled(url, token, `${receiver.url.origin}/events`);
  const taken: string[] = [];
  const wide: string[] = [];
  for (const [colorScheme, viewport] of [
    ["light", VIEW],
    ["dark", VIEW],
    ["light", PHONE],
  ] as const) {
    const context = await browser.newContext({ viewport, colorScheme, reducedMotion: "reduce", bypassCSP: true });
    const page = await context.newPage();
    for (const { name, path, isOpen } of pages) {
      await context.clearCookies();
      if (!isOpen) await context.addCookies([{ ...cookie, url: url.replace("http:", "https:"), secure: true, sameSite: "Lax" }]);
      await page.goto(`${url}${path}`);
      await settled(page);
      const overhang = await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
      if (overhang > 0) wide.push(`${path} is ${overhang} px too wide at ${viewport.width} px`);
      const file = `${name}-${viewport === PHONE ? "phone" : colorScheme}.webp`;
      const picture = await new Bun.Image(await page.screenshot()).webp({ quality: QUALITY }).bytes();
      await Bun.write(join(place, file), picture);
      taken.push(file);
      process.stderr.write(`${file}  ${Math.round(picture.byteLength / 1000)} kB\n`);
    }
    await context.close();
  }
  const text = [
    "# Pages",
    "",
    "Every page of the console and the inspector in light mode, in dark mode and on a phone. `npm run pictures` takes the screenshots from a simulated service.",
    "",
    "If several nodes share a database, every node shows the same lists, events, live views and replays. The inspector shows the node of each generation and of",
    "each transition, and the service page lists the nodes. A single process shows no nodes.",
    ...pages.flatMap(({ name, says, path }) => [
      "",
      `## ${says}`,
      "",
      `\`${path.replace(/(gen|acc|pur|file)_\w+/g, "$1_…").replace(/#.*/, "#…")}\``,
      "",
      `![${says}, light](pages/${name}-light.webp)`,
      `![${says}, dark](pages/${name}-dark.webp)`,
      `![${says}, on a phone](pages/${name}-phone.webp)`,
    ]),
    "",
  ];
  await Bun.write(join(root, "docs", "PAGES.md"), text.join("\n"));
  console.log([`${taken.length} pictures`, ...wide].join("\n"));
  if (wide.length > 0) process.exitCode = 1;
} finally {
  await browser.close();
  service.kill("SIGKILL");
  await service.exited;
  await receiver.stop(true);
  rmSync(dir, { recursive: true, force: true });
}
