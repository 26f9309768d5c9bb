// Times in a browser in several time zones: each time shows its zone.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser } from "playwright-core";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { openVisitor, type Visitor } from "../console/signed-in.ts";
import { type Harness, openHarness } from "../harness.ts";
import { openBrowser } from "./chromium.ts";
import { PAGES, watch } from "./watched.ts";

const opened = await openBrowser();
if (typeof opened === "string") process.stdout.write(`skipped: times in a browser (${opened})\n`);
const here = describe.skipIf(typeof opened === "string");
const browser = opened as Browser;

setDefaultTimeout(60_000);
let harness: Harness;
let visitor: Visitor;
beforeAll(async () => {
  harness = await openHarness({ factor: 0, dir: freshDir() });
  visitor = await openVisitor(harness, "operator", harness.tenant);
}, 60_000);
afterAll(async () => {
  if (typeof opened !== "string") await opened.close();
  await harness.close();
  dropDirs();
});

here("the console", () => {
  test("shows the zone of every time on every page in the time zone of the browser", async () => {
    const { id } = await harness.submit("sim-image-1", { prompt: "a kite" });
    const { reported } = await visitor.ask("POST", "/console/api/purchases", { amount_usd: 25 });
    await visitor.ask("POST", `/console/api/purchases/${reported.id}/test`, { how: "pay" });
    const zones = [
      ["Asia/Kolkata", "GMT+5:30"],
      ["America/New_York", "EDT"],
      ["UTC", "UTC"],
    ] as const;
    for (const [timezoneId, zone] of zones) {
      const { page, close } = await watch(browser, { url: harness.url, visitor, path: "/console/profile", look: { timezoneId } });
      const found: string[] = [];
      const paths = [
        // The page of a model has aspect ratios, which look like times.
        ...PAGES.filter((path) => path.startsWith("/console") && !path.includes("/models/")),
        `/console/generations/${id}`,
        `/console/receipts/${reported.id}`,
      ];
      for (const path of paths) {
        await page.goto(harness.url + path);
        await page.locator("[aria-busy='true']").waitFor({ state: "detached" });
        await page.locator("main > *:nth-child(2)").waitFor();
        // A short time has the zone in its tooltip.
        const shown = await page.locator("main time").evaluateAll((all) => all.map((one) => one.getAttribute("title") ?? ""));
        const rest = await page.locator("main").evaluate((main) => {
          const copy = main.cloneNode(true) as typeof main;
          for (const one of copy.querySelectorAll("time")) one.remove();
          return copy.textContent ?? "";
        });
        const text = [...shown, rest].join("\n");
        const times = [...text.matchAll(/(?<![\d.:])\d{1,2}:\d{2}(?!\d)(?:\s[AP]M)?(?:\s[A-Z]{3}[+:\d]*)?/g)].map(
          ([time]) => time,
        );
        for (const time of times) expect([path, time]).toEqual([path, expect.stringMatching(/\s[A-Z]{3}[+:\d]*$/)]);
        expect([path, times.filter((time) => !time.includes(zone))]).toEqual([path, []]);
        if (times.length > 0) found.push(path);
      }
      for (const name of [
        "generations",
        "ledger",
        "credits",
        "profile",
        "operator/accounts",
        "operator/users",
        "operator/service",
      ])
        expect(found).toContain(`/console/${name}`);
      await close();
    }
  });
});
