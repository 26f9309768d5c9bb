// The shipped catalogue matches the specification: models, options, routes and three price tables (§2.6, §2.8).
import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { INPUT_FIELDS } from "../../catalogue/fields.ts";
import { builtInCatalogue } from "../../catalogue/load.ts";
import { modelEntry } from "../../catalogue/public-model.ts";
import { microUsd } from "../../catalogue/rates.ts";

const catalogue = builtInCatalogue();
const shipped = (modelId: string) => {
  const model = catalogue.model(modelId);
  if (!model) throw new Error(`${modelId} is not shipped`);
  return model;
};
const RATIOS = ["16:9", "9:16", "1:1", "4:3", "3:4", "21:9", "adaptive"];
const byResolution = (usd: Record<string, number>) =>
  Object.entries(usd).map(([resolution, amount]) => ({ when: { resolution }, usd: amount }));

describe("the shipped prices match the published price table of", () => {
  const tables: [string, Record<string, number>][] = [
    ["vidmodel-2.0", { "480p": 0.08, "720p": 0.15, "1080p": 0.4, "4K": 0.83 }],
    ["vidmodel-2.0-fast", { "480p": 0.05, "720p": 0.11 }],
    ["vidmodel-2.0-mini", { "480p": 0.03, "720p": 0.05 }],
  ];
  test.each(tables)("%s", (modelId, usd) => {
    const { price } = modelEntry(shipped(modelId), () => true);
    expect(price.currency).toBe("usd");
    expect(price.unit).toBe("second");
    expect(price.rates).toEqual(byResolution(usd));
    // The same route is the cheapest at every resolution.
    const [cheapest] = shipped(modelId).routes;
    expect(cheapest?.rates.map(({ when, usd: amount }) => ({ when, usd: Number(amount) }))).toEqual(byResolution(usd));
  });
  test("vidmodel-2.0 with a reference clip costs 0.10 USD per second at 720p", () => {
    const { price } = modelEntry(shipped("vidmodel-2.0"), () => true);
    expect(price.video_input_rates.find(({ when }) => when.resolution === "720p")?.usd).toBe(0.1);
  });
});

describe("the shipped vidmodel family", () => {
  const facts: [string, number, string[]][] = [
    ["vidmodel-2.0", 3, ["480p", "720p", "1080p", "4K"]],
    ["vidmodel-2.0-fast", 4, ["480p", "720p"]],
    ["vidmodel-2.0-mini", 4, ["480p", "720p"]],
  ];
  test.each(facts)("%s has %d routes and the tasks and options of §2.8", (modelId, routes, resolutions) => {
    const model = shipped(modelId);
    const { options, tasks } = modelEntry(model, () => true);
    expect(model.routes).toHaveLength(routes);
    expect(tasks).toEqual(["text-to-video", "image-to-video", "first-last-frame", "reference-to-video"]);
    expect(options.resolution).toEqual({ values: resolutions, default: "720p" });
    expect(options.duration).toEqual({ min: 4, max: 15, default: 5 });
    expect(options.aspect_ratio).toEqual({ values: RATIOS, default: "16:9" });
    expect(options.image_urls).toEqual({ max_items: 9, excludes: ["image_url", "end_image_url"] });
    expect(options.end_image_url).toEqual({
      max_items: 1,
      requires: ["image_url"],
      excludes: ["image_urls", "video_url"],
    });
    expect(options.prompt).toEqual({ max_length: 30_000, required: true });
  });

  test("vidmodel-2.5 accepts every field of the extended input and has at least two routes", () => {
    const model = shipped("vidmodel-2.5");
    const { options } = modelEntry(model, () => true);
    expect(model.input_kind).toBe("extended");
    expect(model.routes.length).toBeGreaterThanOrEqual(2);
    expect(Object.keys(options).sort()).toEqual([...INPUT_FIELDS.extended].sort());
    expect(options.resolution).toEqual({ values: ["480p", "720p", "1080p"], default: "720p" });
    expect(options.duration).toEqual({ min: 4, max: 30, default: 5, excludes: ["video_url"] });
    expect(options.aspect_ratio).toEqual({ values: RATIOS, default: "16:9" });
    expect(options.audio).toEqual({ values: [false, true], default: false });
    expect(options.image_urls?.max_items).toBe(30);
    expect(options.video_url).toMatchObject({ min_s: 4, max_s: 30 });
    expect(options.video_urls).toMatchObject({ max_items: 10, max_total_s: 30 });
    expect(options.audio_urls).toMatchObject({ max_items: 10, max_total_s: 30 });
  });
});

test("only vidmodel-2.5 has the extended input, and at least one model accepts each field of the common input", () => {
  const common = catalogue.models.filter(({ input_kind }) => input_kind === "common");
  expect(catalogue.models.filter((model) => !common.includes(model)).map(({ id }) => id)).toEqual(["vidmodel-2.5"]);
  const taken = new Set(common.flatMap(({ fields }) => Object.keys(fields)));
  expect(INPUT_FIELDS.common.filter((name) => !taken.has(name))).toEqual([]);
});

test("has a multi-file image model with quality tiers, an editor, a promptless upscaler, speech and lip sync", () => {
  const withTask = (task: string) => catalogue.models.filter(({ tasks }) => tasks.some((one) => one === task));
  expect(withTask("text-to-image").some(({ files, fields }) => files > 1 && fields.quality)).toBe(true);
  expect(withTask("image-to-image").some(({ fields }) => fields.image_url?.required)).toBe(true);
  expect(withTask("upscale").some(({ fields }) => !fields.prompt)).toBe(true);
  expect(withTask("text-to-speech").some(({ price }) => price.unit === "1k_characters")).toBe(true);
  expect(withTask("lip-sync").some(({ fields }) => fields.audio_url?.required)).toBe(true);
});

test("every vidmodel-2.0 route after the first has a strictly higher price on each of its rates", () => {
  for (const { routes } of catalogue.models.filter(({ id }) => id.startsWith("vidmodel-2.0")))
    for (const table of ["rates", "video_input_rates"] as const)
      for (const dearer of routes.slice(1))
        for (const row of dearer[table]) {
          const cheapest = routes[0]?.[table].find(({ when }) => Bun.deepEquals(when, row.when));
          expect(cheapest, `${dearer.id} ${JSON.stringify(row.when)}`).toBeDefined();
          expect(microUsd(row.usd)).toBeGreaterThan(microUsd(cheapest?.usd ?? "0"));
        }
});

test("the rate for a second of video input is below the rate for a second of output", () => {
  for (const { routes } of catalogue.models)
    for (const { rates, video_input_rates } of routes)
      for (const row of video_input_rates) {
        const output = rates.find(({ when }) => Bun.deepEquals(when, row.when));
        expect(microUsd(row.usd)).toBeLessThan(microUsd(output?.usd ?? "0"));
      }
});

const real = catalogue.models.filter(({ simulated }) => !simulated);

test("has at least 12 image, 12 video and 8 audio models, and over 90 % of them have two routes", () => {
  const count = (kind: string) => real.filter((model) => model.kind === kind).length;
  expect(count("image")).toBeGreaterThanOrEqual(12);
  expect(count("video")).toBeGreaterThanOrEqual(12);
  expect(count("audio")).toBeGreaterThanOrEqual(8);
  expect(real.filter(({ routes }) => routes.length < 2).length).toBeLessThan(real.length / 10);
});

test("every real route records the provider's cost with source and date, or the reason why it is not verified", () => {
  for (const { id, source, cost, not_verified } of real.flatMap(({ routes }) => routes)) {
    expect(source?.as_of ?? not_verified, id).toBeDefined();
    if (source) expect(cost.length, id).toBeGreaterThan(0);
  }
});

test("source notes reference only existing files and no internal drafts", () => {
  for (const { id, source, not_verified = [] } of real.flatMap(({ routes }) => routes))
    for (const said of [source?.price, source?.input, ...not_verified]) {
      expect(said ?? "", id).not.toMatch(/\b(draft|providers\.md|shared\/reference|see above)\b/);
      for (const [file] of (said ?? "").matchAll(/src\/providers\/[\w./-]+\.json/g))
        expect(existsSync(join(import.meta.dir, "../..", file)), `${id}: ${file}`).toBe(true);
    }
});

test("looks up models and routes by id, and returns undefined for unknown ids", () => {
  for (const model of catalogue.models)
    for (const route of model.routes) expect(catalogue.route(route.id)).toEqual({ model, route });
  expect(catalogue.route("vidmodel-2.0/none")).toBeUndefined();
  expect(catalogue.model("constructor")).toBeUndefined();
});
