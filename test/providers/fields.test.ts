// Route options of the catalogue: mapping of input fields to the names and forms of the provider.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { JsonObject } from "../../src/domain/types.ts";
import { endpointOf, inputOf, optionsFault } from "../../src/providers/map-input.ts";
import type { AdapterContext } from "../../src/providers/port.ts";
import { FAL_OPTIONS } from "./task.ts";

const contextOf = (options: JsonObject, filled: JsonObject): AdapterContext => ({
  ref: "0k3v9x2m-1",
  endpoint: "maker/app",
  options,
  baseUrl: "https://provider.example",
  input: { raw: {}, filled },
});

const INPUTS: [promise: string, options: JsonObject, filled: JsonObject, theirs: JsonObject][] = [
  ["keeps the name of a field without a rule", {}, { prompt: "p", seed: 7 }, { prompt: "p", seed: 7 }],
  ["renames a field", { fields: { image_url: "image" } }, { image_url: "https://a/b" }, { image: "https://a/b" }],
  ["omits a field that is mapped to null", { fields: { seed: null } }, { prompt: "p", seed: 7 }, { prompt: "p" }],
  ["omits a missing field instead of sending null", { fields: { seed: "s" } }, { prompt: "p" }, { prompt: "p" }],
  ["converts an integer to text", { fields: { duration: { to: "duration", as: "string" } } }, { duration: 5 }, { duration: "5" }],
  [
    "converts text to an integer",
    { fields: { quality: { to: "steps", as: "integer", map: { high: "40" } } } },
    { quality: "high" },
    { steps: 40 },
  ],
  [
    "wraps one value in a list",
    { fields: { video_url: { to: "videos", as: "list" } } },
    { video_url: "https://a" },
    { videos: ["https://a"] },
  ],
  [
    "does not wrap a list in a list",
    { fields: { image_urls: { to: "refs", as: "list" } } },
    { image_urls: ["a", "b"] },
    { refs: ["a", "b"] },
  ],
  [
    "joins two fields that map to one list",
    { fields: { image_url: { to: "refs", as: "list" }, image_urls: { to: "refs", as: "list" } } },
    { image_url: "a", image_urls: ["b", "c"] },
    { refs: ["a", "b", "c"] },
  ],
  [
    "replaces a mapped value",
    { fields: { aspect_ratio: { to: "ratio", map: { adaptive: "auto" } } } },
    { aspect_ratio: "adaptive" },
    { ratio: "auto" },
  ],
  [
    "keeps a value without a mapping",
    { fields: { aspect_ratio: { to: "ratio", map: { adaptive: "auto" } } } },
    { aspect_ratio: "1:1" },
    { ratio: "1:1" },
  ],
  [
    "keeps a value that is the name of an inherited object member",
    { fields: { quality: { to: "q", map: { a: "b" } } } },
    { quality: "constructor" },
    { q: "constructor" },
  ],
  ["maps a text value to a number", { fields: { quality: { to: "q", map: { high: 3 } } } }, { quality: "high" }, { q: 3 }],
  [
    "sends audio false explicitly",
    { fields: { audio: "generate_audio" } },
    { prompt: "p", audio: false },
    { prompt: "p", generate_audio: false },
  ],
  [
    "sends audio false if the input lacks the field",
    { fields: { audio: "generate_audio" } },
    { prompt: "p" },
    { prompt: "p", generate_audio: false },
  ],
  ["sends no audio field if the route maps it to null", { fields: { audio: null } }, { prompt: "p" }, { prompt: "p" }],
  ["adds no audio field if the route has no rule for it", {}, { prompt: "p" }, { prompt: "p" }],
  ["prefers constants to fields", { constants: { resolution: "1K", n: 1 } }, { resolution: "2K" }, { resolution: "1K", n: 1 }],
  [
    "sets a member of an object, beside the members of the constants",
    { fields: { voice: "voice_setting.voice_id", speed: "voice_setting.speed" }, constants: { voice_setting: { vol: 1 } } },
    { voice: "Abbess", speed: 1.5 },
    { voice_setting: { voice_id: "Abbess", speed: 1.5, vol: 1 } },
  ],
  [
    "sends a default where no field sets the member",
    { defaults: { voice: "Rachel" } },
    { prompt: "p" },
    { prompt: "p", voice: "Rachel" },
  ],
  ["prefers fields to defaults", { defaults: { voice: "Rachel" } }, { voice: "Aria" }, { voice: "Aria" }],
  [
    "prefers constants to defaults",
    { defaults: { setting: { a: 1, b: 1 } }, constants: { setting: { a: 2 } } },
    {},
    { setting: { a: 2, b: 1 } },
  ],
  ["sends our reference in the marker field", { marker: "user" }, { prompt: "p" }, { prompt: "p", user: "0k3v9x2m-1" }],
];

describe("the provider's input", () => {
  for (const [promise, options, filled, theirs] of INPUTS)
    test(promise, () => {
      expect(inputOf(contextOf(options, filled))).toEqual(theirs);
    });

  test("throws for a value that cannot be converted", () => {
    const c = contextOf({ fields: { prompt: { to: "n", as: "integer" } } }, { prompt: "five" });
    expect(() => inputOf(c)).toThrow("input.prompt");
  });

  test("is deterministic and has exactly the fields of the input", () => {
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.string({ minLength: 1 }).filter((name) => !name.includes(".")),
          fc.oneof(fc.string(), fc.integer(), fc.boolean()),
        ),
        (filled) => {
          const c = contextOf({}, filled);
          expect(JSON.stringify(inputOf(c))).toBe(JSON.stringify(inputOf(structuredClone(c))));
          expect(Object.keys(inputOf(c)).sort()).toEqual(Object.keys(filled).sort());
        },
      ),
      { seed: 20261121, numRuns: 200 },
    );
  });
});

const ENDPOINTS: [filled: JsonObject, endpoint: string][] = [
  [{ prompt: "p" }, "maker/app/text-to-video"],
  [{ prompt: "p", image_url: "u" }, "maker/app/image-to-video"],
  [{ prompt: "p", image_url: "u", end_image_url: "v" }, "maker/app/image-to-video"],
  [{ prompt: "p", image_urls: ["u"] }, "maker/app/reference-to-video"],
  [{ prompt: "p", image_url: "u", image_urls: ["u"] }, "maker/app/reference-to-video"],
];

describe("the endpoint", () => {
  for (const [filled, endpoint] of ENDPOINTS)
    test(`of an input with ${Object.keys(filled).join(" + ")} is ${endpoint}`, () => {
      expect(endpointOf(contextOf(FAL_OPTIONS, filled))).toBe(endpoint);
    });

  test("ends in the part that the value of a field selects", () => {
    const path = { field: "voice", map: { Bella: "hpp4", Rachel: "21m0" }, else: "hpp4" };
    expect(endpointOf(contextOf({ path }, { prompt: "p", voice: "Rachel" }))).toBe("maker/app/21m0");
    expect(endpointOf(contextOf({ path }, { prompt: "p" }))).toBe("maker/app/hpp4");
    expect(() => endpointOf(contextOf({ path }, { voice: "../admin" }))).toThrow("input.voice");
    expect(() => endpointOf(contextOf({ path }, { voice: "constructor" }))).toThrow("input.voice");
  });

  test("is the base endpoint without a matching entry", () => {
    expect(endpointOf(contextOf({}, { prompt: "p" }))).toBe("maker/app");
    expect(endpointOf(contextOf({ endpoints: [{ when: ["seed"], path: "x" }] }, { prompt: "p" }))).toBe("maker/app");
  });
});

const FAULTS: [options: JsonObject, path: string][] = [
  [{ feilds: {} }, "/feilds"],
  [{ fields: { prompt: { as: "string" } } }, "/fields/prompt"],
  [{ fields: { prompt: { to: "p", as: "float" } } }, "/fields/prompt"],
  [{ fields: { prompt: "" } }, "/fields/prompt"],
  [{ endpoints: [{ when: "image_url", path: "x" }] }, "/endpoints/0/when"],
  [{ marker: "" }, "/marker"],
  [{ path: { field: "voice", map: {} } }, "/path/else"],
];

describe("optionsFault", () => {
  for (const [options, path] of FAULTS)
    test(`returns the path of the fault in ${JSON.stringify(options)}`, () => {
      expect(optionsFault(options)).toStartWith(path);
      expect(() => inputOf(contextOf(options, { prompt: "p" }))).toThrow("options");
    });

  test("returns undefined for valid options", () => {
    expect(optionsFault(FAL_OPTIONS)).toBeUndefined();
    expect(optionsFault({})).toBeUndefined();
  });
});
