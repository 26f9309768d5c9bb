// Official Runway SDK against the simulator: clips, images, waiting for tasks, and errors.
import { expect, test } from "bun:test";
import RunwayML, {
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
  TaskFailedError,
  toFile,
} from "@runwayml/sdk";
import { broken, expectFile, openShop, pictureAt, until } from "./fixture.ts";

const shop = openShop();
const client = (maxRetries = 0) => new RunwayML({ apiKey: "key_some", baseURL: shop.url("runway"), maxRetries });
const film = (promptText: string, maxRetries?: number) =>
  client(maxRetries).textToVideo.create({ model: "gen4.5", promptText, ratio: "1280:720", duration: 5 });

test("the Runway SDK creates a clip from text, waits for it and downloads the file", async () => {
  const task = film("a fox in snow");
  const { id, estimatedCost } = await task;
  expect(estimatedCost.credits).toBePositive();
  const done = await task.waitForTaskOutput();
  expect([done.id, done.status, done.output.length, done.cost.credits > 0]).toEqual([id, "SUCCEEDED", 1, true]);
  await expectFile(done.output[0], "mp4", "video/mp4");
});

test("the Runway SDK creates an image and clips with that image as first frame", async () => {
  const picture = await client()
    .textToImage.create({ model: "gen4_image", promptText: "a hare", ratio: "1920:1080" })
    .waitForTaskOutput();
  const [uri = ""] = picture.output;
  await expectFile(uri, "png", "image/png");
  const { imageToVideo } = client();
  for (const promptImage of [uri, [{ uri, position: "first" as const }]]) {
    const clip = await imageToVideo
      .create({ model: "gen4_turbo", promptImage, promptText: "it runs", ratio: "1280:720", duration: 5 })
      .waitForTaskOutput();
    await expectFile(clip.output[0], "mp4", "video/mp4");
    expect(shop.submissions().at(-1)?.input?.image_url).toBe(uri);
  }
});

test("the Runway SDK deletes a running task and throws NotFoundError for it afterwards", async () => {
  const { id } = await film("x [sim:stuck]");
  expect((await client().tasks.retrieve(id)).status).toMatch(/^(PENDING|THROTTLED|RUNNING)$/);
  await client().tasks.delete(id);
  const error = await broken(client().tasks.retrieve(id));
  expect(error).toBeInstanceOf(NotFoundError);
  expect(error).toMatchObject({ status: 404, error: { error: "Could not find Task" } });
});

test.each([
  ["401", AuthenticationError, 401],
  ["402", BadRequestError, 400],
  ["403", PermissionDeniedError, 403],
  ["404", BadRequestError, 400],
  ["429", RateLimitError, 429],
  ["5xx", InternalServerError, 503],
] as const)("simulator fault %s of a Runway submission throws its own error class", async (fault, Class, status) => {
  const error = await broken(film(`x [sim:${fault}]`));
  expect(error).toBeInstanceOf(Class);
  expect(error).toMatchObject({ status });
});

test("a Runway submission without credits throws status 400 with an explanatory message", async () => {
  const error = await broken(film("x [sim:402]"));
  expect(error).toMatchObject({ status: 400, error: { error: "You do not have enough credits to run this task." } });
});

test("an invalid Runway input throws a BadRequestError with the fields", async () => {
  const error = await broken(film(undefined as unknown as string));
  expect(error).toBeInstanceOf(BadRequestError);
  expect(error).toMatchObject({ error: { issues: [{ path: ["promptText"], code: "invalid_type" }] } });
});

test("the Runway SDK retries a 429 as often as maxRetries allows", async () => {
  await broken(film("often [sim:429]", 2));
  expect(shop.submissions().filter(({ input }) => input?.prompt === "often [sim:429]")).toHaveLength(3);
});

test.each([
  ["fail", "FAILED", "INTERNAL.BAD_OUTPUT.CODE01"],
  ["refuse", "FAILED", "SAFETY.INPUT.TEXT"],
  ["refuse-output", "FAILED", "SAFETY.OUTPUT.VIDEO"],
  ["aborted", "CANCELLED", undefined],
])("a Runway task with fault %s throws a TaskFailedError with status %s", async (fault, status, failureCode) => {
  const error = await broken(film(`x [sim:${fault}]`).waitForTaskOutput());
  expect(error).toBeInstanceOf(TaskFailedError);
  const { taskDetails } = error as TaskFailedError;
  expect(taskDetails.status).toBe(status as "FAILED");
  expect("failureCode" in taskDetails ? taskDetails.failureCode : undefined).toBe(failureCode);
});

test("the Runway SDK uploads a file and a clip begins with it", async () => {
  const { bytes, received } = await pictureAt(shop.url("runway"));
  const file = await toFile(bytes, "fox.png", { type: "image/png" });
  const { uri } = await client().uploads.createEphemeral({ file });
  expect(uri).toStartWith("runway://");
  const wanted = { model: "gen4_turbo", promptText: "it runs", ratio: "1280:720", duration: 5 } as const;
  await client()
    .imageToVideo.create({ ...wanted, promptImage: uri })
    .waitForTaskOutput();
  expect(await until(async () => shop.jobs().at(-1)?.inputs, Boolean)).toEqual(received);
  const unknown = await broken(client().imageToVideo.create({ ...wanted, promptImage: `runway://${crypto.randomUUID()}` }));
  expect(unknown).toBeInstanceOf(BadRequestError);
});

test("the Runway SDK creates a clip from a data URI", async () => {
  const { bytes, received } = await pictureAt(shop.url("runway"));
  const promptImage = `data:image/png;base64,${Buffer.from(bytes).toString("base64")}`;
  const wanted = { model: "gen4_turbo", promptText: "it runs", ratio: "1280:720", duration: 5 } as const;
  await client()
    .imageToVideo.create({ ...wanted, promptImage })
    .waitForTaskOutput();
  expect(await until(async () => shop.jobs().at(-1)?.inputs, Boolean)).toEqual(received);
});
