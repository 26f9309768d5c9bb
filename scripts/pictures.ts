// `npm run pictures`: takes screenshots of all console and inspector pages, light and dark.
//
// The pages belong to a simulated service with sample data.
import { mkdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { openBrowser } from "../test/browser/chromium.ts";
import { settled, startFilledService } from "./filled-service.ts";

const root = resolve(import.meta.dir, "..");
const place = join(root, "docs", "pages");
const VIEW = { width: 1200, height: 800 };
const PHONE = { width: 360, height: 740 };
const QUALITY = 82;

const browser = await openBrowser();
if (typeof browser === "string") throw new Error(browser);
rmSync(place, { recursive: true, force: true });
mkdirSync(place, { recursive: true });
const { url, cookie, pages, stop } = await startFilledService();
try {
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
  await stop();
}
