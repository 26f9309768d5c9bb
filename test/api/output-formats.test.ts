// The fields output_format and background: what each route sends, what is delivered, and which requests are rejected.
import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { builtInCatalogue, type Catalogue, catalogueOver } from "../../catalogue/load.ts";
import type { JsonObject } from "../../src/domain/types.ts";
import { type Harness, openHarness } from "../harness.ts";
import { codeOf, messageOf } from "./harness.ts";
import { attemptsOf } from "./provider-files-fixture.ts";

setDefaultTimeout(60_000);

let harness: Harness | undefined;
afterEach(async () => {
  await harness?.close();
  harness = undefined;
});

const only = (routeId: string): Catalogue => {
  const found = builtInCatalogue().route(routeId);
  if (!found) throw new Error(`${routeId} is not in the catalogue`);
  return catalogueOver([{ ...found.model, routes: [found.route] }]);
};
const open = async (catalogue: Catalogue): Promise<Harness> => {
  const providers = [...new Set(catalogue.models.flatMap(({ routes }) => routes.map(({ provider }) => provider)))];
  harness = await openHarness({ catalogue, providers });
  return harness;
};
const requestOf = async (opened: Harness, id: string): Promise<string> => (await attemptsOf(opened, id)).at(-1)?.request ?? "";
const typesOf = async (opened: Harness, id: string) =>
  (await opened.store.findGeneration(id))?.output?.files.map(({ mime }) => mime) ?? [];

const TYPES: Readonly<Record<string, string>> = {
  ...{ png: "image/png", jpeg: "image/jpeg", webp: "image/webp" },
  ...{ mp3: "audio/mpeg", wav: "audio/wav", flac: "audio/flac", opus: "audio/ogg" },
};
const SENT: [route: string, format: string, sent: string][] = [
  ["gpt-image-2.5-flare/openai", "webp", '"output_format":"webp"'],
  ["gpt-image-2/openai", "jpeg", '"output_format":"jpeg"'],
  ["stable-diffusion-3.5-large/stability", "jpeg", '"output_format":"jpeg"'],
  ["stable-image-core/stability", "webp", '"output_format":"webp"'],
  ["flux-2-pro/bfl", "jpeg", '"output_format":"jpeg"'],
  ["flux-2-dev/fal", "webp", '"output_format":"webp"'],
  ["flux-2-dev/replicate", "png", '"output_format":"png"'],
  ["eleven-flash-v2.5/elevenlabs", "mp3", "output_format=mp3_44100_128"],
  ["eleven-flash-v2.5/elevenlabs", "wav", "output_format=wav_24000"],
  ["eleven-flash-v2.5/elevenlabs", "opus", "output_format=opus_48000_128"],
  ["eleven-v4/fal", "mp3", '"output_format":"mp3_44100_128"'],
  ["minimax-speech-2.8-hd/minimax-speech", "flac", '"audio_setting":{"format":"flac"'],
  ["minimax-speech-2.8-hd/fal", "flac", '"audio_setting":{"format":"flac"}'],
  ["minimax-speech-2.8-hd/replicate", "mp3", '"audio_format":"mp3"'],
  ...["mp3", "wav", "flac", "opus"].map((format): [string, string, string] => [
    "sim-speech-1/fal",
    format,
    `"format":"${format}"`,
  ]),
];
test.each(SENT)("%s sends the format %s to its provider, and delivers it", async (routeId, format, sent) => {
  const opened = await open(only(routeId));
  const made = await opened.submit(routeId.split("/")[0] ?? "", { prompt: "one two three", output_format: format });
  expect(await opened.until(made.id)).toMatchObject({ status: "succeeded", attempts: 1, cost_usd: made.quoted_usd });
  expect(await requestOf(opened, made.id)).toContain(sent);
  expect(await typesOf(opened, made.id)).toEqual([TYPES[format] ?? ""]);
  const { headers } = await opened.request("GET", `/v1/generations/${made.id}/content`);
  expect(headers.get("content-type")).toBe(TYPES[format] ?? "");
});

const USUAL: [route: string, sent: string][] = [
  ["gpt-image-2/openai", '"output_format":"png"'],
  ["flux-2-pro/bfl", '"output_format":"png"'],
  ["flux-2-dev/fal", '"output_format":"png"'],
  ["eleven-v4/fal", '"output_format":"mp3_44100_128"'],
  ["eleven-v4/elevenlabs", "output_format=mp3_44100_128"],
  ["minimax-speech-2.8-hd/replicate", '"audio_format":"mp3"'],
];
test.each(USUAL)("%s sends its usual format where none is requested", async (routeId, sent) => {
  const opened = await open(only(routeId));
  const made = await opened.submit(routeId.split("/")[0] ?? "", { prompt: "one two three" });
  expect(await opened.until(made.id)).toMatchObject({ status: "succeeded" });
  const request = await requestOf(opened, made.id);
  expect(request).toContain(sent);
  expect(request).not.toContain("background");
});

test.each(["opaque", "transparent"])("OpenAI receives the background %s", async (background) => {
  const opened = await open(only("gpt-image-2.5-sunburst/openai"));
  const made = await opened.submit("gpt-image-2.5-sunburst", { prompt: "a fox", background, output_format: "webp" });
  expect(await opened.until(made.id)).toMatchObject({ status: "succeeded" });
  expect(await requestOf(opened, made.id)).toContain(`"background":"${background}"`);
});

describe("a result in another format than requested", () => {
  test("is not charged, and the next route delivers", async () => {
    harness = await openHarness();
    harness.simulator.script({ fault: "svg", provider: "fal" });
    const made = await harness.submit("sim-image-1", { prompt: "a fox", output_format: "jpeg" });
    const ended = await harness.until(made.id);
    const attempts = await attemptsOf(harness, made.id);
    expect(attempts.map(({ state, route }) => [state, route.provider])).toEqual([
      ["mismatched", "fal"],
      ["delivered", "replicate"],
    ]);
    expect(attempts[0]?.failure?.detail).toBe("file 1: format: image/svg+xml came, jpeg (image/jpeg) ordered");
    expect(ended).toMatchObject({ status: "succeeded", attempts: 2, cost_usd: (attempts[1]?.priceCredits ?? 0) / 100 });
    expect(await typesOf(harness, made.id)).toEqual(["image/jpeg", "image/jpeg"]);
  });

  test("costs nothing if no route delivers the format", async () => {
    harness = await openHarness();
    const before = await harness.balance();
    harness.simulator.script({ fault: "svg" });
    const made = await harness.submit("sim-image-1", { prompt: "a fox", output_format: "png" });
    expect(await harness.until(made.id)).toMatchObject({ status: "failed", cost_usd: 0 });
    expect(await harness.balance()).toEqual(before);
  });

  test("is delivered and charged where no format was requested", async () => {
    harness = await openHarness();
    harness.simulator.script({ fault: "svg", provider: "fal" });
    const made = await harness.submit("sim-image-1", { prompt: "a fox" });
    expect(await harness.until(made.id)).toMatchObject({ status: "succeeded", attempts: 1, cost_usd: made.quoted_usd });
  });

  test("counts after the conversion of uncommon formats, so a bitmap is a PNG", async () => {
    harness = await openHarness();
    harness.simulator.script({ fault: "bmp", provider: "fal" });
    const made = await harness.submit("sim-image-1", { prompt: "a fox", output_format: "png" });
    expect(await harness.until(made.id)).toMatchObject({ status: "succeeded", attempts: 1 });
    expect(await typesOf(harness, made.id)).toEqual(["image/png", "image/png"]);
  });
});

test("a request is rejected with 422 that names the field and what is allowed", async () => {
  const said = { prompt: "one two three" };
  const rows: [what: string, model: string, input: JsonObject, message: string][] = [
    [
      "sound for a picture",
      "sim-image-1",
      { ...said, output_format: "mp3" },
      "input.output_format: mp3 is not offered by sim-image-1; choose png, jpeg or webp",
    ],
    [
      "an unknown format",
      "sim-speech-1",
      { ...said, output_format: "aiff" },
      "input.output_format: aiff is not offered by sim-speech-1; choose mp3, wav, flac or opus",
    ],
    [
      "a format as number",
      "sim-image-1",
      { ...said, output_format: 1 },
      "input.output_format: must be png, jpeg or webp, not a number",
    ],
    [
      "a format for a video",
      "vidmodel-2.0",
      { ...said, output_format: "png" },
      "input.output_format: not taken by vidmodel-2.0; it takes ",
    ],
    [
      "a format for the extended input",
      "vidmodel-2.5",
      { ...said, output_format: "png" },
      "input.output_format: not a known field; it takes ",
    ],
    [
      "a background for sound",
      "sim-speech-1",
      { ...said, background: "opaque" },
      "input.background: not taken by sim-speech-1; it takes ",
    ],
    [
      "an unknown background",
      "sim-image-1",
      { ...said, background: "auto" },
      "input.background: auto is not offered by sim-image-1; choose opaque or transparent",
    ],
    [
      "a transparent JPEG",
      "sim-image-1",
      { ...said, background: "transparent", output_format: "jpeg" },
      "input.background: transparent needs an output_format with transparency, not jpeg; choose png or webp",
    ],
  ];
  harness = await openHarness();
  const before = await harness.balance();
  for (const [what, model, input, message] of rows) {
    const answer = await harness.request("POST", "/v1/generations", { body: { model, input } });
    expect([what, answer.status, codeOf(answer)]).toEqual([what, 422, "invalid_input"]);
    expect(messageOf(answer)).toStartWith(message);
  }
  expect(await harness.balance()).toEqual(before);
});

test("every format and background that a model offers reaches one of its routes", () => {
  for (const model of builtInCatalogue().models)
    for (const name of ["output_format", "background"] as const) {
      const field = model.fields[name];
      if (!field || !("values" in field)) continue;
      for (const value of field.values) {
        const takes = model.routes.some(
          ({ takes: { [name]: limits } }) => limits === undefined || limits?.values?.includes(value),
        );
        expect([model.id, name, value, takes]).toEqual([model.id, name, value, true]);
      }
    }
});
