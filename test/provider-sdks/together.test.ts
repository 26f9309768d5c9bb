// Official Together AI SDK against the simulator: images in one call, clips as jobs, and errors.
import { expect, test } from "bun:test";
import Together, {
  APIError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
  UnprocessableEntityError,
} from "together-ai";
import { typeOf } from "../simulator/fixture.ts";
import { broken, expectFile, openShop, until } from "./fixture.ts";

const PICTURE = "black-forest-labs/FLUX.1-schnell";
const CLIP = "minimax/hailuo-02";
const shop = openShop();
/** Images are in API version 1, clips in version 2. */
const client = (provider: string) => new Together({ apiKey: "some", baseURL: shop.url(provider), maxRetries: 0 });
const images = () => client("together").images;
const videos = () => client("together-video").videos;
const draw = (prompt: string) => images().generate({ model: PICTURE, prompt });
const film = (prompt: string) => videos().create({ model: CLIP, prompt, seconds: "6" });
const ended = (id: string) =>
  until(
    () => videos().retrieve(id),
    ({ status }) => status !== "in_progress",
  );

test("the Together SDK returns images as URLs", async () => {
  const { data, object, model } = await images().generate({
    ...{ model: PICTURE, prompt: "a fox", n: 2, width: 512, height: 512, steps: 4, seed: 7, output_format: "png" },
  });
  expect([object, model, data.map(({ index, type }) => [index, type])]).toEqual([
    ...["list", PICTURE],
    [
      [0, "url"],
      [1, "url"],
    ],
  ]);
  for (const each of data) await expectFile("url" in each && each.url, "png", "image/png");
});

test("the Together SDK returns an image in the response for response_format base64", async () => {
  const { data } = await images().generate({ model: PICTURE, prompt: "a fox", response_format: "base64" });
  const [picture] = data;
  expect(picture?.type).toBe("b64_json");
  expect(typeOf(new Uint8Array(Buffer.from(picture && "b64_json" in picture ? picture.b64_json : "", "base64")))).toBe("jpeg");
});

test("the Together SDK creates a clip, polls it and downloads the file", async () => {
  const made = await film("a fox in snow");
  expect([made.object, made.model, made.status, made.seconds]).toEqual(["video", CLIP, "in_progress", "6"]);
  expect(made.size).toMatch(/^\d+x\d+$/);
  const done = await ended(made.id);
  expect(done).toMatchObject({ ...made, status: "completed", outputs: { cost: expect.any(Number) } });
  expect(done.completed_at).toBeGreaterThanOrEqual(made.created_at);
  await expectFile(done.outputs?.video_url, "mp4", "video/mp4");
});

test("the Together SDK passes the first frame on from media.frame_images and from frame_images", async () => {
  const { data } = await draw("a hare");
  const input_image = data[0] && "url" in data[0] ? data[0].url : "";
  const frame_images = [{ input_image, frame: "first" as const }];
  for (const given of [{ media: { frame_images } }, { frame_images }]) {
    const { id } = await videos().create({ model: CLIP, prompt: "it runs", ...given });
    expect(shop.submissions().at(-1)?.input?.image_url).toBe(input_image);
    expect(await ended(id)).toMatchObject({ status: "completed" });
  }
});

test.each([
  ["401", AuthenticationError, 401, "invalid_api_key"],
  ["402", APIError, 402, null],
  ["403", PermissionDeniedError, 403, null],
  ["404", NotFoundError, 404, "model_not_available"],
  ["429", RateLimitError, 429, null],
  ["invalid", BadRequestError, 400, null],
] as const)("simulator fault %s throws its own error class of the Together SDK", async (fault, Class, status, code) => {
  for (const submit of [draw, film]) {
    const error = await broken(submit(`x [sim:${fault}]`));
    expect(error).toBeInstanceOf(Class);
    expect(error).toMatchObject({ status, error: { error: { code, message: expect.any(String) } } });
  }
});

test("an invalid Together parameter throws status 400 that names it, and an unknown clip NotFoundError", async () => {
  const picture = await broken(images().generate({ model: PICTURE, prompt: "a fox", n: 9 }));
  expect(picture).toMatchObject({ status: 400, error: { error: { param: "n" } } });
  const clip = await broken(videos().create({ model: CLIP, prompt: "a fox", seconds: 6 as unknown as string }));
  expect(clip).toMatchObject({ status: 400, error: { error: { param: "seconds" } } });
  expect(await broken(videos().retrieve("unknown"))).toBeInstanceOf(NotFoundError);
});

test.each([
  ["refuse", UnprocessableEntityError],
  ["refuse-output", BadRequestError],
  ["fail", InternalServerError],
] as const)("images.generate of the Together SDK throws for fault %s", async (fault, Class) => {
  expect(await broken(draw(`x [sim:${fault}]`))).toBeInstanceOf(Class);
});

test.each([
  ["fail", "Video generation failed."],
  ["refuse", "content moderation"],
])("a Together clip with fault %s fails with an error message", async (fault, words) => {
  const { id } = await film(`x [sim:${fault}]`);
  const { status, error, outputs } = await ended(id);
  expect([status, outputs]).toEqual(["failed", undefined]);
  expect(error?.message).toContain(words);
});
