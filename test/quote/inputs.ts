// Fixture of the quote tests: shipped models, inputs generated from published options, a configurable seed.
import fc from "fast-check";
import { FIELD_NAMES, type FieldName, isDecimalField, isMediaField, MEDIA_FIELDS } from "../../catalogue/fields.ts";
import type { EntryOption, ModelEntry } from "../../catalogue/public-model.ts";
import type { Model } from "../../catalogue/schema.ts";
import { ApiError } from "../../src/domain/api-errors.ts";
import type { Json, JsonObject, Measured } from "../../src/domain/types.ts";
import { type CheckedInput, checkInput } from "../../src/quote/check-input.ts";
import { sampleCatalogue } from "../sample/catalogue.ts";

export const catalogue = sampleCatalogue();

export const shipped = (modelId: string): Model => {
  const model = catalogue.model(modelId);
  if (!model) throw new Error(`${modelId} is not shipped`);
  return model;
};

export const noHost = () => false;
export const check = (model: Model, input: unknown): CheckedInput => checkInput(model, input as JsonObject, noHost);

/** The API error that a call throws, as `code message`; "accepted" if it does not throw. */
export const answerOf = (call: () => unknown): string => {
  try {
    call();
    return "accepted";
  } catch (fault) {
    if (fault instanceof ApiError) return `${fault.code} ${fault.message}`;
    throw fault;
  }
};

/** Settings of every property test: a fixed seed unless FC_SEED sets one; printed on failure. */
export const runs = (numRuns: number) => ({ numRuns, seed: Number(process.env.FC_SEED ?? 20_261_019), verbose: 1 }) as const;

/** Lengths for every clip of an input, in the order of its links. */
export const lengthsFor = (checked: CheckedInput, lengthsMs: readonly number[]): Measured[] =>
  checked.links.map(({ field, url, kind }, at) =>
    kind === "image"
      ? { field, url, kind, width: 640, height: 360 }
      : { field, url, kind, ms: lengthsMs[at % lengthsMs.length] ?? 1 },
  );

const valuesOf = (name: FieldName, option: EntryOption): fc.Arbitrary<Json> => {
  if (option.values) return fc.constantFrom(...option.values);
  if (option.min !== undefined) {
    const bounds = { min: option.min, max: option.max ?? option.min };
    return isDecimalField(name) ? fc.double({ ...bounds, noNaN: true }) : fc.integer(bounds);
  }
  if (option.max_length !== undefined)
    return fc.string({ unit: "binary", minLength: 1, maxLength: Math.min(option.max_length, 2_500), size: "max" });
  const link = fc.webUrl({ validSchemes: ["https"], withQueryParameters: true });
  if (!isMediaField(name) || !MEDIA_FIELDS[name].isList) return link;
  return fc.array(link, { minLength: 1, maxLength: option.max_items ?? 1 });
};

/** Inputs built only from the `options` of a model entry: some fields, with those they require, without those they exclude. */
export const inputsFrom = ({ options }: ModelEntry): fc.Arbitrary<JsonObject> => {
  const names = FIELD_NAMES.filter((name) => options[name]);
  const member = (name: FieldName) => valuesOf(name, options[name] ?? {}).map((value): [FieldName, Json] => [name, value]);
  return fc.tuple(fc.subarray(names), fc.tuple(...names.map(member))).map(([wished, members]) => {
    const chosen = new Set<FieldName>(names.filter((name) => options[name]?.required));
    for (const name of wished) {
      const { requires = [], excludes = [] } = options[name] ?? {};
      const isFree = [name, ...requires].every((one) => !options[one]?.excludes?.some((other) => chosen.has(other)));
      if (isFree && !excludes.some((other) => chosen.has(other))) for (const one of [name, ...requires]) chosen.add(one);
    }
    const input: JsonObject = Object.fromEntries(members.filter(([name]) => chosen.has(name)));
    // §2.9: a transparent background needs a format with transparency.
    if (input.background === "transparent" && input.output_format === "jpeg") delete input.background;
    return input;
  });
};
