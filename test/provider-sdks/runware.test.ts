// The official client of Runware makes clips, pictures and sound over a WebSocket of the simulator, and rejects as at Runware.
import { afterAll, expect, test } from "bun:test";
import { Runware } from "@runware/sdk-js";
import { broken, expectFile, openShop, until } from "./fixture.ts";

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

test("a clip is submitted, asked about until it is there, and downloaded", async () => {
  const [clip] = [await film("a fox in snow")].flat();
  expect([clip?.taskType, clip?.status, Number(clip?.cost) > 0]).toEqual(["videoInference", "success", true]);
  await expectFile(clip?.videoURL, "mp4", "video/mp4");
  expect(shop.jobs().at(-1)).toMatchObject({ provider: "runware", id: clip?.taskUUID ?? "" });
});

test("pictures are waited for in one request, as nothing else was said", async () => {
  const pictures = (await (await client()).requestImages({ ...PICTURE, positivePrompt: "a hare", numberResults: 2 })) ?? [];
  expect(pictures).toHaveLength(2);
  expect(new Set(pictures.map(({ imageUUID }) => imageUUID)).size).toBe(2);
  for (const { imageURL } of pictures) await expectFile(imageURL, "png", "image/png");
});

test("sound is waited for, or asked about when it is told to be made apart", async () => {
  const runware = await client();
  for (const deliveryMethod of ["sync", "async"]) {
    const sound = { model: "elevenlabs:1@1", positivePrompt: "rain", duration: 10, numberResults: 1, deliveryMethod };
    const [made] = [await runware.audioInference(sound)].flat();
    await expectFile(made?.audioURL, "mp3", "audio/mpeg");
  }
});

test("a task can be left alone and asked about later", async () => {
  const runware = await client();
  const [{ taskUUID } = { taskUUID: "" }] = [
    await runware.videoInference({ ...CLIP, positivePrompt: "a fox", skipResponse: true }),
  ].flat();
  type Told = { status: string; videoURL?: string };
  const [told] = await until(
    () => runware.getResponse<Told>({ taskUUID }),
    ([one]) => one?.status === "success",
  );
  await expectFile(told?.videoURL, "mp4", "video/mp4");
});

test("a clip begins with a picture, however large, that the task itself brings", async () => {
  const inputImage = `data:image/png;base64,${"A".repeat(100_000)}`;
  const frameImages = [{ inputImage, frame: "first" }];
  await (await client()).videoInference({ ...CLIP, positivePrompt: "it runs", frameImages, skipResponse: true });
  expect(shop.submissions().at(-1)?.input?.image_url).toBe(inputImage);
});

test("a key that is not there is refused before anything is asked", async () => {
  const error = await broken(client(""));
  expect(error).toMatchObject({ error: { code: "invalidApiKey", taskType: "authentication" } });
});

test.each([
  ["402", "insufficientCredits"],
  ["403", "forbidden"],
  ["404", "modelNotFound"],
  ["429", "rateLimitExceeded"],
  ["invalid", "invalidPositivePrompt"],
])("a task that is answered %s is rejected with the error of the task", async (fault, code) => {
  expect(await broken(film(`x [sim:${fault}]`))).toMatchObject({ error: { code, taskType: "videoInference" } });
  expect(await broken(draw(`x [sim:${fault}]`))).toMatchObject({ error: { code, taskType: "imageInference" } });
});

test.each([
  ["fail", "inferenceError"],
  ["fail-later", "timeoutProvider"],
  ["refuse", "contentPolicyViolation"],
  ["refuse-output", "invalidProviderContent"],
])("a task with %s is rejected when it has ended", async (fault, code) => {
  expect(await broken(film(`x [sim:${fault}]`))).toMatchObject({ error: { code, status: "error" } });
  expect(await broken(draw(`x [sim:${fault}]`))).toMatchObject({ error: { code, status: "error" } });
});
