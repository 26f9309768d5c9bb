// Public entry of a model: its members, and how options and prices depend on the configured routes.
import { expect, test } from "bun:test";
import { modelEntry } from "../../catalogue/public-model.ts";
import type { Model } from "../../catalogue/schema.ts";
import { sampleCatalogue } from "../sample/catalogue.ts";

const catalogue = sampleCatalogue();
const shipped = (modelId: string): Model => {
  const model = catalogue.model(modelId);
  if (!model) throw new Error(`${modelId} is not shipped`);
  return model;
};
const only =
  (...routeIds: string[]) =>
  (routeId: string) =>
    routeIds.includes(routeId);

test("an entry has the members of §2.4 and contains no route id, endpoint or provider", () => {
  for (const model of catalogue.models) {
    const entry = modelEntry(model, () => true);
    expect(Object.keys(entry)).toEqual(["id", "object", "name", "maker", "kind", "tasks", "options", "price"]);
    expect(entry.object).toBe("model");
    expect(Object.keys(entry.options)).toEqual(Object.keys(model.fields));
    const text = JSON.stringify(entry);
    for (const { id, endpoint } of model.routes)
      for (const secret of [id, endpoint, "replicate"]) expect(text).not.toContain(secret);
  }
});

test("publishes for each rate the lowest price of the configured routes", () => {
  const rates = (...routeIds: string[]) =>
    modelEntry(shipped("vidmodel-2.0"), only(...routeIds)).price.rates.map(({ usd }) => usd);
  expect(rates("vidmodel-2.0/fal", "vidmodel-2.0/replicate")).toEqual([0.08, 0.15, 0.4, 0.83]);
  expect(rates("vidmodel-2.0/replicate", "vidmodel-2.0/fal-us")).toEqual([0.085, 0.165, 0.43, 0.9]);
  expect(rates("vidmodel-2.0/fal-us")).toEqual([0.09, 0.18, 0.48, 1]);
  expect(rates()).toEqual([]);
});

test("publishes a rate that only a more expensive route has at the price of that route", () => {
  const model = shipped("vidmodel-2.5");
  const [, replicate] = model.routes;
  if (!replicate) throw new Error("vidmodel-2.5 needs a second route");
  const cheap = { ...replicate, rates: replicate.rates.map((rate) => ({ ...rate, usd: "0.01" })) };
  const entry = modelEntry({ ...model, routes: [...model.routes.filter((route) => route !== replicate), cheap] }, () => true);
  expect(entry.price.rates).toEqual([
    { when: { resolution: "480p" }, usd: 0.01 },
    { when: { resolution: "720p" }, usd: 0.01 },
    { when: { resolution: "1080p" }, usd: 0.48 },
  ]);
});

test("omits fields, values and limits that no configured route accepts", () => {
  const entry = modelEntry(shipped("vidmodel-2.5"), only("vidmodel-2.5/replicate"));
  expect(entry.options.resolution).toEqual({ values: ["480p", "720p"], default: "720p" });
  expect(entry.options.prompt).toEqual({ max_length: 2_000, required: true });
  expect(entry.price.rates.map(({ when }) => when.resolution)).toEqual(["480p", "720p"]);
  const edit = modelEntry(shipped("sim-edit-1"), only("sim-edit-1/replicate"));
  expect(edit.options.negative_prompt).toBeUndefined();
  expect(modelEntry(shipped("sim-edit-1"), () => true).options.negative_prompt).toEqual({ max_length: 5_000 });
  expect(modelEntry(shipped("sim-lipsync-1"), only("sim-lipsync-1/replicate")).options.audio_url?.max_s).toBe(120);
});

test("omits a field that requires a field which no configured route accepts", () => {
  const model = shipped("vidmodel-2.0");
  const lacking = model.routes.map((route) => ({ ...route, takes: { image_url: null } }));
  const { options } = modelEntry({ ...model, routes: lacking }, () => true);
  expect(options.image_url).toBeUndefined();
  expect(options.end_image_url).toBeUndefined();
  expect(options.image_urls).toEqual({ max_items: 9 });
});

test("merges the duration ranges and values of the routes into one option", () => {
  const model = shipped("vidmodel-2.0");
  const durations = (...takes: Model["routes"][number]["takes"][]) => {
    const [route] = model.routes;
    if (!route) throw new Error("vidmodel-2.0 needs a route");
    const routes = takes.map((one) => ({ ...route, takes: one }));
    return modelEntry({ ...model, routes }, () => true).options.duration;
  };
  expect(durations({ duration: { max: 8 } }, { duration: { min: 5, max: 12 } })).toEqual({ min: 4, max: 12, default: 5 });
  expect(durations({ duration: { values: [10, 5] } }, { duration: { values: [5, 15] } })).toEqual({
    values: [5, 10, 15],
    default: 5,
  });
});

test("omits a task whose input no configured route accepts", () => {
  const model = shipped("vidmodel-2.5");
  const [route] = model.routes;
  if (!route) throw new Error("vidmodel-2.5 has no route");
  const wordsOnly = {
    ...route,
    takes: { ...route.takes, image_url: null, end_image_url: null, image_urls: null, video_urls: null },
  };
  const { tasks } = modelEntry({ ...model, routes: [wordsOnly] }, () => true);
  expect(model.tasks).toContain("image-to-video");
  expect(tasks).toEqual(["text-to-video", "reference-to-video", "video-to-video"]);
});
