// Inspection of files: true type, size, length and completeness.
import { expect, test } from "bun:test";
import { inspect } from "../../../src/media/formats/inspect.ts";
import { mp4, png, wav } from "../made.ts";
import { inMemory } from "./reader.ts";

const whole = { signal: AbortSignal.timeout(5000), depth: "whole" } as const;

test("reports the true type and the size of a picture", async () => {
  expect(await inspect(inMemory(await png(64, 48)), whole)).toMatchObject({
    mime: "image/png",
    kind: "image",
    width: 64,
    height: 48,
    isComplete: true,
  });
});

test("reports the length of a clip and whether it has sound", async () => {
  expect(await inspect(inMemory(await mp4({ seconds: 2, audio: true })), whole)).toMatchObject({
    mime: "video/mp4",
    kind: "video",
    ms: 2000,
    hasAudio: true,
    isComplete: true,
  });
});

test("reports audio that ends before its announced length as not complete", async () => {
  const bytes = wav(2);
  expect(await inspect(inMemory(bytes.slice(0, 20_000)), whole)).toMatchObject({ kind: "audio", isComplete: false });
});
