// Official ElevenLabs SDK against the simulator: speech, sound effects, music and errors.
import { expect, test } from "bun:test";
import { ElevenLabsClient, ElevenLabsError } from "@elevenlabs/elevenlabs-js";
import { typeOf } from "../simulator/fixture.ts";
import { broken, openShop } from "./fixture.ts";

const VOICE = "JBFqnCBsd6RMkjVDRZzb";
const shop = openShop();
const client = (maxRetries = 0) => new ElevenLabsClient({ apiKey: "xi-some", baseUrl: shop.url("elevenlabs"), maxRetries });
const bytesOf = async (stream: Promise<ReadableStream<Uint8Array>>) =>
  new Uint8Array(await new Response(await stream).arrayBuffer());
const speak = (text: string, maxRetries?: number) =>
  client(maxRetries).textToSpeech.convert(VOICE, { text, modelId: "eleven_multilingual_v2" });
const compose = (prompt: string) => client().music.compose({ prompt, musicLengthMs: 10_000 });

test.each([
  ["mp3_44100_128", "mp3"],
  ["wav_44100", "wav"],
] as const)("the ElevenLabs SDK converts text to speech as %s", async (outputFormat, type) => {
  const voiceSettings = { stability: 0.5, similarityBoost: 0.8 };
  const made = client().textToSpeech.convert(VOICE, {
    text: "The fox.",
    modelId: "eleven_v3",
    outputFormat,
    voiceSettings,
    seed: 7,
  });
  expect(typeOf(await bytesOf(made))).toBe(type);
  expect(shop.jobs().at(-1)?.endpoint).toBe(`text-to-speech/${VOICE}`);
});

test("the ElevenLabs response has the character-cost and request-id headers", async () => {
  const { rawResponse } = await client().textToSpeech.convert(VOICE, { text: "The fox." }).withRawResponse();
  expect(rawResponse.headers.get("content-type")).toBe("audio/mpeg");
  expect(rawResponse.headers.get("character-cost")).toBe("8");
  expect(rawResponse.headers.get("request-id")).toBe(shop.jobs().at(-1)?.id ?? "");
});

test("the ElevenLabs SDK creates a sound effect", async () => {
  const made = client().textToSoundEffects.convert({ text: "a bell", durationSeconds: 3, promptInfluence: 0.4, loop: true });
  expect(typeOf(await bytesOf(made))).toBe("mp3");
  expect(shop.submissions().at(-1)?.input?.duration).toBe(3);
});

test("the ElevenLabs SDK composes music", async () => {
  expect(typeOf(await bytesOf(compose("a slow song")))).toBe("mp3");
  expect(shop.submissions().at(-1)?.input?.duration).toBe(10);
});

type Body = { detail: { status: string; code?: string; message: string } };

test.each([
  ["401", 401, "invalid_api_key"],
  ["402", 402, "insufficient_credits"],
  ["403", 403, "model_access_denied"],
  ["404", 404, "model_not_found"],
  ["429", 429, "concurrent_limit_exceeded"],
  ["invalid", 400, "invalid_parameters"],
  ["fail", 500, "internal_error"],
  ["refuse", 403, "content_against_policy"],
])("simulator fault %s of a speech request throws an ElevenLabsError with status %i", async (fault, statusCode, status) => {
  const error = (await broken(speak(`x [sim:${fault}]`))) as ElevenLabsError;
  expect(error).toBeInstanceOf(ElevenLabsError);
  expect(error.statusCode).toBe(statusCode);
  expect((error.body as Body).detail).toMatchObject({ status, message: expect.any(String) });
});

test("rejects refused music with 400 bad_prompt and a prompt suggestion", async () => {
  const error = (await broken(compose("x [sim:refuse]"))) as ElevenLabsError;
  expect(error.statusCode).toBe(400);
  expect(error.body).toMatchObject({ detail: { status: "bad_prompt", data: { prompt_suggestion: expect.any(String) } } });
});

test("rejects an empty text with 400 and the param text", async () => {
  const error = (await broken(speak(""))) as ElevenLabsError;
  expect([error.statusCode, (error.body as Body).detail]).toEqual([400, expect.objectContaining({ param: "text" })]);
});

test("the ElevenLabs SDK retries a 429 as often as maxRetries allows", async () => {
  await broken(speak("often [sim:429]", 2));
  expect(shop.submissions().filter(({ input }) => input?.text === "often [sim:429]")).toHaveLength(3);
});
