// Requests and costs of shipped routes that were corrected after the providers' documentation.
import { describe, expect, test } from "bun:test";
import { builtInCatalogue } from "../../catalogue/load.ts";
import { marginOf } from "../../catalogue/margin.ts";
import { rateFor } from "../../catalogue/rates.ts";
import { endingRoutes } from "../../catalogue/route-end-dates.ts";
import type { JsonObject } from "../../src/domain/types.ts";
import { endpointOf, inputOf } from "../../src/providers/map-input.ts";
import { makePlan } from "../../src/quote/plan.ts";
import { priceRoutes } from "../../src/quote/price.ts";
import { check, lengthsFor } from "../quote/inputs.ts";

const catalogue = builtInCatalogue();
const A = "https://media.example/a";
const B = "https://media.example/b";

const known = (routeId: string) => {
  const found = catalogue.route(routeId);
  if (!found) throw new Error(`${routeId} is not shipped`);
  return found;
};
const sent = (routeId: string, input: JsonObject) => {
  const { model, route } = known(routeId);
  const { raw, filled } = check(model, input);
  const options = JSON.parse(JSON.stringify(route.options)) as JsonObject;
  const c = { ref: "ref-1", endpoint: route.endpoint, options, baseUrl: "https://provider.example", input: { raw, filled } };
  return { endpoint: endpointOf(c), input: inputOf(c) };
};
/** The plan over all routes: route ids in order, with prices in credits. */
const planned = (modelId: string, input: JsonObject, lengthsMs: number[] = [5_000]) => {
  const model = catalogue.model(modelId);
  if (!model) throw new Error(`${modelId} is not shipped`);
  const checked = check(model, input);
  const measured = lengthsFor(checked, lengthsMs);
  const prices = priceRoutes(model, checked, measured);
  const limits = { maxCostCredits: 1_000_000, maxWaitMs: null, routeState: () => "up" as const, expectedMs: () => undefined };
  return makePlan({ model, checked, measured, prices, ...limits }).routes.map(({ routeId, priceCredits }) => ({
    route: routeId.slice(modelId.length + 1),
    credits: priceCredits,
  }));
};

describe("vidmodel-2.5 at fal", () => {
  test("sends a clip edit to reference-to-video with task editing and the clip first in video_urls", () => {
    const { endpoint, input } = sent("vidmodel-2.5/fal", { prompt: "x", video_url: A, video_urls: [B] });
    expect(endpoint).toBe("bytedance/seedance-2.5/reference-to-video");
    expect(input).toMatchObject({ video_urls: [A, B], task: "editing" });
    expect(Object.keys(input)).not.toContain("video_url");
  });
  test("sends no task when the input has only references", () => {
    expect(Object.keys(sent("vidmodel-2.5/fal", { prompt: "x", video_urls: [B] }).input)).not.toContain("task");
  });
});

test("wan-3.0 at fal sends the first frame as start_image_url", () => {
  const { endpoint, input } = sent("wan-3.0/fal", { prompt: "x", image_url: A, end_image_url: B });
  expect(endpoint).toBe("alibaba/wan-3.0/image-to-video");
  expect(input).toMatchObject({ start_image_url: A, end_image_url: B });
  expect(Object.keys(input)).not.toContain("image_url");
});

test("vidmodel-2.5 is planned at Replicate first, and its WaveSpeed price has a margin above 15 %", () => {
  expect(planned("vidmodel-2.5", { prompt: "x" })[0]?.route).toBe("replicate");
  expect(planned("vidmodel-2.5", { prompt: "x" }).map(({ route }) => route)).toEqual([
    "replicate",
    "volcengine",
    "modelark",
    "wavespeed",
    "fal",
  ]);
  const { route } = known("vidmodel-2.5/wavespeed");
  expect(rateFor(route.cost, { resolution: "720p" })?.usd).toBe("0.36");
  expect(marginOf(route)?.leastPercent).toBeGreaterThan(15);
});

test("vidmodel-2.0-fast at WaveSpeed costs 0.16 USD per second and has a margin above 15 %", () => {
  const { route } = known("vidmodel-2.0-fast/wavespeed");
  expect(rateFor(route.cost, { resolution: "720p" })?.usd).toBe("0.16");
  expect(marginOf(route)?.leastPercent).toBeGreaterThan(15);
});

describe("the price includes input images that the provider bills:", () => {
  // 0.0075 USD for a low-quality image, and 0.0154 USD for each input image.
  const rows: [input: JsonObject, credits: number][] = [
    [{ prompt: "x", quality: "low" }, 1],
    [{ prompt: "x", quality: "low", image_url: A }, 3],
    [{ prompt: "x", quality: "low", image_urls: [A] }, 3],
    [{ prompt: "x", quality: "low", image_urls: Array.from({ length: 16 }, (_, at) => `${A}${at}`) }, 26],
    [{ prompt: "x", quality: "high", image_urls: [A, B] }, 30],
  ];
  for (const host of ["openai", "fal"])
    test.each(rows)(`gpt-image-2/${host} %j`, (input, credits) => {
      expect(planned("gpt-image-2", input).find(({ route }) => route === host)?.credits).toBe(credits);
    });
  test("every route with an image-input cost has a positive margin", () => {
    const billing = catalogue.models.flatMap(({ routes }) => routes).filter(({ image_input_cost: cost }) => cost.length > 0);
    expect(billing.length).toBeGreaterThanOrEqual(6);
    for (const route of billing) expect([route.id, (marginOf(route)?.leastPercent ?? -1) > 0]).toEqual([route.id, true]);
  });
});

test("minimax-h3 has no MiniMax route below 5 seconds, and Ray 2 has no fal route for 1:1", () => {
  expect(planned("minimax-h3", { prompt: "x", duration: 4 }).map(({ route }) => route)).toEqual(["wavespeed"]);
  expect(planned("minimax-h3", { prompt: "x", duration: 5 })).toHaveLength(2);
  for (const model of ["luma-ray-2", "luma-ray-flash-2"])
    expect(planned(model, { prompt: "x", aspect_ratio: "1:1" }).map(({ route }) => route)).toEqual(["luma"]);
});

test("no shipped route ends within 14 days of 25 November 2026", () => {
  const day = Date.UTC(2026, 10, 25);
  expect(endingRoutes(catalogue.models, day, 14)).toEqual([]);
  expect(known("gemini-omni-flash/gemini-video").route.endpoint).toBe("gemini-omni-1.2-flash");
  expect(endingRoutes(catalogue.models, Date.UTC(2027, 4, 20)).map(({ routeId }) => routeId)).toContain(
    "gemini-3.1-flash-image/gemini",
  );
});
