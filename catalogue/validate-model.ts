// Validates a model beyond its schema: contradictions between fields, and requests without a price.

import { fieldsOf, isChoice, isRange } from "./capabilities.ts";
import { deliversFaults } from "./delivery-rules.ts";
import { BOUNDS, CLIP_FIELDS, FIELD_NAMES, type FieldName, INPUT_FIELDS, isMediaField, OUTPUT_FORMATS } from "./fields.ts";
import type { Model } from "./schema.ts";
import type { Field } from "./schema-types.ts";
import { routeFaults } from "./validate-route.ts";

/** The JSON pointer in the file, and the fault. */
export type Fault = [path: string, message: string];

/**
 * Every fault of one model.
 * @param written the fields as in the file, before `excludes` is stated on both sides, so that paths point into the file
 */
export const modelFaults = (model: Model, written: Model["fields"], providerIds: readonly string[]): Fault[] => {
  const faults: Fault[] = [];
  for (const [name, field] of fieldsOf(model)) faults.push(...fieldFaults(model, name, field, written[name] ?? field));
  faults.push(...demandFaults(model), ...clipFaults(model), ...deliversFaults(model));
  if (faults.length > 0) return faults;
  return model.routes.flatMap((route, at) =>
    routeFaults(model, route, providerIds).map(([path, message]): Fault => [`/routes/${at}${path}`, message]),
  );
};

const fieldFaults = (model: Model, name: FieldName, field: Field, written: Field): Fault[] => {
  const at = `/fields/${name}`;
  const faults: Fault[] = [];
  if (!INPUT_FIELDS[model.input_kind].includes(name)) faults.push([at, `the ${model.input_kind} input has no such field`]);
  if (isRange(field)) {
    if (field.min > field.max) faults.push([`${at}/min`, `${field.min} is above max, ${field.max}`]);
    const bounds = BOUNDS.durationS[model.input_kind];
    if (name === "duration" && (field.min < bounds.min || field.max > bounds.max))
      faults.push([at, `the ${model.input_kind} input has durations from ${bounds.min} to ${bounds.max}`]);
    if (field.default !== undefined && (field.default < field.min || field.default > field.max))
      faults.push([`${at}/default`, `${field.default} is outside ${field.min} to ${field.max}`]);
  }
  if (isChoice(field) && field.default !== undefined && !field.values.includes(field.default))
    faults.push([`${at}/default`, `${field.default} is not one of its values: ${field.values.join(", ")}`]);
  if ((isRange(field) || isChoice(field)) && field.required && field.default !== undefined)
    faults.push([`${at}/default`, "a required field has no default"]);
  if ("min_s" in field && "max_s" in field && Number(field.min_s) > Number(field.max_s))
    faults.push([`${at}/min_s`, `${field.min_s} is above max_s, ${field.max_s}`]);
  for (const relation of ["requires", "excludes"] as const)
    for (const [index, other] of (written[relation] ?? []).entries()) {
      const message = relationFault(model, name, other, relation);
      if (message) faults.push([`${at}/${relation}/${index}`, message]);
    }
  if (name === "background" && model.kind !== "image") faults.push([at, "is for models whose results are pictures"]);
  if (name === "output_format" && isChoice(field)) {
    const known: readonly unknown[] = OUTPUT_FORMATS[model.kind];
    for (const [index, value] of field.values.entries())
      if (!known.includes(value)) faults.push([`${at}/values/${index}`, `${value} is no format of the kind ${model.kind}`]);
  }
  if (name === "end_image_url" && !field.requires?.includes("image_url"))
    faults.push([`${at}/requires`, "a last frame requires image_url (§2.6, §2.7)"]);
  if (name === "mask_url" && !field.requires?.includes("image_url"))
    faults.push([`${at}/requires`, "a mask requires image_url (§2.9)"]);
  return faults;
};

const relationFault = (model: Model, name: FieldName, other: FieldName, relation: "requires" | "excludes") => {
  if (other === name) return "names the field itself";
  const target = model.fields[other];
  if (!target) return `the model does not take ${other}`;
  if (relation === "requires" && model.fields[name]?.excludes?.includes(other)) return `${other} is excluded too`;
  if (relation === "excludes" && (target.required || model.fields[name]?.required))
    return `one of ${name} and ${other} is required, so the other could never be used`;
  return undefined;
};

/** §2.7: the prompt is required unless the model only transforms media. */
const demandFaults = (model: Model): Fault[] => {
  const isTransforming = FIELD_NAMES.some((name) => isMediaField(name) && model.fields[name]?.required);
  return model.fields.prompt?.required || isTransforming
    ? []
    : [["/fields/prompt", "must be required, because no media field is: a request must say what to make"]];
};

const clipFaults = (model: Model): Fault[] => {
  const { unit, clips } = model.price;
  const faults: Fault[] = [];
  for (const name of CLIP_FIELDS) {
    if (!clips[name]) continue;
    if (!model.fields[name]) faults.push([`/price/clips/${name}`, `the model does not take ${name}`]);
    if (unit !== "second") faults.push([`/price/clips/${name}`, "clips are billed per second only"]);
    if (clips[name] === "is_output" && model.fields.duration && !model.fields[name]?.excludes?.includes("duration"))
      faults.push([`/fields/${name}`, "must exclude duration, because the output is as long as the clip"]);
  }
  const outputs = CLIP_FIELDS.filter((name) => clips[name] === "is_output");
  if (outputs.length > 1) faults.push(["/price/clips", `only one field can be as long as the output, not ${outputs.join(", ")}`]);
  const { duration } = model.fields;
  const isTimed =
    duration?.required || (duration && "default" in duration) || outputs.some((name) => model.fields[name]?.required);
  if (unit === "second" && !isTimed)
    faults.push([
      "/price/unit",
      "per second needs a duration with a default, a required duration, or a required clip that is the output",
    ]);
  if (unit === "1k_characters" && !model.fields.prompt?.required)
    faults.push(["/price/unit", "per 1,000 characters needs a required prompt"]);
  return faults;
};
