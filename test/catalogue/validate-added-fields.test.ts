// Validation of the fields voice, language, speed, output_format, background and mask_url, and of parts of an endpoint.

import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CatalogueError, loadCatalogue } from "../../catalogue/load.ts";
import { dropScratch } from "../scratch.ts";

const made: string[] = [];
afterAll(() => {
  for (const directory of made) dropScratch(directory);
});

type File = { fields: Record<string, unknown>; routes: { options: Record<string, unknown> }[] };
/** A model file without faults, which a row changes. */
const sound = (): File => ({
  ...{ id: "m-1", name: "M 1", maker: null, kind: "video", tasks: ["text-to-video"], input_kind: "common" },
  fields: {
    prompt: { max_length: 1000, required: true },
    image_url: { max_items: 1 },
    resolution: { values: ["480p", "720p"], default: "720p" },
    seed: { min: 0, max: 100 },
  },
  ...{ price: { unit: "generation" } },
  routes: [
    {
      ...{ id: "m-1/fal", provider: "fal", endpoint: "owner/m-1", expected_s: 60, timeout_s: 600, rates: [{ usd: "0.10" }] },
      options: {},
    },
  ],
});

/** The faults of the changed file, without its path. */
const faultsOf = (path: string, value: unknown): string => {
  const model = sound();
  const [part, name = ""] = [path.split(".")[0], path.split(".").at(-1)];
  if (part === "fields") model.fields[name] = value;
  else if (model.routes[0]) model.routes[0].options[name] = value;
  const directory = mkdtempSync(join(tmpdir(), "catalogue-"));
  made.push(directory);
  mkdirSync(join(directory, "models"));
  writeFileSync(join(directory, "models/m.json"), JSON.stringify(model));
  try {
    loadCatalogue(directory);
    return "";
  } catch (fault) {
    if (!(fault instanceof CatalogueError)) throw fault;
    return fault.faults.join("\n").replaceAll(`${directory}/models/m.json#`, "");
  }
};

test("accepts the valid model, also with the added fields", () => {
  expect(faultsOf("fields.seed", { min: 0, max: 100 })).toBe("");
  expect(faultsOf("fields.voice", { values: ["Bella", "Chinese (Mandarin)_News_Anchor"] })).toBe("");
  expect(faultsOf("fields.mask_url", { max_items: 1, requires: ["image_url"] })).toBe("");
  expect(faultsOf("options.path", { field: "resolution", map: { "480p": "a", "720p": "b" }, else: "b" })).toBe("");
});

describe("rejects a model file and reports the JSON location:", () => {
  const rows: [name: string, path: string, value: unknown, fault: string][] = [
    [
      "a picture format of a video model",
      "fields.output_format",
      { values: ["png"] },
      "/fields/output_format/values/0: png is no format of the kind video",
    ],
    [
      "an unknown format",
      "fields.output_format",
      { values: ["tiff"] },
      "/fields/output_format/values/0: expected one of png, jpeg",
    ],
    [
      "a background of a video model",
      "fields.background",
      { values: ["opaque"] },
      "/fields/background: is for models whose results are pictures",
    ],
    ["a mask without a picture", "fields.mask_url", { max_items: 1 }, "/fields/mask_url/requires: a mask requires image_url"],
    [
      "a voice with a line break",
      "fields.voice",
      { values: ["a\nb"] },
      "/fields/voice/values/0: expected a name of at most 100 letters",
    ],
    [
      "a language in words",
      "fields.language",
      { values: ["English"] },
      "/fields/language/values/0: expected a language code such as en",
    ],
    ["a speed of 0", "fields.speed", { min: 0, max: 2 }, "/fields/speed/min: expected a number from 0.1 to 10, not 0"],
    [
      "a default speed outside the bounds",
      "fields.speed",
      { min: 0.5, max: 2, default: 3 },
      "/fields/speed/default: 3 is outside 0.5 to 2",
    ],
    [
      "a part of the endpoint by a field that the model does not take",
      "routes.0.options.path",
      { field: "voice", map: { a: "b" }, else: "b" },
      "/routes/0/options/path/field: the route does not take voice",
    ],
    [
      "a part of the endpoint by a range",
      "routes.0.options.path",
      { field: "seed", map: { a: "b" }, else: "b" },
      "/routes/0/options/path/field: seed is not a choice",
    ],
    [
      "a value without a part of the endpoint",
      "routes.0.options.path",
      { field: "resolution", map: { "480p": "small" }, else: "small" },
      "/routes/0/options/path/map: has no part for 720p",
    ],
    [
      "a part of the endpoint with a slash",
      "routes.0.options.path",
      { field: "resolution", map: { "480p": "a/b", "720p": "c" }, else: "c" },
      "/routes/0/options/path/map/480p: expected letters, digits, dot",
    ],
  ];
  test.each(rows)("%s", (_name, path, value, fault) => {
    expect(faultsOf(path, value)).toStartWith(fault);
  });
});
