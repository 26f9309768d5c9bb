// Official Runware SDK against the simulator over WebSocket: clips, images, audio and errors.
import { afterAll, expect, test } from "bun:test";
import { Runware } from "@runware/sdk-js";
import { broken, expectFile, openShop, pictureAt, until } from "./fixture.ts";

const shop = openShop();
const address = () => shop.url("runware").replace(/^http/, "ws");
const opened: { disconnect(): Promise<void> }[] = [];
const client = async (apiKey = "some") => {
  const runware = await Runware.initialize({ apiKey, url: address(), shouldReconnect: false, globalMaxRetries: 1 });
  opened.push(runware);
  return runware;
};
afterAll(() => Promise.all(opened.map((each) => each.disconnect())));

const CLIP = { model: "bytedance:seedance@2.0", width: 1280, height: 720, duration: 5 };
const PICTURE = { model: "runware:101@1", width: 1024, height: 1024 };
const film = async (positivePrompt: string) => (await client()).videoInference({ ...CLIP, positivePrompt });
const draw = async (positivePrompt: string) => (await client()).requestImages({ ...PICTURE, positivePrompt });

test("the Runware SDK submits a clip, polls it and downloads the file", async () => {
  const [clip] = [await film("a fox in snow")].flat();
  expect([clip?.taskType, clip?.status, Number(clip?.cost) > 0]).toEqual(["videoInference", "success", true]);
  await expectFile(clip?.videoURL, "mp4", "video/mp4");
  expect(shop.jobs().at(-1)).toMatchObject({ provider: "runware", id: clip?.taskUUID ?? "" });
});

test("requestImages of the Runware SDK waits for two images in one request by default", async () => {
  const pictures = (await (await client()).requestImages({ ...PICTURE, positivePrompt: "a hare", numberResults: 2 })) ?? [];
  expect(pictures).toHaveLength(2);
  expect(new Set(pictures.map(({ imageUUID }) => imageUUID)).size).toBe(2);
  for (const { imageURL } of pictures) await expectFile(imageURL, "png", "image/png");
});

test("the Runware SDK returns audio with the delivery methods sync and async", async () => {
  const runware = await client();
  for (const deliveryMethod of ["sync", "async"]) {
    const sound = { model: "elevenlabs:1@1", positivePrompt: "rain", duration: 10, numberResults: 1, deliveryMethod };
    const [made] = [await runware.audioInference(sound)].flat();
    await expectFile(made?.audioURL, "mp3", "audio/mpeg");
  }
});

test("the Runware SDK skips the response of a task and polls it later", async () => {
  const runware = await client();
  const [{ taskUUID } = { taskUUID: "" }] = [
    await runware.videoInference({ ...CLIP, positivePrompt: "a fox", skipResponse: true }),
  ].flat();
  type TaskState = { status: string; videoURL?: string };
  const [reported] = await until(
    () => runware.getResponse<TaskState>({ taskUUID }),
    ([one]) => one?.status === "success",
  );
  await expectFile(reported?.videoURL, "mp4", "video/mp4");
});

test("the Runware SDK sends a 100 kB first frame inside the task", async () => {
  const inputImage = `data:image/png;base64,${"A".repeat(100_000)}`;
  const frameImages = [{ inputImage, frame: "first" }];
  await (await client()).videoInference({ ...CLIP, positivePrompt: "it runs", frameImages, skipResponse: true });
  expect(shop.submissions().at(-1)?.input?.image_url).toBe(inputImage);
});

test("initialize of the Runware SDK rejects an empty key with invalidApiKey", async () => {
  const error = await broken(client(""));
  expect(error).toMatchObject({ error: { code: "invalidApiKey", taskType: "authentication" } });
});

test.each([
  ["402", "insufficientCredits"],
  ["403", "forbidden"],
  ["404", "modelNotFound"],
  ["429", "rateLimitExceeded"],
  ["invalid", "invalidPositivePrompt"],
])("simulator fault %s of a Runware task rejects with code %s", async (fault, code) => {
  expect(await broken(film(`x [sim:${fault}]`))).toMatchObject({ error: { code, taskType: "videoInference" } });
  expect(await broken(draw(`x [sim:${fault}]`))).toMatchObject({ error: { code, taskType: "imageInference" } });
});

test.each([
  ["fail", "inferenceError"],
  ["fail-later", "timeoutProvider"],
  ["refuse", "contentPolicyViolation"],
  ["refuse-output", "invalidProviderContent"],
])("a Runware task with fault %s rejects with code %s when it ends", async (fault, code) => {
  expect(await broken(film(`x [sim:${fault}]`))).toMatchObject({ error: { code, status: "error" } });
  expect(await broken(draw(`x [sim:${fault}]`))).toMatchObject({ error: { code, status: "error" } });
});

test("the Runware SDK uploads an image and a clip begins with it", async () => {
  const { bytes, received } = await pictureAt(shop.url("runware"));
  const dataUri = `data:image/png;base64,${Buffer.from(bytes).toString("base64")}`;
  const runware = await client();
  const { imageUUID } = (await runware.imageUpload({ image: dataUri })) as unknown as { imageUUID: string };
  const frameImages = [{ inputImage: imageUUID, frame: "first" }];
  // The pauses of the SDK are shortened, and it would give up before the picture is measured.
  await runware.videoInference({ ...CLIP, positivePrompt: "it runs", frameImages, skipResponse: true } as never);
  expect(await until(async () => shop.jobs().at(-1)?.inputs, Boolean)).toEqual(received);
  const { mediaUUID } = (await runware.mediaStorage({ media: dataUri } as never)) as unknown as { mediaUUID: string };
  expect(mediaUUID).not.toBe(imageUUID);
});
