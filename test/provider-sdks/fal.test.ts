// Official fal SDK against the simulator: queue, subscription, cancellation, results and errors.
import { expect, test } from "bun:test";
import { ApiError, createFalClient, ValidationError } from "@fal-ai/client";
import { broken, expectFile, openShop, pictureAt, until } from "./fixture.ts";

const CLIP = "bytedance/seedance-2.0/text-to-video";
const PICTURE = "fal-ai/flux/dev";
const shop = openShop();

/** The SDK has fixed hosts; its proxy middleware redirects each request to the simulator. */
const client = () =>
  createFalClient({
    credentials: "key-id:key-secret",
    requestMiddleware: async (request) => ({
      ...request,
      url: request.url.replace(/^https:\/\/(queue|rest)\.fal\.(run|ai)/, shop.url("fal")),
    }),
  });

test("the fal SDK submits a clip, polls its status, reads the result and downloads the file", async () => {
  const { queue } = client();
  const input = { prompt: "a fox in snow", duration: "5", resolution: "720p" };
  const { request_id: requestId, status } = await queue.submit(CLIP, { input });
  expect(status).toBe("IN_QUEUE");
  const seen: string[] = [];
  const onQueueUpdate = (update: { status: string }) => void seen.push(update.status);
  await queue.subscribeToStatus(CLIP, { requestId, onQueueUpdate, pollInterval: 500 });
  expect(seen.at(-1)).toBe("COMPLETED");
  const result = await queue.result(CLIP, { requestId });
  expect(result.requestId).toBe(requestId);
  expect(result.data).toMatchObject({ video: { content_type: "video/mp4", file_size: expect.any(Number) } });
  await expectFile((result.data as { video: { url: string } }).video.url, "mp4", "video/mp4");
});

test("subscribe of the fal SDK returns the result and reports status updates", async () => {
  const seen = new Set<string>();
  const result = await client().subscribe(PICTURE, {
    input: { prompt: "a hare", num_images: 2, output_format: "jpeg" },
    onQueueUpdate: ({ status }) => void seen.add(status),
  });
  expect(seen).toContain("COMPLETED");
  const { images } = result.data as unknown as { images: { url: string }[] };
  expect(images).toHaveLength(2);
  for (const { url } of images) await expectFile(url, "jpeg", "image/jpeg");
});

test("the result of a cancelled fal request is an ApiError with status 499", async () => {
  const { queue } = client();
  const { request_id: requestId } = await queue.submit(CLIP, { input: { prompt: "a fox [sim:stuck]" } });
  await queue.cancel(CLIP, { requestId });
  expect(await queue.status(CLIP, { requestId })).toMatchObject({ status: "COMPLETED" });
  expect(await broken(queue.result(CLIP, { requestId }))).toMatchObject({ name: "ApiError", status: 499 });
});

test("the result of an invalid fal input is a ValidationError with the field", async () => {
  const error = await broken(client().subscribe(PICTURE, { input: { prompt: "a fox", num_images: 40 } }));
  expect(error).toBeInstanceOf(ValidationError);
  const { status, fieldErrors } = error as ValidationError;
  expect(status).toBe(422);
  expect(fieldErrors).toMatchObject([{ loc: ["body", "num_images"], type: "value_error" }]);
});

test("the result of a refused fal prompt is a ValidationError of the field prompt", async () => {
  const error = (await broken(client().subscribe(PICTURE, { input: { prompt: "x [sim:refuse]" } }))) as ValidationError;
  expect(error).toBeInstanceOf(ValidationError);
  expect(error.getFieldErrors("prompt")).toMatchObject([{ type: "content_policy_violation" }]);
});

test.each([
  ["401", 401, "unauthorized"],
  ["402", 402, "insufficient_balance"],
  ["403", 403, "forbidden"],
  ["404", 404, "not_found"],
  ["429", 429, "rate_limited"],
])("simulator fault %s of a fal submission throws an ApiError with status %i", async (fault, status, error_type) => {
  const error = (await broken(client().queue.submit(PICTURE, { input: { prompt: `x [sim:${fault}]` } }))) as ApiError<unknown>;
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({ status, body: { error_type, detail: expect.any(String) } });
});

test("the fal SDK retries a 429 submission three times", async () => {
  const tries = () => shop.submissions().filter(({ input }) => input?.prompt === "often [sim:429]").length;
  await broken(client().queue.submit(PICTURE, { input: { prompt: "often [sim:429]" } }));
  expect(tries()).toBe(4);
});

test.each([
  ["fail", 500],
  ["fail-later", 504],
])("the result of a fal request with fault %s is an ApiError with status %i", async (fault, status) => {
  const error = await broken(client().subscribe(CLIP, { input: { prompt: `x [sim:${fault}]` } }));
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({ status, body: { detail: [{ type: expect.any(String) }] } });
});

test("the fal SDK uploads a file and a model receives its bytes", async () => {
  const { bytes, received } = await pictureAt(shop.url("fal"));
  const file = new File([bytes], "fox.png", { type: "image/png" });
  const url = await client().storage.upload(file, { lifecycle: { expiresIn: "1d" } });
  await expectFile(url, "png", "image/png");
  // A file in the input is uploaded by the SDK itself.
  for (const image_url of [url, file]) {
    await client().subscribe("fal-ai/flux-pro/kontext", { input: { prompt: "in oil", image_url } as never });
    expect(await until(async () => shop.jobs().at(-1)?.inputs, Boolean)).toEqual(received);
  }
});
