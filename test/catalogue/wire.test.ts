// Requests of shipped routes: adapters accept the route options for every input that a route supports.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { modelEntry } from "../../catalogue/public-model.ts";
import type { Route } from "../../catalogue/schema.ts";
import type { JsonObject } from "../../src/domain/types.ts";
import { endpointOf, inputOf, optionsFault } from "../../src/providers/map-input.ts";
import { catalogue, check, inputsFrom, runs, shipped } from "../quote/inputs.ts";

const A = "https://media.example/a";
const B = "https://media.example/b";

const context = (route: Route, modelId: string, input: Record<string, unknown>) => {
  const { raw, filled } = check(shipped(modelId), input);
  const options = JSON.parse(JSON.stringify(route.options)) as JsonObject;
  return { ref: "ref-1", endpoint: route.endpoint, options, baseUrl: "https://provider.example", input: { raw, filled } };
};
const sent = (routeId: string, input: Record<string, unknown>): { endpoint: string; input: JsonObject } => {
  const known = catalogue.route(routeId);
  if (!known) throw new Error(`${routeId} is not shipped`);
  const c = context(known.route, known.model.id, input);
  return { endpoint: endpointOf(c), input: inputOf(c) };
};

test("the adapters accept every member of the options of every route", () => {
  for (const { routes } of catalogue.models)
    for (const { id, options } of routes)
      expect([id, optionsFault(JSON.parse(JSON.stringify(options)))]).toEqual([id, undefined]);
});

describe("the request contains the prompt and every media link of the input, for route", () => {
  const pairs = catalogue.models.flatMap((model) =>
    model.routes.map((route): [string, Route, string] => [route.id, route, model.id]),
  );
  test.each(pairs)("%s", (routeId, route, modelId) => {
    const entry = modelEntry(shipped(modelId), (id) => id === routeId);
    fc.assert(
      fc.property(inputsFrom(entry), (input) => {
        const c = context(route, modelId, input);
        const values = JSON.stringify(inputOf(c));
        for (const [name, value] of Object.entries(c.input.filled))
          for (const link of /_urls?$/.test(name) ? [value].flat() : []) expect(values).toContain(JSON.stringify(link));
        if (typeof input.prompt === "string") expect(values).toContain(JSON.stringify(input.prompt));
        expect(endpointOf(c)).toStartWith(route.endpoint);
      }),
      runs(20),
    );
  });
});

describe("the request of the route to its provider:", () => {
  const plain = { resolution: "720p", aspect_ratio: "16:9" };
  const rows: [routeId: string, input: Record<string, unknown>, endpoint: string, body: Record<string, unknown>][] = [
    [
      "vidmodel-2.0/fal",
      { prompt: "x" },
      "bytedance/seedance-2.0/text-to-video",
      { prompt: "x", ...plain, duration: "5", generate_audio: false, end_user_id: "ref-1" },
    ],
    [
      "vidmodel-2.0/fal",
      { prompt: "x", image_url: A, end_image_url: B, aspect_ratio: "adaptive", resolution: "4K", audio: true },
      "bytedance/seedance-2.0/image-to-video",
      {
        prompt: "x",
        image_url: A,
        end_image_url: B,
        resolution: "4k",
        aspect_ratio: "auto",
        duration: "5",
        generate_audio: true,
        end_user_id: "ref-1",
      },
    ],
    [
      "vidmodel-2.0/fal",
      { prompt: "x", image_urls: [A], video_url: B, duration: 15 },
      "bytedance/seedance-2.0/reference-to-video",
      { prompt: "x", image_urls: [A], video_urls: [B], ...plain, duration: "15", generate_audio: false, end_user_id: "ref-1" },
    ],
    [
      "vidmodel-2.0/replicate",
      { prompt: "x", image_url: A, end_image_url: B, aspect_ratio: "adaptive", resolution: "4K" },
      "bytedance/seedance-2.0",
      {
        prompt: "x",
        image: A,
        last_frame_image: B,
        resolution: "4k",
        aspect_ratio: "adaptive",
        duration: 5,
        generate_audio: false,
      },
    ],
    [
      "vidmodel-2.5/fal",
      { prompt: "x", video_url: A },
      "bytedance/seedance-2.5/reference-to-video",
      { prompt: "x", video_urls: [A], task: "editing", ...plain, generate_audio: false, end_user_id: "ref-1" },
    ],
    [
      "vidmodel-2.5/replicate",
      { prompt: "x", video_url: A, video_urls: [B], audio_urls: [A] },
      "bytedance/seedance-2.5",
      { prompt: "x", reference_videos: [A, B], reference_audios: [A], ...plain, generate_audio: false },
    ],
    [
      "sim-image-1/fal",
      { prompt: "x", seed: 7 },
      "sim/image-1",
      { prompt: "x", resolution: "1K", aspect_ratio: "1:1", quality: "medium", seed: 7, num_images: 2 },
    ],
    [
      "sim-image-1/replicate",
      { prompt: "x" },
      "sim/image-1",
      { prompt: "x", resolution: "1K", aspect_ratio: "1:1", quality: "medium", num_outputs: 2 },
    ],
    ["sim-speech-1/replicate", { prompt: "x" }, "sim/speech-1", { text: "x" }],
    ["sim-lipsync-1/replicate", { image_url: A, audio_url: B }, "sim/lipsync-1", { image: A, audio: B, resolution: "720p" }],
  ];
  test.each(rows)("%s %j", (routeId, input, endpoint, body) => {
    expect(sent(routeId, input)).toEqual({ endpoint, input: body as JsonObject });
  });
});
