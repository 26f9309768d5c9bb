// Compressed script size of inspector pages until they can be used, measured in a browser.
import { afterAll, describe, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { openVisitor } from "../console/signed-in.ts";
import { openScene } from "../generation/fixture.ts";
import { openBrowser } from "./chromium.ts";

const opened = await openBrowser();
if (typeof opened === "string") process.stdout.write(`skipped: the scripts of the inspector (${opened})\n`);
const here = describe.skipIf(typeof opened === "string");
const browser = opened as Browser;

afterAll(async () => {
  if (typeof opened !== "string") await opened.close();
});

const LEAST_PACKED_BYTES = 100;

here("the scripts of the inspector", () => {
  test.each([
    ["live", "/inspector", "Connected. Events appear immediately."],
    ["play", "/inspector/play", "Send event"],
    ["replay", "/inspector/:id", "All steps"],
  ])("loads less than 55 kB of compressed script for the %s page", async (_, path, text) => {
    const scene = await openScene();
    const { id } = await scene.begin();
    await scene.until(id);
    const context = await browser.newContext();
    await (await openVisitor(scene, "operator", null)).signIn(context);
    const page = await context.newPage();
    const sizes: Promise<[string | null, number]>[] = [];
    page.on("response", (response) => {
      if (!new URL(response.url()).pathname.endsWith(".js")) return;
      sizes.push(response.allHeaders().then((said) => [said["content-encoding"] ?? null, Number(said["content-length"])]));
    });
    await page.goto(scene.url + path.replace(":id", id));
    await page.getByText(text).first().waitFor();
    const loaded = await Promise.all(sizes);
    expect(loaded.length).toBeGreaterThan(1);
    // Files that compression would enlarge are sent uncompressed.
    const packings = loaded.filter(([, size]) => size >= LEAST_PACKED_BYTES).map(([packing]) => packing);
    expect(new Set(packings)).toEqual(new Set(["br"]));
    const bytes = loaded.reduce((total, [, size]) => total + size, 0);
    process.stdout.write(`${path}: ${(bytes / 1000).toFixed(1)} kB of script in ${loaded.length} files\n`);
    expect(bytes).toBeGreaterThan(5_000);
    expect(bytes).toBeLessThan(55_000);
    await context.close();
  });
});
