// Tests of the common input: one row for each rule of §2.7, of §2.8 and of the limits in §8.
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Json, JsonObject } from "../../src/domain/types.ts";
import { openStillHarness, type Row, type StillHarness, WIDEST, wideCatalogue } from "./harness.ts";
import { NO_LINKS, NO_TEXT, type Samples, samplesOf, URL_AT_MOST } from "./samples.ts";

let harness: StillHarness;
let media: Samples;
beforeAll(async () => {
  harness = await openStillHarness({ catalogue: wideCatalogue() });
  media = samplesOf(harness);
});
afterAll(() => harness.close());

const no = (field: string, ...says: string[]) => [422, "invalid_input", `input.${field}`, ...says] as const;
type InputRow = [name: string, input: JsonObject | ((of: Samples) => JsonObject), to: Row["to"]];
const meets = (model: string, [name, input, to]: InputRow) =>
  harness.meets({ name, to, body: { model, input: typeof input === "function" ? input(media) : input } });

const said = { prompt: "x" };
const FIELDS: [field: string, offered: Json[], not: Json[]][] = [
  ["duration", [1, 300], [0, 301, -1, 1.5, "5", null]],
  ["seed", [0, 4_294_967_295], [-1, 4_294_967_296, 0.5, "1", null]],
  ["resolution", ["720p", "1080p", "1K", "2K", "4K"], ["480p", "4k", "", 720, null]],
  ["aspect_ratio", ["16:9", "9:16", "1:1"], ["4:3", "adaptive", null]],
  ["audio", [true, false], ["yes", 1, null]],
  ["quality", ["low", "medium", "high"], ["best", "LOW", 1, null]],
];
const LINK_FIELDS = ["image_url", "end_image_url", "image_urls[0]", "video_url", "audio_url"];
const at = (path: string, url: unknown, of: Samples): JsonObject => {
  const name = path.replace("[0]", "");
  return {
    ...said,
    ...(name === "end_image_url" ? { image_url: of.picture } : {}),
    [name]: (name === path ? url : [url]) as Json,
  };
};

const WIDE_ROWS: InputRow[] = [
  ["prompt: missing", {}, no("prompt", "missing")],
  ["prompt: empty", { prompt: "" }, no("prompt", "1 to 30000")],
  ["prompt: 1 character", said, 202],
  ["prompt: 30000 characters", { prompt: "é".repeat(30_000) }, 202],
  ["prompt: 30001 characters", { prompt: "é".repeat(30_001) }, no("prompt", "30000")],
  ...NO_TEXT.map((value): InputRow => [`prompt: ${JSON.stringify(value)}`, { prompt: value as Json }, no("prompt")]),
  ["negative_prompt: 5000 characters", { ...said, negative_prompt: "x".repeat(5000) }, 202],
  ["negative_prompt: 5001 characters", { ...said, negative_prompt: "x".repeat(5001) }, no("negative_prompt", "5000")],
  ["negative_prompt: empty", { ...said, negative_prompt: "" }, 202],
  ...NO_TEXT.map(
    (value): InputRow => [
      `negative_prompt: ${JSON.stringify(value)}`,
      { ...said, negative_prompt: value as Json },
      no("negative_prompt"),
    ],
  ),
  ...FIELDS.flatMap(([field, offered, not]): InputRow[] => [
    ...offered.map((value): InputRow => [`${field}: ${value}`, { ...said, [field]: value }, 202]),
    ...not.map((value): InputRow => [`${field}: ${JSON.stringify(value)}`, { ...said, [field]: value }, no(field)]),
  ]),
  ["image_urls: 30 items", (of) => ({ ...said, image_urls: Array.from({ length: 30 }, () => of.picture) }), 202],
  [
    "image_urls: 31 items",
    (of) => ({ ...said, image_urls: Array.from({ length: 31 }, () => of.picture) }),
    no("image_urls", "30"),
  ],
  ["image_urls: no item", { ...said, image_urls: [] }, no("image_urls", "1 to 30")],
  ["end_image_url: with image_url", (of) => ({ ...said, image_url: of.picture, end_image_url: of.picture }), 202],
  ["end_image_url: alone", (of) => ({ ...said, end_image_url: of.picture }), no("end_image_url", "image_url")],
  ["video_url: a clip", (of) => ({ ...said, video_url: of.clip(1) }), 202],
  ["audio_url: sound", (of) => ({ ...said, audio_url: of.voice }), 202],
  ["video_url: an image", (of) => ({ ...said, video_url: of.picture }), no("video_url")],
  ["audio_url: an image", (of) => ({ ...said, audio_url: of.picture }), no("audio_url")],
  ["image_url: sound", (of) => ({ ...said, image_url: of.voice }), no("image_url")],
  ...["video_urls", "audio_urls", "fps", "__proto__x", "Duration", "constructor"].map(
    (field): InputRow => [`unknown field: ${field}`, { ...said, [field]: "x" }, no(field)],
  ),
  ...LINK_FIELDS.flatMap((path) =>
    NO_LINKS.map(([what, url, says]): InputRow => [`${path}: ${what}`, (of) => at(path, url, of), no(path, says)]),
  ),
  ...["image_url", "end_image_url", "image_urls[0]"].flatMap((path): InputRow[] => [
    [`${path}: ${URL_AT_MOST} characters`, (of) => at(path, of.long(URL_AT_MOST), of), 202],
    [`${path}: ${URL_AT_MOST + 1} characters`, (of) => at(path, of.long(URL_AT_MOST + 1), of), no(path, "4096")],
  ]),
];
test.each(WIDE_ROWS)("§2.7 validates %s", (name, input, to) => meets(WIDEST, [name, input, to]));

/** Fields that a model accepts and rejects: §2.7 "fields the model does not take", §2.8. */
const MODEL_ROWS: [model: string, ...InputRow][] = [
  ["sim-upscale-1", "rejects a prompt for an upscaler", (of) => ({ ...said, image_url: of.picture }), no("prompt", "not taken")],
  ["sim-upscale-1", "accepts an upscale without a prompt", (of) => ({ image_url: of.picture }), 202],
  ["sim-upscale-1", "rejects an upscale without an image", {}, no("image_url", "missing")],
  ["sim-edit-1", "rejects an edit without a prompt", (of) => ({ image_url: of.picture }), no("prompt", "missing")],
  ["sim-edit-1", "accepts 4 images, the max_input_images of the model", (of) => edit(of, 4), 202],
  ["sim-edit-1", "rejects 5 images", (of) => edit(of, 5), no("image_urls", "4")],
  ["sim-image-1", "rejects a duration for an image", { ...said, duration: 5 }, no("duration", "not taken")],
  ["sim-image-1", "rejects audio for an image", { ...said, audio: true }, no("audio", "not taken")],
  ["sim-image-1", "accepts a quality tier", { ...said, quality: "high" }, 202],
  ["sim-speech-1", "rejects a seed for speech", { ...said, seed: 1 }, no("seed", "not taken")],
  ["sim-lipsync-1", "rejects lip sync without sound", (of) => ({ image_url: of.picture }), no("audio_url", "missing")],
  ["sim-lipsync-1", "accepts an image and sound without a prompt", (of) => ({ image_url: of.picture, audio_url: of.voice }), 202],
  ...["vidmodel-2.0", "vidmodel-2.0-fast", "vidmodel-2.0-mini"].flatMap((model): [string, ...InputRow][] => [
    [model, "rejects a duration of 3 s", { ...said, duration: 3 }, no("duration", "4 to 15")],
    [model, "accepts a duration of 4 s", { ...said, duration: 4 }, 202],
    [model, "accepts a duration of 15 s", { ...said, duration: 15 }, 202],
    [model, "rejects a duration of 16 s", { ...said, duration: 16 }, no("duration", "4 to 15")],
    [model, "accepts 9 reference images", (of) => ({ ...said, image_urls: Array.from({ length: 9 }, () => of.picture) }), 202],
    [
      model,
      "rejects 10 reference images",
      (of) => ({ ...said, image_urls: Array.from({ length: 10 }, () => of.picture) }),
      no("image_urls", "9"),
    ],
    [
      model,
      "rejects a frame together with reference images",
      (of) => ({ ...said, image_url: of.picture, image_urls: [of.picture] }),
      no("image_url"),
    ],
    [model, "accepts a first and a last frame", (of) => ({ ...said, image_url: of.picture, end_image_url: of.picture }), 202],
    [model, "accepts the aspect ratio adaptive", (of) => ({ ...said, image_url: of.picture, aspect_ratio: "adaptive" }), 202],
    [model, "rejects negative_prompt", { ...said, negative_prompt: "x" }, no("negative_prompt", "not taken")],
    [model, "rejects a seed", { ...said, seed: 1 }, no("seed", "not taken")],
    [model, "accepts the resolution 480p", { ...said, resolution: "480p" }, 202],
    [model, "accepts the resolution 720p", { ...said, resolution: "720p" }, 202],
    [
      model,
      "validates the resolution 1080p",
      { ...said, resolution: "1080p" },
      model === "vidmodel-2.0" ? 202 : no("resolution", "480p or 720p"),
    ],
    [
      model,
      "validates the resolution 4K",
      { ...said, resolution: "4K" },
      model === "vidmodel-2.0" ? 202 : no("resolution", "480p or 720p"),
    ],
  ]),
];
const edit = (of: Samples, n: number): JsonObject => ({
  ...said,
  image_url: of.picture,
  image_urls: Array.from({ length: n }, () => of.picture),
});
test.each(MODEL_ROWS)("§2.7 §2.8 %s: %s", (model, name, input, to) => meets(model, [name, input, to]));

/** §2.8: USD per second on the cheapest route; "the same with audio on or off". */
const PRICES: [model: string, resolution: string, usd: number][] = [
  ["vidmodel-2.0", "480p", 0.08],
  ["vidmodel-2.0", "720p", 0.15],
  ["vidmodel-2.0", "1080p", 0.4],
  ["vidmodel-2.0", "4K", 0.83],
  ["vidmodel-2.0-fast", "480p", 0.05],
  ["vidmodel-2.0-fast", "720p", 0.11],
  ["vidmodel-2.0-mini", "480p", 0.03],
  ["vidmodel-2.0-mini", "720p", 0.05],
];
test.each(PRICES)("§2.8 quotes %s at %s with %p USD per second, with and without sound", async (model, resolution, usd) => {
  for (const audio of [true, false]) {
    const body = { model, input: { ...said, resolution, audio, duration: 10 } };
    const { body: shown } = await harness.request("POST", "/v1/generations", { body, key: harness.rich.key });
    expect(shown.quoted_usd).toBe(Number((usd * 10).toFixed(2)));
  }
});
test("§2.8 bills a reference clip together with the output at the with-video-input rate", async () => {
  const body = { model: "vidmodel-2.0", input: { ...said, resolution: "720p", duration: 5, video_url: media.clip(7) } };
  const { body: shown } = await harness.request("POST", "/v1/generations", { body, key: harness.rich.key });
  expect(shown.quoted_usd).toBe(1.2);
});
