// `genrouter generate` with local files: it uploads them, and submits a request that names them.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { sampleBytes, uploaded } from "../api/upload-requests.ts";
import { type Harness, openHarness } from "../harness.ts";
import { runHere } from "./captured.ts";
import { dropDirs, freshDir } from "./fresh-dir.ts";

let harness: Harness;
let picture: string;
let dir: string;
beforeAll(async () => {
  harness = await openHarness();
  dir = freshDir();
  picture = join(dir, "kitten.png");
  writeFileSync(picture, await sampleBytes(harness, "picture.png?width=48&height=48"));
});
afterAll(async () => {
  await harness.close();
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
