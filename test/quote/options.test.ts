// Published options against input validation: inputs built from them are accepted, other JSON is accepted or rejected.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { modelEntry } from "../../catalogue/public-model.ts";
import { answerOf, catalogue, check, inputsFrom, runs, shipped } from "./inputs.ts";

describe("inputs built from the published options alone are accepted by", () => {
  test.each(catalogue.models.map(({ id }) => id))("%s", (modelId) => {
    const model = shipped(modelId);
    const property = (input: Record<string, unknown>) => {
      const { raw, filled } = check(model, input);
      expect(raw).toEqual(input as typeof raw);
      expect(filled).toMatchObject(raw);
    };
    fc.assert(fc.property(inputsFrom(modelEntry(model, () => true)), property), runs(60));
    for (const { id } of model.routes)
      fc.assert(fc.property(inputsFrom(modelEntry(model, (routeId) => routeId === id)), property), runs(20));
  });
});

test("accepts arbitrary JSON or rejects it with invalid_input", () => {
  const value = fc.jsonValue({ maxDepth: 3 });
  const name = fc.oneof(fc.constantFrom("prompt", "duration", "image_url", "image_urls", "resolution", "audio"), fc.string());
  fc.assert(
    fc.property(fc.constantFrom(...catalogue.models), fc.dictionary(name, value), (model, input) => {
      expect(answerOf(() => check(model, input))).toMatch(/^(accepted$|invalid_input input[.[])/);
    }),
    runs(500),
  );
});
