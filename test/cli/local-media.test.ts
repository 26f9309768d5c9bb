// `genrouter generate` with local files: it uploads them, and submits a request that names them.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createClient, type GenrouterError, type Input } from "../../client/src/client.ts";
import { submitWithFiles } from "../../src/cli/local-media.ts";
import { createTerminal } from "../../src/cli/terminal.ts";
import type { JsonObject } from "../../src/domain/types.ts";
import { sampleBytes, uploaded } from "../api/upload-requests.ts";
import { testClock } from "../clock.ts";
import { type Harness, openHarness } from "../harness.ts";
import { runHere } from "./captured.ts";
import { dropDirs, freshDir } from "./fresh-dir.ts";

// The command compares the expiry of files with the time of its machine.
const clock = testClock(100, Date.now());
let harness: Harness;
let picture: string;
let dir: string;
beforeAll(async () => {
  harness = await openHarness({ clock });
  dir = freshDir();
  picture = join(dir, "kitten.png");
  writeFileSync(picture, await sampleBytes(harness, "picture.png?width=48&height=48"));
});
afterAll(async () => {
  await harness.close();
  clock.stop();
  dropDirs();
});

const generate = (...more: string[]) =>
  runHere(["generate", "sim-edit-1", "--prompt", "in oil", "--url", harness.url, "--key", harness.tenant.key, ...more]);
const filesOf = async () => (await harness.request("GET", "/v1/files")).body.data as { id: string; sha256: string }[];

test("uploads a local picture and saves the result, with one command", async () => {
  const place = join(dir, "out.png");
  const own = join(dir, "puppy.png");
  writeFileSync(own, await sampleBytes(harness, "picture.png?width=50&height=50"));
  const { exit, err } = await generate("--image-url", own, "-o", place);
  expect([exit as number, err]).toEqual([0, expect.stringContaining("uploaded puppy.png")]);
  expect((await Bun.file(place).bytes()).length).toBeGreaterThan(100);
  const sha256 = Bun.SHA256.hash(await Bun.file(own).bytes(), "hex");
  expect((await filesOf()).map((file) => file.sha256)).toContain(sha256);
});

test("sends the same request again when it is repeated with an idempotency key, and uploads the file once", async () => {
  const again = () => generate("--image-url", picture, "--idempotency-key", "kitten", "--no-wait");
  const first = await again();
  const second = await again();
  expect([first.exit as number, second.exit as number, second.out]).toEqual([0, 0, first.out]);
  const sha256 = Bun.SHA256.hash(await Bun.file(picture).bytes(), "hex");
  expect((await filesOf()).filter((file) => file.sha256 === sha256)).toHaveLength(1);
});

test("rejects a path without a file before any request", async () => {
  const { exit, err } = await generate("--image-url", "./nothing.png");
  expect([exit as number, err]).toEqual([2, expect.stringContaining("--image-url: ./nothing.png is not a file")]);
});

test("passes links and ids on unchanged", async () => {
  const { id } = await uploaded(harness, await sampleBytes(harness, "picture.png?width=49&height=49"));
  const before = (await filesOf()).length;
  expect((await generate("--image-url", id, "--no-wait")).exit as number).toBe(0);
  expect((await generate("--image-url", `${harness.simulator.url}/samples/picture.png`, "--no-wait")).exit as number).toBe(0);
  expect((await filesOf()).length).toBe(before);
});

test("uploads a file again when the one that it would use expires soon", async () => {
  const own = join(dir, "old.png");
  writeFileSync(own, await sampleBytes(harness, "picture.png?width=51&height=51"));
  const sha256 = Bun.SHA256.hash(await Bun.file(own).bytes(), "hex");
  const day = 86_400_000;
  const past = testClock(0, Date.now() - 7 * day + 600_000);
  const other = await openHarness({ clock: past });
  try {
    const run = () =>
      runHere(["generate", "sim-edit-1", "--prompt", "in oil", "--url", other.url, "--key", other.tenant.key, "--image-url", own, "--no-wait"]); // biome-ignore format: one row
    await uploaded(other, await Bun.file(own).bytes());
    const first = await run();
    expect([first.exit as number, first.err]).toEqual([0, expect.stringContaining("uploaded old.png")]);
    const listed = (await other.request("GET", "/v1/files")).body.data as { sha256: string }[];
    expect(listed.filter((file) => file.sha256 === sha256)).toHaveLength(2);
  } finally {
    await other.close();
    past.stop();
  }
});

test("uploads a file again when it was deleted before the submission, and reports every other error", async () => {
  const own = join(dir, "gone.png");
  const bytes = await sampleBytes(harness, "picture.png?width=52&height=52");
  writeFileSync(own, bytes);
  const { id } = await uploaded(harness, bytes);
  const client = createClient({ url: harness.url, key: harness.tenant.key });
  const terminal = createTerminal({}, () => undefined, { out: false, err: false });
  const deps = { client, terminal, signal: new AbortController().signal };
  const sent: string[] = [];
  const submit = async (input: JsonObject) => {
    sent.push(String(input.image_url));
    if (sent.length === 1) await client.deleteFile(id);
    return client.submit({ model: "sim-edit-1", input: input as Input });
  };
  const submitted = await submitWithFiles({ prompt: "in oil", image_url: own }, [own], deps, submit);
  expect(submitted.status).toBe("queued");
  expect([sent.length, sent[0]]).toEqual([2, id]);
  let calls = 0;
  const refused = submitWithFiles({ prompt: "in oil", image_url: own }, [own], deps, (input) => {
    calls += 1;
    return client.submit({ model: "sim-edit-1", input: { ...input, duration: 4 } as never });
  });
  expect(await refused.catch((fault: GenrouterError) => fault.status)).toBe(422);
  expect(calls).toBe(1);
});
