// The field mask_url: how a mask reaches the provider, and which masks are rejected.
import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import type { JsonObject } from "../../src/domain/types.ts";
import { type Harness, type HarnessOptions, openHarness } from "../harness.ts";
import { codeOf, messageOf } from "./harness.ts";
import { attemptsOf, catalogueOn, inputsOfLastJob, WITHOUT_LINKS } from "./provider-files-fixture.ts";
import { sampleBytes, uploaded } from "./upload-requests.ts";

setDefaultTimeout(60_000);

let harness: Harness | undefined;
afterEach(async () => {
  await harness?.close();
  harness = undefined;
});
const open = async (options: HarnessOptions = {}): Promise<Harness> => {
  harness = await openHarness(options);
  return harness;
};

const PICTURE = "picture.png?width=512&height=384";
const MASK = "picture.webp?width=512&height=384";
const requestOf = async (opened: Harness, id: string) =>
  JSON.parse((await attemptsOf(opened, id)).at(-1)?.request ?? "{}") as { url: string; body: JsonObject };

test("OpenAI receives a stored mask inside the request, beside its picture, and the request on disk contains no bytes", async () => {
  const opened = await open({ catalogue: catalogueOn("openai"), providers: ["openai"], env: WITHOUT_LINKS });
  const [picture, mask] = [
    await uploaded(opened, await sampleBytes(opened, PICTURE)),
    await uploaded(opened, await sampleBytes(opened, MASK)),
  ];
  const made = await opened.submit("gpt-image-2", { prompt: "a gate", image_url: picture.id, mask_url: mask.id });
  expect(await opened.until(made.id)).toMatchObject({ status: "succeeded", attempts: 1, cost_usd: made.quoted_usd });
  const received = (await inputsOfLastJob(opened)).map(({ sha256 }) => sha256);
  expect(received.sort()).toEqual([picture.sha256, mask.sha256].sort());
  const { url, body } = await requestOf(opened, made.id);
  expect(url).toEndWith("/images/edits");
  expect(JSON.stringify(body.images)).toContain(picture.sha256);
  expect(JSON.stringify(body.mask)).toContain(mask.sha256);
  const start = Buffer.from(await sampleBytes(opened, MASK))
    .toString("base64")
    .slice(0, 60);
  expect(JSON.stringify(await attemptsOf(opened, made.id))).not.toContain(start);
});

test("OpenAI receives the link of a mask of another server as it is", async () => {
  const opened = await open({ catalogue: catalogueOn("openai"), providers: ["openai"] });
  const [image_url, mask_url] = [PICTURE, MASK].map((name) => `${opened.simulator.url}/samples/${name}`);
  const made = await opened.submit("gpt-image-2", { prompt: "a gate", image_url, mask_url } as JsonObject);
  expect(await opened.until(made.id)).toMatchObject({ status: "succeeded", attempts: 1 });
  expect((await requestOf(opened, made.id)).body).toMatchObject({ images: [{ image_url }], mask: { image_url: mask_url ?? "" } });
});

test("a provider that opens links receives one for the picture and one for the mask", async () => {
  const opened = await open();
  const [picture, mask] = [
    await uploaded(opened, await sampleBytes(opened, PICTURE)),
    await uploaded(opened, await sampleBytes(opened, MASK)),
  ];
  const made = await opened.submit("sim-edit-1", { prompt: "a gate", image_url: picture.id, mask_url: mask.id });
  expect(await opened.until(made.id)).toMatchObject({ status: "succeeded", attempts: 1, cost_usd: made.quoted_usd });
  expect((await inputsOfLastJob(opened)).map(({ sha256 }) => sha256).sort()).toEqual([picture.sha256, mask.sha256].sort());
});

test("a mask does not change the price", async () => {
  const opened = await open();
  const link = (name: string) => `${opened.simulator.url}/samples/${name}`;
  const quote = async (more: JsonObject) =>
    (
      await opened.request("POST", "/v1/quotes", {
        body: { model: "sim-edit-1", input: { prompt: "x", image_url: link(PICTURE), ...more } },
      })
    ).body as { quoted_usd: number };
  expect((await quote({ mask_url: link(MASK) })).quoted_usd).toBe((await quote({})).quoted_usd);
});

test("a mask that cannot be used is rejected with 422 that says why, by submissions and quotes, and nothing is held", async () => {
  const opened = await open();
  const before = await opened.balance();
  const link = (name: string) => `${opened.simulator.url}/samples/${name}`;
  const image = { prompt: "a gate", image_url: link(PICTURE) };
  const stored = await uploaded(opened, await sampleBytes(opened, "picture.png?width=256&height=384"));
  const rows: [what: string, model: string, input: JsonObject, message: string][] = [
    [
      "a mask of another size",
      "sim-edit-1",
      { ...image, mask_url: link("picture.png?width=384&height=512") },
      "input.mask_url: has 384 x 512 pixels; it must have the size of input.image_url, 512 x 384",
    ],
    [
      "a stored mask of another size",
      "sim-edit-1",
      { ...image, mask_url: stored.id },
      "input.mask_url: has 256 x 384 pixels; it must have the size of input.image_url, 512 x 384",
    ],
    ["a mask that is sound", "sim-edit-1", { ...image, mask_url: link("voice.mp3") }, "input.mask_url: "],
    ["a mask as a list", "sim-edit-1", { ...image, mask_url: [link(MASK)] }, "input.mask_url: must be a URL, not a list"],
    [
      "a mask over http",
      "sim-edit-1",
      { ...image, mask_url: "http://media.example/a.png" },
      "input.mask_url: must be a public https URL",
    ],
    ["an unknown stored file", "sim-edit-1", { ...image, mask_url: "file_00000000000000000000000000" }, "input.mask_url: "],
    ["a mask without its picture", "sim-edit-1", { prompt: "x", mask_url: link(MASK) }, "input.image_url: is missing"],
    [
      "a mask for text to image",
      "sim-image-1",
      { prompt: "x", mask_url: link(MASK) },
      "input.mask_url: not taken by sim-image-1; it takes ",
    ],
    [
      "a mask for the extended input",
      "vidmodel-2.5",
      { prompt: "x", mask_url: link(MASK) },
      "input.mask_url: not a known field; it takes ",
    ],
  ];
  for (const [what, model, input, message] of rows)
    for (const path of ["/v1/generations", "/v1/quotes"]) {
      const answer = await opened.request("POST", path, { body: { model, input } });
      expect([what, path, answer.status, codeOf(answer)]).toEqual([what, path, 422, "invalid_input"]);
      expect(messageOf(answer)).toStartWith(message);
    }
  expect(await opened.balance()).toEqual(before);
});

test("a mask without its picture is rejected on a model where the picture is optional", async () => {
  const opened = await open({ catalogue: catalogueOn("openai"), providers: ["openai"] });
  const input = { prompt: "x", mask_url: `${opened.simulator.url}/samples/${MASK}` };
  const answer = await opened.request("POST", "/v1/generations", { body: { model: "gpt-image-2", input } });
  expect([answer.status, messageOf(answer)]).toEqual([422, "input.mask_url: needs input.image_url beside it"]);
});
