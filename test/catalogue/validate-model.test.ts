// Each fault of a model file is told with its place, and all faults are told at once.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { builtInCatalogue, CatalogueFault, loadCatalogue } from "../../catalogue/load.ts";

const made: string[] = [];
afterAll(() => {
  for (const directory of made) rmSync(directory, { recursive: true, force: true });
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
    if (!(fault instanceof CatalogueFault)) throw fault;
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

/** The sound model with the member at a dotted path set, or taken away by `undefined`. */
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

test("the model that the rows below break is sound", () => {
  expect(faultsOf(directoryOf({ "m.json": JSON.stringify(sound()) }))).toEqual([]);
});

describe("one fault, one line with its place", () => {
  const rows: [name: string, path: string, value: unknown, fault: string][] = [
    ["unknown key", "colour", "red", "/colour: unknown key"],
    ["unknown key of a route", "routes.0.priority", 1, "/routes/0/priority: unknown key"],
    ["unknown key of a field", "fields.prompt.colour", 1, "/fields/prompt/colour: unknown key"],
    ["unknown field", "fields.colour", { max_length: 1 }, "/fields/colour: unknown key"],
    ["missing member", "name", undefined, "/name: is missing"],
    ["id with capitals", "id", "M-1", '/id: expected lower case letters, digits, dot, hyphen, underscore, not "M-1"'],
    ["unknown task", "tasks.0", "text-to-smell", "/tasks/0: expected one of text-to-image,"],
    ["a length that is not compared", "delivers", { length: false }, "/delivers/length: is billed by the second"],
    ["a length hardly compared", "delivers", { length: { short_s: 3 } }, "/delivers/length/short_s: at most a quarter of the"],
    ["a share of more than all", "delivers", { resolution: { side: 1.5 } }, "/delivers/resolution"],
    ["a size of nothing", "delivers", { size: [{}] }, "/delivers/size/0: needs pixels or side"],
    [
      "a size of no choice",
      "delivers",
      { size: [{ when: { resolution: "4K" }, side: 1 }] },
      "/delivers/size/0/when/resolution: 4K cannot be asked for",
    ],
    ["a shape that is not taken", "delivers", { aspect: false }, "/delivers/aspect: the model does not take aspect_ratio"],
    ["all of one file", "delivers", { all_files: true }, "/delivers/all_files: a result of the model is one file"],
    ["unknown unit", "price.unit", "frame", "/price/unit: expected one of second, image, generation, 1k_characters"],
    ["no routes", "routes", [], "/routes: expected at least one route, not []"],
    ["no rates", "routes.0.rates", [], "/routes/0/rates: expected USD per unit"],
    ["rate as a number", "routes.0.rates.1.usd", 0.1, '/routes/0/rates/1/usd: expected a decimal string in USD such as "0.15"'],
    ["rate with a comma", "routes.0.rates.1.usd", "0,1", "/routes/0/rates/1/usd: expected a decimal string"],
    ["rate with an exponent", "routes.0.rates.1.usd", "1e2", "/routes/0/rates/1/usd: expected a decimal string"],
    ["negative rate", "routes.0.rates.1.usd", "-1", "/routes/0/rates/1/usd: expected a decimal string"],
    ["rate finer than a micro-USD", "routes.0.rates.1.usd", "0.0000001", "/routes/0/rates/1/usd: expected a decimal string"],
    ["rate of nothing", "routes.0.rates.1.usd", "0.00", "/routes/0/rates/1/usd: must be above 0"],
    ["route time over 40 minutes", "routes.0.timeout_s", 2401, "/routes/0/timeout_s: expected a whole number from 1 to 2400"],
    ["expected after the timeout", "routes.0.timeout_s", 59, "/routes/0/expected_s: 60 is above timeout_s, 59"],
    ["unknown provider", "routes.0.provider", "acme", "/routes/0/provider: unknown provider acme; known are fal, replicate"],
    ["route id of another model", "routes.0.id", "m-2/fal", "/routes/0/id: must begin with m-1/"],
    ["on_refusal of another word", "routes.0.on_refusal", "hold", "/routes/0/on_refusal: expected one of fail, next"],
    ["on_lost of another word", "routes.0.on_lost", "retry", "/routes/0/on_lost: expected one of next, hold, fail"],
    [
      "default outside its values",
      "fields.resolution.default",
      "1080p",
      "/fields/resolution/default: 1080p is not one of its values",
    ],
    ["default outside its range", "fields.duration.default", 3, "/fields/duration/default: 3 is outside 4 to 15"],
    [
      "default of a required field",
      "fields.duration.required",
      true,
      "/fields/duration/default: a required field has no default",
    ],
    ["range upside down", "fields.seed.min", 101, "/fields/seed/min: 101 is above max, 100"],
    ["duration beyond the interface", "fields.duration.max", 301, "/fields/duration: expected whole seconds"],
    [
      "seed beyond the interface",
      "fields.seed.max",
      4_294_967_296,
      "/fields/seed/max: expected a whole number from 0 to 4294967295",
    ],
    ["prompt beyond the interface", "fields.prompt.max_length", 30_001, "/fields/prompt/max_length: expected a whole number"],
    ["pictures beyond the interface", "fields.image_urls", { max_items: 31 }, "/fields/image_urls/max_items: expected a whole"],
    ["field of the other input", "fields.video_urls", { max_items: 2 }, "/fields/video_urls: the common input has no such field"],
    ["common field of the extended", "input_kind", "extended", "/fields/seed: the extended input has no such field"],
    [
      "requires a field not taken",
      "fields.seed.requires",
      ["quality"],
      "/fields/seed/requires/0: the model does not take quality",
    ],
    ["excludes itself", "fields.seed.excludes", ["seed"], "/fields/seed/excludes/0: names the field itself"],
    [
      "excludes what is required",
      "fields.seed.excludes",
      ["prompt"],
      "/fields/seed/excludes/0: one of seed and prompt is required",
    ],
    [
      "requires what excludes it",
      "fields.image_url.requires",
      ["video_url"],
      "/fields/image_url/requires/0: video_url is excluded too",
    ],
    [
      "last frame alone",
      "fields.end_image_url",
      { max_items: 1 },
      "/fields/end_image_url/requires: a last frame requires image_url",
    ],
    ["nothing is required", "fields.prompt.required", false, "/fields/prompt: must be required, because no media field is"],
    [
      "clip limits upside down",
      "fields.video_url",
      { max_items: 1, min_s: 9, max_s: 8 },
      "/fields/video_url/min_s: 9 is above max_s",
    ],
    ["clip not taken", "price.clips", { audio_url: "is_output" }, "/price/clips/audio_url: the model does not take audio_url"],
    ["clip billed in another unit", "price.unit", "generation", "/price/clips/video_url: clips are billed per second only"],
    ["clip as output beside duration", "price.clips.video_url", "is_output", "/fields/video_url: must exclude duration"],
    ["no length to bill", "fields.duration", { min: 4, max: 15 }, "/price/unit: per second needs a duration with a default"],
    [
      "mapping of a field not taken",
      "routes.0.options.fields",
      { quality: "q" },
      "/routes/0/options/fields/quality: the model does not",
    ],
    [
      "endpoint by a field not taken",
      "routes.0.options.endpoints",
      [{ when: ["quality"], path: "a" }],
      "/routes/0/options/endpoints/0/when: the model does not take quality",
    ],
    [
      "price by a field not taken",
      "routes.0.rates.0.when",
      { quality: "low" },
      "/routes/0/rates/0/when/quality: the model does not",
    ],
    [
      "price by a value not offered",
      "routes.0.rates.0.when",
      { resolution: "8K" },
      "/routes/0/rates/0/when/resolution: 8K is not",
    ],
    ["price by an unpriceable field", "routes.0.rates.0.when", { seed: 1 }, "/routes/0/rates/0/when/seed: unknown key"],
    [
      "request without a price",
      "routes.0.rates.1.when",
      { resolution: "480p" },
      '/routes/0/rates: no row for {"resolution":"720p"}',
    ],
    ["row never reached", "routes.0.rates.0.when", {}, "/routes/0/rates/1: no request of this route falls under the row"],
    ["no video-input rates", "routes.0.video_input_rates", undefined, "/routes/0/video_input_rates: is missing"],
    ["video-input rates for nothing", "price.clips", {}, "/routes/0/video_input_rates: no clip of the model is billed"],
    ["a last day that is none", "routes.0.ends", "2027-02-29", "/routes/0/ends: 2027-02-29 is no day"],
    ["a last day in other words", "routes.0.ends", "3 December", "/routes/0/ends: expected the last day"],
    [
      "pictures at a rate of 0",
      "routes.0.image_input_rates",
      [{ usd: "0" }],
      "/routes/0/image_input_rates/0/usd: must be above 0",
    ],
    [
      "pictures at a rate where none come in",
      "routes.0",
      { ...sound().routes[0], takes: { image_url: null }, image_input_rates: [{ usd: "0.01" }] },
      "/routes/0/image_input_rates: no picture comes in on this route",
    ],
    [
      "narrows a field not taken",
      "routes.0.takes",
      { quality: null },
      "/routes/0/takes/quality: the model does not take quality",
    ],
    ["lacks a required field", "routes.0.takes", { prompt: null }, "/routes/0/takes/prompt: a required field cannot be lacking"],
    ["narrows by a foreign member", "routes.0.takes", { prompt: { max: 3 } }, "/routes/0/takes/prompt/max: does not apply"],
    [
      "takes what is not offered",
      "routes.0.takes",
      { resolution: { values: ["8K"] } },
      "/routes/0/takes/resolution/values: 8K is not",
    ],
    [
      "takes not the default",
      "routes.0.takes",
      { duration: { min: 6 } },
      "/routes/0/takes/duration: leaves out the model's default, 5",
    ],
    ["takes nothing", "routes.0.takes", { seed: { min: 101 } }, "/routes/0/takes/seed: leaves nothing to take"],
  ];
  test.each(rows)("%s", (_name, path, value, fault) => {
    const faults = faultsOf(directoryOf({ "m.json": JSON.stringify(changed(path, value)) }));
    expect(faults.map((line) => line.startsWith(`models/m.json#${fault}`))).toContain(true);
  });
});

test("every fault of every file is told at once", () => {
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

test("two files with one model id, or two routes with one id, are refused", () => {
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

test("comments and trailing commas are fine, in .json and .jsonc, and other files are left alone", () => {
  const text = JSON.stringify(sound(), null, 2).replace("{", "{ // the model\n").replace(/\n\}$/, ",\n}");
  const directory = directoryOf({ "m.jsonc": text, "notes.md": "not a model", ".hidden.json": "{" });
  expect(loadCatalogue(directory).models.map(({ id }) => id)).toEqual(["m-1"]);
});

test("a directory without models is refused in one line", () => {
  expect(faultsOf(directoryOf({}))).toEqual(["models: holds no model file; put one file per model there"]);
  expect(() => loadCatalogue("/nowhere/at/all")).toThrow(CatalogueFault);
});

test("the shipped catalogue, read from its own directory, is the built-in one", () => {
  const read = loadCatalogue(join(import.meta.dir, "../../catalogue"));
  expect(new Map(read.models.map((model) => [model.id, model]))).toEqual(
    new Map(builtInCatalogue().models.map((model) => [model.id, model])),
  );
});
