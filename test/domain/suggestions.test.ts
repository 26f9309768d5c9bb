// Suggestions for misspelled names.
import { expect, test } from "bun:test";
import { builtInCatalogue } from "../../catalogue/load.ts";
import { didYouMean, suggestionsFor } from "../../src/domain/suggestions.ts";
import { openHarness, type ParsedResponse } from "../harness.ts";

const messageOf = ({ body }: ParsedResponse) => (body.error as { message: string }).message;
const MODELS = builtInCatalogue().models.map(({ id }) => id);

test.each([
  ["vidmodel-2.0-fsat", "vidmodel-2.0-fast"],
  ["Kling-3-Pro", "kling-3-pro"],
  ["sim-imag-1", "sim-image-1"],
  ["flux", "flux-2-"],
])("suggests for %s a model that begins with %s", (given, wanted) => {
  expect(suggestionsFor(given, MODELS)[0]).toStartWith(wanted);
});

test.each([["zzzzzz"], [""], ["a"], ["x".repeat(81)], ["flux-2-pro".repeat(50)]])("suggests nothing for %p", (given) => {
  expect(suggestionsFor(given, MODELS)).toEqual([]);
});

test("suggests at most three names, in one sentence", () => {
  expect(didYouMean("kling", ["kling-1", "kling-22", "kling-333", "kling-4444"])).toBe(
    'Did you mean "kling-1", "kling-22" or "kling-333"?',
  );
  expect(didYouMean("klng-1", ["kling-1"])).toBe('Did you mean "kling-1"?');
  expect(didYouMean("other", ["kling-1"])).toBe("");
});

test("the API suggests the model of a misspelled id", async () => {
  const harness = await openHarness();
  const submitted = await harness.request("POST", "/v1/generations", { body: { model: "sim-imag-1", input: { prompt: "x" } } });
  expect([submitted.status, messageOf(submitted)]).toEqual([
    422,
    'model: "sim-imag-1" is not available; GET /v1/models lists those that are. Did you mean "sim-image-1"?',
  ]);
  const read = await harness.request("GET", "/v1/models/sim-imag-1");
  expect([read.status, messageOf(read)]).toEqual([404, expect.stringMatching(/Did you mean "sim-image-1"\?$/)]);
  await harness.close();
});
