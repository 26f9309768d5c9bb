// Uploaded files in a browser: the page Files, and files as inputs of the playground.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { sampleBytes, uploaded } from "../api/upload-requests.ts";
import { testClock } from "../clock.ts";
import { openVisitor, type Visitor } from "../console/signed-in.ts";
import { type Harness, openHarness, type Tenant } from "../harness.ts";
import { openBrowser } from "./chromium.ts";
import { type GivenFile, give } from "./dropping.ts";
import { LOOKS, watch } from "./watched.ts";

const opened = await openBrowser();
if (typeof opened === "string") process.stdout.write(`skipped: files in a browser (${opened})\n`);
const here = describe.skipIf(typeof opened === "string");
const browser = opened as Browser;

setDefaultTimeout(90_000);
const MODEL = "vidmodel-2.0-fast";
let harness: Harness;
let png: Uint8Array;
beforeAll(async () => {
  harness = await openHarness({
    clock: testClock(20, Date.now()),
    env: { GENROUTER_LIMITS__UPLOAD_BYTES: "3000000", GENROUTER_LIMITS__UPLOAD_QUOTA_BYTES: "100000" },
  });
  png = await sampleBytes(harness, "picture.png?width=320&height=240");
}, 60_000);
afterAll(async () => {
  if (typeof opened !== "string") await opened.close();
  await harness.close();
  harness.clock.stop();
});

const openMember = async (credits = 2000): Promise<{ tenant: Tenant; visitor: Visitor }> => {
  const tenant = await harness.newTenant(credits);
  return { tenant, visitor: await openVisitor(harness, "member", tenant) };
};
const visit = (visitor: Visitor, path: string, look: BrowserContextOptions = {}) =>
  watch(browser, { url: harness.url, visitor, path, look });
const file = (name: string, bytes: Uint8Array | string, type = "image/png"): GivenFile => ({
  ...{ name, type },
  bytes: typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes,
});
const filesOf = async (visitor: Visitor): Promise<string[]> =>
  ((await visitor.ask("GET", "/console/api/files")).reported.files as { id: string }[]).map(({ id }) => id);
const isDrawn = (page: Page, selector: string) =>
  harness.eventually(
    () => page.evaluate<boolean>(`document.querySelector(${JSON.stringify(selector)})?.naturalWidth > 0`),
    "the picture",
  );
/** Generates with the present form. @returns the id of the generation */
const generate = async (page: Page): Promise<string> => {
  const submitted = page.waitForResponse((one) => one.request().method() === "POST" && one.url().endsWith("/generations"));
  await page.getByRole("button", { name: /^Generate/ }).click();
  return ((await (await submitted).json()) as { id: string }).id;
};

here("the page Files", () => {
  test("uploads by drop and by choice, shows measurements and quota, and copies an id", async () => {
    const { visitor } = await openMember();
    const { page, complaints, close } = await visit(visitor, "/console/files", {
      permissions: ["clipboard-read", "clipboard-write"],
    });
    await page.getByText("No files yet").waitFor();
    // Anywhere on the page.
    await give(page.getByRole("heading", { level: 1 }), "drop", [file("a.png", png)]);
    const tile = page.locator("li[data-id]");
    await tile.waitFor();
    await page.locator(".toast", { hasText: "a.png uploaded" }).waitFor();
    await tile.getByText("Image · PNG").waitFor();
    await tile.getByText("320 × 240").waitFor();
    await tile.getByText("Expires in 7 days").waitFor();
    await isDrawn(page, "li[data-id] img");
    const voice = Buffer.from(await sampleBytes(harness, "voice.mp3?seconds=2"));
    await page.getByLabel("Choose files to upload").setInputFiles({ name: "a.mp3", mimeType: "audio/mpeg", buffer: voice });
    await page.getByText("Audio · MP3").waitFor();
    const [newest = ""] = await filesOf(visitor);
    expect(await tile.first().getAttribute("data-id")).toBe(newest);
    await page.getByText("of 100.0 kB used").waitFor();
    await page.getByRole("button", { name: `Actions for ${newest}` }).click();
    await page.getByRole("button", { name: "Copy ID" }).click();
    await page.locator(".toast", { hasText: "ID copied" }).waitFor();
    expect(await page.evaluate<string>("navigator.clipboard.readText()")).toBe(newest);
    expect(complaints).toEqual([]);
    await close();
  });

  test("shows the error of each file that is refused, and stores the others", async () => {
    const { visitor } = await openMember();
    const { page, close } = await visit(visitor, "/console/files");
    const area = page.getByRole("main");
    await page.getByText("No files yet").waitFor();
    await give(area, "drop", [
      file("notes.txt", "only text", "text/plain"),
      file("large.png", new Uint8Array(3_000_001)),
      file("empty.png", ""),
      file("a.png", png),
    ]);
    await page.locator("li[data-id]").waitFor();
    const errors = page.locator(".sending li");
    expect(await errors.allTextContents()).toEqual([
      expect.stringMatching(/^notes\.txt.*it is text, not a picture/),
      expect.stringMatching(/^large\.png.*over limits\.upload_bytes of this service \(3000000 bytes\)/),
      expect.stringMatching(/^empty\.png.*The file is empty/),
    ] as never);
    await page.getByRole("button", { name: "Dismiss the error of notes.txt" }).click();
    expect(await errors.count()).toBe(2);
    const wide = await sampleBytes(harness, "voice.mp3?seconds=26");
    await give(area, "drop", [file("long.mp3", wide, "audio/mpeg")]);
    await page.getByText("limits.upload_quota_bytes is 100000. Delete files that are not needed.").waitFor();
    expect(await page.locator("li[data-id]").count()).toBe(1);
    await close();
  });

  test("shows the missing credit, also for a large file", async () => {
    const { visitor } = await openMember(0);
    const { page, close } = await visit(visitor, "/console/files");
    await page.getByText("No files yet").waitFor();
    await give(page.getByRole("main"), "drop", [file("large.png", new Uint8Array(2_900_000))]);
    await page.getByText(/must be available to upload files and 0\.00 USD is; add credits\./).waitFor();
    await close();
  });

  test("deletes by keyboard after a question, and explains that a generation needs a file", async () => {
    const { visitor, tenant } = await openMember();
    const { id } = await uploaded(harness, png, tenant.key);
    const input = { prompt: "[sim:stuck] a kite", image_url: id, resolution: "480p", duration: 4 };
    const submitted = await harness.request("POST", "/v1/generations", { key: tenant.key, body: { model: MODEL, input } });
    const { page, tabTo, close } = await visit(visitor, "/console/files");
    await tabTo(`Actions for ${id}`);
    await page.keyboard.press("Enter");
    await tabTo("Delete");
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Delete this file?" });
    await dialog.waitFor();
    await dialog.getByRole("button", { name: "Delete" }).click();
    await dialog.getByText("A generation that has not ended needs the file").waitFor();
    const { id: generation } = submitted.body as { id: string };
    await harness.request("POST", `/v1/generations/${generation}/cancel`, { key: tenant.key });
    await harness.until(generation, undefined, tenant.key);
    await harness.eventually(async () => {
      await dialog.getByRole("button", { name: "Delete" }).click();
      return dialog.waitFor({ state: "hidden", timeout: 1000 }).then(
        () => true,
        () => false,
      );
    }, "the deletion");
    await page.locator(".toast", { hasText: "File deleted" }).waitFor();
    await page.getByText("No files yet").waitFor();
    expect(await filesOf(visitor)).toEqual([]);
    await close();
  });

  test("shows older files on demand, and another account's files without upload to operators", async () => {
    const { tenant, visitor } = await openMember();
    for (let n = 0; n < 26; n += 1) await uploaded(harness, png, tenant.key);
    const mine = await visit(visitor, "/console/files");
    const tiles = mine.page.locator("li[data-id]");
    await tiles.nth(23).waitFor();
    await mine.page.getByRole("button", { name: "Show more" }).click();
    await tiles.nth(25).waitFor();
    expect(await mine.page.getByRole("button", { name: "Show more" }).count()).toBe(0);
    await mine.close();
    const viewer = await openVisitor(harness, "viewer", null);
    const { page, close } = await visit(viewer, `/console/files?account=${tenant.accountId}`);
    await isDrawn(page, "li[data-id] img");
    // What a viewer may not do is shown disabled, with the reason.
    await page.getByText("Read only: the viewer role cannot change anything.").waitFor();
    const upload = page.getByLabel("Choose files to upload");
    expect([await upload.isDisabled(), await upload.getAttribute("aria-describedby")]).toEqual([true, "read-only"]);
    expect(await page.getByRole("link", { name: /^Use as input/ }).count()).toBe(0);
    const [use, menu] = ["Use as input", "Actions for"].map((name) => page.getByRole("button", { name }).first());
    expect(await use?.isDisabled()).toBe(true);
    await menu?.click();
    expect(await page.getByRole("button", { name: "Delete", exact: true }).isDisabled()).toBe(true);
    await give(page.getByRole("main"), "drop", [file("a.png", png)]);
    expect(await page.locator(".sending li").count()).toBe(0);
    await close();
  });

  test.each(LOOKS)("fits the screen and has no violation with %j", async (look) => {
    const { visitor, tenant } = await openMember();
    for (const name of ["picture.png?width=900&height=90", "clip.mp4?seconds=4&width=64&height=48", "voice.mp3?seconds=2"])
      await uploaded(harness, await sampleBytes(harness, name), tenant.key);
    const { page, sound, close } = await visit(visitor, "/console/files", { ...look, bypassCSP: true });
    await page.locator("li[data-id]").nth(2).waitFor();
    await give(page.getByRole("main"), "drop", [file("notes.txt", "only text", "text/plain")]);
    await page.getByText("it is text").waitFor();
    await sound();
    await page
      .getByRole("button", { name: /^Actions for/ })
      .first()
      .click();
    await sound();
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByRole("dialog").waitFor();
    await sound();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByLabel("List").check();
    await page.locator("tr[data-id]").nth(2).waitFor();
    await sound();
    await close();
  });

  test("shows a file in full, as a list and again after a reload, and a hint while files are over the page", async () => {
    const { visitor, tenant } = await openMember();
    const { id } = await uploaded(harness, png, tenant.key);
    const { page, complaints, close } = await visit(visitor, "/console/files");
    await page.getByRole("button", { name: `Open ${id}` }).click();
    const full = page.getByRole("dialog").getByRole("img", { name: id });
    await harness.eventually(
      () => full.evaluate((image) => (image as { naturalWidth?: number }).naturalWidth === 320),
      "the picture",
    );
    await page.keyboard.press("Escape");
    await page.getByLabel("List").check();
    await page.getByRole("cell", { name: "Image · PNG" }).waitFor();
    await page.reload();
    await page.getByRole("cell", { name: "Image · PNG" }).waitFor();
    for (const [event, state] of [
      ["dragenter", "visible"],
      ["dragleave", "detached"],
    ] as const) {
      await page.evaluate(`(() => {
        const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File(["x"], "x.png"));
        document.body.dispatchEvent(new DragEvent("${event}", { bubbles: true, dataTransfer }));
      })()`);
      await page.getByText("Drop files to upload").waitFor({ state });
    }
    expect(complaints).toEqual([]);
    await close();
  });
});

here("files in the playground", () => {
  test("makes a clip from a picture that is dropped on its field, with a preview of the picture", async () => {
    const { visitor } = await openMember();
    const { page, complaints, close } = await visit(visitor, `/console/playground?model=${MODEL}`);
    await page.getByLabel("Prompt (required)").fill("the kite takes off");
    await give(page.getByRole("group", { name: "Files for Image", exact: true }), "drop", [file("kite.png", png)]);
    const field = page.getByLabel("Image", { exact: true });
    await harness.eventually(async () => /^file_/.test(await field.inputValue()), "the id in the field");
    const [id = ""] = await filesOf(visitor);
    expect(await field.inputValue()).toBe(id);
    await isDrawn(page, ".media-previews img");
    await page.getByText(/is held until the generation has ended/).waitFor();
    const made = await generate(page);
    await page.locator('.result[data-status="succeeded"] video').waitFor({ timeout: 60_000 });
    const detail = (await visitor.ask("GET", `/console/api/generations/${made}`)).reported;
    expect(detail.input).toMatchObject({ image_url: id });
    const sent = { bytes: png.length, sha256: Bun.SHA256.hash(png, "hex") as string };
    expect(harness.simulator.jobs().at(-1)?.inputs).toEqual([sent]);
    await page.getByRole("button", { name: `Remove ${id}` }).click();
    expect(await field.inputValue()).toBe("");
    expect(complaints).toEqual([]);
    await close();
  });

  test("takes pasted, chosen and picked files into a list, keeps typed links, and refuses another kind", async () => {
    const { visitor, tenant } = await openMember();
    const earlier = await uploaded(harness, await sampleBytes(harness, "picture.png?width=80&height=80&seed=2"), tenant.key);
    const clip = await sampleBytes(harness, "clip.mp4?seconds=4&width=64&height=48");
    await uploaded(harness, clip, tenant.key);
    const { page, close } = await visit(visitor, `/console/playground?model=${MODEL}`);
    const field = page.getByLabel("Images", { exact: true });
    await field.fill("https://example.com/a.png");
    await give(field, "paste", [file("pasted.png", png)]);
    const lines = async () => (await field.inputValue()).split("\n");
    await harness.eventually(async () => (await lines()).length === 2, "the pasted file");
    await page
      .getByLabel("Upload a file for Images")
      .setInputFiles({ name: "b.png", mimeType: "image/png", buffer: Buffer.from(png) });
    await harness.eventually(async () => (await lines()).length === 3, "the chosen file");
    await page.getByRole("button", { name: "Choose an uploaded file for Images" }).click();
    const dialog = page.getByRole("dialog", { name: "Choose an uploaded image" });
    // The clip is not offered.
    await dialog.getByRole("button", { name: `Use ${earlier.id}` }).waitFor();
    expect(await dialog.getByRole("button", { name: /^Use file_/ }).count()).toBe(3);
    await dialog.getByRole("button", { name: `Use ${earlier.id}` }).click();
    expect((await lines()).at(0)).toBe("https://example.com/a.png");
    expect((await lines()).at(3)).toBe(earlier.id);
    await give(page.getByRole("group", { name: "Files for Images" }), "drop", [file("a.mp4", clip, "video/mp4")]);
    await page.getByText(/is a clip; Images takes a picture\./).waitFor();
    expect(await lines()).toHaveLength(4);
    await close();
  });

  test("submits nothing while a file is sent, and an upload can be cancelled", async () => {
    const { visitor } = await openMember();
    const { page, close } = await visit(visitor, `/console/playground?model=${MODEL}`);
    const held = Promise.withResolvers<void>();
    await page.route("**/console/api/files", async (route) => {
      if (route.request().method() === "POST") await held.promise;
      await route.continue().catch(() => undefined);
    });
    await page.getByLabel("Prompt (required)").fill("a kite");
    await give(page.getByRole("group", { name: "Files for Image", exact: true }), "drop", [file("kite.png", png)]);
    await page.getByRole("button", { name: "Uploading…" }).waitFor();
    expect(await page.getByRole("button", { name: "Uploading…" }).isDisabled()).toBe(true);
    await page.getByRole("button", { name: "Cancel the upload of kite.png" }).click();
    await page.getByRole("button", { name: /^Generate/ }).waitFor();
    held.resolve();
    expect(await page.getByLabel("Image", { exact: true }).inputValue()).toBe("");
    expect(await filesOf(visitor)).toEqual([]);
    await close();
  });

  test("uses an uploaded file and a result as input, for models that take them, in the field of choice", async () => {
    const { visitor, tenant } = await openMember();
    const { id } = await uploaded(harness, png, tenant.key);
    const { page, close } = await visit(visitor, "/console/files");
    await page.getByRole("link", { name: `Use as input: ${id}` }).click();
    await page.getByText("The models below take a picture as input").waitFor();
    await page.getByRole("button", { name: /^Choose a model: / }).click();
    expect(await page.locator(".model-card").getByText("Sim Image 1").count()).toBe(0);
    await page.locator(".model-card").getByText("Vidmodel 2.0 Fast").click();
    expect(await page.getByLabel("Image", { exact: true }).inputValue()).toBe(id);
    await page.getByLabel("Prompt (required)").fill("a kite");
    await page.getByLabel("Use the file as").selectOption("Images");
    expect(await page.getByLabel("Image", { exact: true }).inputValue()).toBe("");
    expect(await page.getByLabel("Images", { exact: true }).inputValue()).toBe(id);
    expect(await page.getByLabel("Prompt (required)").inputValue()).toBe("a kite");
    const body = { model: "sim-image-1", input: { prompt: "a kite" } };
    const submitted = await harness.request("POST", "/v1/generations", { key: tenant.key, body });
    const { id: generation } = submitted.body as { id: string };
    await harness.until(generation, undefined, tenant.key);
    await page.goto(`${harness.url}/console/generations/${generation}`);
    await page.getByRole("link", { name: "Use as input" }).nth(1).click();
    await page.getByRole("button", { name: "Choose a model: Vidmodel 2.0 Fast" }).waitFor();
    expect(await page.getByLabel("Image", { exact: true }).inputValue()).toBe(`${generation}/2`);
    await isDrawn(page, ".media-previews img");
    await page.getByLabel("Prompt (required)").fill("it flies");
    await page.getByText(/is held until the generation has ended/).waitFor();
    const made = await generate(page);
    expect(await harness.until(made, undefined, tenant.key)).toMatchObject({ status: "succeeded" });
    await close();
  });

  test("cancels generations from a dropped picture where they were made and on their pages, and deletes one", async () => {
    const { visitor, tenant } = await openMember();
    const { page, sound, complaints, close } = await visit(visitor, `/console/playground?model=${MODEL}`, { bypassCSP: true });
    await page.getByLabel("Prompt (required)").fill("[sim:stuck] a kite");
    await give(page.getByRole("group", { name: "Files for Image", exact: true }), "drop", [file("kite.png", png)]);
    await isDrawn(page, ".media-previews img");
    await page.getByText(/is held until the generation has ended/).waitFor();
    const cancel = async (id: string, isMeant: boolean) => {
      await page.getByRole("button", { name: "Cancel", exact: true }).first().click();
      const question = page.getByRole("dialog", { name: "Cancel this generation?" });
      await question.waitFor();
      await sound();
      await question.getByRole("button", { name: isMeant ? "Cancel generation" : "Keep it running" }).click();
      await question.waitFor({ state: "hidden" });
      if (isMeant)
        expect(await harness.until(id, undefined, tenant.key)).toMatchObject({ error: { code: "cancelled" }, cost_usd: 0 });
    };
    const isRunning = (id: string) => harness.until(id, ({ status }) => status === "running", tenant.key);

    const first = await generate(page);
    await isRunning(first);
    await cancel(first, false);
    expect((await harness.show(first, tenant.key)).status).toBe("running");
    await cancel(first, true);
    await page.locator('.result[data-status="failed"]').waitFor();

    const second = await generate(page);
    await isRunning(second);
    await page.goto(`${harness.url}/console/generations/${second}`);
    await cancel(second, true);
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete generation" }).click();
    await page.getByText(/^Erased /).waitFor();
    await harness.eventually(async () => (await page.getByText("a kite").count()) === 0, "a page without the prompt");
    const deleted = (await visitor.ask("GET", `/console/api/generations/${second}`)).reported;
    expect(deleted.input).toEqual({});
    expect(complaints).toEqual([]);
    await close();
  });

  test.each(LOOKS)("has fields that fit and can be reached by keyboard with %j", async (look) => {
    const { visitor, tenant } = await openMember();
    const { id } = await uploaded(harness, png, tenant.key);
    const { page, sound, tabTo, close } = await visit(visitor, `/console/playground?model=${MODEL}&use=${id}&kind=image`, {
      ...look,
      bypassCSP: true,
    });
    await isDrawn(page, ".media-previews img");
    await sound();
    await tabTo("Upload a file for Image");
    await tabTo("Choose an uploaded file for Image");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByText(id).waitFor();
    await sound();
    await close();
  });
});
