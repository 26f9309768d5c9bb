// A simulated service with sample data, for programs that look at its pages.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Page } from "playwright-core";
import { dropScratch } from "../test/scratch.ts";
import { filled } from "./pictures-stock.ts";

const MAIN = join(resolve(import.meta.dir, ".."), "src", "main.ts");

const LONGEST_WAIT_MS = 20_000;

/** Waits until the page is no longer busy, and its images and the clips that it has begun to load are there. */
export const settled = async (page: Page): Promise<void> => {
  await page.locator("main h1").waitFor({ timeout: LONGEST_WAIT_MS });
  await page.waitForFunction(
    `!document.querySelector("[aria-busy=true]") && [...document.images].every((one) => one.complete || one.loading === "lazy") &&
      [...document.querySelectorAll("video[src]")].every((one) => one.readyState >= 2)`,
    null,
    { timeout: LONGEST_WAIT_MS },
  );
  await page.waitForTimeout(400);
};

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
      failed(new Error(`the service did not print ${pattern}: ${text}`));
    };
    read().catch(failed);
  });

export type FilledService = Awaited<ReturnType<typeof filled>> & { url: string; stop(): Promise<void> };

/** Starts the service from its sources and fills it. */
export const startFilledService = async (): Promise<FilledService> => {
  const dir = mkdtempSync(join(tmpdir(), "pages-"));
  const service = Bun.spawn([process.execPath, MAIN, "serve", "--simulate", "--port", "0", "--data", dir], {
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
  const stop = async () => {
    service.kill("SIGTERM");
    await service.exited;
    await receiver.stop(true);
    dropScratch(dir);
  };
  try {
    const url = await lineOf(service.stdout, /^url (\S+)$/m);
    const link = Bun.spawnSync([process.execPath, MAIN, "users", "setup", "--data", dir]).stdout.toString();
    const stock = await filled(url, link.trim().split("#")[1] ?? "", `${receiver.url.origin}/events`);
    return { ...stock, url, stop };
  } catch (fault) {
    await stop();
    throw fault;
  }
};
