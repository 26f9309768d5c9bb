// Official OpenAI SDK against the simulator: images and clips, JSON and form requests, and errors.
import { expect, test } from "bun:test";
import OpenAI, {
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
  toFile,
} from "openai";
import { typeOf } from "../simulator/fixture.ts";
import { broken, openShop, pictureAt, until } from "./fixture.ts";

const shop = openShop();
const images = () => new OpenAI({ apiKey: "sk-some", baseURL: shop.url("openai") }).images;
const videos = () => new OpenAI({ apiKey: "sk-some", baseURL: shop.url("openai-video") }).videos;
const bytesOf = (base64: string | undefined) => new Uint8Array(Buffer.from(base64 ?? "", "base64"));
const picture = async () => {
  const { data = [] } = await images().generate({ model: "gpt-image-2", prompt: "a fox", size: "1024x1024" });
  return toFile(bytesOf(data[0]?.b64_json), "fox.png", { type: "image/png" });
};

test.each(["png", "jpeg", "webp"] as const)("images.generate returns two images as %s", async (output_format) => {
  const answer = await images().generate({ model: "gpt-image-2", prompt: "a fox", size: "1536x1024", output_format, n: 2 });
  expect(answer).toMatchObject({ size: "1536x1024", output_format, usage: { total_tokens: expect.any(Number) } });
  expect(answer.data?.map(({ b64_json }) => typeOf(bytesOf(b64_json)))).toEqual([output_format, output_format]);
});

test("images.generate accepts quality xhigh and passes the safety identifier on", async () => {
  const { quality } = await images().generate({
    ...{ model: "gpt-image-2.5-flare", prompt: "a fox", quality: "xhigh", complexity: "low", safety_identifier: "who" },
  });
  expect(quality).toBe("xhigh");
  expect(shop.jobs().at(-1)?.ref).toBe("who");
});

test.each([1, 2])("images.edit returns an image from %i form files", async (count) => {
  const file = await picture();
  const { data } = await images().edit({
    ...{ model: "gpt-image-2", prompt: "in snow", n: 1, output_compression: 80, output_format: "jpeg", mask: file },
    image: count === 1 ? file : [file, file],
  });
  expect(typeOf(bytesOf(data?.[0]?.b64_json))).toBe("jpeg");
  expect(shop.submissions().at(-1)?.input?.image_urls).toHaveLength(count);
});

test("the OpenAI SDK creates, polls, downloads and deletes a clip", async () => {
  const client = videos();
  const made = await client.create({ model: "sora-2", prompt: "a fox in snow", seconds: "8", size: "1280x720" });
  expect(made).toMatchObject({ object: "video", status: "queued", progress: 0, seconds: "8", size: "1280x720" });
  const done = await until(
    () => client.retrieve(made.id),
    ({ status }) => status === "completed",
  );
  expect(done).toMatchObject({ id: made.id, progress: 100, error: null, prompt: "a fox in snow" });
  const file = await client.downloadContent(made.id);
  expect(file.headers.get("content-type")).toBe("video/mp4");
  expect(typeOf(new Uint8Array(await file.arrayBuffer()))).toBe("mp4");
  expect(await client.delete(made.id)).toEqual({ id: made.id, object: "video.deleted", deleted: true });
  expect(await broken(client.retrieve(made.id))).toBeInstanceOf(NotFoundError);
});

test("videos.create accepts the first frame as a file or as a URL", async () => {
  const prompt = "it runs";
  await videos().create({ prompt, input_reference: await picture() });
  expect(shop.submissions().at(-1)?.input?.image_url).toStartWith("data:image/png;base64,");
  const image_url = "http://127.0.0.1:1/fox.png";
  await videos().create({ prompt, input_reference: { image_url } });
  expect(shop.submissions().at(-1)?.input).toMatchObject({ image_url });
});

test("videos.list returns clips in pages, from the newest on", async () => {
  const client = videos();
  const made: string[] = [];
  for (const prompt of ["one", "two", "three"]) made.unshift((await client.create({ prompt })).id);
  const listed: string[] = [];
  for await (const { id } of client.list({ limit: 2 })) listed.push(id);
  expect(listed.slice(0, 3)).toEqual(made);
});

const ERRORS = [
  ["401", AuthenticationError, 401, "invalid_api_key"],
  ["402", RateLimitError, 429, "insufficient_quota"],
  ["403", PermissionDeniedError, 403, null],
  ["404", NotFoundError, 404, "model_not_found"],
  ["429", RateLimitError, 429, "rate_limit_exceeded"],
  ["5xx=500", InternalServerError, 500, undefined],
] as const;

test.each(ERRORS)(
  "simulator fault %s throws its own error class for images and for clips",
  async (fault, Class, status, code) => {
    const prompt = `x [sim:${fault}]`;
    for (const submit of [() => images().generate({ prompt }), () => videos().create({ prompt })]) {
      const error = await broken(submit());
      expect(error).toBeInstanceOf(Class);
      expect(error).toMatchObject({ status, code });
    }
  },
);

test("an invalid OpenAI input throws an error with status 400 that names the parameter", async () => {
  const size = await broken(images().generate({ prompt: "a fox", size: "1000x1000" }));
  expect(size).toBeInstanceOf(BadRequestError);
  expect(size).toMatchObject({ status: 400, code: "invalid_value", param: "size", type: "image_generation_user_error" });
  const strange = { prompt: "a fox", seed: 7 };
  expect(await broken(images().generate(strange))).toMatchObject({ status: 400, code: "unknown_parameter", param: "seed" });
  const seconds = await broken(videos().create({ prompt: "a fox", seconds: "5" as "4" }));
  expect(seconds).toBeInstanceOf(BadRequestError);
  expect(seconds).toMatchObject({ status: 400, param: "seconds" });
});

test("images.generate throws for a refused prompt and for a failed generation", async () => {
  const refused = await broken(images().generate({ prompt: "x [sim:refuse]" }));
  expect(refused).toBeInstanceOf(BadRequestError);
  expect(refused).toMatchObject({ code: "moderation_blocked", type: "image_generation_user_error" });
  const failed = await broken(images().generate({ prompt: "x [sim:fail]" }));
  expect(failed).toBeInstanceOf(InternalServerError);
  expect(failed).toMatchObject({ status: 500, type: "server_error" });
});

test("videos.create throws BadRequestError for a refused prompt", async () => {
  const refused = await broken(videos().create({ prompt: "x [sim:refuse]" }));
  expect(refused).toBeInstanceOf(BadRequestError);
  expect(refused).toMatchObject({ status: 400, code: "moderation_blocked" });
});

test.each([
  ["fail", "server_error"],
  ["withheld", "moderation_blocked"],
])("an OpenAI clip with fault %s fails with error code %s and has no content", async (fault, code) => {
  const client = videos();
  const { id } = await client.create({ prompt: `x [sim:${fault}]` });
  const ended = await until(
    () => client.retrieve(id),
    ({ status }) => status === "failed",
  );
  expect(ended.error).toEqual({ code, message: expect.any(String) });
  expect(await broken(client.downloadContent(id))).toBeInstanceOf(NotFoundError);
});

test("images.edit as JSON accepts a data URI and refuses any other text", async () => {
  const { bytes, received } = await pictureAt(shop.url("openai"));
  const client = new OpenAI({ apiKey: "sk-some", baseURL: shop.url("openai"), maxRetries: 0 });
  const edit = (image_url: string) =>
    client.post("/images/edits", { body: { model: "gpt-image-2", prompt: "in oil", images: [{ image_url }] } });
  await edit(`data:image/png;base64,${Buffer.from(bytes).toString("base64")}`);
  expect(await until(async () => shop.jobs().at(-1)?.inputs, Boolean)).toEqual(received);
  expect(await broken(edit("data:image/png;base64,not base64"))).toBeInstanceOf(BadRequestError);
});
