// The JSON Schema of a model's input: a validator accepts exactly the inputs that the service accepts.
import { describe, expect, test } from "bun:test";
import Ajv2020 from "ajv/dist/2020";
import fc from "fast-check";
import { builtInCatalogue } from "../../catalogue/load.ts";
import { modelEntry } from "../../catalogue/public-model.ts";
import type { Model } from "../../catalogue/schema.ts";
import type { Json, JsonObject } from "../../src/domain/types.ts";
import { checkInput } from "../../src/quote/check-input.ts";
import { inputSchema } from "../../src/quote/input-schema.ts";
import { answerOf, catalogue, inputsFrom, noHost, runs, shipped } from "./inputs.ts";

const MODELS: readonly Model[] = [
  ...new Map([...builtInCatalogue().models, ...catalogue.models].map((model) => [model.id, model])).values(),
];
const validatorOf = (model: Model, hasAllowedHosts = false) => new Ajv2020().compile(inputSchema(model, hasAllowedHosts));

const BAD_VALUES: readonly Json[] = [
  ...[null, true, false, 0, -1, 1.5, 5, 7, 301, 4_294_967_296, "", "5", "720p", "unknown", {}, []],
  ...["https://media.example/a.png", "http://media.example/a.png", "https://media.example:8443/a", "ftp://media.example/a"],
  ...["https://user@media.example/", "https://media.example./", "https://media.example/a b", "//media.example", "https://"],
  ...[["https://media.example/a.png"], ["x"], [null], [[]]],
];
const changes = fc.array(
  fc.record({
    at: fc.nat(),
    how: fc.constantFrom("value", "drop", "unknown", "add", "long"),
    value: fc.constantFrom(...BAD_VALUES),
  }),
  { maxLength: 2 },
);

/** An input with some of its members changed, so that most faults of inputs occur. */
const changed = (model: Model, input: JsonObject, all: readonly { at: number; how: string; value: Json }[]): JsonObject => {
  const made: JsonObject = { ...input };
  const offered = Object.keys(model.fields);
  for (const { at, how, value } of all) {
    const sent = Object.keys(made);
    const name = (how === "add" ? offered[at % offered.length] : sent[at % Math.max(1, sent.length)]) ?? "prompt";
    if (how === "drop") delete made[name];
    else if (how === "unknown") made[`x_${name}`] = value;
    else if (how === "long") made[name] = "\u{1f600}".repeat(30_000 + (at % 2));
    else made[name] = value;
  }
  return made;
};

describe("a JSON-Schema validator accepts exactly what the service accepts", () => {
  test.each(MODELS.map((model) => [model.id, model] as const))("for generated inputs of %s", (_id, model) => {
    const isValid = validatorOf(model);
    const inputs = inputsFrom(modelEntry(model, () => true)).filter((input) => JSON.stringify(input).isWellFormed());
    fc.assert(
      fc.property(inputs, changes, (input, list) => {
        const made = changed(model, input, list);
        const answer = answerOf(() => checkInput(model, made, noHost));
        expect([JSON.stringify(made).slice(0, 2_000), answer, isValid(made)]).toEqual([
          expect.anything(),
          answer,
          answer === "accepted",
        ]);
      }),
      runs(60),
    );
  });

  test.each([
    ["https://media.example:443/a.png?x=1#y", true],
    ["HTTPS://MEDIA.EXAMPLE/a.png", true],
    ["https://bücher.example/ä.png", true],
    ["https://[2606:4700::1111]/a.png", true],
    ["https://media.example", true],
    ["https://media.example:22/", false],
    ["https://a\\@b.example/", false],
    ["https://media.example/\u0000", false],
    ["https://media.example/\u00a0", false],
    ["https:///media.example/a.png", false],
    ["data:image/png;base64,AAAA", false],
  ])("for the link %p: %p", (link, isAccepted) => {
    const model = shipped("vidmodel-2.0");
    const input = { prompt: "x", image_url: link };
    expect(answerOf(() => checkInput(model, input, noHost)) === "accepted").toBe(isAccepted);
    expect(validatorOf(model)(input)).toBe(isAccepted);
  });

  test.each([4_096, 4_097])("for a link of %d characters", (length) => {
    const model = shipped("vidmodel-2.0");
    const input = { prompt: "x", image_url: "https://media.example/".padEnd(length, "a") };
    expect([answerOf(() => checkInput(model, input, noHost)) === "accepted", validatorOf(model)(input)]).toEqual([
      length === 4_096,
      length === 4_096,
    ]);
  });

  test("for links to hosts that the operator allows", () => {
    const model = shipped("vidmodel-2.0");
    const allows = (host: string) => host === "127.0.0.1:9000";
    const input = { prompt: "x", image_url: "http://127.0.0.1:9000/a.png" };
    expect(answerOf(() => checkInput(model, input, allows))).toBe("accepted");
    expect([validatorOf(model, true)(input), validatorOf(model, false)(input)]).toEqual([true, false]);
  });
});

test("a schema has the bounds, values, defaults and relations of its model", () => {
  expect(inputSchema(shipped("vidmodel-2.5"), false)).toMatchObject({
    type: "object",
    additionalProperties: false,
    required: ["prompt"],
    properties: {
      prompt: { type: "string", minLength: 1, maxLength: 30_000 },
      duration: { type: "integer", minimum: 4, maximum: 30, default: 5 },
      resolution: { enum: ["480p", "720p", "1080p"], default: "720p" },
      audio: { enum: [false, true], default: false },
      video_urls: { type: "array", minItems: 1, maxItems: 10, description: "Links to clips: at most 30 s in total." },
    },
    dependentRequired: { end_image_url: ["image_url"] },
  });
});
