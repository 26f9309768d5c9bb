// Walk-through of a new user in a browser with the real process, from the set-up link to a replay.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { PROGRAM } from "../built.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { openBrowser } from "./chromium.ts";
import { watch } from "./watched.ts";

const PROMPT = "a red kite over dunes";
const LONG_MS = 120_000;

const opened = await openBrowser();
if (typeof opened === "string") process.stdout.write(`skipped: the whole way in a browser (${opened})\n`);
const here = describe.skipIf(typeof opened === "string");
const browser = opened as Browser;

/** The first match in a stream. Reads the stream to its end, so that the process can continue writing. */
const firstOf = (stream: ReadableStream<Uint8Array>, pattern: RegExp): Promise<string> =>
  new Promise((found, failed) => {
    const read = async () => {
      let text = "";
      const decoder = new TextDecoder();
      for await (const chunk of stream) {
        text += decoder.decode(chunk, { stream: true });
        const [, said] = pattern.exec(text) ?? [];
        if (said !== undefined) found(said);
      }
      failed(new Error(`the output contains no match of ${pattern}: ${text}`));
    };
    read().catch(failed);
  });

let child: Bun.Subprocess<"ignore", "pipe", "pipe"> | undefined;
let url = "";
let link = "";
beforeAll(async () => {
  if (typeof opened === "string") return;
  const dir = freshDir();
  child = Bun.spawn([...PROGRAM, "serve", "--simulate", "--port", "0", "--data", dir], {
    env: { PATH: process.env.PATH ?? "", GENROUTER_SIMULATOR__SPEED: "50" },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  url = await firstOf(child.stdout, /^url (\S+)\n/m);
  // The start only logs the command. The command prints the link to a person.
  await firstOf(child.stderr, /(First admin: .*genrouter.* users setup)/);
  link = Bun.spawnSync([...PROGRAM, "users", "setup", "--data", dir])
    .stdout.toString()
    .trim();
}, 60_000);
afterAll(async () => {
  child?.kill("SIGTERM");
  await child?.exited;
  if (typeof opened !== "string") await opened.close();
  dropDirs();
});

const goTo = async (page: Page, name: string) => {
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name, exact: true }).click();
  await page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
};
const results = (page: Page) => page.getByRole("region", { name: "Results" }).getByRole("article");
/** Searches for a model, chooses it and fills in the prompt. */
const ask = async (page: Page, model: string) => {
  await page.getByRole("button", { name: /^Choose a model: / }).click();
  await page.getByLabel("Search models").fill(model);
  await page.locator(".model-choice").filter({ hasText: model }).last().click();
  await page.getByRole("button", { name: `Choose a model: ${model}` }).waitFor();
  await page.getByLabel("Prompt (required)").fill(PROMPT);
};

here("from the set-up link to the replay", () => {
  test(
    "a new user sets up, creates a key, buys credits, generates a picture and a video, and steps through the replay",
    async () => {
      expect(link).toStartWith(`${url}/`);
      const { page, asked, complaints, inPage, close } = await watch(browser, { url: "", path: link });

      await page.getByLabel("Name").fill("Ada");
      await page.getByLabel("E-mail address").fill("ada@example.com");
      await page.getByLabel("Password").fill("a long enough password");
      await page.getByRole("button", { name: "Create operator" }).click();
      await page.getByRole("navigation", { name: "Pages" }).waitFor();

      await goTo(page, "Credits");
      await page.getByRole("radio", { name: "$50", exact: true }).check();
      await page.getByRole("button", { name: "Buy $50" }).click();
      await page.getByRole("button", { name: "Pay $50.00" }).click();
      await page.getByText("Payment received. $50.00 added.").waitFor();
      // The test credit of the simulator, and what was bought.
      await page.getByRole("definition").filter({ hasText: "$150.00" }).first().waitFor();

      await goTo(page, "API keys");
      await page.getByRole("button", { name: "New key" }).first().click();
      const making = page.getByRole("dialog", { name: "New key" });
      await making.getByLabel("Name").fill("laptop");
      await making.getByRole("button", { name: "Create key" }).click();
      const made = page.getByRole("dialog", { name: "Your new key" });
      const key = await made.getByRole("textbox", { name: "API key" }).inputValue();
      await made.getByRole("button", { name: "Done" }).click();
      await made.waitFor({ state: "detached" });
      await page.reload();
      await page.getByRole("button", { name: "Actions for laptop" }).waitFor();
      expect(await page.content()).not.toContain(key);
      const answer = await fetch(`${url}/v1/generations`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "sim-image-1", input: { prompt: "by the key" } }),
      });
      expect(answer.status).toBe(202);

      await goTo(page, "Playground");
      await ask(page, "Sim Image 1");
      await page.getByRole("button", { name: /^Generate/ }).click();
      await results(page).getByRole("img").first().waitFor();
      expect(await inPage<number>("seen")).toBeGreaterThan(0);

      await ask(page, "Vidmodel 2.0 Fast");
      await page.getByRole("radio", { name: "480p" }).check();
      await page.getByLabel("Duration").fill("4");
      await page.getByRole("button", { name: /^Generate/ }).click();
      await results(page).getByLabel(PROMPT).and(page.locator("video")).waitFor();
      if (!(await inPage<boolean>("knowsH264")))
        process.stdout.write("skipped: the video plays (this Chromium was built without H.264)\n");
      else expect(await inPage("play")).toMatchObject({ advanced: true, soughtTo: 3, fault: null });
      await results(page)
        .getByText(/^\$0\.\d\d · /)
        .first()
        .waitFor();

      await goTo(page, "Generations");
      const videos = page.getByRole("listitem").filter({ hasText: "vidmodel-2.0-fast" });
      // Exactly one: the locator fails if there are several.
      await videos.getByText("Succeeded").waitFor();
      await videos.getByRole("link", { name: PROMPT }).click();
      await page.waitForURL(/\/console\/generations\/gen_\w+$/);
      await page.getByText(/held: \$0\.\d\d charged/).waitFor();
      const id = page.url().split("/").at(-1) ?? "";

      await page.getByRole("link", { name: "Open in the inspector" }).click();
      await page.waitForURL(`${url}/inspector/${id}`);
      await page.getByText(/Events, statechart and ledger agree in all \d+ steps/).waitFor();
      const stepNow = page.getByRole("list", { name: "Steps" }).locator("[aria-current='step']");
      const last = (await stepNow.textContent()) ?? "";
      await page.getByRole("button", { name: "Step back" }).click();
      expect(await stepNow.textContent()).not.toBe(last);
      await page.getByRole("button", { name: "Step forward" }).click();
      expect(await stepNow.textContent()).toBe(last);
      await page.getByRole("button", { name: "First step" }).click();
      expect(await stepNow.textContent()).toContain("acceptance");

      expect(complaints).toEqual([]);
      expect(asked.filter((address) => !address.startsWith(`${url}/`) && !/^(data|blob):/.test(address))).toEqual([]);
      await close();
    },
    LONG_MS,
  );
});
