// Validation of model files: every fault is reported with its JSON location, all faults at once.

import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { builtInCatalogue, CatalogueError, loadCatalogue } from "../../catalogue/load.ts";
import { dropScratch } from "../scratch.ts";

const made: string[] = [];
afterAll(() => {
  for (const directory of made) dropScratch(directory);
});

/** A catalogue directory with these files under models/. */
const directoryOf = (files: Record<string, string>): string => {
  const directory = mkdtempSync(join(tmpdir(), "catalogue-"));
  made.push(directory);
  mkdirSync(join(directory, "models"));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, "models", name), text);
  return directory;
};

/** The faults of a directory without its own path; empty when it loads. */
const faultsOf = (directory: string): string[] => {
  try {
    loadCatalogue(directory);
    return [];
  } catch (fault) {
    if (!(fault instanceof CatalogueError)) throw fault;
    return fault.faults.map((line) => line.replace(`${directory}/`, ""));
  }
};

/** A model file without faults, as plain JSON that a row may change. */
const sound = () => ({
  $schema: "../catalogue.schema.json",
  id: "m-1",
  name: "M 1",
  maker: null,
  kind: "video",
  tasks: ["text-to-video"],
  input_kind: "common",
  fields: {
    prompt: { max_length: 30_000, required: true },
    image_url: { max_items: 1 },
    video_url: { max_items: 1, excludes: ["image_url"] },
    resolution: { values: ["480p", "720p"], default: "720p" },
    duration: { min: 4, max: 15, default: 5 },
    audio: { values: [false, true], default: false },
    seed: { min: 0, max: 100 },
  },
  price: { unit: "second", clips: { video_url: "joins_output" } },
  routes: [
    {
      id: "m-1/fal",
      provider: "fal",
      endpoint: "owner/m-1",
      options: { fields: { audio: "generate_audio" }, endpoints: [{ when: ["image_url"], path: "image-to-video" }] },
      expected_s: 60,
      timeout_s: 2400,
      rates: [{ when: { resolution: "480p" }, usd: "0.05" }, { usd: "0.10" }],
      video_input_rates: [{ usd: "0.03" }],
    },
  ],
});

/** The valid model with the member at a dotted path set, or removed by `undefined`. */
const changed = (path: string, value: unknown): unknown => {
  const model: unknown = sound();
  const parts = path.split(".");
  let at = model as Record<string, unknown>;
  for (const part of parts.slice(0, -1)) at = at[part] as Record<string, unknown>;
  const last = parts.at(-1) ?? "";
  if (value === undefined) delete at[last];
  else at[last] = value;
  return model;
};

test("accepts the valid model that the rows below change", () => {
  expect(faultsOf(directoryOf({ "m.json": JSON.stringify(sound()) }))).toEqual([]);
});

describe("rejects a model file and reports the JSON location:", () => {
  const rows: [name: string, path: string, value: unknown, fault: string][] = [
    ["an unknown key", "colour", "red", "/colour: unknown key; allowed are $schema, id, name"],
    ["an unknown key of a route", "routes.0.priority", 1, "/routes/0/priority: unknown key"],
    ["the former name of max_running", "routes.0.seats", 8, "/routes/0/seats: unknown key; the present name is max_running"],
    ["an unknown key of a field", "fields.prompt.colour", 1, "/fields/prompt/colour: unknown key"],
    ["an unknown field", "fields.colour", { max_length: 1 }, "/fields/colour: unknown key"],
    ["a missing member", "name", undefined, "/name: is missing; expected "],
    ["an id with capital letters", "id", "M-1", '/id: expected lower case letters, digits, dot, hyphen, underscore, not "M-1"'],
    ["an unknown task", "tasks.0", "text-to-smell", "/tasks/0: expected one of text-to-image,"],
    [
      "a disabled length check of a model billed by the second",
      "delivers",
      { length: false },
      "/delivers/length: is billed by the second",
    ],
    [
      "a length tolerance that is too wide",
      "delivers",
      { length: { short_s: 3 } },
      "/delivers/length/short_s: at most a quarter of the",
    ],
    ["a resolution share above 1", "delivers", { resolution: { side: 1.5 } }, "/delivers/resolution"],
    ["a size without pixels or side", "delivers", { size: [{}] }, "/delivers/size/0: needs pixels or side"],
    [
      "a size for a resolution that the model does not have",
      "delivers",
      { size: [{ when: { resolution: "4K" }, side: 1 }] },
      "/delivers/size/0/when/resolution: 4K cannot be asked for",
    ],
    [
      "an aspect rule of a model without aspect_ratio",
      "delivers",
      { aspect: false },
      "/delivers/aspect: the model does not take aspect_ratio",
    ],
    [
      "all_files of a model with one file",
      "delivers",
      { all_files: true },
      "/delivers/all_files: a result of the model is one file",
    ],
    ["an unknown price unit", "price.unit", "frame", "/price/unit: expected one of second, image, generation, 1k_characters"],
    ["no routes", "routes", [], "/routes: expected at least one route, not []"],
    ["no rates", "routes.0.rates", [], "/routes/0/rates: expected USD per unit"],
    ["a rate as a number", "routes.0.rates.1.usd", 0.1, '/routes/0/rates/1/usd: expected a decimal string in USD such as "0.15"'],
    ["a rate with a comma", "routes.0.rates.1.usd", "0,1", "/routes/0/rates/1/usd: expected a decimal string"],
    ["a rate with an exponent", "routes.0.rates.1.usd", "1e2", "/routes/0/rates/1/usd: expected a decimal string"],
    ["a negative rate", "routes.0.rates.1.usd", "-1", "/routes/0/rates/1/usd: expected a decimal string"],
    ["a rate finer than a micro-USD", "routes.0.rates.1.usd", "0.0000001", "/routes/0/rates/1/usd: expected a decimal string"],
    ["a rate of 0", "routes.0.rates.1.usd", "0.00", "/routes/0/rates/1/usd: must be above 0"],
    [
      "a route timeout over 40 minutes",
      "routes.0.timeout_s",
      2401,
      "/routes/0/timeout_s: expected a whole number from 1 to 2400",
    ],
    ["an expected time above the timeout", "routes.0.timeout_s", 59, "/routes/0/expected_s: 60 is above timeout_s, 59"],
    ["an unknown provider", "routes.0.provider", "acme", "/routes/0/provider: unknown provider acme; known are fal, replicate"],
    ["a route id with the prefix of another model", "routes.0.id", "m-2/fal", "/routes/0/id: must begin with m-1/"],
    ["an unknown on_refusal value", "routes.0.on_refusal", "hold", "/routes/0/on_refusal: expected one of fail, next"],
    ["an unknown on_lost value", "routes.0.on_lost", "retry", "/routes/0/on_lost: expected one of next, hold, fail"],
    [
      "a default outside the values",
      "fields.resolution.default",
      "1080p",
      "/fields/resolution/default: 1080p is not one of its values",
    ],
    ["a default outside the range", "fields.duration.default", 3, "/fields/duration/default: 3 is outside 4 to 15"],
    [
      "a default of a required field",
      "fields.duration.required",
      true,
      "/fields/duration/default: a required field has no default",
    ],
    ["a range with min above max", "fields.seed.min", 101, "/fields/seed/min: 101 is above max, 100"],
    ["a duration above the API limit", "fields.duration.max", 301, "/fields/duration: expected whole seconds"],
    [
      "a seed above the API limit",
      "fields.seed.max",
      4_294_967_296,
      "/fields/seed/max: expected a whole number from 0 to 4294967295",
    ],
    [
      "a prompt length above the API limit",
      "fields.prompt.max_length",
      30_001,
      "/fields/prompt/max_length: expected a whole number",
    ],
    [
      "an image count above the API limit",
      "fields.image_urls",
      { max_items: 31 },
      "/fields/image_urls/max_items: expected a whole",
    ],
    [
      "an extended-input field in a common-input model",
      "fields.video_urls",
      { max_items: 2 },
      "/fields/video_urls: the common input has no such field",
    ],
    [
      "a common-input field in an extended-input model",
      "input_kind",
      "extended",
      "/fields/seed: the extended input has no such field",
    ],
    [
      "a field that requires an absent field",
      "fields.seed.requires",
      ["quality"],
      "/fields/seed/requires/0: the model does not take quality",
    ],
    ["a field that excludes itself", "fields.seed.excludes", ["seed"], "/fields/seed/excludes/0: names the field itself"],
    [
      "a field that excludes a required field",
      "fields.seed.excludes",
      ["prompt"],
      "/fields/seed/excludes/0: one of seed and prompt is required",
    ],
    [
      "a field that requires a field which excludes it",
      "fields.image_url.requires",
      ["video_url"],
      "/fields/image_url/requires/0: video_url is excluded too",
    ],
    [
      "a last frame without a first frame",
      "fields.end_image_url",
      { max_items: 1 },
      "/fields/end_image_url/requires: a last frame requires image_url",
    ],
    ["no required field", "fields.prompt.required", false, "/fields/prompt: must be required, because no media field is"],
    [
      "clip limits with min above max",
      "fields.video_url",
      { max_items: 1, min_s: 9, max_s: 8 },
      "/fields/video_url/min_s: 9 is above max_s",
    ],
    [
      "a billed clip field that the model lacks",
      "price.clips",
      { audio_url: "is_output" },
      "/price/clips/audio_url: the model does not take audio_url",
    ],
    [
      "a billed clip of a model not billed by the second",
      "price.unit",
      "generation",
      "/price/clips/video_url: clips are billed per second only",
    ],
    ["a clip as output together with duration", "price.clips.video_url", "is_output", "/fields/video_url: must exclude duration"],
    [
      "a model billed by the second without a length",
      "fields.duration",
      { min: 4, max: 15 },
      "/price/unit: per second needs a duration with a default",
    ],
    [
      "a mapping of a field that the model lacks",
      "routes.0.options.fields",
      { quality: "q" },
      "/routes/0/options/fields/quality: the model does not",
    ],
    [
      "an endpoint condition on a field that the model lacks",
      "routes.0.options.endpoints",
      [{ when: ["quality"], path: "a" }],
      "/routes/0/options/endpoints/0/when: the model does not take quality",
    ],
    [
      "a price condition on a field that the model lacks",
      "routes.0.rates.0.when",
      { quality: "low" },
      "/routes/0/rates/0/when/quality: the model does not",
    ],
    [
      "a price condition on a value that the model lacks",
      "routes.0.rates.0.when",
      { resolution: "8K" },
      "/routes/0/rates/0/when/resolution: 8K is not",
    ],
    [
      "a price condition on a field that cannot be priced",
      "routes.0.rates.0.when",
      { seed: 1 },
      "/routes/0/rates/0/when/seed: unknown key",
    ],
    [
      "a possible request without a price",
      "routes.0.rates.1.when",
      { resolution: "480p" },
      '/routes/0/rates: no row for {"resolution":"720p"}',
    ],
    [
      "a rate that no request matches",
      "routes.0.rates.0.when",
      {},
      "/routes/0/rates/1: no request of this route falls under the row",
    ],
    ["no video-input rates", "routes.0.video_input_rates", undefined, "/routes/0/video_input_rates: is missing"],
    ["video-input rates without a billed clip", "price.clips", {}, "/routes/0/video_input_rates: no clip of the model is billed"],
    ["a last day that does not exist", "routes.0.ends", "2027-02-29", "/routes/0/ends: 2027-02-29 is no day"],
    ["a last day in another format", "routes.0.ends", "3 December", "/routes/0/ends: expected the last day"],
    [
      "an image-input rate of 0",
      "routes.0.image_input_rates",
      [{ usd: "0" }],
      "/routes/0/image_input_rates/0/usd: must be above 0",
    ],
    [
      "an image-input rate of a route without image input",
      "routes.0",
      { ...sound().routes[0], takes: { image_url: null }, image_input_rates: [{ usd: "0.01" }] },
      "/routes/0/image_input_rates: no picture comes in on this route",
    ],
    [
      "a route restriction of a field that the model lacks",
      "routes.0.takes",
      { quality: null },
      "/routes/0/takes/quality: the model does not take quality",
    ],
    [
      "a route without a required field",
      "routes.0.takes",
      { prompt: null },
      "/routes/0/takes/prompt: a required field cannot be lacking",
    ],
    [
      "a route restriction with a member of another field type",
      "routes.0.takes",
      { prompt: { max: 3 } },
      "/routes/0/takes/prompt/max: does not apply",
    ],
    [
      "a route value that the model lacks",
      "routes.0.takes",
      { resolution: { values: ["8K"] } },
      "/routes/0/takes/resolution/values: 8K is not",
    ],
    [
      "a route restriction that excludes the default",
      "routes.0.takes",
      { duration: { min: 6 } },
      "/routes/0/takes/duration: leaves out the model's default, 5",
    ],
    [
      "a route restriction that leaves no value",
      "routes.0.takes",
      { seed: { min: 101 } },
      "/routes/0/takes/seed: leaves nothing to take",
    ],
  ];
  test.each(rows)("%s", (_name, path, value, fault) => {
    const faults = faultsOf(directoryOf({ "m.json": JSON.stringify(changed(path, value)) }));
    expect(faults.map((line) => line.startsWith(`models/m.json#${fault}`))).toContain(true);
  });
});

test("reports the faults of all files at once", () => {
  const twice = changed("routes.0.provider", "acme") as { fields: { seed: { max: number } } };
  twice.fields.seed.max = -1;
  const directory = directoryOf({
    "a.json": JSON.stringify(changed("colour", 1)),
    "b.json": JSON.stringify(twice),
    "c.json": "{ not json",
    "d.json": JSON.stringify(changed("routes.0.provider", "acme")),
    "e.json": JSON.stringify(changed("tasks", [])),
  });
  const faults = faultsOf(directory);
  for (const name of ["a", "b", "c", "d", "e"]) expect(faults.some((line) => line.startsWith(`models/${name}.json`))).toBe(true);
});

test("rejects a model id in two files and a route id on two routes", () => {
  const model = sound();
  const directory = directoryOf({
    "a.json": JSON.stringify(model),
    "b.json": JSON.stringify({ ...model, routes: [...model.routes, ...model.routes] }),
  });
  expect(faultsOf(directory)).toEqual([
    "models/b.json#/id: the id m-1 is used by another file",
    "models/b.json#/routes/0/id: the id m-1/fal is used twice",
    "models/b.json#/routes/1/id: the id m-1/fal is used twice",
  ]);
});

test("accepts comments and trailing commas in a .jsonc file, and ignores other and hidden files", () => {
  const text = JSON.stringify(sound(), null, 2).replace("{", "{ // the model\n").replace(/\n\}$/, ",\n}");
  const directory = directoryOf({ "m.jsonc": text, "notes.md": "not a model", ".hidden.json": "{" });
  expect(loadCatalogue(directory).models.map(({ id }) => id)).toEqual(["m-1"]);
});

test("rejects a directory without model files, and a directory that does not exist", () => {
  expect(faultsOf(directoryOf({}))).toEqual(["models: holds no model file; put one file per model there"]);
  expect(() => loadCatalogue("/nowhere/at/all")).toThrow(CatalogueError);
});

test("loading the shipped directory returns the built-in catalogue", () => {
  const read = loadCatalogue(join(import.meta.dir, "../../catalogue"));
  expect(new Map(read.models.map((model) => [model.id, model]))).toEqual(
    new Map(builtInCatalogue().models.map((model) => [model.id, model])),
  );
});
