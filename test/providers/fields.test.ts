// The route options of the catalogue: which field goes where, under which name, in which form.
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
  ["a field without a rule keeps its name", {}, { prompt: "p", seed: 7 }, { prompt: "p", seed: 7 }],
  ["a field is renamed", { fields: { image_url: "image" } }, { image_url: "https://a/b" }, { image: "https://a/b" }],
  ["null keeps a field back", { fields: { seed: null } }, { prompt: "p", seed: 7 }, { prompt: "p" }],
  ["a missing field is left out, not sent as null", { fields: { seed: "s" } }, { prompt: "p" }, { prompt: "p" }],
  ["an integer becomes text", { fields: { duration: { to: "duration", as: "string" } } }, { duration: 5 }, { duration: "5" }],
  [
    "text becomes an integer",
    { fields: { quality: { to: "steps", as: "integer", map: { high: "40" } } } },
    { quality: "high" },
    { steps: 40 },
  ],
  [
    "one value becomes a list",
    { fields: { video_url: { to: "videos", as: "list" } } },
    { video_url: "https://a" },
    { videos: ["https://a"] },
  ],
  [
    "a list stays one list",
    { fields: { image_urls: { to: "refs", as: "list" } } },
    { image_urls: ["a", "b"] },
    { refs: ["a", "b"] },
  ],
  [
    "two fields that go to one list are joined",
    { fields: { image_url: { to: "refs", as: "list" }, image_urls: { to: "refs", as: "list" } } },
    { image_url: "a", image_urls: ["b", "c"] },
    { refs: ["a", "b", "c"] },
  ],
  [
    "a mapped value is replaced",
    { fields: { aspect_ratio: { to: "ratio", map: { adaptive: "auto" } } } },
    { aspect_ratio: "adaptive" },
    { ratio: "auto" },
  ],
  [
    "a value outside the map stays",
    { fields: { aspect_ratio: { to: "ratio", map: { adaptive: "auto" } } } },
    { aspect_ratio: "1:1" },
    { ratio: "1:1" },
  ],
  [
    "a value named like a member of every object is not mapped",
    { fields: { quality: { to: "q", map: { a: "b" } } } },
    { quality: "constructor" },
    { q: "constructor" },
  ],
  ["a map can make a number of a word", { fields: { quality: { to: "q", map: { high: 3 } } } }, { quality: "high" }, { q: 3 }],
  [
    "sound is switched off in so many words",
    { fields: { audio: "generate_audio" } },
    { prompt: "p", audio: false },
    { prompt: "p", generate_audio: false },
  ],
  [
    "sound is switched off even when the input lacks the field",
    { fields: { audio: "generate_audio" } },
    { prompt: "p" },
    { prompt: "p", generate_audio: false },
  ],
  ["sound that the route does not take is not sent", { fields: { audio: null } }, { prompt: "p" }, { prompt: "p" }],
  ["a route that says nothing of sound gets none of its own", {}, { prompt: "p" }, { prompt: "p" }],
  ["constants win over fields", { constants: { resolution: "1K", n: 1 } }, { resolution: "2K" }, { resolution: "1K", n: 1 }],
  ["our reference goes where the route says", { marker: "user" }, { prompt: "p" }, { prompt: "p", user: "0k3v9x2m-1" }],
];

describe("the provider's input", () => {
  for (const [promise, options, filled, theirs] of INPUTS)
    test(promise, () => {
      expect(inputOf(contextOf(options, filled))).toEqual(theirs);
    });

  test("a value that cannot take the form is a defect, not a wrong request", () => {
    const c = contextOf({ fields: { prompt: { to: "n", as: "integer" } } }, { prompt: "five" });
    expect(() => inputOf(c)).toThrow("input.prompt");
  });

  test("the same context makes the same bytes, and no input field is lost or invented", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ minLength: 1 }), fc.oneof(fc.string(), fc.integer(), fc.boolean())), (filled) => {
        const c = contextOf({}, filled);
        expect(JSON.stringify(inputOf(c))).toBe(JSON.stringify(inputOf(structuredClone(c))));
        expect(Object.keys(inputOf(c)).sort()).toEqual(Object.keys(filled).sort());
      }),
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
    test(`${Object.keys(filled).join(" + ")} goes to ${endpoint}`, () => {
      expect(endpointOf(contextOf(FAL_OPTIONS, filled))).toBe(endpoint);
    });

  test("is the bare one when no entry fits or there is none", () => {
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
];

describe("options that are not valid are named", () => {
  for (const [options, path] of FAULTS)
    test(JSON.stringify(options), () => {
      expect(optionsFault(options)).toStartWith(path);
      expect(() => inputOf(contextOf(options, { prompt: "p" }))).toThrow("options");
    });

  test("and valid ones are not", () => {
    expect(optionsFault(FAL_OPTIONS)).toBeUndefined();
    expect(optionsFault({})).toBeUndefined();
  });
});
