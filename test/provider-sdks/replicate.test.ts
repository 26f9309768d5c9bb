// Official Replicate SDK against the simulator: predictions are created, awaited, cancelled and listed; errors.
import { expect, test } from "bun:test";
import Replicate, { type Prediction } from "replicate";
import { broken, expectFile, openShop, pictureAt, until } from "./fixture.ts";

const CLIP = "bytedance/seedance-2.0";
const PICTURE = "black-forest-labs/flux-dev";
const shop = openShop();
const client = () => new Replicate({ auth: "r8_some", baseUrl: shop.url("replicate") });

test("the Replicate SDK creates a prediction, waits for it and downloads the file", async () => {
  const replicate = client();
  const made = await replicate.predictions.create({ model: CLIP, input: { prompt: "a fox in snow", duration: 5 } });
  expect(made.status).toBe("starting");
  const seen: string[] = [];
  const done = await replicate.wait(made, { interval: 500 }, async ({ status }) => {
    seen.push(status);
    return false;
  });
  expect(done).toMatchObject({ id: made.id, status: "succeeded", error: null });
  await expectFile(done.output, "mp4", "video/mp4");
});

test.each([["block"], ["poll"]] as const)("run of the Replicate SDK returns the output in wait mode %s", async (mode) => {
  const seen: string[] = [];
  const input = { prompt: "a hare", num_outputs: 2, output_format: "webp" };
  const see = ({ status }: Prediction) => void seen.push(status);
  const output = (await client().run(PICTURE, { input, wait: { mode } }, see)) as string[];
  expect(seen.at(-1)).toBe("succeeded");
  expect(output).toHaveLength(2);
  for (const url of output) await expectFile(url, "webp", "image/webp");
});

test("a blocking run of the Replicate SDK needs no poll, because the response waits for the output", async () => {
  const seen: string[] = [];
  await client().run(PICTURE, { input: { prompt: "a fox" } }, ({ status }) => void seen.push(status));
  expect(seen).toEqual(["succeeded", "succeeded"]);
  expect(shop.jobs().at(-1)?.polls).toBe(0);
});

test("run of the Replicate SDK accepts a model version", async () => {
  const version = "5c7d5dc6dd8bf75c1acaa8565735e7986bc5b66206b55cca93cb72c9bf15ccaa";
  const output = await client().run(`someone/picture-maker:${version}`, { input: { prompt: "a fox" } });
  await expectFile(output, "png", "image/png");
});

test("the Replicate SDK cancels a prediction", async () => {
  const replicate = client();
  const { id } = await replicate.predictions.create({ model: CLIP, input: { prompt: "a fox [sim:stuck]" } });
  await replicate.predictions.cancel(id);
  expect(await replicate.predictions.get(id)).toMatchObject({ id, status: "canceled" });
});

test("the Replicate SDK lists all predictions in pages", async () => {
  const replicate = client();
  const { id } = await replicate.predictions.create({ model: PICTURE, input: { prompt: "one for the list" } });
  const listed: string[] = [];
  for await (const page of replicate.paginate(replicate.predictions.list)) listed.push(...page.map((each) => each.id));
  expect(listed).toContain(id);
});

test.each([
  ["401", 401, "Unauthenticated"],
  ["402", 402, "Insufficient credit"],
  ["403", 403, "Forbidden"],
  ["404", 404, "Not found"],
  ["429", 429, undefined],
  ["invalid", 422, "Input validation failed"],
])("simulator fault %s of a Replicate submission throws an ApiError with status %i", async (fault, status, title) => {
  const input = { prompt: `x [sim:${fault}]` };
  const error = (await broken(client().predictions.create({ model: PICTURE, input }))) as Error & { response: Response };
  expect(error.name).toBe("ApiError");
  expect(error.response.status).toBe(status);
  expect(error.message).toContain(title ?? "Request was throttled");
});

test.each([
  ["fail", "Prediction failed for an unknown reason. (E9243)"],
  ["fail-later", "Prediction failed for an unknown reason. (E9243)"],
  ["refuse", "flagged as sensitive"],
])("run of the Replicate SDK throws for fault %s with the provider's error text", async (fault, words) => {
  const error = (await broken(client().run(PICTURE, { input: { prompt: `x [sim:${fault}]` } }))) as Error;
  expect(error.message).toStartWith("Prediction failed: ");
  expect(error.message).toContain(words);
});

test("the Replicate SDK uploads a file and a model receives its bytes", async () => {
  const { bytes, received } = await pictureAt(shop.url("replicate"));
  const file = await client().files.create(new File([bytes], "fox.png", { type: "image/png" }));
  expect(file).toMatchObject({ content_type: "image/png", size: bytes.length });
  await expectFile(file.urls.get, "png", "image/png");
  // A file in the input is uploaded by the SDK itself.
  await client().run(PICTURE, { input: { prompt: "in oil", image: Buffer.from(bytes) } });
  expect(await until(async () => shop.jobs().at(-1)?.inputs, Boolean)).toEqual(received);
});
