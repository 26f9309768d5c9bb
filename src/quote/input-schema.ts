// JSON Schema of a model's input: it accepts what `checkInput` accepts.
//
// The schema is for I-JSON, which has no unpaired surrogates. It cannot state rules about the content of linked media; the
// descriptions do.
import { fieldsOf, isChoice, isLink, isRange } from "../../catalogue/capabilities.ts";
import { BOUNDS, type FieldName, isDecimalField, isMediaField, MEDIA_FIELDS, OPAQUE_FORMATS } from "../../catalogue/fields.ts";
import type { Model } from "../../catalogue/schema.ts";
import type { Field, LinkField } from "../../catalogue/schema-types.ts";
import type { JsonObject } from "../domain/types.ts";
import { linkPattern } from "./check-links.ts";

const LINKED = { image: "picture", video: "clip", audio: "sound" } as const;

/** The lengths that clips and sounds of a field must have; empty without a limit. */
const lengthsOf = ({ min_s, max_s, max_total_s }: LinkField): string[] => [
  ...(min_s === undefined ? [] : [`at least ${min_s} s long`]),
  ...(max_s === undefined ? [] : [`at most ${max_s} s long`]),
  ...(max_total_s === undefined ? [] : [`at most ${max_total_s} s in total`]),
];

const linkSchema = (name: FieldName, field: LinkField, pattern: string): JsonObject => {
  if (!isMediaField(name)) return {};
  const { kind, isList } = MEDIA_FIELDS[name];
  const link = { type: "string", maxLength: BOUNDS.linkLength, pattern };
  const lengths = lengthsOf(field);
  const linked = isList ? `Links to ${LINKED[kind]}s` : `Link to a ${LINKED[kind]}`;
  const description = `${linked}${lengths.length === 0 ? "" : `: ${lengths.join(", ")}`}.`;
  return isList ? { type: "array", description, minItems: 1, maxItems: field.max_items, items: link } : { ...link, description };
};

const fieldSchema = (name: FieldName, field: Field, pattern: string): JsonObject => {
  const preset = "default" in field && field.default !== undefined ? { default: field.default } : {};
  if (isChoice(field)) return { enum: [...field.values], ...preset };
  if (isRange(field))
    return { type: isDecimalField(name) ? "number" : "integer", minimum: field.min, maximum: field.max, ...preset };
  if (isLink(field)) return linkSchema(name, field, pattern);
  return { type: "string", ...(name === "prompt" ? { minLength: 1 } : {}), maxLength: field.max_length };
};

/** Each pair of fields that exclude one another, once. */
const excludedPairs = (fields: ReturnType<typeof fieldsOf>): [FieldName, FieldName][] => {
  const names = fields.map(([name]) => name);
  return fields.flatMap(([name, { excludes = [] }], at) =>
    names.slice(at + 1).flatMap((other): [FieldName, FieldName][] => (excludes.includes(other) ? [[name, other]] : [])),
  );
};

const defaultOf = (field: Field | undefined) => (field && "default" in field ? field.default : undefined);

/** The combinations of a transparent background and a format without transparency; an absent field has its default. */
const opaqueFormats = ({ fields: { background, output_format: format } }: Model): JsonObject[] => {
  if (!background || !isChoice(background) || !background.values.includes("transparent") || !format || !isChoice(format))
    return [];
  const values = OPAQUE_FORMATS.filter((value): value is string => typeof value === "string" && format.values.includes(value));
  if (values.length === 0) return [];
  const needed = [
    ...(defaultOf(background) === "transparent" ? [] : ["background"]),
    ...(OPAQUE_FORMATS.includes(defaultOf(format)) ? [] : ["output_format"]),
  ];
  const properties = { background: { const: "transparent" }, output_format: { enum: values } };
  return [{ not: { properties, ...(needed.length === 0 ? {} : { required: needed }) } }];
};

/** @param hasAllowedHosts whether the operator allows links to hosts over http and on other ports */
export const inputSchema = (model: Model, hasAllowedHosts: boolean): JsonObject => {
  const fields = fieldsOf(model);
  const pattern = linkPattern(hasAllowedHosts);
  const required = fields.filter(([, field]) => field.required).map(([name]) => name);
  const needed = fields.flatMap(([name, { requires = [] }]) =>
    requires.length === 0 ? [] : [[name, [...requires]] as [string, string[]]],
  );
  const denied: JsonObject[] = [...excludedPairs(fields).map((pair) => ({ not: { required: pair } })), ...opaqueFormats(model)];
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: `Input of ${model.name}`,
    description: "A default applies if the field is absent and no field of the input excludes it.",
    type: "object",
    properties: Object.fromEntries(fields.map(([name, field]) => [name, fieldSchema(name, field, pattern)])),
    additionalProperties: false,
    ...(required.length === 0 ? {} : { required }),
    ...(needed.length === 0 ? {} : { dependentRequired: Object.fromEntries(needed) }),
    ...(denied.length === 0 ? {} : { allOf: denied }),
  };
};
