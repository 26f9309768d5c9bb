// Official Luma SDK against the simulator: clips, images, listing, deletion and errors.
import { expect, test } from "bun:test";
import LumaAI, {
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
  UnprocessableEntityError,
} from "lumaai";
import { broken, expectFile, openShop, until } from "./fixture.ts";

const shop = openShop();
const client = () => new LumaAI({ authToken: "luma-some", baseURL: shop.url("luma"), maxRetries: 0 });
const film = (prompt: string) =>
  client().generations.video.create({ model: "ray-2", prompt, resolution: "720p", duration: "5s" });
/** Polls a generation until it ends. */
const ended = (id = "") =>
  until(
    () => client().generations.get(id),
    ({ state }) => state === "completed" || state === "failed",
  );

test("the Luma SDK creates a clip, polls it and downloads the file", async () => {
  const made = await film("a fox in snow");
  expect(made).toMatchObject({ state: "queued", generation_type: "video", model: "ray-2", request: { prompt: "a fox in snow" } });
  const done = await ended(made.id);
  expect(done).toMatchObject({ id: made.id ?? "", state: "completed" });
  await expectFile(done.assets?.video, "mp4", "video/mp4");
});

test("the Luma SDK creates an image and a clip with that image as first frame", async () => {
  const { id } = await client().generations.image.create({ model: "photon-1", prompt: "a hare", format: "png" });
  const { assets } = await ended(id);
  await expectFile(assets?.image, "png", "image/png");
  const url = assets?.image ?? "";
  const clip = await client().generations.create({
    ...{ model: "ray-2", prompt: "it runs", aspect_ratio: "9:16" },
    keyframes: { frame0: { type: "image", url } },
  });
  expect(shop.submissions().at(-1)?.input?.image_url).toBe(url);
  await expectFile((await ended(clip.id)).assets?.video, "mp4", "video/mp4");
});

test("the Luma SDK lists generations from the newest on, and deletes one", async () => {
  const { generations } = client();
  const made = [await film("one of two"), await film("two of two")].map(({ id }) => id).toReversed();
  const page = await generations.list({ limit: 2, offset: 0 });
  expect([page.count, page.generations?.map(({ id }) => id)]).toEqual([2, made]);
  await generations.delete(made[0] ?? "");
  expect(await broken(generations.get(made[0] ?? ""))).toBeInstanceOf(NotFoundError);
});

test.each([
  ["401", AuthenticationError, 401],
  ["402", BadRequestError, 400],
  ["403", PermissionDeniedError, 403],
  ["404", NotFoundError, 404],
  ["429", RateLimitError, 429],
  ["invalid", UnprocessableEntityError, 422],
  ["5xx=500", InternalServerError, 500],
] as const)("simulator fault %s of a Luma submission throws its own error class", async (fault, Class, status) => {
  const error = await broken(film(`x [sim:${fault}]`));
  expect(error).toBeInstanceOf(Class);
  expect(error).toMatchObject({ status });
});

test.each([
  ["x", "Prompt is too short, minimum length is 3 characters"],
  [undefined, "Prompt is required"],
])("the prompt %p throws a BadRequestError with detail %p", async (prompt, detail) => {
  const error = await broken(film(prompt as string));
  expect(error).toBeInstanceOf(BadRequestError);
  expect(error).toMatchObject({ error: { detail } });
});

test.each([
  ["fail", /^Job failed$/],
  ["refuse", /^(Contains blacklisted words|Advanced prompt moderation failed)$/],
  ["refuse-output", /^Frame moderation failed$/],
])("a Luma generation with fault %s fails with a failure_reason", async (fault, reason) => {
  const { id } = await film(`a fox [sim:${fault}]`);
  const { state, failure_reason, assets } = await ended(id);
  expect([state, assets]).toEqual(["failed", {}]);
  expect(failure_reason).toMatch(reason);
});
