// The way of a new user in a browser with the real process: from the set-up link to a colleague, and to a replay.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser, Locator, Page } from "playwright-core";
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

const VIEW = { width: 1280, height: 800 };
/** Actions from the set-up link to the invited colleague: more are a way that has become longer. */
const MOST_ACTIONS = 40;
const PICTURE = "Sim Image 1";
const OTHER = "Z-Image Turbo";
const CLIP = "Vidmodel 2.0 Fast";

/** A user who counts every click, key and filled field, and expects answers in view. */
const createUser = (page: Page) => {
  let actions = 0;
  const act = async (work: Promise<unknown>): Promise<void> => {
    actions += 1;
    await work;
  };
  return {
    actions: () => actions,
    click: (at: Locator) => act(at.click()),
    check: (at: Locator) => act(at.check()),
    fill: (at: Locator, text: string) => act(at.fill(text)),
    select: (at: Locator, label: string) => act(at.selectOption({ label })),
    press: (key: string) => act(page.keyboard.press(key)),
    /** Waits for an answer, which must begin in the visible part of the page without scrolling. */
    sees: async (at: Locator): Promise<void> => {
      await at.first().waitFor();
      const top = await at.first().evaluate((one) => one.getBoundingClientRect().top);
      expect(top).toBeWithin(0, VIEW.height);
    },
  };
};
type User = ReturnType<typeof createUser>;

const goTo = async (page: Page, user: User, name: string) => {
  await user.click(page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name, exact: true }));
  await page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
};
const button = (page: Page, name: string | RegExp) => page.getByRole("button", { name }).first();
const results = (page: Page) => page.getByRole("region", { name: "Results" }).getByRole("article");
const ended = (page: Page) => page.locator('.result[data-status="succeeded"]');
const findModel = async (page: Page, user: User, model: string) => {
  await user.fill(page.getByLabel("Search models"), model);
  await user.click(page.getByRole("dialog").locator(".model-choice").filter({ hasText: model }).first());
};

const setUp = async (page: Page, user: User) => {
  await user.fill(page.getByLabel("Name"), "Ada");
  await user.fill(page.getByLabel("E-mail address"), "ada@example.com");
  await user.fill(page.getByLabel("Password"), "a long enough password");
  await user.click(button(page, "Create operator"));
  await page.getByRole("navigation", { name: "Pages" }).waitFor();
};

/** Two models with one prompt, side by side; one picture is opened and downloaded, and then generated again. */
const comparePictures = async (page: Page, user: User) => {
  await goTo(page, user, "Playground");
  await button(page, `Choose a model: ${PICTURE}`).waitFor();
  await user.fill(page.getByLabel("Prompt (required)"), PROMPT);
  await user.click(button(page, "Compare"));
  await findModel(page, user, OTHER);
  await user.click(button(page, /^Generate · \$/));
  await ended(page).nth(1).waitFor();
  await user.sees(ended(page).nth(0));
  await user.sees(ended(page).nth(1));

  await user.click(button(page, `Open ${PROMPT} in full size`));
  const downloaded = page.waitForEvent("download");
  await user.press("d");
  expect((await downloaded).suggestedFilename()).toMatch(/\.png$/);
  await user.press("Escape");

  await user.click(button(page, "Run again"));
  await ended(page).nth(2).waitFor();
  await user.sees(ended(page).first());
};

/** The picture is the first frame of a clip; the prompt is still in the form. */
const makeClip = async (page: Page, user: User) => {
  await user.click(results(page).getByRole("link", { name: "Use as input" }).first());
  await user.click(button(page, /^Choose a model: /));
  await findModel(page, user, CLIP);
  expect(await page.getByLabel("Prompt (required)").inputValue()).toBe(PROMPT);
  await user.check(page.getByRole("radio", { name: "480p" }));
  await user.fill(page.getByLabel("Duration"), "4");
  await user.click(button(page, /^Generate · \$/));
  const clip = results(page).getByLabel(PROMPT).and(page.locator("video"));
  await user.sees(clip);
};

const buyCredits = async (page: Page, user: User) => {
  await goTo(page, user, "Credits");
  await user.check(page.getByRole("radio", { name: "$50", exact: true }));
  await user.click(button(page, "Buy $50"));
  await user.click(button(page, "Pay $50.00"));
  await user.sees(page.getByText("Payment received. $50.00 added."));
};

/** @returns the key, which the dialog shows once */
const createKey = async (page: Page, user: User): Promise<string> => {
  await goTo(page, user, "API keys");
  await user.click(button(page, "New key"));
  const making = page.getByRole("dialog", { name: "New key" });
  await user.fill(making.getByLabel("Name"), "laptop");
  await user.click(making.getByRole("button", { name: "Create key" }));
  const made = page.getByRole("dialog", { name: "Your new key" });
  const shown = made.getByRole("textbox", { name: "API key" });
  await user.sees(shown);
  const key = await shown.inputValue();
  await user.click(made.getByRole("button", { name: "Done" }));
  await made.waitFor({ state: "detached" });
  return key;
};

/** @returns the link that the colleague opens */
const inviteColleague = async (page: Page, user: User): Promise<string> => {
  await goTo(page, user, "Users");
  await user.click(button(page, "Invite user"));
  const inviting = page.getByRole("dialog", { name: "Invite user" });
  await user.fill(inviting.getByLabel("E-mail address"), "ben@example.com");
  // The colleague uses the same account, which holds the test credit.
  await user.select(inviting.getByLabel("Account", { exact: true }), "demo");
  await user.click(inviting.getByRole("button", { name: "Create invite link" }));
  const shown = page.getByRole("dialog").getByRole("textbox", { name: "Link" });
  await user.sees(shown);
  return shown.inputValue();
};

/** The page of a generation and its replay. */
const replay = async (page: Page) => {
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Generations", exact: true }).click();
  const clips = page.getByRole("listitem").filter({ hasText: "vidmodel-2.0-fast" });
  // Exactly one: the locator fails if there are several.
  await clips.getByText("Succeeded").waitFor();
  await clips.getByRole("link", { name: PROMPT }).click();
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
};

here("from the set-up link", () => {
  test(
    "a new user compares, downloads and repeats pictures, makes a clip of one, buys credits, creates a key and invites a colleague",
    async () => {
      expect(link).toStartWith(`${url}/`);
      const { page, asked, complaints, inPage, close } = await watch(browser, { url: "", path: link, look: { viewport: VIEW } });
      const user = createUser(page);
      await setUp(page, user);
      await comparePictures(page, user);
      expect(await inPage<number>("seen")).toBeGreaterThan(0);
      await makeClip(page, user);
      if (!(await inPage<boolean>("knowsH264")))
        process.stdout.write("skipped: the video plays (this Chromium was built without H.264)\n");
      else expect(await inPage("play")).toMatchObject({ advanced: true, soughtTo: 3, fault: null });
      await buyCredits(page, user);
      const key = await createKey(page, user);
      const invitation = await inviteColleague(page, user);
      process.stdout.write(`${user.actions()} actions from the set-up link to the invited colleague (at most ${MOST_ACTIONS})\n`);
      expect(user.actions()).toBeLessThanOrEqual(MOST_ACTIONS);

      expect(new URL(invitation).origin).toBe(url);
      const answer = await fetch(`${url}/v1/generations`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "sim-image-1", input: { prompt: "by the key" } }),
      });
      expect(answer.status).toBe(202);
      await page.goto(`${url}/console/keys`);
      await page.getByRole("button", { name: "Actions for laptop" }).waitFor();
      expect(await page.content()).not.toContain(key);
      await replay(page);

      expect(complaints).toEqual([]);
      expect(asked.filter((address) => !address.startsWith(`${url}/`) && !/^(data|blob):/.test(address))).toEqual([]);
      await close();
    },
    LONG_MS,
  );
});
