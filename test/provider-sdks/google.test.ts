// Official Google SDK against the simulator: images in one call, clips as interactions, and errors.
import { expect, test } from "bun:test";
import { ApiError, type GenerateContentResponse, GoogleGenAI } from "@google/genai";
import { typeOf } from "../simulator/fixture.ts";
import { broken, openShop, pictureAt, until } from "./fixture.ts";

const PICTURE = "gemini-3-pro-image";
const CLIP = "gemini-omni-flash";
const shop = openShop();

/** The SDK appends the API version itself; its default is v1, that of the adapters is v1beta. */
const client = (provider: string, apiVersion = "v1beta") => {
  const baseUrl = shop.url(provider).replace("/v1beta", "");
  return new GoogleGenAI({ apiKey: "AIza-some", apiVersion, httpOptions: { baseUrl, retryOptions: { attempts: 1 } } });
};
const clips = () => client("gemini-video").interactions;

const bytesOf = (base64: string | undefined) => new Uint8Array(Buffer.from(base64 ?? "", "base64"));
const pictureIn = ({ candidates }: GenerateContentResponse) =>
  candidates?.[0]?.content?.parts?.flatMap(({ inlineData }) => inlineData ?? [])[0];
const draw = (prompt: string) => client("gemini").models.generateContent({ model: PICTURE, contents: prompt });
const film = (input: string) => clips().create({ model: CLIP, input, background: true, store: true });
/** Polls an interaction until it ends. */
const ended = (id: string) =>
  until(
    () => clips().get(id),
    ({ status }) => status !== "in_progress",
  );

test.each(["v1beta", "v1"])("generateContent of %s returns an image after a text part", async (version) => {
  const answer = await client("gemini", version).models.generateContent({
    model: PICTURE,
    contents: "a fox in snow",
    config: { responseModalities: ["TEXT", "IMAGE"], imageConfig: { aspectRatio: "16:9", imageSize: "2K" }, seed: 7 },
  });
  expect(answer).toMatchObject({ modelVersion: PICTURE, responseId: expect.any(String) });
  expect(answer.candidates?.[0]?.finishReason).toBe("STOP" as never);
  expect(pictureIn(answer)?.mimeType).toBe("image/png");
  expect(typeOf(bytesOf(pictureIn(answer)?.data))).toBe("png");
});

test("generateContent returns an image for a prompt with an input image", async () => {
  const inlineData = pictureIn(await draw("a fox")) ?? {};
  const contents = [{ role: "user", parts: [{ text: "in snow" }, { inlineData }] }];
  const answer = await client("gemini").models.generateContent({ model: PICTURE, contents });
  expect(typeOf(bytesOf(pictureIn(answer)?.data))).toBe("png");
  expect(shop.submissions().at(-1)?.input?.image_urls).toHaveLength(1);
});

test("generateContent returns no image for a refused prompt and for a withheld result", async () => {
  const refused = await draw("x [sim:refuse]");
  expect([refused.promptFeedback?.blockReason, refused.candidates]).toEqual(["PROHIBITED_CONTENT" as never, undefined]);
  const withheld = await draw("x [sim:refuse-output]");
  expect(withheld.candidates?.[0]?.finishReason).toBe("IMAGE_SAFETY" as never);
  expect(pictureIn(withheld)).toBeUndefined();
});

test.each([
  ["401", 400, "API_KEY_INVALID"],
  ["402", 429, "prepayment credits are depleted"],
  ["403", 403, "PERMISSION_DENIED"],
  ["404", 404, "NOT_FOUND"],
  ["429", 429, "RetryInfo"],
  ["invalid", 400, "INVALID_ARGUMENT"],
  ["fail", 500, "INTERNAL"],
])("simulator fault %s of generateContent throws an ApiError with status %i", async (fault, status, words) => {
  const error = await broken(draw(`x [sim:${fault}]`));
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({ status, message: expect.stringContaining(words) });
});

test("an unsupported aspect ratio throws an ApiError with status 400 that names the field", async () => {
  const config = { imageConfig: { aspectRatio: "7:5" } };
  const error = await broken(client("gemini").models.generateContent({ model: PICTURE, contents: "a fox", config }));
  expect(error).toMatchObject({ status: 400, message: expect.stringContaining("aspect_ratio") });
});

test.each(["v1beta", "v1"])("interactions of %s create a clip, report its status and return the file", async (version) => {
  const { interactions } = client("gemini-video", version);
  const made = await interactions.create({
    ...{ model: CLIP, input: [{ type: "text", text: "a fox in snow" }], background: true, store: true },
    response_format: [{ type: "video", aspect_ratio: "9:16", resolution: "1080p", duration: "5s" }],
    ...{ generation_config: { video_config: { task: "text_to_video" } }, labels: { attempt: "a-1" } },
  });
  expect(made.status).toBe("in_progress");
  expect(shop.submissions().at(-1)).toMatchObject({ ref: "a-1", input: { duration: 5, aspect_ratio: "9:16" } });
  const done = await ended(made.id);
  expect(done).toMatchObject({ id: made.id, status: "completed", model: CLIP, output_video: { mime_type: "video/mp4" } });
  expect(typeOf(bytesOf(done.output_video?.data))).toBe("mp4");
});

test("interactions accept the prompt as a user_input step", async () => {
  const input = [{ type: "user_input" as const, content: [{ type: "text" as const, text: "a hare" }] }];
  const { id } = await clips().create({ model: CLIP, input, background: true });
  expect(await ended(id)).toMatchObject({ status: "completed", steps: [{ type: "user_input" }, {}, { type: "model_output" }] });
});

test("cancels and deletes an interaction, and throws NotFoundError for it afterwards", async () => {
  const { id } = await film("x [sim:stuck]");
  expect(await clips().cancel(id)).toMatchObject({ id, status: "cancelled" });
  await clips().delete(id);
  expect(await broken(clips().get(id))).toMatchObject({ name: "NotFoundError", status: 404 });
});

test.each([
  ["401", "AuthenticationError", 401],
  ["402", "APIError", 402],
  ["403", "PermissionDeniedError", 403],
  ["404", "NotFoundError", 404],
  ["429", "RateLimitError", 429],
  ["invalid", "BadRequestError", 400],
])("simulator fault %s of an interaction throws %s", async (fault, name, status) => {
  expect(await broken(film(`x [sim:${fault}]`))).toMatchObject({ name, status });
});

test("an unknown parameter of an interaction throws BadRequestError", async () => {
  const strange = { model: CLIP, input: "a fox", background: true, colour: "red" };
  expect(await broken(clips().create(strange, { maxRetries: 0 }))).toMatchObject({ name: "BadRequestError", status: 400 });
});

test.each([
  ["fail", "failed", "api_error"],
  ["refuse-output", "failed", "prohibited_content"],
  ["aborted", "incomplete", undefined],
])("an interaction with fault %s ends as %s with error code %s", async (fault, status, code) => {
  const { id } = await film(`x [sim:${fault}]`);
  const end = await ended(id);
  expect([end.status, end.errors?.[0]?.code, end.output_video]).toEqual([status, code, undefined]);
});

test("an interaction with a refused prompt is completed with text and without a clip", async () => {
  const { id } = await film("x [sim:refuse]");
  const end = await ended(id);
  expect([end.status, end.output_video]).toEqual(["completed", undefined]);
  expect(end.output_text).toContain("can't make this video");
});

test("inline data of both APIs arrives byte for byte, and other text is refused", async () => {
  const { bytes, received } = await pictureAt(shop.url("gemini"));
  const data = Buffer.from(bytes).toString("base64");
  const arrived = () => until(async () => shop.jobs().at(-1)?.inputs, Boolean);
  const contents = (text: string) => [
    { role: "user", parts: [{ text: "in oil" }, { inlineData: { mimeType: "image/png", data: text } }] },
  ];
  await client("gemini").models.generateContent({ model: PICTURE, contents: contents(data) });
  expect(await arrived()).toEqual(received);
  const broke = await broken(client("gemini").models.generateContent({ model: PICTURE, contents: contents("not base64!") }));
  expect(broke).toMatchObject({ status: 400, message: expect.stringContaining("Base64 decoding failed") });
  const input = [
    { type: "text", text: "it runs" },
    { type: "image", data, mime_type: "image/png" },
  ] as never;
  await ended((await clips().create({ model: CLIP, input, background: true, store: true })).id);
  expect(await arrived()).toEqual(received);
});
